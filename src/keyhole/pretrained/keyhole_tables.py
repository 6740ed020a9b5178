"""A tabulated model as named arrays and a description, and the model from them again."""

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


def save_tabulated(model: Tabulated, path: Path, notes: Mapping[str, Any] | None = None) -> Path:
    """Write the tables, rows shared by most positions once, with the description and some notes on their origin."""
    model = thinned(model)
    arrays: Arrays = {"stream": numbers_of(model.stream)}
    heads = [_head_out(arrays, f"heads.{index}", head) for index, head in enumerate(model.heads)]
    wiring, fed = model.wiring, model.wiring.feedforward
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
        "notes": dict(notes or {}),
    }
    return write_model(path, arrays, described)


def is_tabulated(stored: StoredModel) -> bool:
    """Whether a stored model says that it is one of these."""
    return stored.description.get("kind") == KIND


def load_tabulated(stored: StoredModel) -> Tabulated:
    """The model whose tables were stored; refuses a file that is not as it was written."""
    described, arrays = stored.description, stored.tensors
    if stored.damage is not None:
        raise CheckpointError(f"The model is damaged: {stored.damage}.")
    digests = {name: digest(array) for name, array in arrays.items()}
    if described.get("digests") != digests or description_digest(described) != described.get("digest"):
        raise CheckpointError("The model is not as it was written: an array or its description was changed.")
    try:
        fed = described["feedforward"]
        wiring = Wiring(
            join=described["join"],
            residual=described["residual"],
            placement=described["placement"],
            projected=bool(described["projected"]),
            output=_affine_in(arrays, "output", described["output"]),
            attention_norm=_norm_in(arrays, "attention_norm", described["attention_norm"]),
            feedforward_norm=_norm_in(arrays, "feedforward_norm", described["feedforward_norm"]),
            feedforward=None
            if fed is None
            else FeedForward(
                _affine_in(arrays, "inner", fed["inner"]),
                ACTIVATIONS[fed["activation"]],
                _affine_in(arrays, "outer", fed["outer"]),
            ),
        )
        readout = ReadOut(
            arrays["readout.weight"],
            arrays.get("readout.bias"),
            _norm_in(arrays, "final_norm", described["final_norm"]),
        )
        heads = tuple(_head_in(arrays, f"heads.{i}", told) for i, told in enumerate(described["heads"]))
        listed = described["positions"]
        positions = None if listed is None else tuple(int(place) for place in listed)
        return Tabulated(int(described["context"]), heads, arrays["stream"], wiring, readout, positions)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"The description or a table lacks what a model needs: {error}.") from error


def _head_out(arrays: Arrays, name: str, head: TabulatedHead) -> dict[str, Any]:
    if not isinstance(head.normaliser, Softmax):
        raise AssumptionError("A head normalises otherwise than by softmax; only softmax heads are stored.")
    for part in ("scores", "values", "cls_score", "cls_value"):
        arrays[f"{name}.{part}"] = numbers_of(getattr(head, part))
    return {"temperature": head.normaliser.temperature, "activation": _activation_out(head.activation)}


def _head_in(arrays: Mapping[str, np.ndarray], name: str, told: Mapping[str, Any]) -> TabulatedHead:
    parts = {part: arrays[f"{name}.{part}"] for part in ("scores", "values", "cls_score", "cls_value")}
    return TabulatedHead(
        **parts, normaliser=Softmax(float(told["temperature"])), activation=ACTIVATIONS[told["activation"]]
    )


def _activation_out(activation: Any) -> str:
    name = getattr(activation, "name", "")
    if name not in ACTIVATIONS:
        raise AssumptionError(
            f"The activation {activation!r} is not stored; the known ones are {', '.join(ACTIVATIONS)}."
        )
    return str(name)


def _affine_out(arrays: Arrays, name: str, part: Affine | ReadOut | None) -> bool:
    """Whether there is such a map; its arrays go with the others."""
    if part is not None:
        arrays[f"{name}.weight"] = numbers_of(part.weight)
        if part.bias is not None:
            arrays[f"{name}.bias"] = numbers_of(part.bias)
    return part is not None


def _affine_in(arrays: Mapping[str, np.ndarray], name: str, there: bool) -> Affine | None:  # noqa: FBT001  (as told)
    return Affine(arrays[f"{name}.weight"], arrays.get(f"{name}.bias")) if there else None


def _norm_out(arrays: Arrays, name: str, norm: LayerNorm | None) -> float | None:
    """ε of a norm that is there; its arrays go with the others."""
    if norm is None:
        return None
    arrays[f"{name}.gain"] = numbers_of(norm.gain)
    if norm.bias is not None:
        arrays[f"{name}.bias"] = numbers_of(norm.bias)
    return float(norm.eps)


def _norm_in(arrays: Mapping[str, np.ndarray], name: str, eps: float | None) -> LayerNorm | None:
    return None if eps is None else LayerNorm(arrays[f"{name}.gain"], arrays.get(f"{name}.bias"), float(eps))
