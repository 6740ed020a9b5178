"""Somebody else's one-layer Transformer, trained in PyTorch, as one of our models.

The weights are the state dict of a module, saved with safetensors; beside them stands a small description, as
`weights.json` next to `weights.safetensors` (or under the key "keyhole" of the file's own metadata)::

    {
      "architecture": "TransformerEncoderLayer",
      "nhead": 4,
      "activation": "relu",          or "gelu", exact
      "norm_first": true,
      "context": 50,                 T, the tokens besides [CLS]; compared with the position table
      "layer_norm_eps": 1e-05,       may be left out
      "cls_at": null,                "first" or "last": the row of [CLS] in a position table of T + 1 rows; left out or
                                     null where the table has T rows and [CLS] none of them
      "cls_token": null,             or the row of the token table that [CLS] is, if it has no vector of its own
      "probes": null,                or {"inputs": [[0, 1, …], …], "outputs": [0.5, …]}: some inputs of T symbols, and
                                     what the original model gave for them in evaluation mode; then they are compared
                                     (four different inputs or more, whose outputs differ, test the description)
      "names": {
        "layer": "layer",            prefix of torch.nn.TransformerEncoderLayer (batch_first)
        "tokens": "tokens.weight",   (A, d), or (A + 1, d) with [CLS] among them
        "positions": "positions",    (T, d), or (T + 1, d) with one for [CLS], and cls_at saying which
        "cls": "cls",                any shape with d entries; left out with cls_token
        "readout": "readout",        prefix of torch.nn.Linear(d, 1), or (d, 2) read as second minus first
        "final_norm": null           or the prefix of a LayerNorm before the read-out
      }
    }

The model is x_t = tokens[b_t] + positions[t], one encoder layer over [CLS] and all tokens, the read-out of [CLS]; its
answer is true where the read-out is above 0. Dropout is off, as in evaluation. Symbols count from 0, the row of [CLS]
left out. Every tensor of the file must find its place, and the layer has all of its biases or none, as PyTorch's:
what is not understood is refused, never guessed. The file cannot show whether heads, activation, norms, epsilon and
[CLS] are as described; probes can, and the certificate says what was assumed, and whether it was tested.
Probes test what moves outputs by more than their tolerance: an ε of 1e-3 for one of 1e-5 does not where the variances
are much larger than both, and a certificate of the one is then one of a function that near to the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import AdditiveEmbedding, LearnedPositions, Model, ReadOut
from keyhole.checkpoints.architectures import Architecture
from keyhole.checkpoints.architectures.torch_modules import LAYER
from keyhole.checkpoints.checkpoint import Checkpoint
from keyhole.checkpoints.one_layer import layer_block, layer_norm
from keyhole.checkpoints.probes import TOLERANCE, Agreement, require_agreement
from keyhole.checkpoints.reading import load_checkpoint
from keyhole.decimals import at_most
from keyhole.errors import CheckpointError

ARCHITECTURE = "TransformerEncoderLayer"
EPSILON = 1e-5  # PyTorch's own, where the description has none
BIASES = (
    "self_attn.in_proj_bias",
    "self_attn.out_proj.bias",
    "linear1.bias",
    "linear2.bias",
    "norm1.bias",
    "norm2.bias",
)
NAMES = {
    "layer": "layer",
    "tokens": "tokens.weight",
    "positions": "positions",
    "cls": "cls",
    "readout": "readout",
    "final_norm": None,
}
FIELDS = {
    "architecture",
    "nhead",
    "activation",
    "norm_first",
    "context",
    "layer_norm_eps",
    "cls_at",
    "cls_token",
    "probes",
    "names",
}


@dataclass(frozen=True, eq=False)
class ForeignModel:
    """Somebody else's model, and all that was taken on the description's word to read it."""

    model: Model
    described: Mapping[str, Any]  # plain values, for JSON
    assumed: tuple[str, ...]  # the same in sentences


def read_foreign(tensors: Mapping[str, np.ndarray], described: Mapping[str, Any]) -> ForeignModel:
    """Return the model as described, compared with the probes if there are any, and what was assumed to read it."""
    _require_description(tensors, described)
    names = {**NAMES, **described.get("names", {})}
    biases = [f"{names['layer']}.{name}" for name in BIASES]
    missing = [name for name in biases if name not in tensors]
    if missing and len(missing) < len(BIASES):  # PyTorch writes all or none, and one that is missing is not zero
        raise CheckpointError(
            f"{missing[0]} is not in the file, and {len(BIASES) - len(missing)} other biases of the layer are; "
            "PyTorch's layer has all of them or none. Save the whole state dict."
        )
    checkpoint = _checkpoint(tensors, described, names)
    embedding = _embedding(checkpoint, described)
    if checkpoint.unused:
        raise CheckpointError(
            f"{', '.join(each.name for each in checkpoint.unused[:4])} in the file has no place in one {ARCHITECTURE} "
            "with a read-out; name every tensor in the description, or leave out what the model does not use."
        )
    readout, rows = _readout(checkpoint)
    model = Model(embedding, (layer_block(checkpoint, checkpoint.layers[0]),), readout)
    probes = described.get("probes")
    agreement = None if probes is None else require_agreement(model, probes, rows)
    final = names["final_norm"]
    echo = {  # what the description has and the numbers do not show, with the defaults that it left out
        "architecture": ARCHITECTURE,
        "context": described["context"],
        "nhead": described["nhead"],
        "activation": described["activation"],
        "norm_first": described["norm_first"],
        "layer_norm_eps": float(described.get("layer_norm_eps", EPSILON)),
        "cls_at": described.get("cls_at"),
        "cls_token": described.get("cls_token"),
        "final_norm": final is not None,
        "layer_biases": not missing,
        "readout_bias": f"{names['readout']}.bias" in tensors,
        "final_norm_bias": None if final is None else f"{final}.bias" in tensors,
        "probes": 0 if agreement is None else agreement.inputs,
        "probes_test": agreement is not None and not agreement.untested,
        "probe_deviation": None if agreement is None else agreement.deviation,
        "probe_tolerance": TOLERANCE,
    }
    return ForeignModel(model, echo, (_described_words(echo), _tested_words(agreement)))


def _checkpoint(
    tensors: Mapping[str, np.ndarray], described: Mapping[str, Any], names: Mapping[str, Any]
) -> Checkpoint:
    """Return the tensors as a checkpoint of the family that the description is."""
    roles = {
        "tokens": names["tokens"],
        "positions": names["positions"],
        "cls": names["cls"] if described.get("cls_token") is None else None,
        **{role: f"{names['layer']}.{name}" for role, name in LAYER.tensors.items()},
        "final_norm": names["final_norm"] and f"{names['final_norm']}.*",
        "unembedding": f"{names['readout']}.*",
    }
    family = Architecture(
        name=ARCHITECTURE,
        tensors={role: str(name) for role, name in roles.items() if name is not None},
        placement="pre" if described["norm_first"] else "post",
        activation=described["activation"],
        default_epsilon=float(described.get("layer_norm_eps", EPSILON)),
    )
    for role in family.tensors:
        name = family.names(role)[0]
        if name not in tensors:
            close = ", ".join(sorted(tensors)[:6])
            raise CheckpointError(
                f"The description speaks of {name}, which is not in the file ({close}, …); correct it."
            )
    return load_checkpoint(tensors, architecture=family, config={"nhead": described["nhead"]})


def _described_words(echo: Mapping[str, Any]) -> str:
    """Return the description in a sentence."""
    heads, where, row = echo["nhead"], echo["cls_at"], echo["cls_token"]
    parts = [
        f"{echo['context']} tokens",
        f"{heads} head{'' if heads == 1 else 's'}",
        f"activation {echo['activation']}",
        f"norms {'before' if echo['norm_first'] else 'after'} attention and feed-forward part",
        f"epsilon {echo['layer_norm_eps']:g}",
        "[CLS] a vector of its own" if row is None else f"[CLS] row {row} of the token table",
        "without a position" if where is None else f"with the {where} row of the position table",
        f"{'a' if echo['final_norm'] else 'no'} norm before the read-out",
    ]
    lacking = [
        name
        for name, present in (
            ("layer", echo["layer_biases"]),
            ("norm before the read-out", echo["final_norm_bias"]),
            ("read-out", echo["readout_bias"]),
        )
        if present is False
    ]
    without = f"; the file has no bias for the {' and the '.join(lacking)}, and none is taken" if lacking else ""
    return f"the weights are read as described: {', '.join(parts)}{without}"


def _tested_words(agreement: Agreement | None) -> str:
    """Return how the description was compared with the original model."""
    if agreement is None:
        return "the description was not tested: no outputs of the original model came with it (probes)"
    inputs = "1 input" if agreement.inputs == 1 else f"{agreement.inputs} inputs"
    if agreement.untested:
        return f"the description was not tested, though outputs on {inputs} agree: {agreement.untested}"
    what, terms = "outputs differ", "the terms that the read-out adds"
    if agreement.outputs == 2:
        what, terms = "logits' differences differ", "the terms that such a difference adds, with their rounding"
    return (
        f"the description was tested on {inputs}: the {what} from the original model's by at most "
        f"{at_most(agreement.deviation, 2)} of {terms}, and {TOLERANCE:g} is allowed"
    )


def _require_description(tensors: Mapping[str, np.ndarray], described: Mapping[str, Any]) -> None:
    architecture = described.get("architecture")
    if architecture != ARCHITECTURE:
        raise CheckpointError(
            f"The description names the architecture {architecture!r}, which is not known; only {ARCHITECTURE} is read."
        )
    names, eps, heads = described.get("names", {}), described.get("layer_norm_eps", EPSILON), described.get("nhead")
    known, context = isinstance(names, Mapping), described.get("context")
    lacked = ("final_norm", "cls")  # by some models: their names may be null
    unknown = sorted(set(described) - FIELDS) + sorted(set(names if known else ()) - set(NAMES))
    if unknown:
        raise CheckpointError(
            f"The description has {unknown[0]!r}, which means nothing here; the fields are {', '.join(sorted(FIELDS))}."
        )
    for field, fits, wanted in (
        ("nhead", type(heads) is int and heads >= 1, "a whole number of heads"),
        ("activation", described.get("activation") in ("relu", "gelu"), "relu or gelu"),
        ("norm_first", type(described.get("norm_first")) is bool, "true or false"),
        ("context", type(context) is int and context >= 1, "T, the number of tokens besides [CLS]"),
        ("layer_norm_eps", type(eps) in {int, float} and 0 < eps < 1e100, "a number above 0, or left out"),
        (
            "names",
            known and all(isinstance(name, str) or (name is None and key in lacked) for key, name in names.items()),
            "an object of names of tensors",
        ),
    ):
        if not fits:
            raise CheckpointError(f"The description's {field} is {described.get(field)!r}; it must be {wanted}.")
    layers = sum(name.endswith("self_attn.in_proj_weight") for name in tensors)
    if layers > 1:
        raise CheckpointError(
            f"The file holds {layers} attention layers; after one layer tokens depend on each other, so only one-layer "
            "models read at [CLS] are certified."
        )


def _embedding(checkpoint: Checkpoint, described: Mapping[str, Any]) -> AdditiveEmbedding:
    part, row = checkpoint.embedding, described.get("cls_token")
    tokens, positions = part.tokens, part.positions
    assert tokens is not None  # noqa: S101  (their names were found)
    assert positions is not None  # noqa: S101
    if part.cls is not None:
        cls = part.cls[0]
    elif type(row) is int and 0 <= row < len(tokens):
        cls, tokens = tokens[row], np.delete(tokens, row, axis=0)
    else:
        raise CheckpointError(f"The description's cls_token is {row!r}; it must be a row of the token table.")
    where = described.get("cls_at")
    if where not in ("first", "last", None):
        raise CheckpointError(f"The description's cls_at is {where!r}; it must be first, last or left out.")
    if where is not None:  # [CLS] has a position of its own
        place = 0 if where == "first" else len(positions) - 1
        cls, positions = cls + positions[place], np.delete(positions, place, axis=0)
    context = described.get("context")
    if context != len(positions):
        taken = "no row is taken for [CLS]" if where is None else f"the {where} row is taken for [CLS]"
        raise CheckpointError(
            f"The description's context is {context}, and the position table has {len(positions)} for tokens, since "
            f"{taken} (cls_at); correct one of the two."
        )
    return AdditiveEmbedding(tokens, LearnedPositions(positions), cls)


def _readout(checkpoint: Checkpoint) -> tuple[ReadOut, Float[np.ndarray, "outputs d1"]]:
    """Return the read-out, and its rows as they are in the file, the bias last."""
    out = checkpoint.unembedding
    assert out is not None  # noqa: S101  (its name was found)
    weight = np.asarray(out.weight).T
    bias = np.zeros(len(weight)) if out.bias is None else np.asarray(out.bias)
    if len(weight) not in {1, 2}:
        raise CheckpointError(f"The read-out has {len(weight)} outputs; give Linear(d, 1) or Linear(d, 2).")
    rows = np.concatenate([weight, bias[:, None]], axis=1)
    if len(weight) == 2:  # true where the second logit is the larger
        weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
    norm = None if checkpoint.final_norm is None else layer_norm(checkpoint.final_norm)
    return ReadOut(weight[0], bias[0], norm), rows
