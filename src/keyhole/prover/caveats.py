"""Warnings and assumptions of a certificate, a sentence each."""

from keyhole.prover.certificate import ModelCertificate

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


def warnings(certificate: ModelCertificate) -> list[str]:
    """Return warnings about the model, the data or the description."""
    sentences = []
    errors, constant = certificate.model_errors, certificate.constant_errors
    if errors and constant is not None and errors >= constant:
        described = ", their description" if certificate.described is not None else ""
        sentences.append(
            f"the model errs on {errors:,} inputs of its own training set, and always answering the same errs on "
            f"{constant:,}. It learned nothing from these data, or the weights{described} and the data do not belong "
            "together."
        )
    if certificate.described is not None and not certificate.described.get("probes"):
        sentences.append("the description of the weights was not tested: add outputs of the original model as probes.")
    for whose, repeats in (("sample", certificate.repeats), ("inputs set aside", certificate.held_out_repeats)):
        if repeats is not None and repeats.refuted:
            sentences.append(
                f"the {whose}: {repeats.says(certificate.terms.law)}. They are not independent draws of that law. "
                "Copies of a row are counted once; where all rows together say worse, that is taken. Give each row as "
                "often as it was drawn."
            )
    return sentences


def assumptions(certificate: ModelCertificate) -> list[str]:
    """Return every assumption, a sentence each."""
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
