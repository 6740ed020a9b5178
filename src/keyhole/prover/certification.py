"""Certify a model: read a junta off, compare the two on every input, and add what its training set promises."""

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from keyhole.attention import Evaluator, Tabulated
from keyhole.boolean import uniform_law
from keyhole.errors import AssumptionError
from keyhole.progress import Progress, Watch, ignore
from keyhole.prover.certificate import ModelCertificate, Terms
from keyhole.prover.extraction.extraction import extract
from keyhole.prover.proof.equal_to_function import prove_equal
from keyhole.prover.proof.tables import Drift
from keyhole.prover.proof.verification import Verification
from keyhole.prover.sample.sample_bound import sampled_disagreement

if TYPE_CHECKING:
    from keyhole.boolean.fitting import Sample


def certificate_of(
    model: Tabulated,
    sample: "Sample | None" = None,
    *,
    drifts: Sequence[Drift] | None = None,
    of_weights: bool = True,
    held_out: "Sample | None" = None,
    terms: Terms | None = None,
    watch: Watch = ignore,
) -> ModelCertificate:
    """Everything that can be settled about a model, given the sample it was trained on or none.

    `model`, `drifts` and `of_weights` are as `certifiable` returns them. The sample must be the training set, or drawn
    like it: independent inputs with the labels of one target, or, where `terms.noise` says so, with noise.
    """
    began = monotonic()
    terms = terms or Terms(uniform_law(model.symbols))
    if terms.law.symbols != model.symbols:
        raise AssumptionError(
            f"The law draws {terms.law.symbols} symbols, and the model reads {model.symbols}; make them equal."
        )
    if sample is not None or held_out is not None:
        from keyhole.prover import evidence  # noqa: PLC0415  (only with a sample)
        from keyhole.prover.sample.repeats import repeats_of  # noqa: PLC0415
        from keyhole.prover.sample.sample_bound import held_out_bound  # noqa: PLC0415

        evidence.require_samples(model, sample, held_out, terms)
    watch(Progress(0, None, "reading off the function"))
    evaluator = Evaluator(model)
    read = extract(evaluator, seed=terms.seed, largest=terms.largest, law=terms.law)
    if read.junta is None:
        none = Verification("UNDECIDED", reason=read.reason)
        shown = ModelCertificate(model.tokens, model.symbols, terms, read, none, 0.0)
    else:
        watch(Progress(1, None, "comparing it with the model on every input"))
        looked = prove_equal(model, read.junta, drifts=drifts, time_limit=terms.time_limit)
        shown = ModelCertificate(
            model.tokens, model.symbols, terms, read, looked, 0.0, of_weights=of_weights and drifts is not None
        )
        if terms.repair and looked.status != "PROVED":
            from keyhole.prover.repair import repaired  # noqa: PLC0415  (only where it is asked for)

            watch(Progress(2, None, "repairing the model"))
            shown, evaluator = repaired(shown, evaluator, sample)
    if (junta := shown.junta) is not None and shown.status != "PROVED":
        watch(Progress(3, None, f"comparing the two on {terms.fresh:,} fresh inputs"))
        from keyhole.prover.wrong_share import wrong_share  # noqa: PLC0415  (only without a proof)

        rate = sampled_disagreement(
            evaluator, junta, terms.law, delta=terms.sampling_delta, seed=terms.seed, inputs=terms.fresh
        )
        watch(Progress(4, None, "asking how rare a difference is"))
        asked = monotonic()
        share = wrong_share(
            evaluator,
            junta,
            terms.law,
            delta=terms.delta,
            drifts=drifts if shown.repair is None else None,
            counterexample=shown.verification.counterexample,
            seed=terms.seed,
            late=lambda: monotonic() - asked > terms.time_limit,
        )
        shown = replace(shown, sampled=rate, wrong_share=share)
    if sample is not None:
        watch(Progress(5, None, "asking the sample"))
        shown = evidence.with_sample(shown, evaluator, sample, read.junta)
    if held_out is not None:
        repeats = repeats_of(held_out[0], terms.law)
        bound = held_out_bound(evaluator, held_out, terms.delta, repeats)
        shown = replace(shown, held_out=bound, held_out_repeats=repeats)
    return replace(shown, seconds=monotonic() - began)
