"""Places of tensors in an architecture; every tensor of a file has one, or is named as not used."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from keyhole.checkpoints.architectures import Architecture, registered
from keyhole.checkpoints.architectures.architecture import MODEL_ROLES
from keyhole.checkpoints.checkpoint import Unused
from keyhole.checkpoints.weight_files import WEIGHTS, StoredTensor, WeightFiles
from keyhole.errors import CheckpointError

WRAPPERS = ("module.", "_orig_mod.")  # what wrapping a model for several devices, or compiling it, puts before names
ATTENTION = ("query", "key", "value", "qkv", "output")
RUNNING = ("running_mean", "running_var")
LONGEST_NAME = 500  # letters
NO_PLACE = "has no place in this architecture"
BUFFERS = {
    r"position_ids$|token_type_ids$": "a list of whole numbers, and no weight",
    r"rotary_emb|inv_freq$|rotary_(sin|cos)$": "angles that the configuration gives too",
    r"num_batches_tracked$": "a count, and no weight",
}
CROSS = re.compile(r"cross_?attn|crossattention|multihead_attn|encoder_attn|EncDecAttention")


@dataclass(frozen=True)
class Place:
    """The tensors of one role: weight and bias, and for a batch norm its mean and variance."""

    weight: StoredTensor
    bias: StoredTensor | None = None
    mean: StoredTensor | None = None
    variance: StoredTensor | None = None

    @property
    def all(self) -> Iterator[StoredTensor]:
        """Yield those that are there."""
        return (each for each in (self.weight, self.bias, self.mean, self.variance) if each is not None)


@dataclass(frozen=True, eq=False)
class Placed:
    """An architecture with the tensors of a file in their places."""

    architecture: Architecture
    files: WeightFiles
    layers: tuple[Mapping[str, Place], ...]  # one for each set of weights
    model: Mapping[str, Place]
    unused: tuple[Unused, ...]
    prefix: str  # what stands before the names


def place_tensors(files: WeightFiles, architecture: Architecture | str | None) -> Placed:
    """Place all tensors in the architecture that is given, or that the configuration or the names show."""
    files = replace(files, tensors=_plain_names(files.tensors))
    fits, several = [], ""
    for candidate in _candidates(files, architecture):
        names = [candidate.names(role)[0] for role in ATTENTION if role in candidate.tensors]
        prefixes = [
            each.removesuffix(names[0]) for each in files.tensors if re.search(rf"(^|\.){re.escape(names[0])}$", each)
        ]
        prefixes = [each for each in prefixes if all(each + name in files.tensors for name in names)]
        if len(prefixes) == 1:
            fits.append(_place(candidate, files, prefixes[0]))
        elif prefixes and not several:
            several = (
                f"{files.source!r} holds {len(prefixes)} stacks of attention layers, under "
                f"{', '.join(map(repr, sorted(prefixes)[:4]))}, and {candidate.name} fits each; save one alone, or "
                "describe it with its whole names (keyhole.checkpoints.Architecture)."
            )
    if fits:
        return min(fits, key=lambda placed: sum(not each.known for each in placed.unused))
    name = architecture.name if isinstance(architecture, Architecture) else architecture
    name = name or files.config.get("model_type")
    what = f"{name} has" if name else "any known architecture has"
    raise CheckpointError(
        several
        or f"{files.source!r} does not hold the attention that {what}; its tensors are "
        f"{', '.join(sorted(files.tensors)[:6]) or 'no tensor'}, …. Describe its architecture "
        "(keyhole.checkpoints.Architecture)."
    )


def _plain_names(tensors: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    """Return the tensors without a wrapper's prefix, and with gamma and beta called weight and bias."""
    for name in tensors:
        if not name.isprintable() or len(name) > LONGEST_NAME:
            raise CheckpointError(
                f"A tensor is called {name[:40]!r}, which is not the name of a weight; save it again."
            )
    names = {name: name for name in tensors}
    for wrapper in WRAPPERS:
        if names and all(name.startswith(wrapper) for name in names.values()):
            names = {name: short.removeprefix(wrapper) for name, short in names.items()}
    plain: dict[str, StoredTensor] = {}
    for name, short in names.items():
        modern = re.sub(r"\.gamma$", ".weight", re.sub(r"\.beta$", ".bias", short))
        if modern in plain:
            raise CheckpointError(
                f"The file has {plain[modern].name} and {name}, two names of one tensor; take one of them out."
            )
        plain[modern] = tensors[name]
    return plain


def _candidates(files: WeightFiles, architecture: Architecture | str | None) -> tuple[Architecture, ...]:
    """Return the architectures that may be meant."""
    known, kind = registered(), files.config.get("model_type")
    if isinstance(architecture, Architecture):
        return (architecture,)
    if architecture is not None:
        candidates = tuple(each for each in known if each.name == architecture)
        if not candidates:
            names = ", ".join(each.name for each in known)
            raise CheckpointError(f"{architecture!r} is not an architecture; the names are {names}.")
        return candidates
    candidates = known if kind is None else tuple(each for each in known if kind in each.model_types)
    if not candidates:
        types = ", ".join(sorted({each for family in known for each in family.model_types}))
        raise CheckpointError(
            f"{files.source!r} is of the model type {str(kind)[:60]!r}, which is not known; known are {types}. If "
            "it is built as one of these, give that as model_type in its settings; otherwise describe its own "
            "(keyhole.checkpoints.Architecture)."
        )
    return candidates


