"""A certificate in words: names in one column, sentences in the other, 80 columns wide; and as a record.

Proofs and counterexamples are about the weights in exact arithmetic or about tables of doubles; the words say which.
"""

from string import ascii_lowercase, ascii_uppercase, digits
from textwrap import wrap
from typing import Any

import numpy as np

from keyhole.boolean.junta import Junta
from keyhole.certifier.certificate import ModelCertificate, NetworkFree
from keyhole.certifier.prove.verify import Verification
from keyhole.certifier.sample.sample_bound import Identification, Judgement
from keyhole.decimals import at_least, at_most, chance

WIDTH, NAMES = 79, 14
SIGNS = f"{digits}{ascii_uppercase}{ascii_lowercase}+/"  # a sign for each symbol of the largest alphabet
DRAWN = 60  # positions of an input that is drawn in full
MEANING = (
    "bounds the probability, over the draw of the training set, that a certificate is issued and wrong; it is not the "
    "probability that this certificate, now issued, is wrong"
)
OF_WEIGHTS = (
    "the model is the function its weights define in exact arithmetic; proofs and counterexamples allow for all "
    "rounding on the way, rates and errors on a sample are counted in double precision"
)
OF_TABLES = (
    "the model is the function that its tables of scores and values, taken as exact, define; rates and errors on a "
    "sample are counted in double precision"
)


def formula(junta: Junta) -> str:
    """The function as a formula over bits; over more symbols, the cells that answer true."""
    function = junta.function()
    if function is not None:
        return str(function)
    names = ", ".join(f"x{place}" for place in junta.positions)
    if junta.table.all() or not junta.table.any():
        return str(int(junta.table[0]))
    cells = [cell for cell, answer in zip(junta.cells(), junta.table.tolist(), strict=True) if answer]
    shown = ", ".join(str(cell) if len(cell) > 1 else f"({cell[0]})" for cell in cells[:8])
    return f"({names}) in {{{shown}{f', … {len(cells) - 8} more' if len(cells) > 8 else ''}}}"


def drawn(sequence: np.ndarray, junta: Junta) -> list[str]:
    """An input: the symbols at the positions that matter, and the others in full or as a count."""
    relevant = ", ".join(f"x{place} = {sequence[place]}" for place in junta.positions) or "no position matters"
    others = np.delete(sequence, list(junta.positions))
    lines = [f"input: {relevant}"]
    if len(sequence) <= DRAWN:
        lines.append("".join(SIGNS[symbol] for symbol in sequence))
        marks = "".join("^" if place in junta.positions else " " for place in range(len(sequence))).rstrip()
        key = [] if junta.symbols <= 10 else [f"({', '.join(_signs(junta.symbols))} for the symbols from 0 on)"]
        return [*lines, *([marks] if marks else []), *key]
    counts = ", ".join(f"{np.count_nonzero(others == symbol)} of symbol {symbol}" for symbol in np.unique(others))
    return [*lines, f"the {len(others)} others: {counts} (--json has them all)"]


def _signs(symbols: int) -> list[str]:
    """The signs of an alphabet, by their runs."""
    runs = [SIGNS[start : min(stop, symbols)] for start, stop in ((0, 10), (10, 36), (36, 62)) if start < symbols]
    return [f"{run[0]}-{run[-1]}" if len(run) > 1 else run for run in runs] + list(SIGNS[62:symbols])


def lines(shown: ModelCertificate) -> list[tuple[str, list[str]]]:
    """Names and paragraphs, in the order in which they are read."""
    told: list[tuple[str, list[str]]] = [("WARNING", [warning]) for warning in warnings(shown)]
    if shown.note:
        told.append(("repaired", [f"before the file was written, as it says: {shown.note}"]))
    if shown.repair is not None:
        told.append(("repair", [f"{shown.repair.name}. {shown.repair.says}"]))
        if shown.before is not None:
            told.append(("", [f"The model as given was {shown.before.status}; all below is about the changed model."]))
    junta = shown.junta
    if junta is None:
        told.append(("function", [f"none found: {shown.extraction.reason}"]))
    else:
        told.append(("function", [formula(junta)]))
        about = "the model" if shown.repair is None else "the model as given"
        share = f"agrees with {about} on {shown.extraction.agreement:.2%} of {shown.extraction.samples:,} inputs"
        told.append(("", [f"reads {junta.sparsity} of {shown.tokens} positions; {share}"]))
    told.append(("status", _status(shown.verification, junta, shown)))
    rates = [str(found) for found in (shown.sampled, shown.chernoff) if found is not None]
    if rates:
        told.append(("disagreement", rates))
    told += _sample_lines(shown)
    told.append(("δ", [f"δ = {chance(shown.terms.delta)} {MEANING}. {_parts(shown)}"]))
    told.append(("assumed", assumptions(shown)))
    told.append(("time", [f"{shown.seconds:.1f} s"]))
    return told


