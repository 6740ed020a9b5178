"""What norms guarantee as a document: a sentence per theorem, what was refused, growth; and everything explained."""

from collections.abc import Mapping
from typing import Any

from keyhole.decimals import at_least, at_most, surely
from keyhole.show.derivation import derivation_html, derivation_text
from keyhole.show.document import Column, Document, Gap, Grid, Lines
from keyhole.show.folding import abbreviate

Record = Mapping[str, Any]

BY_PATHS = ("Theorem T", "Theorem L", "Theorem P")
PATHS = "Theorems T and L use the path norm P_∞, Theorem P the path norm P. Law: how inputs are distributed."
IDENTITY, TASK = 10, 14  # letters shown of a run's name and of its task


def bound_document(record: Record) -> Document:
    """A sentence per theorem, the samples each needs, what was refused, finite classes, and a table per growth."""
    lines = [*_gap(record), *(guarantee["sentence"] for guarantee in record["guarantees"])]
    if any(guarantee["vacuous"] for guarantee in record["guarantees"]):
        lines.append("VACUOUS: the bound is not below the largest loss, so it says nothing.")
    if any(guarantee["title"].startswith(BY_PATHS) for guarantee in record["guarantees"]):
        lines.append(PATHS)
    if record.get("by_margin"):
        lines.insert(0, record["by_margin"]["sentence"])
    if record.get("construction"):
        lines.append(f"The norms are those of the {record['construction']} construction, which is the best one here.")
    needed = dict(record["samples_for_gap"] or {})
    gap = needed.pop("gap", None)
    lines += [f"{title}: {samples:,} samples for a gap of {gap:g}" for title, samples in needed.items()]
    lines += [f"Not evaluated: {refused['theorem']}. {refused['reason']}" for refused in record["refused"]]
    lines += [f"{entry['name']}: {_outward(entry)}" for entry in record["finite_classes"]]
    if not record["guarantees"]:
        lines.insert(0, f"No theorem applies to {record['source']}, so no gap is promised.")
    elif record["vacuous"]:
        lines.append(f"All of these bounds are vacuous. {record['guarantees'][0]['note']}")
    growth = (element for grown in record["growth"] for element in (Gap(), *_growth(grown)))
    return (Lines("\n".join(lines)), *growth)


def explained_document(record: Record) -> Document:
    """The same, then every derivation, what halving each norm does, and the rivals with their standing."""
    lines = []
    for guarantee in record["guarantees"]:
        of, halved = guarantee["sensitivity"]["of"], guarantee["sensitivity"]["halved"]
        lines += [
            "",
            derivation_text(guarantee),
            "",
            f"if one norm alone is halved: change of {of}",
        ]
        lines += [f"  {norm}: {100 * change:+.0f} %" for norm, change in halved.items()]
        if "reason" in guarantee["sensitivity"]:
            lines.append(f"  none can be told: {guarantee['sensitivity']['reason']}")
    lines += ["", "rivals on the same norms", *map(_rival, record["rivals"])]
    return (*bound_document(record), Lines("\n".join(lines)))


def run_bounds_document(record: Record) -> Document:
    """A row per trained run: its bound and theorem, or none; then each reason once, and the count."""
    rows = [
        (
            run["identity"][:IDENTITY],
            abbreviate(run["task"], TASK),
            f"{run['context']:,}",
            "–" if run["samples"] is None else f"{run['samples']:,}",
            "none" if run["value"] is None else at_most(run["value"]),
            run["theorem"].split(":")[0] + (" (vacuous)" if run["vacuous"] else "") if run["theorem"] else "",
        )
        for run in record["runs"]
    ]
    columns = (
        *(Column(name) for name in ("run", "task")),
        *(Column(name, "right") for name in ("T", "m", "gap at most")),
        Column("by"),
    )
    reasons = [f"{each['runs']:,} without a bound: {each['reason']}" for each in record["reasons"]]
    sure = f"each with probability ≥ {surely(record['delta'])}"
    return (Grid(columns, rows), Lines("\n".join((f"{record['summary']}, {sure}", *reasons))))


def bound_html(record: Record) -> str:
    """Every derivation as HTML."""
    return "".join(derivation_html(guarantee) for guarantee in record["guarantees"])


def _gap(record: Record) -> list[str]:
    """What a gap is a difference of, and of which loss."""
    if not record["guarantees"]:
        return []
    first = record["guarantees"][0]
    lie = "can lie apart" if first["two_sided"] else "can lie apart, the expected loss being larger"
    said = [sentence for sentence in first["valid_if"] if sentence.startswith("the loss is ")]
    losses = [f". The loss: any that is {sentence.removeprefix('the loss is ')}, such as a ramp" for sentence in said]
    gap = "gap: how far the mean loss on the training set and the expected loss on new inputs"
    drawn = "m: training samples; the probability is over their draw"
    if not first["measured"]:
        drawn += f". A bound holds for all models at once whose norms are no larger than {_whose(record)}"
    return [f"{gap} {lie}{''.join(losses)}", drawn]


def _whose(record: Record) -> str:
    """The norms that were put in: given ones, those of a file, or those of a function as it was compiled."""
    source = record["source"]
    if source == "norms":
        return "those given"
    named = record["finite_classes"] and not source.startswith("compiled ")
    return f"those of {'compiled ' if named else ''}{source}"


def _outward(entry: Record) -> str:
    """A figure of finite classes: what no learner goes below rounded down, all else up."""
    if entry["value"] is None:
        return "∞" if entry["value_reason"] == "not finite" else "no number"
    return at_least(entry["value"], 4) if entry["from_below"] else at_most(entry["value"], 4)


def _rival(rival: Record) -> str:
    reason = rival.get("value_reason", "")
    value, remark = "no number", rival.get("remark", "")
    if rival["value"] is not None:
        value = at_most(rival["value"], 4)
    elif reason == "not finite":
        value = "∞"
    elif not remark:
        remark = reason
    known = "; ".join(filter(None, (rival["kind"], rival["source"], remark)))
    return f"  {rival['key']}  {rival['name']}: {rival['quantity']} {value}  [{known}]"


def _growth(grown: Record) -> Document:
    """The samples needed at each context, and the exponent of log T from one to the next."""
    exponents = ("", *(f"{exponent:.3f}" for exponent in grown["exponents_of_log_T"]))
    rows = [
        (f"{context:,}", at_most(samples, 4), exponent)
        for context, samples, exponent in zip(grown["contexts"], grown["samples"], exponents, strict=True)
    ]
    columns = (
        Column("T", at_least=12, gap=1),
        Column("samples needed", at_least=16, gap=1),
        Column("exponent of log T"),
    )
    return (
        Lines(f"{grown['theorem']}; norms {grown['norms']}"),
        Grid(columns, rows, indent=2),
        Lines(f"  limit of the exponent: {grown['limit']}"),
    )
