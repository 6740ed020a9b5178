"""A certificate as a record: plain values, with warnings, assumptions and promises as sentences.

Proofs and counterexamples are about the weights in exact arithmetic or about tables of doubles; a sentence says which.
"""

from typing import Any

from keyhole.boolean.junta import Junta
from keyhole.certifier.certificate import ModelCertificate, NetworkFree
from keyhole.certifier.sample.sample_bound import Identification
from keyhole.decimals import chance

LISTED = 8  # cells of a function over many symbols that are listed
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
    shown = ", ".join(str(cell) if len(cell) > 1 else f"({cell[0]})" for cell in cells[:LISTED])
    return f"({names}) in {{{shown}{f', … {len(cells) - LISTED} more' if len(cells) > LISTED else ''}}}"


def certificate_record(shown: ModelCertificate) -> dict[str, Any]:
    """The certificate as plain values, for JSON; what was not asked for, or not to be had, is None."""
    junta, looked, told, repeats = shown.junta, shown.verification, shown.identification, shown.repeats
    witness, rates = looked.counterexample, (shown.sampled, shown.chernoff)
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
        **_of(shown.disagreement, eta="rate", eta_kind="kind"),
        **_of(shown.sampled, eta_sampled="rate"),
        **_of(shown.chernoff, eta_chernoff="rate"),
        **_of(shown.judgement, samples="samples"),
        **_of(repeats, rows="rows", rows_counted="counted", repeats_chance="chance"),
        **_of(shown.judgement, errors_on_sample="errors"),
        "model_errors_on_sample": shown.model_errors,
        "error_bound": shown.error_bound,
        "vacuous": shown.vacuous,
        "trivial_error": shown.trivial_error,
        **_of(shown.judgement, rarer_label="rarer_label"),
        **_of(shown.held_out, held_out_bound="bound", held_out_kind="kind"),
        "no_network": None if shown.network_free is None else _network_free_record(shown.network_free),
        **_of(told, identified="identified", identified_by="by"),
        "identified_by_enumeration": None if told is None else told.by == "enumeration",
        "identified_by_sample_size": None if told is None else told.by == "sample size",
        **_of(told, identification_delta="delta"),
        "identification": None if told is None else identification_words(told),
        **_of(shown.repair, repair="name", repair_says="says"),
        "repaired_before": shown.note or None,
        **_of(shown.before, status_before_repair="status"),
        "warnings": warnings(shown),
        "assumptions": assumptions(shown),
        "description": None if shown.described is None else dict(shown.described),
        "delta": shown.terms.delta,
        "delta_parts": delta_parts(shown),
        "delta_means": f"δ {MEANING}. {_parts(shown)}",
        "branches": looked.branches,
        "verification_seconds": looked.seconds,
        "seconds": shown.seconds,
        "agreement_inputs": shown.extraction.samples,
        "rule": looked.rule,
        "disagreement": [str(rate) for rate in rates if rate is not None],
        **_of(repeats, rows_distinct="distinct", rows_written="copies", rows_refuted="refuted"),
        "doubt": shown.doubt,
        "noise": shown.terms.noise,
        **_of(shown.held_out, held_out_errors="errors", held_out_inputs="inputs"),
    }


def _network_free_record(free: NetworkFree) -> dict[str, Any]:
    """The junta that was found without the model, as plain values."""
    junta = free.search.fitting[0] if free.search.fitting else None
    return {
        "function": None if junta is None else formula(junta),
        "positions": None if junta is None else list(junta.positions),
        **_of(free.judgement, error_bound="error_bound"),
        **_of(free.identification, identified="identified", identified_by="by"),
        "searched": free.search.finished,
        "reason": free.search.reason,
        "fitting": len(free.search.fitting),
    }


def _of(part: object | None, **names: str) -> dict[str, Any]:
    """Values of a part, each under its name in the record; None where there is no such part."""
    return {name: None if part is None else getattr(part, attribute) for name, attribute in names.items()}


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