def _status(looked: Verification, junta: Junta | None, shown: ModelCertificate) -> list[str]:
    everywhere = f"all {shown.symbols}^{shown.tokens} inputs"
    if looked.status == "PROVED" and looked.margin is not None and junta is not None:
        return [
            f"PROVED equal to {formula(junta)} on {everywhere}, margin {at_least(looked.margin)}",
            f"({looked.rule}; nothing is said of the target)",
        ]
    if looked.status == "COUNTEREXAMPLE" and looked.counterexample is not None and junta is not None:
        said = f"the model says {looked.model_answer} (output {looked.output:.3g}), the function {looked.junta_answer}"
        return [f"COUNTEREXAMPLE: {said}", *drawn(looked.counterexample, junta)]
    return [f"UNDECIDED on {everywhere}: {looked.reason} ({looked.seconds:.1f} s)"]


def _sample_lines(shown: ModelCertificate) -> list[tuple[str, list[str]]]:
    told: list[tuple[str, list[str]]] = []
    judged = shown.judgement
    if judged is not None:
        told.append(("sample", [_counted(shown, judged)]))
        bound, trivial = shown.error_bound, shown.trivial_error
        if bound is None:
            told.append(("error", [f"no promise about the model: {shown.doubt}"]))
        else:
            vacuous = "; vacuous: no better than always answering the same" if shown.vacuous else ""
            against = f", against samples with {shown.terms.noise}" if shown.terms.noise else ""
            promise = f"promised for the model{against}; fails with probability at most δ"
            told.append(("error", [f"at most {at_most(bound, 4)} ({promise}){vacuous}"]))
        clean = " and no sample is noisy" if shown.terms.noise else ""
        told.append(("trivial", [f"{trivial:.4g}, always answering the same, if the function is the target{clean}"]))
    elif shown.junta is not None:
        told.append(("error", ["nothing can be promised without the training set; give it with --data"]))
    if shown.held_out is not None:
        told.append(("held out", [_held_out(shown)]))
    if shown.network_free is not None:
        told.append(("no network", _network_free(shown.network_free)))
    if shown.identification is not None:
        told.append(("identified", [identification_words(shown.identification)]))
    return told


def _counted(shown: ModelCertificate, judged: Judgement) -> str:
    """How many samples there are, and the errors on them; of rows that repeat beyond chance, how they were counted."""
    errors = f"the function errs on {judged.errors}, the model on {shown.model_errors}"
    repeats = shown.repeats
    if repeats is None or not repeats.refuted:
        return f"{judged.samples:,} labelled inputs: {errors}"
    if judged.samples == repeats.distinct:
        which = "distinct" if repeats.copies == 1 else "first"
        return f"{judged.samples:,} {which} of {repeats.rows:,} labelled inputs: {errors}"
    return (
        f"{repeats.rows:,} labelled inputs, {repeats.distinct:,} distinct: the function errs on {judged.errors} of "
        f"all, which is the worse count, and the model on {shown.model_errors} of the distinct"
    )


def _held_out(shown: ModelCertificate) -> str:
    held = shown.held_out
    if held is None:
        return ""
    ceiling = at_most(held.bound, 4)
    if held.kind == "measured":
        return f"{ceiling}, the ceiling of {held.errors} errors of the model on {held.inputs:,} inputs set aside"
    return (
        f"{ceiling}, if a half of {held.inputs:,} had been set aside and shown as many errors of the model; it "
        "was not: the model saw all of the sample"
    )


