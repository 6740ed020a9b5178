"""A certificate as a document: names, and what is said under each."""

from collections import Counter
from collections.abc import Mapping
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

from keyhole.decimals import at_most, chance, margin, percent
from keyhole.show.document import Document, Paragraphs
from keyhole.show.folding import abbreviate

SPENDS_DELTA = ("samples", "disagreement", "wrong_share_says", "held_out_bound", "identification")

Record = Mapping[str, Any]
Rows = list[tuple[str, list[str]]]

SIGNS = f"{digits}{ascii_uppercase}{ascii_lowercase}+/"  # a sign for each symbol of the largest alphabet
RUNS = ((0, 10), (10, 36), (36, 62))  # of signs that follow each other
NAMED, LONG = 60, 400  # letters of a function, and symbols of an input, that are written out
GIVE = "give the data that the model was trained on"
DRAWN = 60  # positions of an input that is drawn in full


def certificate_document(record: Record) -> Document:
    """The certificate, in the order in which it is read; δ only where something is promised with it."""
    rows: Rows = [("WARNING", [warning]) for warning in record["warnings"]]
    rows += _repairs(record)
    rows += _function(record)
    rows.append(("status", _status(record)))
    if record.get("target"):
        rows.append(("target", _target(record, record["target"])))
    if record["disagreement"]:
        rows.append(("disagreement", record["disagreement"]))
    if record["wrong_share_says"]:
        rows.append(("wrong on", record["wrong_share_says"]))
    rows += _sample(record)
    if any(record[name] for name in SPENDS_DELTA):
        rows.append(("δ", [f"δ = {chance(record['delta'])} {record['delta_means'].removeprefix('δ ')}"]))
    rows.append(("assumed", record["assumptions"]))
    rows.append(("time", [f"{record['seconds']:.1f} s"]))
    return (Paragraphs(rows, at_least=len("disagreement")),)


def _repairs(record: Record) -> Rows:
    """What was changed in the model: before its file was written, and now."""
    rows: Rows = []
    if record["repaired_before"]:
        rows.append(("repaired", [f"before the file was written, as it says: {record['repaired_before']}"]))
    if record["repair"] is not None:
        rows.append(("repair", [f"{record['repair']}. {record['repair_says']}"]))
        if record["status_before_repair"] is not None:
            before = f"The model as given was {record['status_before_repair']}; all below is about the changed model."
            rows.append(("", [before]))
    return rows


def _function(record: Record) -> Rows:
    """The function that was read off, and how often it agrees with the model."""
    if record["function"] is None:
        return [("function", [f"none found: {record['reason']}"])]
    about = "the model" if record["repair"] is None else "the model as given"
    share = f"agrees with {about} on {percent(record['agreement'], 2)} of {record['agreement_inputs']:,} random inputs"
    reads = f"found in the weights; reads {len(record['positions'])} of {record['context']} positions; {share}"
    return [("function", [record["function"]]), ("", [reads])]


def _status(record: Record) -> list[str]:
    """PROVED, COUNTEREXAMPLE or UNDECIDED, with what that means here."""
    everywhere = f"all {record['symbols']}^{record['context']} inputs"
    known = record["function"] is not None
    if record["status"] == "PROVED" and record["margin"] is not None and known:
        return [
            f"PROVED equal to {record['function']} on {everywhere}, margin {margin(record['margin'])}",
            f"({record['rule']}; whether the function is the intended one is not asked here)",
        ]
    if record["status"] == "COUNTEREXAMPLE" and record["counterexample"] is not None and known:
        model = f"the model says {record['model_answer']} (output {record['output']:.3g})"
        return [f"COUNTEREXAMPLE: {model}, the function {record['function_answer']}", *draw_counterexample(record)]
    return [f"UNDECIDED on {everywhere}: {record['reason']} ({record['verification_seconds']:.1f} s)"]


def _target(record: Record, target: Record) -> list[str]:
    """What became of the function that a run was trained on, where it counts too many positions for a table."""
    what = f"{abbreviate(target['function'], NAMED)}, which counts {target['positions']} positions"
    everywhere = f"all {record['symbols']}^{record['context']} inputs"
    if target["status"] == "PROVED":
        return [f"PROVED equal to {what}, on {everywhere}, margin {margin(target['margin'])}"]
    if target["status"] == "COUNTEREXAMPLE":
        shown = target["counterexample"]
        word = (
            "".join(SIGNS[symbol] for symbol in shown) if len(shown) <= LONG else f"{len(shown)} symbols, in the record"
        )
        return [f"NOT equal to {what}: the model's output is {target['output']:.3g} on one input", f"input: {word}"]
    return [f"UNDECIDED against {what}: {target['reason']} ({target['seconds']:.1f} s)"]


