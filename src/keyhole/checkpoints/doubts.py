"""Doubts: reasons why a family's own code may load another function than the one that was read.

A reading is a guess where a file holds something that we do not know of. For maps and norms that does little harm, so
they are given all the same; a proof about another model than the one that runs would be worthless, so none is given.
"""

from collections.abc import Iterator

import numpy as np

from keyhole.checkpoints.architectures.architecture import OwnCode
from keyhole.checkpoints.architectures.transformers_fields import MASK, TASK_HEAD
from keyhole.checkpoints.placing import Placed, agreed
from keyhole.checkpoints.weight_files import WEIGHTS

HIDDEN = -1e4  # the largest number that stands for −∞ in a stored mask


def doubts(placed: Placed) -> Iterator[str]:
    """Yield each reason as a clause that follows "…, and"; an architecture without own code has none."""
    code, tensors = placed.architecture.own_code, placed.files.tensors
    if code is None:
        return
    yield from _of_settings(placed, code)
    yield from _of_parts(placed, code)
    # names under which the family's own code would not look for a tensor
    for name, tensor in sorted(tensors.items()):
        if tensor.name != name:
            yield f"the file calls {name} {tensor.name}, where it would not be found; rename it"
    if placed.prefix not in code.prefixes:
        yield f"its names begin with {placed.prefix[:60]!r}, where they would not be found; rename them"
    # number formats that it rounds to another one, without a field that says so
    fields = placed.architecture.fields.formats
    if any(placed.files.config.get(name) is not None for name in fields):
        return
    formats = sorted({tensor.number_format for tensor in tensors.values()} & set(WEIGHTS))
    if code.default_format is None and len(formats) > 1:
        yield f"the file mixes {' and '.join(formats)}, all of which become one; give {fields[0]} in config.json"
    if code.default_format == "float32" and "float64" in formats:
        yield f"the file has float64 weights, which are rounded to float32; give {fields[0]} in config.json"


def _of_settings(placed: Placed, code: OwnCode) -> Iterator[str]:
    """Doubt fields that are not known to change nothing, and what was saved as another class."""
    how, config = placed.architecture, placed.files.config
    for name in sorted(set(config) - how.fields.all - set(how.refuse) - {"tie_word_embeddings"}):
        fits = code.settings.get(name, ())
        if fits is not None and config[name] not in fits:
            value = f"{name[:60]} = {repr(config[name])[:40]}"
            yield f"its configuration has {value}, of which it is not known that it changes nothing; take it out if so"
    if agreed(config, how.fields.layers) is None:
        yield f"its configuration does not say how many layers it has; give {how.fields.layers[0]}"
    saved = config.get("architectures") or ()
    if code.classes and (not isinstance(saved, list | tuple) or any(name not in code.classes for name in saved)):
        yield f"it was saved as {repr(saved)[:60]}; save it as {' or '.join(code.classes)}"


def _of_parts(placed: Placed, code: OwnCode) -> Iterator[str]:
    """Doubt parts that are missing or too many, heads of other tasks, and masks that hide other keys."""
    how = placed.architecture
    wanted = set(code.parts(placed.files.config))
    there = set(placed.layers[0]) | set(placed.model)
    for role in sorted((wanted ^ there) - ({"unembedding"} if how.tied else set())):
        if role in wanted:
            yield f"the file lacks {how.names(role)[0]}; fetch the model again"
        else:
            yield f"the file has {how.names(role)[0]}, which its configuration has no place for; correct one of them"
    for each in placed.unused:
        if each.reason == TASK_HEAD:
            yield f"the file has {each.name}, {TASK_HEAD}, which would not be judged; save the model without it"
        if each.reason == MASK:
            mask = placed.files.tensors[each.name].stored()  # the lower triangle, or a number that stands for −∞
            if not (mask <= HIDDEN if mask.ndim < 2 else mask == np.tri(*mask.shape[-2:])).all():
                yield f"{each.name} is not the mask that hides later keys; take it out"
