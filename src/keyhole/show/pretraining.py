"""Pretraining as a document: condition numbers of every mask, what trained heads learned, and what it is worth."""

from collections.abc import Mapping
from typing import Any

from keyhole.decimals import at_most
from keyhole.show.document import Column, Document, Gap, Grid, Lines

Record = Mapping[str, Any]


def pretraining_document(record: Record) -> Document:
    """Tables from the record of the answer."""
    trained = (
        f"; n = {record['samples']:,} sequences, {record['repeats']} runs each, seed {record['seed']}"
        if record["repeats"]
        else ""
    )
    task = f"; downstream: {record['downstream']}" if record["downstream"] else ""
    parts: list[Any] = [Lines(f"{record['model']}: masked pretraining{trained}{task}.", hang=0)]
    if record["conditions"]:
        parts += [Gap(), Lines("condition numbers of the pretext, by mask", hang=0), _conditions(record)]
    if record["learned"]:
        parts += [Gap(), Lines("log loss of the masked block, nats", hang=0), _losses(record)]
        parts += [
            Gap(),
            Lines(f"downstream excess risk; head fitted to {record['labels']} labels", hang=0),
            _downstream(record),
        ]
    if record["sinks"]:
        parts += [Gap(), Lines("logit of the sink", hang=0), _sinks(record)]
    parts += [Gap(), *(Lines(remark, hang=0) for remark in record["remarks"])]
    return tuple(parts)


def _conditions(record: Record) -> Grid:
    headings = ("mask", "loss", "κ_T", "κ", "cond", "1/s_m")
    rows = [
        (
            str(one["mask"]),
            one["loss"],
            *(_number(one[name]) for name in ("downstream", "least", "ratio")),
            _interval(one["spectral"])
            if one["spectral"]["low"] != one["spectral"]["high"]
            else _number(one["spectral"]["value"]),
        )
        for one in record["conditions"]
    ]
    return Grid([Column(name, "left" if name == "loss" else "right") for name in headings], rows, indent=2)


def _losses(record: Record) -> Grid:
    headings = ("T", "mask", "Bayes", "excess", "rank/2n", "not optimised")
    rows = [
        (
            str(one["size"]),
            str(one["mask"]),
            f"{one['bayes_loss']:.4f}",
            _interval(one["excess"]),
            f"{one['limit']:.2g}",
            str(one["unoptimised"]),
        )
        for one in record["learned"]
    ]
    return Grid([Column(name, "right") for name in headings], rows, indent=2)


def _downstream(record: Record) -> Grid:
    headings = ("T", "mask", "pretrained", "κ_T²ε²", "scratch", "exact", "nothing")
    rows = [
        (
            str(one["size"]),
            str(one["mask"]),
            _interval(one["fitted_head"]),
            "infinite" if one["bound"] is None else at_most(one["bound"]),
            *(_number(one[name]) for name in ("scratch", "oracle", "blind")),
        )
        for one in record["learned"]
    ]
    return Grid([Column(name, "right") for name in headings], rows, indent=2)


def _sinks(record: Record) -> Grid:
    rows = [
        (
            str(one["size"]),
            f"{one['exact']:.4f}",
            f"{one['logit']['value']:.4f} ({one['logit']['low']:.4f} to {one['logit']['high']:.4f})",
            f"{one['standard_error']:.2g}",
        )
        for one in record["sinks"]
    ]
    return Grid(
        [Column(name, "right") for name in ("T", "exact", "trained, median", "standard error of one")], rows, indent=2
    )


def _interval(estimate: Record) -> str:
    low, high = ("infinite" if estimate[end] is None else f"{estimate[end]:.2g}" for end in ("low", "high"))
    return f"{_number(estimate['value'])} ({low} to {high})"


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.3g}"
