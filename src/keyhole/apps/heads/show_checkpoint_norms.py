"""The norms of a checkpoint's heads as a document: the model, a table per matrix, shares in a bound, the rest."""

from collections.abc import Callable, Iterable, Mapping
from statistics import median
from typing import Any

from keyhole.decimals import brief
from keyhole.show.document import Bars, Column, Document, Facts, Gap, Grid, Heading, Lines

Record = Mapping[str, Any]
ROWS: tuple[tuple[str, str, Callable[[Iterable[float]], float]], ...] = (
    ("trained", "trained", median),
    ("  largest", "trained", max),
    ("random", "random", median),
    ("shuffled", "shuffled", median),
)
NAMES = ("spectral", "frobenius", "columns", "rows", "rank")
HEADINGS = {
    "qk": "W_QK, as M = W_K W_Qᵀ/√k: medians over the heads of a layer; columns are of queries, rows of keys",
    "ov": "W_OV = W_V W_O: medians over the heads of a layer; columns are outputs, rows inputs",
}


def checkpoint_norms_document(record: Record) -> Document:
    """What the record of the norms says."""
    return (
        Facts(_facts(record)),
        *_table(record, "qk"),
        *_table(record, "ov"),
        *_bound(record),
        *_series(record),
        Gap(),
        Heading("not covered by these norms"),
        Lines("\n".join(f"{each['what']}: {each['reason']}" for each in record["not_covered"]) or "nothing"),
        *_unused(record),
    )


def _facts(record: Record) -> list[tuple[str, str]]:
    sizes, layers = record["sizes"], record["distinct_layers"]
    grouped = sizes["key_value_heads"] < sizes["heads"]
    shared = f", {len(layers)} set{'' if len(layers) == 1 else 's'} of weights shared by all (counted once)"
    heads = f"{sizes['heads']} heads" + (f" on {sizes['key_value_heads']} keys and values" if grouped else "")
    shared = shared if len(layers) < sizes["layers"] else ""
    size = f"{sizes['layers']} layers{shared}, {heads}, d = {sizes['width']}, k = {sizes['head_width']}"
    controls = (
        f"random: normal entries of deviation {record['random_deviation']:g}, as before training; shuffled: entries "
        f"of each head's W_Q, W_K, W_V, W_O permuted, so that their norms stay (seed {record['seed']})"
    )
    return [
        ("model", record["source"]),
        ("architecture", record["architecture"]),
        ("sizes", f"{size}, {', '.join(record['number_formats'])}"),
        ("counting", record["counting"]),
        ("controls", controls),
    ]


def _table(record: Record, matrix: str) -> Document:
    """Four rows per layer: the median and the largest as trained, and the medians of both controls."""
    columns = (
        Column("layer", "right"),
        Column("weights"),
        *(Column(name, "right") for name in ("spectral", "Frobenius", "Σ‖column‖", "Σ‖row‖", "stable rank")),
    )
    rows = []
    for layer in record["distinct_layers"]:
        heads = [head for head in record["heads"] if head["layer"] == layer]
        for what, kind, pick in ROWS:
            numbers = [_short(pick(head[kind][f"{matrix}-{name}"] for head in heads)) for name in NAMES]
            rows.append((str(layer + 1) if what == "trained" else "", what, *numbers))
    return (Gap(), Heading(HEADINGS[matrix]), Grid(columns, rows))


def _short(value: float) -> str:
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e4 else brief(value)


def _bound(record: Record) -> Document:
    """By how much a norm bound is vacuous, and the share of each layer."""
    bound = record["stand_in"]
    if bound is None:
        return (Gap(), Heading("in a norm bound"), Lines(f"none: {record['stand_in_is']}"))
    largest = max(bound["shares"]) or 1.0
    bars = [(f"layer {index}", _percent(share), share / largest) for index, share in enumerate(bound["shares"], 1)]
    asked = f"m = {brief(bound['samples'])} samples, context {bound['context']}, δ = {bound['delta']:g}"
    return (
        Gap(),
        Heading("in a norm bound"),
        Lines(f"Theorem D, {asked}: {bound['sentence']}.\n{record['stand_in_is']}"),
        Bars("share of each layer", bars, "(in the sum that is cubed to the capacity)"),
    )


def _percent(share: float) -> str:
    return "< 0.1 %" if 0 < share < 0.001 else f"{100 * share:.1f} %"


def _series(record: Record) -> Document:
    """One row per checkpoint: medians of the layers' medians, and how far the heads moved."""
    if not record["series"]:
        return ()
    columns = (
        Column("", "right"),
        Column("checkpoint"),
        *(Column(name, "right") for name in ("‖W_QK‖₂", "‖W_OV‖₂", "W_QK moved", "W_OV moved")),
    )
    rows = [
        (
            str(number),
            moment["source"],
            _short(median(moment["medians"]["qk-spectral"])),
            _short(median(moment["medians"]["ov-spectral"])),
            f"{100 * median(moment['moved_score']):.1f} %",
            f"{100 * median(moment['moved_value']):.1f} %",
        )
        for number, moment in enumerate(record["series"], 1)
    ]
    note = "medians over layers of medians over heads; moved: ‖W − W₁‖_F/‖W₁‖_F from the first checkpoint"
    return (Gap(), Heading("series"), Grid(columns, rows), Lines(note))


def _unused(record: Record) -> Document:
    """The tensors that were not used, and why."""
    if not record["unused"]:
        return ()
    by_reason: dict[str, list[str]] = {}
    for each in record["unused"]:
        by_reason.setdefault(each["reason"], []).append(each["name"])
    lines = []
    for reason, names in by_reason.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        lines.append(f"{', '.join(names[:3])}{more}: {reason}")
    return (Gap(), Heading("tensors not used"), Lines("\n".join(lines)))
