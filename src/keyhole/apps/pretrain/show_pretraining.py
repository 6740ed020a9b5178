"""Pretraining as a document: condition numbers of every mask, what trained heads learned, and what it is worth."""

from collections.abc import Mapping
from typing import Any

from keyhole.decimals import at_most
from keyhole.show.document import Column, Document, Gap, Grid, Lines

Record = Mapping[str, Any]

CONDITIONS = (
    "mask: how many tokens are masked. κ_T: by what factor a root-mean-square error of the predictions can grow in the "
    "downstream task T. κ: the largest κ_T of any task of norm 1. cond: largest over smallest singular value of the "
    "map from latent to predictions. 1/s_m: s_m is the smallest canonical correlation of masked tokens and latent."
)
LOSSES = (
    "T: length of the sequences. Bayes: the least possible log loss. excess: how far trained attention heads lie above "
    "it; mean over the runs, with a 95 % interval. rank/2n: the excess of maximum likelihood for large n, by the rank "
    "of the Fisher matrix. runs not optimised: how many have a larger training loss than descent from the true "
    "parameters."
)
DOWNSTREAM = (
    "Excess is over the exact posterior. pretrained: a linear head on the frozen predictions, with a 95 % interval. "
    "bound κ_T²ε²: the transfer bound, proved for a linear head of its own, not for the fitted one; ε² is the mean "
    "squared error of the predictions. scratch: the network trained on the labels alone. exact: a linear head fitted "
    "on the exact posterior. nothing: the best constant answer."
)
SINKS = (
    "exact: the logit with which attention is the posterior mean. trained: the median over the runs, with a 95 % "
    "interval. standard error of one: that of one trained logit for large n."
)


def pretraining_document(record: Record) -> Document:
    """Tables from the record of the answer."""
    parts: list[Any] = [Lines(f"{record['model']}: the last tokens of each sequence are masked and predicted", hang=0)]
    if record["repeats"]:
        runs = f"{record['repeats']} runs for each row below, seed {record['seed']}"
        trained = f"n = {record['samples']:,} training sequences, {runs}"
        parts.append(Lines(trained, hang=0))
    if record["downstream"]:
        parts.append(Lines(f"downstream task: {record['downstream']}", hang=0))
    if record["conditions"]:
        heading = Lines("condition numbers of the pretext task, by mask", hang=0)
        parts += [Gap(), heading, _conditions(record), Lines(CONDITIONS)]
    if record["learned"]:
        parts += [Gap(), Lines("log loss of the masked tokens, in nats", hang=0), _losses(record), Lines(LOSSES)]
        heading = Lines(
            f"excess squared error downstream; linear heads are fitted to {record['labels']} labels", hang=0
        )
        parts += [Gap(), heading, _downstream(record), Lines(DOWNSTREAM)]
    if record["sinks"]:
        parts += [Gap(), Lines("logit of the sink", hang=0), _sinks(record), Lines(SINKS)]
    parts += [Gap(), *(Lines(remark, hang=0) for remark in record["remarks"])]
    return tuple(parts)


def _conditions(record: Record) -> Grid:
    headings = ("mask", "loss", "κ_T", "κ", "cond", "1/s_m")
    rows = [
        (
            str(row["mask"]),
            row["loss"],
            *(_number(row[name]) for name in ("downstream", "least", "ratio")),
            _interval(row["spectral"])
            if row["spectral"]["low"] != row["spectral"]["high"]
            else _number(row["spectral"]["value"]),
        )
        for row in record["conditions"]
    ]
    return Grid([Column(name, "left" if name == "loss" else "right") for name in headings], rows, indent=2)


def _losses(record: Record) -> Grid:
    headings = ("T", "mask", "Bayes", "excess", "rank/2n", "runs not optimised")
    rows = [
        (
            str(row["size"]),
            str(row["mask"]),
            f"{row['bayes_loss']:.4f}",
            _interval(row["excess"]),
            f"{row['limit']:.2g}",
            str(row["unoptimised"]),
        )
        for row in record["learned"]
    ]
    return Grid([Column(name, "right") for name in headings], rows, indent=2)


def _downstream(record: Record) -> Grid:
    headings = ("T", "mask", "pretrained", "bound κ_T²ε²", "scratch", "exact", "nothing")
    rows = [
        (
            str(row["size"]),
            str(row["mask"]),
            _interval(row["fitted_head"]),
            "infinite" if row["bound"] is None else at_most(row["bound"]),
            *(_number(row[name]) for name in ("scratch", "oracle", "blind")),
        )
        for row in record["learned"]
    ]
    return Grid([Column(name, "right") for name in headings], rows, indent=2)


def _sinks(record: Record) -> Grid:
    rows = [
        (
            str(row["size"]),
            f"{row['exact']:.4f}",
            f"{row['logit']['value']:.4f} ({row['logit']['low']:.4f} to {row['logit']['high']:.4f})",
            f"{row['standard_error']:.2g}",
        )
        for row in record["sinks"]
    ]
    return Grid(
        [Column(name, "right") for name in ("T", "exact", "trained, median", "standard error of one")], rows, indent=2
    )


def _interval(estimate: Record) -> str:
    low, high = ("infinite" if estimate[end] is None else f"{estimate[end]:.2g}" for end in ("low", "high"))
    return f"{_number(estimate['value'])} ({low} to {high})"


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.3g}"
