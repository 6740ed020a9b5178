"""A certificate as a record: plain values, with warnings, assumptions and promises as sentences.

Proofs and counterexamples are about the weights in exact arithmetic or about tables of doubles; a sentence says which.
"""

from dataclasses import asdict
from typing import Any

from keyhole.boolean import Junta
from keyhole.decimals import chance
from keyhole.prover.certificate import ModelCertificate, NetworkFree
from keyhole.prover.sample.sample_bound import Identification

LISTED = 8  # cells of a function over many symbols that are listed
MEANING = (
    "bounds the probability, over the draw of the training set, that a certificate is issued and wrong; it is not the "
    "probability that this certificate, now issued, is wrong"
)
OF_WEIGHTS = (
    "the model is the function its weights define in exact arithmetic; proofs and counterexamples allow for all "
    "rounding on the way, rates and errors on a sample are counted in double precision"
)
ARITHMETIC = (
    "proofs assume that double precision follows IEEE 754 (rounding to nearest, small numbers not flushed to zero), "
    "and that the linear-algebra library adds n products with an error of at most γ_n = n·u/(1 − n·u) times the sum of "
    "their sizes, u = 2^−53"
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
    listed = ", ".join(str(cell) if len(cell) > 1 else f"({cell[0]})" for cell in cells[:LISTED])
    return f"({names}) in {{{listed}{f', … {len(cells) - LISTED} more' if len(cells) > LISTED else ''}}}"


def certificate_record(certificate: ModelCertificate) -> dict[str, Any]:
    """The certificate as plain values, for JSON; what was not asked for, or not to be had, is None."""
    junta, verification = certificate.junta, certificate.verification
    identification, repeats = certificate.identification, certificate.repeats
    witness, rates = verification.counterexample, (certificate.sampled, certificate.chernoff)
    return {
        "function": None if junta is None else formula(junta),
        "positions": None if junta is None else list(junta.positions),
        "table": None if junta is None else [int(answer) for answer in junta.table],
        "context": certificate.tokens,
        "symbols": certificate.symbols,
        "agreement": certificate.extraction.agreement,
        "status": verification.status,
        "reason": verification.reason,
        "margin": verification.margin,
        "counterexample": None if witness is None else [int(symbol) for symbol in witness],
        "model_answer": verification.model_answer,
        "function_answer": verification.junta_answer,
        "output": verification.output,
        **_of(certificate.disagreement, eta="rate", eta_kind="kind"),
        **_of(certificate.sampled, eta_sampled="rate"),
        **_of(certificate.chernoff, eta_chernoff="rate"),
        **_of(certificate.judgement, samples="samples"),
        **_of(repeats, rows="rows", rows_counted="counted", repeats_chance="chance"),
        **_of(certificate.judgement, errors_on_sample="errors"),
        "model_errors_on_sample": certificate.model_errors,
        "error_bound": certificate.error_bound,
        "vacuous": certificate.vacuous,
        "trivial_error": certificate.trivial_error,
        **_of(certificate.judgement, rarer_label="rarer_label"),
        **_of(certificate.held_out, held_out_bound="bound", held_out_kind="kind"),
        "no_network": None if certificate.network_free is None else _network_free_record(certificate.network_free),
        **_of(identification, identified="identified", identified_by="by"),
        "identified_by_enumeration": None if identification is None else identification.by == "enumeration",
        "identified_by_sample_size": None if identification is None else identification.by == "sample size",
        **_of(identification, identification_delta="delta"),
        "identification": None if identification is None else identification_words(identification),
        **_of(certificate.repair, repair="name", repair_says="says"),
        "repaired_before": certificate.note or None,
        **_of(certificate.before, status_before_repair="status"),
        "warnings": warnings(certificate),
        "assumptions": assumptions(certificate),
        "description": None if certificate.described is None else dict(certificate.described),
        "delta": certificate.terms.delta,
        "delta_parts": delta_parts(certificate),
        "delta_means": f"δ {MEANING}. {_delta_words(certificate)}",
        "branches": verification.branches,
        "verification_seconds": verification.seconds,
        "seconds": certificate.seconds,
        "agreement_inputs": certificate.extraction.samples,
        "rule": verification.rule,
        "disagreement": [str(rate) for rate in rates if rate is not None],
        **_of(repeats, rows_distinct="distinct", rows_written="copies", rows_refuted="refuted"),
        "doubt": certificate.doubt,
        "noise": certificate.terms.noise,
        **_of(certificate.held_out, held_out_errors="errors", held_out_inputs="inputs"),
        "wrong_share": None if certificate.wrong_share is None else asdict(certificate.wrong_share),
        "wrong_share_says": [] if certificate.wrong_share is None else certificate.wrong_share.words,
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


def _identified_by(identification: Identification) -> str:
    """The rule, and how far it can be trusted where its assumption holds."""
    if identification.delta is None:
        return f"by {identification.by} (certain if what is assumed holds)"
    return f"by {identification.by} (wrong with probability at most δ = {chance(identification.delta)})"


def identification_words(identification: Identification) -> str:
    """Yes or no, why, and what was assumed."""
    verdict = (
        f"yes, the function is the target, {_identified_by(identification)}" if identification.identified else "no"
    )
    return f"{verdict}: {identification.why}. Assumed, and not to be seen in any sample: {identification.assumption}."


def warnings(certificate: ModelCertificate) -> list[str]:
    """What speaks against model, data or description, a paragraph each; it is printed first."""
    sentences = []
    errors, constant = certificate.model_errors, certificate.constant_errors
    if errors and constant is not None and errors >= constant:
        described = ", their description" if certificate.described is not None else ""
        sentences.append(
            f"the model errs on {errors:,} inputs of its own training set, and always answering the same errs on "
            f"{constant:,}. It learned nothing from these data, or the weights{described} and the data do not belong "
            "together."
        )
    for whose, repeats in (("sample", certificate.repeats), ("inputs set aside", certificate.held_out_repeats)):
        if repeats is not None and repeats.refuted:
            sentences.append(
                f"the {whose}: {repeats.says(certificate.terms.law)}. They are not independent draws of that law. "
                "Copies of a row are counted once; where all rows together say worse, that is taken. Give each row as "
                "often as it was drawn."
            )
    return sentences


def assumptions(certificate: ModelCertificate) -> list[str]:
    """Every assumption, a sentence each."""
    noise = certificate.terms.noise
    sentences = [
        f"inputs are {certificate.terms.law} (a proof on all inputs does not need this)"
        + ("" if not certificate.doubt else f", which is in doubt: {certificate.doubt}"),
        OF_WEIGHTS if certificate.of_weights else OF_TABLES,
        ARITHMETIC,
        *certificate.assumed,
    ]
    if certificate.judgement is not None:
        labelled = f"with {noise}, so its labels are not the target's" if noise else "labelled by one target"
        drawn_like = "new inputs and labels are drawn like it" if noise else "new inputs are drawn like it"
        copied = certificate.repeats is not None and certificate.repeats.refuted
        drawn_rows = "the distinct rows of the sample are" if copied else "the sample is"
        sentences.append(f"{drawn_rows} independent draws, {labelled}; {drawn_like}")
        if certificate.terms.accepted < 1:
            sentences.append(
                f"training sets were redrawn and kept with probability {certificate.terms.accepted:g}; δ is paid for it"
            )
    if certificate.identification is not None:
        sentences.append(certificate.identification.assumption)
    return sentences


def delta_parts(certificate: ModelCertificate) -> dict[str, float]:
    """How δ is spent, over drawn sets; identification and a bound from inputs set aside have a δ of their own."""
    terms = certificate.terms
    parts = {"sample": terms.occam_delta, "fresh inputs": terms.sampling_delta}
    if certificate.identification is not None:
        parts["identification"] = terms.delta * terms.accepted
    if certificate.held_out is not None and certificate.held_out.kind == "measured":
        parts["held out"] = terms.delta
    if certificate.wrong_share is not None and certificate.wrong_share.drawn:
        parts["wrong share"] = terms.delta
    return parts


def _delta_words(certificate: ModelCertificate) -> str:
    """The parts in words, of kept sets, and what they come to together: by the union bound, a δ for each promise."""
    parts, delta = delta_parts(certificate), certificate.terms.delta
    of_kept = chance(parts["sample"] / certificate.terms.accepted)
    words = f"Of it {of_kept} is for the sample and {chance(parts['fresh inputs'])} for fresh inputs."
    called = {"identification": "identification", "held out": "the held-out bound", "wrong share": "the wrong share"}
    own = [name for name in called if name in parts]
    if not own:
        return words
    named = " and ".join(called[name] for name in own)
    promises = 1 + len(own)
    have = "has" if len(own) == 1 else "have each"
    return (
        f"{words} {named[0].upper()}{named[1:]} {have} a δ more: that not all {promises} promises hold has probability "
        f"at most {promises}δ = {chance(delta, times=promises)}."
    )