def draw_counterexample(record: Record) -> list[str]:
    """A counterexample: the symbols at the positions that matter, and the others in full or as a count.

    >>> draw_counterexample({"counterexample": [0, 1, 1], "positions": [1], "symbols": 2})
    ['input: x1 = 1', '011', ' ^']
    """
    sequence, positions, symbols = record["counterexample"], record["positions"], record["symbols"]
    relevant = ", ".join(f"x{place} = {sequence[place]}" for place in positions) or "no position matters"
    lines = [f"input: {relevant}"]
    if len(sequence) <= DRAWN:
        lines.append("".join(SIGNS[symbol] for symbol in sequence))
        marks = "".join("^" if place in positions else " " for place in range(len(sequence))).rstrip()
        key = [] if symbols <= len(digits) else [f"({', '.join(_signs(symbols))} for the symbols from 0 on)"]
        return [*lines, *([marks] if marks else []), *key]
    others = [symbol for place, symbol in enumerate(sequence) if place not in positions]
    counts = ", ".join(f"{count} of symbol {symbol}" for symbol, count in sorted(Counter(others).items()))
    return [*lines, f"the {len(others)} others: {counts} (the record has them all)"]


def _signs(symbols: int) -> list[str]:
    """The signs of an alphabet, by their runs."""
    runs = [SIGNS[start : min(stop, symbols)] for start, stop in RUNS if start < symbols]
    return [f"{run[0]}-{run[-1]}" if len(run) > 1 else run for run in runs] + list(SIGNS[RUNS[-1][1] : symbols])


def _sample(record: Record) -> Rows:
    """What the sample promises of the model, and what it says without the model."""
    rows: Rows = []
    if record["samples"] is not None:
        rows += [
            ("sample", [_sample_sentence(record)]),
            ("error bound", [_error(record)]),
            ("trivial", [_trivial(record)]),
        ]
    elif record["function"] is not None:
        rows.append(("error bound", [f"none for new inputs, as no training set was given; {GIVE}"]))
    if record["held_out_bound"] is not None:
        rows.append(("held out", [_held_out(record)]))
    if record["no_network"] is not None:
        rows.append(("no network", [_no_network(record["no_network"])]))
    if record["identification"] is not None:
        rows.append(("identified", [record["identification"]]))
    return rows


def _sample_sentence(record: Record) -> str:
    """How many samples there are, and the errors on them; of rows that repeat beyond chance, how they were counted."""
    samples, rows, distinct = record["samples"], record["rows"], record["rows_distinct"]
    errors = f"the function errs on {record['errors_on_sample']}, the model on {record['model_errors_on_sample']}"
    if not record["rows_refuted"]:
        return f"{samples:,} labelled inputs: {errors}"
    if samples == distinct:
        which = "distinct" if record["rows_written"] == 1 else "first"
        return f"{samples:,} {which} of {rows:,} labelled inputs: {errors}"
    return (
        f"{rows:,} labelled inputs, {distinct:,} distinct: the function errs on {record['errors_on_sample']} of all, "
        f"which is the worse count, and the model on {record['model_errors_on_sample']} of the distinct"
    )


def _error(record: Record) -> str:
    if record["error_bound"] is None:
        return f"no promise about the model: {record['doubt']}"
    vacuous = "; vacuous: no better than always answering the same" if record["vacuous"] else ""
    against = f", against samples with {record['noise']}" if record["noise"] else ""
    promise = f"promised for the model{against}; fails with probability at most δ"
    return f"at most {at_most(record['error_bound'], 4)} ({promise}){vacuous}"


def _trivial(record: Record) -> str:
    clean = " and no sample is noisy" if record["noise"] else ""
    return f"{record['trivial_error']:.4g}: the error of a constant answer, if the function is the target{clean}"


def _held_out(record: Record) -> str:
    ceiling, errors, inputs = (record[f"held_out_{name}"] for name in ("bound", "errors", "inputs"))
    if record["held_out_kind"] == "measured":
        return f"at most {at_most(ceiling, 4)}, from {errors} errors of the model on {inputs:,} inputs set aside"
    return (
        f"{at_most(ceiling, 4)} would be the bound if half of the sample ({inputs:,} inputs) had been set aside and "
        "had shown as many errors; none was set aside: the model saw all of it"
    )


def _no_network(free: Record) -> str:
    """The smallest junta that fits the sample, found by trying all."""
    if free["error_bound"] is None:
        stopped = "" if free["searched"] else "not searched to the end: "
        return f"search without a network: {stopped}{free['reason']}"
    more = f", one of {free['fitting']} of that size" if free["fitting"] > 1 else ""
    words = f"search without a network: the smallest function that fits is {free['function']}{more}; "
    words += f"error at most {at_most(free['error_bound'], 4)}"
    if free["identified"] is not None:
        by = f"yes, by {free['identified_by']}" if free["identified"] else "no"
        words += f"; identified as the target: {by}"
    return words if free["searched"] else f"{words} (not searched to the end: {free['reason']})"
