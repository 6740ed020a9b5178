"""A tabulated model as named arrays and a description, and the model from them again.

The description says which arrays there are, and their shapes, so that a bias that was dropped is missed and not taken
for 0. Older files do not say it; there the digests, one per array, are the list.
"""

from collections.abc import Iterator, Mapping
from math import isfinite
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
AFFINE = ("output", "inner", "outer", "readout")
NORMS = ("attention_norm", "feedforward_norm", "final_norm")
ENTRIES = (
    "kind",
    "context",
    "symbols",
    "positions",
    "heads",
    "join",
    "residual",
    "placement",
    "projected",
    "output",
    "attention_norm",
    "feedforward",
    "feedforward_norm",
    "readout",
    "final_norm",
    "notes",
)
WRITTEN = ("keyhole", "schema", "digests", "digest")  # what every file of ours has besides
AGAIN = "Take the file as it was first written, or certify the original weights again and write the model from there."


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
        "arrays": {name: list(array.shape) for name, array in sorted(arrays.items())},
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
    _require_entries(described)
    _require_arrays(described, arrays)
    try:
        fed = described["feedforward"]
        wiring = Wiring(
            join=described["join"],
            residual=described["residual"],
            placement=described["placement"],
            projected=described["projected"],
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
        heads = tuple(_head_in(arrays, f"heads.{i}", part) for i, part in enumerate(described["heads"]))
        listed = described["positions"]
        positions = None if listed is None else tuple(int(place) for place in listed)
        return Tabulated(int(described["context"]), heads, arrays["stream"], wiring, readout, positions)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"The description or a table lacks what a model needs: {error}.") from error


def _require_entries(described: Mapping[str, Any]) -> None:
    """Refuse a description that lacks an entry, has one that is not known, or one that is not of its kind."""
    for where, record, names, more in _records(described):
        lacking = [name for name in names if name not in record]
        if lacking:
            raise CheckpointError(f"{where} lacks what a model needs: there is no {lacking[0]!r}. {AGAIN}")
        unknown = sorted(set(record) - {*names, *more})
        if unknown:
            raise CheckpointError(f"{where} has {unknown[0]!r}, which means nothing here. {AGAIN}")
    fed, listed, heads = described["feedforward"], described["positions"], described["heads"]
    parts = [fed["inner"], fed["outer"]] if fed is not None else []
    for name, fits, wanted in (
        ("context", _is_whole(described["context"], 1), "a whole number above 0"),
        ("symbols", _is_whole(described["symbols"], 1), "a whole number above 0"),
        ("positions", listed is None or _are_whole(listed), "null or a list of whole numbers"),
        ("heads", all(_is_positive(head["temperature"]) for head in heads), "heads with temperatures above 0"),
        ("projected", type(described["projected"]) is bool, "true or false"),
        ("output", type(described["output"]) is bool, "true or false"),
        ("feedforward", all(type(part) is bool for part in parts), "maps that are there, true, or not, false"),
        ("readout", described["readout"] is True, "true"),
        *(
            (norm, described[norm] is None or _is_positive(described[norm]), "null or a number above 0")
            for norm in NORMS
        ),
    ):
        if not fits:
            raise CheckpointError(
                f"The description's {name} is {_short(described[name])}; it must be {wanted}. {AGAIN}"
            )


def _records(described: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], tuple[str, ...], tuple[str, ...]]]:
    """The records of a description: where each stands, what it must have, and what it may have besides."""
    yield "The description", described, ENTRIES, (*WRITTEN, "arrays")
    fed, heads = described["feedforward"], described["heads"]
    if not isinstance(heads, list) or not heads:
        raise CheckpointError(f"The description's heads are {_short(heads)}; there must be a list of them. {AGAIN}")
    named: list[tuple[str, Any, tuple[str, ...]]] = [
        (f"head {index}", head, ("temperature", "activation")) for index, head in enumerate(heads)
    ]
    if fed is not None:
        named.append(("feed-forward part", fed, ("activation", "inner", "outer")))
    for name, record, entries in named:
        if not isinstance(record, Mapping):
            raise CheckpointError(f"The description's {name} is {_short(record)}, and no record. {AGAIN}")
        yield f"The description's {name}", record, entries, ()