def _place(architecture: Architecture, files: WeightFiles, prefix: str) -> Placed:
    tensors, config = files.tensors, files.config
    stated = next((config[name] for name in architecture.fields.formats if config.get(name) is not None), None)
    if stated is not None:  # the number format to which the family's own code rounds
        number_format = str(stated).removeprefix("torch.")
        if number_format not in WEIGHTS:
            raise CheckpointError(
                f"{files.source!r} asks for weights in the format {number_format[:40]!r}; they are read as "
                f"{', '.join(WEIGHTS)}."
            )
        tensors = {name: tensor.loaded_as(number_format) for name, tensor in tensors.items()}

    def found(roles: tuple[str, ...], index: int, prefixes: tuple[str, ...]) -> dict[str, Place]:
        places = {role: _find(architecture, tensors, role, index, prefixes) for role in roles}
        return {role: place for role, place in places.items() if place is not None}

    depth = _depth(architecture, tensors, prefix, files)
    layers = tuple(found(architecture.layer_roles, index, (prefix,)) for index in range(depth))
    for index, layer in enumerate(layers):
        lacking = set(layers[0]) ^ set(layer)
        if lacking:
            raise CheckpointError(
                f"{files.source!r}: layer {index + 1} and layer 1 differ in whether they have {min(lacking)}; a "
                "part of the file is missing. Fetch the model again."
            )
    model = found(tuple(role for role in MODEL_ROLES if role in architecture.tensors), 0, (prefix, ""))
    taken = {each.name for places in (model, *layers) for place in places.values() for each in place.all}
    reasons = {**architecture.unused, **BUFFERS}
    unused = []
    for name, tensor in sorted(tensors.items()):
        if tensor.name not in taken:
            reason = next((reason for pattern, reason in reasons.items() if re.search(pattern, name)), None)
            beyond = "cross-attention, whose keys are another sequence's" if CROSS.search(name) else NO_PLACE
            unused.append(Unused(name, reason or beyond, known=reason is not None))
    return Placed(architecture, files, layers, model, tuple(unused), prefix)


def _depth(architecture: Architecture, tensors: Mapping[str, StoredTensor], prefix: str, files: WeightFiles) -> int:
    """Return how many layers, or sets of weights, there are; refuse a gap in their numbers."""
    if not architecture.numbered:
        return 1
    anchor = "qkv" if "qkv" in architecture.tensors else "query"
    depth = 0
    while prefix + architecture.names(anchor, depth)[0] in tensors:
        depth += 1
    for role in architecture.layer_roles:
        later = prefix + architecture.names(role, depth)[0]
        if later in tensors:
            raise CheckpointError(f"{files.source!r} has {later} and no queries in its layer; fetch the model again.")
    shared = architecture.shared_layers
    stated = whole_number(files.config, shared[1:] if shared else architecture.fields.layers)
    if stated is not None and stated != depth:
        raise CheckpointError(
            f"{files.source!r} has {depth} layers of attention, and its configuration says {stated}; fetch it again."
        )
    return depth


def _find(
    architecture: Architecture, tensors: Mapping[str, StoredTensor], role: str, index: int, prefixes: tuple[str, ...]
) -> Place | None:
    """Return the tensors of a role under the first prefix that has its weight."""
    weight, bias = architecture.names(role, index)
    prefix = next((each for each in prefixes if each + weight in tensors), None)
    if prefix is None:
        return None
    beside = None if bias is None else tensors.get(prefix + bias)
    if not role.endswith("norm") or isinstance(architecture.tensors[role], tuple) or bias is None:
        return Place(tensors[prefix + weight], beside)
    running = [tensors.get(prefix + weight.removesuffix("weight") + each) for each in RUNNING]
    return Place(tensors[prefix + weight], beside, *running)


def whole_number(config: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """Return a whole number of the configuration, under any of these names."""
    value = agreed(config, names)
    if value is not None and (type(value) is not int or value < 1):
        name = next(name for name in names if config.get(name) is not None)
        raise CheckpointError(f"The configuration's {name} is {repr(value)[:40]}; it must be a whole number ≥ 1.")
    return value


def agreed(config: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """Return the value of the configuration under these names, or None; refuse two that differ."""
    there = [name for name in names if config.get(name) is not None]
    for name in there[1:]:
        if config[name] != config[there[0]]:
            raise CheckpointError(
                f"The configuration has {there[0]} = {repr(config[there[0]])[:40]} and {name} = "
                f"{repr(config[name])[:40]}, two names of one setting; take one of them out."
            )
    return config[there[0]] if there else None