def _network_free(free: NetworkFree) -> list[str]:
    found = free.search
    if not found.fitting or free.judgement is None:
        stopped = "" if found.finished else "not searched to the end: "
        return [f"brute-force consistent junta, no network: {stopped}{found.reason}"]
    more = f", one of {len(found.fitting)} of that size" if len(found.fitting) > 1 else ""
    told = f"brute-force consistent junta, no network: {formula(found.fitting[0])}{more}; "
    told += f"error at most {at_most(free.judgement.error_bound, 4)}"
    if free.identification is not None:
        told += f"; identified: {f'yes, by {free.identification.by}' if free.identification.identified else 'no'}"
    return [told if found.finished else f"{told} (not searched to the end: {found.reason})"]


def _identified_by(told: Identification) -> str:
    """The rule, and how far it can be trusted where its assumption holds."""
    if told.delta is None:
        return f"by {told.by} (certain if what is assumed holds)"
    return f"by {told.by} (wrong with probability at most δ = {told.delta:g})"


def identification_words(told: Identification) -> str:
    """Yes or no, why, and what was assumed."""
    verdict = f"yes, the function is the target, {_identified_by(told)}" if told.identified else "no"
    return f"{verdict}: {told.why}. Assumed, and not to be seen in any sample: {told.assumption}."


def warnings(shown: ModelCertificate) -> list[str]:
    """What speaks against model, data or description, a paragraph each; it is printed first."""
    told = []
    errors, constant = shown.model_errors, shown.constant_errors
    if errors and constant is not None and errors >= constant:
        described = ", their description" if shown.described is not None else ""
        told.append(
            f"the model errs on {errors:,} inputs of its own training set, and always answering the same errs on "
            f"{constant:,}. It learned nothing from these data, or the weights{described} and the data do not belong "
            "together."
        )
    for whose, repeats in (("sample", shown.repeats), ("inputs set aside", shown.held_out_repeats)):
        if repeats is not None and repeats.refuted:
            told.append(
                f"the {whose}: {repeats.says(shown.terms.law)}. They are not independent draws of that law. Copies of "
                "a row are counted once; where all rows together say worse, that is taken. Give each row as often as "
                "it was drawn."
            )
    return told


def assumptions(shown: ModelCertificate) -> list[str]:
    """Every assumption, a sentence each."""
    noise = shown.terms.noise
    told = [
        f"inputs are {shown.terms.law}" + ("" if not shown.doubt else f", which is in doubt: {shown.doubt}"),
        OF_WEIGHTS if shown.of_weights else OF_TABLES,
        *shown.assumed,
    ]
    if shown.judgement is not None:
        labelled = f"with {noise}, so its labels are not the target's" if noise else "labelled by one target"
        drawn_like = "new inputs and labels are drawn like it" if noise else "new inputs are drawn like it"
        copied = shown.repeats is not None and shown.repeats.refuted
        drawn_rows = "the distinct rows of the sample are" if copied else "the sample is"
        told.append(f"{drawn_rows} independent draws, {labelled}; {drawn_like}")
        if shown.terms.accepted < 1:
            told.append(
                f"training sets were redrawn and kept with probability {shown.terms.accepted:g}; δ is paid for it"
            )
    if shown.identification is not None:
        told.append(shown.identification.assumption)
    return told


def delta_parts(shown: ModelCertificate) -> dict[str, float]:
    """How δ is spent; identification and a bound from inputs set aside have a δ of their own."""
    terms = shown.terms
    parts = {"sample": terms.occam_delta, "fresh inputs": terms.sampling_delta}
    if shown.identification is not None:
        parts["identification"] = terms.delta * terms.accepted
    if shown.held_out is not None and shown.held_out.kind == "measured":
        parts["held out"] = terms.delta
    return parts