def _require_arrays(described: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse a file without an array that is spoken of, with one that is not, or with a number that is not finite."""
    stated = described.get("arrays", {name: list(array.shape) for name, array in arrays.items()})
    if not isinstance(stated, Mapping):
        raise CheckpointError(
            f"The description's arrays are {_short(stated)}, and no record of names and shapes. {AGAIN}"
        )
    fed = described["feedforward"] or {"inner": False, "outer": False}
    maps = [name for name in AFFINE if {**described, **fed}[name]]
    norms = [name for name in NORMS if described[name] is not None]
    needed = {"stream", *(f"heads.{index}.{part}" for index in range(len(described["heads"])) for part in HEAD)}
    needed |= {f"{name}.weight" for name in maps} | {f"{name}.gain" for name in norms}
    lacking = sorted((needed | set(stated)) - set(arrays))
    if lacking:
        raise CheckpointError(
            f"The file lacks what a model needs: its description speaks of {lacking[0]}, which is not there. {AGAIN}"
        )
    known = needed | {f"{name}.bias" for name in (*maps, *norms)}
    unknown = sorted(set(arrays) - (known & set(stated)))
    if unknown:
        raise CheckpointError(f"The file has {unknown[0]}, and its description speaks of no such array. {AGAIN}")
    for name, array in arrays.items():
        if stated[name] != list(array.shape):
            raise CheckpointError(
                f"The file's {name} has shape {list(array.shape)}, and its description says {_short(stated[name])}. "
                f"{AGAIN}"
            )
        if not np.isfinite(array).all():
            raise CheckpointError(f"The file's {name} holds NaN or infinity, and weights are finite. {AGAIN}")
    symbols = arrays["heads.0.scores"].shape[-1:]
    if symbols != (described["symbols"],):
        raise CheckpointError(
            f"The description says {described['symbols']} symbols, and the scores are of shape "
            f"{arrays['heads.0.scores'].shape}. {AGAIN}"
        )


def _is_whole(value: Any, least: int = 0) -> bool:
    return type(value) is int and value >= least


def _are_whole(values: Any) -> bool:
    return isinstance(values, list) and all(map(_is_whole, values))


def _is_positive(value: Any) -> bool:
    return type(value) in {int, float} and value > 0 and isfinite(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _head_out(arrays: Arrays, name: str, head: TabulatedHead) -> dict[str, Any]:
    if not isinstance(head.normaliser, Softmax):
        raise AssumptionError("A head normalises otherwise than by softmax; only softmax heads are stored.")
    for part in HEAD:
        arrays[f"{name}.{part}"] = numbers_of(getattr(head, part))
    return {"temperature": head.normaliser.temperature, "activation": _activation_out(head.activation)}


def _head_in(arrays: Mapping[str, np.ndarray], name: str, told: Mapping[str, Any]) -> TabulatedHead:
    parts = {part: arrays[f"{name}.{part}"] for part in HEAD}
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
    if isinstance(norm, RMSNorm):
        raise CheckpointError("A model with an RMSNorm was to be stored as tables, which know LayerNorm alone.")
    arrays[f"{name}.gain"] = numbers_of(norm.gain)
    if norm.bias is not None:
        arrays[f"{name}.bias"] = numbers_of(norm.bias)
    return float(norm.eps)


def _norm_in(arrays: Mapping[str, np.ndarray], name: str, eps: float | None) -> LayerNorm | None:
    return None if eps is None else LayerNorm(arrays[f"{name}.gain"], arrays.get(f"{name}.bias"), float(eps))
