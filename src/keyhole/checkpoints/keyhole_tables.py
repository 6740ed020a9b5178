"""A tabulated model as named arrays and a description, and the model from them again.

A file is read if writing the model that it holds gives the same description and the same arrays. So a bias that was
dropped is missed and not taken for 0, and an entry that means nothing is refused. Older files have no list of arrays;
there the digests, one per array, are the list.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.attention import (
    GELU,
    Activation,
    Affine,
    FeedForward,
    Identity,
    LayerNorm,
    ReadOut,
    ReLU,
    RMSNorm,
    Softmax,
    Tabulated,
    TabulatedHead,
    Wiring,
    numbers_of,
    thinned,
)
from keyhole.errors import AssumptionError, CheckpointError
from keyhole.files.model import StoredModel, description_digest, digest, write_model

KIND = "tables/1"
ACTIVATIONS: dict[str, Activation] = {sigma.name: sigma for sigma in (Identity(), ReLU(), GELU())}
Arrays = dict[str, np.ndarray]
HEAD = ("scores", "values", "cls_score", "cls_value")  # the arrays of a head
BESIDE = {"keyhole", "schema", "digests", "digest", "notes"}  # what a description has besides the model
AGAIN = "Take the file as it was first written, or certify the original weights again and write the model from there."


def save_tabulated(model: Tabulated, path: Path, notes: Mapping[str, Any] | None = None) -> Path:
    """Write the tables, rows shared by most positions once, with the description and some notes on their origin."""
    described, arrays = _written(thinned(model))
    return write_model(path, arrays, {**described, "notes": dict(notes or {})})


def is_tabulated(stored: StoredModel) -> bool:
    """Return whether a stored model has the description of tables."""
    return stored.description.get("kind") == KIND


def load_tabulated(stored: StoredModel) -> Tabulated:
    """Return the model whose tables were stored; refuse a file that is not as it was written."""
    described, arrays = stored.description, stored.tensors
    if stored.damage is not None:
        raise CheckpointError(f"The model is damaged: {stored.damage}.")
    digests = {name: digest(array) for name, array in arrays.items()}
    if described.get("digests") != digests or description_digest(described) != described.get("digest"):
        raise CheckpointError("The model is not as it was written: an array or its description was changed.")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise CheckpointError(f"The file's {name} holds NaN or infinity, and weights are finite. {AGAIN}")
    try:
        model = _model(described, arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise CheckpointError(f"The description or an array lacks what a model needs: {error}. {AGAIN}") from error
    wanted, parts = _written(model)
    stated = {name: value for name, value in described.items() if name not in BESIDE}
    stated.setdefault("arrays", wanted["arrays"])
    for record in (wanted, stated):
        if isinstance(record["arrays"], Mapping):
            record |= {f"shape of {name}": shape for name, shape in record.pop("arrays").items()}
    wrong = [name for name in sorted({*wanted, *stated}) if _plain(wanted.get(name)) != _plain(stated.get(name))]
    if wrong:
        raise CheckpointError(
            f"The description's {wrong[0]} is {_plain(stated.get(wrong[0]))[:60]}, and that of the model it describes "
            f"is {_plain(wanted.get(wrong[0]))[:60]}. {AGAIN}"
        )
    if set(parts) != set(arrays):
        raise CheckpointError(f"The file has {min(set(arrays) - set(parts))}, and a model has no such array. {AGAIN}")
    return model


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _written(model: Tabulated) -> tuple[dict[str, Any], Arrays]:
    """Return the description of a model, and its arrays by name."""
    arrays: Arrays = {"stream": numbers_of(model.stream)}
    wiring, fed, heads = model.wiring, model.wiring.feedforward, []
    for index, head in enumerate(model.heads):
        if not isinstance(head.normaliser, Softmax):
            raise AssumptionError("A head normalises otherwise than by softmax; only softmax heads are stored.")
        arrays |= {f"heads.{index}.{part}": numbers_of(getattr(head, part)) for part in HEAD}
        heads.append({"temperature": head.normaliser.temperature, "activation": _activation_out(head.activation)})
    described = {
        "kind": KIND,
        "context": model.tokens,
        "symbols": model.symbols,
        "positions": None if model.positions is None else list(model.positions),
        "heads": heads,
        "join": wiring.join,
        "residual": wiring.residual,
        "placement": wiring.placement,
        "projected": wiring.projected,
        "output": _affine_out(arrays, "output", wiring.output),
        "attention_norm": _norm_out(arrays, "attention_norm", wiring.attention_norm),
        "feedforward": None
        if fed is None
        else {
            "activation": _activation_out(fed.activation),
            "inner": _affine_out(arrays, "inner", fed.inner),
            "outer": _affine_out(arrays, "outer", fed.outer),
        },
        "feedforward_norm": _norm_out(arrays, "feedforward_norm", wiring.feedforward_norm),
        "readout": _affine_out(arrays, "readout", model.readout),
        "final_norm": _norm_out(arrays, "final_norm", model.readout.norm),
    }
    return {**described, "arrays": {name: list(array.shape) for name, array in sorted(arrays.items())}}, arrays


def _model(described: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Tabulated:
    fed, listed = described["feedforward"], described["positions"]
    wiring = Wiring(
        join=described["join"],
        residual=described["residual"],
        placement=described["placement"],
        projected=described["projected"],
        output=_affine_in(arrays, "output", described["output"] is True),
        attention_norm=_norm_in(arrays, "attention_norm", described["attention_norm"]),
        feedforward_norm=_norm_in(arrays, "feedforward_norm", described["feedforward_norm"]),
        feedforward=None
        if fed is None
        else FeedForward(
            _affine_in(arrays, "inner", fed["inner"] is True),
            ACTIVATIONS[fed["activation"]],
            _affine_in(arrays, "outer", fed["outer"] is True),
        ),
    )
    readout = ReadOut(
        arrays["readout.weight"], arrays.get("readout.bias"), _norm_in(arrays, "final_norm", described["final_norm"])
    )
    heads = []
    for index, head in enumerate(described["heads"]):
        normaliser, activation = Softmax(float(head["temperature"])), ACTIVATIONS[head["activation"]]
        parts = {part: arrays[f"heads.{index}.{part}"] for part in HEAD}
        heads.append(TabulatedHead(**parts, normaliser=normaliser, activation=activation))
    if not heads:
        raise ValueError("there are no heads")
    positions = None if listed is None else tuple(int(place) for place in listed)
    return Tabulated(int(described["context"]), tuple(heads), arrays["stream"], wiring, readout, positions)


def _activation_out(activation: Any) -> str:
    name = getattr(activation, "name", "")
    if name not in ACTIVATIONS:
        raise AssumptionError(
            f"The activation {activation!r} is not stored; the known ones are {', '.join(ACTIVATIONS)}."
        )
    return str(name)


def _affine_out(arrays: Arrays, name: str, part: Affine | ReadOut | None) -> bool:
    """Return whether there is such a map; its arrays go with the others."""
    if part is not None:
        arrays[f"{name}.weight"] = numbers_of(part.weight)
        if part.bias is not None:
            arrays[f"{name}.bias"] = numbers_of(part.bias)
    return part is not None


def _affine_in(arrays: Mapping[str, np.ndarray], name: str, there: bool) -> Affine | None:  # noqa: FBT001  (as stored)
    return Affine(arrays[f"{name}.weight"], arrays.get(f"{name}.bias")) if there else None


def _norm_out(arrays: Arrays, name: str, norm: LayerNorm | None) -> float | None:
    """Return ε of a norm that is there; its arrays go with the others."""
    if norm is None:
        return None
    if isinstance(norm, RMSNorm):
        raise CheckpointError("A model with an RMSNorm was to be stored as tables, which know LayerNorm alone.")
    arrays[f"{name}.gain"] = numbers_of(norm.gain)
    if norm.bias is not None:
        arrays[f"{name}.bias"] = numbers_of(norm.bias)
    return float(norm.eps)


def _norm_in(arrays: Mapping[str, np.ndarray], name: str, eps: float | None) -> LayerNorm | None:
    return None if eps is None else LayerNorm(arrays[f"{name}.gain"], arrays.get(f"{name}.bias"), float(eps))