def _parts(shown: ModelCertificate) -> str:
    """The parts in words, and what they come to together: by the union bound, a δ for each promise."""
    parts, delta = delta_parts(shown), shown.terms.delta
    words = f"Of it {chance(parts['sample'])} is for the sample and {chance(parts['fresh inputs'])} for fresh inputs."
    own = [name for name in ("identification", "held out") if name in parts]
    if not own:
        return words
    named = " and ".join({"identification": "identification", "held out": "the held-out bound"}[name] for name in own)
    promises = 1 + len(own)
    have = "has" if len(own) == 1 else "have each"
    return (
        f"{words} {named[0].upper()}{named[1:]} {have} a δ more: that not all {promises} promises hold has probability "
        f"at most {promises}δ = {chance(delta, times=promises)}."
    )


def text(shown: ModelCertificate) -> str:
    """The certificate, ready to print."""
    printed: list[str] = []
    for name, paragraphs in lines(shown):
        rows = [row for part in paragraphs for row in (wrap(part, WIDTH - NAMES) if part.strip(" ^") else [part])]
        printed += [f"{name if index == 0 else '':{NAMES}}{row}".rstrip() for index, row in enumerate(rows)]
    return "\n".join(printed)


def record(shown: ModelCertificate) -> dict[str, Any]:
    """The certificate as plain values, for JSON."""
    junta, looked, judged = shown.junta, shown.verification, shown.judgement
    held, told, free = shown.held_out, shown.identification, shown.network_free
    witness = looked.counterexample
    free_junta = free.search.fitting[0] if free is not None and free.search.fitting else None
    return {
        "function": None if junta is None else formula(junta),
        "positions": None if junta is None else list(junta.positions),
        "table": None if junta is None else [int(answer) for answer in junta.table],
        "context": shown.tokens,
        "symbols": shown.symbols,
        "agreement": shown.extraction.agreement,
        "status": looked.status,
        "reason": looked.reason,
        "margin": looked.margin,
        "counterexample": None if witness is None else [int(symbol) for symbol in witness],
        "model_answer": looked.model_answer,
        "function_answer": looked.junta_answer,
        "output": looked.output,
        "eta": None if shown.disagreement is None else shown.disagreement.rate,
        "eta_kind": None if shown.disagreement is None else shown.disagreement.kind,
        "eta_sampled": None if shown.sampled is None else shown.sampled.rate,
        "eta_chernoff": None if shown.chernoff is None else shown.chernoff.rate,
        "samples": None if judged is None else judged.samples,
        "rows": None if shown.repeats is None else shown.repeats.rows,
        "rows_counted": None if shown.repeats is None else shown.repeats.counted,
        "repeats_chance": None if shown.repeats is None else shown.repeats.chance,
        "errors_on_sample": None if judged is None else judged.errors,
        "model_errors_on_sample": shown.model_errors,
        "error_bound": shown.error_bound,
        "vacuous": shown.vacuous,
        "trivial_error": shown.trivial_error,
        "rarer_label": None if judged is None else judged.rarer_label,
        "held_out_bound": None if held is None else held.bound,
        "held_out_kind": None if held is None else held.kind,
        "no_network": None
        if free is None
        else {
            "function": None if free_junta is None else formula(free_junta),
            "positions": None if free_junta is None else list(free_junta.positions),
            "error_bound": None if free.judgement is None else free.judgement.error_bound,
            "identified": None if free.identification is None else free.identification.identified,
            "identified_by": None if free.identification is None else free.identification.by,
            "searched": free.search.finished,
            "reason": free.search.reason,
        },
        "identified": None if told is None else told.identified,
        "identified_by": None if told is None else told.by,
        "identified_by_enumeration": None if told is None else told.by == "enumeration",
        "identified_by_sample_size": None if told is None else told.by == "sample size",
        "identification_delta": None if told is None else told.delta,
        "identification": None if told is None else identification_words(told),
        "repair": None if shown.repair is None else shown.repair.name,
        "repair_says": None if shown.repair is None else shown.repair.says,
        "repaired_before": shown.note or None,
        "status_before_repair": None if shown.before is None else shown.before.status,
        "warnings": warnings(shown),
        "assumptions": assumptions(shown),
        "description": None if shown.described is None else dict(shown.described),
        "delta": shown.terms.delta,
        "delta_parts": delta_parts(shown),
        "delta_means": f"δ {MEANING}. {_parts(shown)}",
        "branches": looked.branches,
        "verification_seconds": looked.seconds,
        "seconds": shown.seconds,
    }
