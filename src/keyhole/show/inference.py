"""Attention beside the exact posterior as a document: a table over sizes for each estimator, slopes, theory last."""

from collections.abc import Mapping
from typing import Any

from keyhole.show.document import Column, Document, Gap, Grid, Lines

Record = Mapping[str, Any]

COLUMNS = (  # of one width in every table, so that those below each other line up
    Column("T", "right", at_least=6),
    Column("from the posterior mean", at_least=23, gap=1),
    Column("exact", at_least=10, gap=1),
    Column("from E[v|q,z]", at_least=23, gap=1),
    Column("exact"),
)


def inference_document(record: Record) -> Document:
    """A table per estimator, and how to read it, from the record of the answer."""
    given = "given the keys that were drawn" if record["exact_given_keys"] else "over all draws"
    asked = f"{record['model']}: {record['repeats']} draws of a latent and its tokens (repeats), seed {record['seed']}."
    note = (
        "Each table is about one kind of attention as an estimator from T tokens. Its output is compared with the "
        "posterior mean (the exact Bayesian answer) and with E[v|q,z] (the answer if the latent z were known; v: "
        "value, q: query). The columns have the squared distance from each: mean ± standard error over the repeats, "
        f"and beside it, exact, its expectation {given}. slope: of the logarithm of the column against log T, with a "
        "95 % interval from resampled repeats."
    )
    tables = (element for each in record["estimators"] for element in (Gap(), *estimator_document(each)))
    return (Lines(asked, hang=0), Lines(note, hang=0), *tables)


def estimator_document(record: Record) -> Document:
    """A table over sizes, slopes below, theory last."""
    identical = record["is_the_posterior_mean"]
    rows: list[tuple[str, ...]] = [
        (
            f"{point['size']:,}",
            "0 up to rounding" if identical else _mean(point, "gap"),
            "0" if identical else _number(point["gap_exact"], "{:.3e}"),
            _mean(point, "error"),
            _number(point["error_exact"], "{:.3e}"),
        )
        for point in record["points"]
    ]
    slopes = record["gap_slope"], record["error_slope"]
    if any(slopes):
        exact = (_number(record[f"{of}_slope_exact"], "{:.3f}") for of in ("gap", "error"))
        rows.append(("slope", *(words for pair in zip(map(_slope, slopes), exact, strict=True) for words in pair)))
    theory = record["theory"]["words"]
    return (
        Lines(f"{record['attention']} ({record['settings']})"),
        Grid(COLUMNS, rows, indent=2),
        *([] if theory is None else [Lines(f"  theory: {theory}")]),
    )


def _mean(point: Record, of: str) -> str:
    return f"{_number(point[of], '{:.3e}')} ± {_number(point[f'{of}_standard_error'], '{:.1e}')}"


def _slope(slope: Record | None) -> str:
    """A slope with its interval."""
    return "" if slope is None else f"{slope['value']:.2f} ({slope['low']:.2f} to {slope['high']:.2f})"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)
