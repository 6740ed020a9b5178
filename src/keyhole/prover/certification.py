"""Certify a model: read a junta off, compare the two on every input, and add what its training set promises."""

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

import numpy as np

from keyhole.attention import Evaluator, Tabulated
from keyhole.boolean import Junta, uniform_law
from keyhole.boolean.fitting import FittingJuntas, Sample, juntas_that_fit
from keyhole.decimals import at_most
from keyhole.errors import DataError
from keyhole.progress import Progress, Watch, ignore
from keyhole.prover.certificate import ModelCertificate, NetworkFree, Terms
from keyhole.prover.extraction.extraction import extract
from keyhole.prover.proof.equal_to_function import prove_equal
from keyhole.prover.proof.lower_bound import Verification
from keyhole.prover.proof.tables import Drift
from keyhole.prover.sample.repeats import LEVEL, repeats_of, shared_rows
from keyhole.prover.sample.sample_bound import (
    Identification,
    counts_of,
    half_held_out_bound,
    held_out_bound,
    identify,
    law_doubt,
    occam_bound,
    sampled_disagreement,
    wrong_answers,
)

SEARCHED = 3  # positions of the juntas that are searched without a network, unless more are assumed


def certificate_of(
    model: Tabulated,
    sample: Sample | None = None,
    *,
    drifts: Sequence[Drift] | None = None,
    of_weights: bool = True,
    held_out: Sample | None = None,
    terms: Terms | None = None,
    watch: Watch = ignore,
) -> ModelCertificate:
    """Everything that can be settled about a model, given the sample it was trained on or none.

    `model`, `drifts` and `of_weights` are as `certifiable` returns them. The sample must be the training set, or drawn
    like it: independent inputs with the labels of one target, or, where `terms.noise` says so, with noise.
    """
    began = monotonic()
    terms = terms or Terms(uniform_law(model.symbols))
    if sample is not None or held_out is not None:
        _require_samples(model, sample, held_out, terms)
    watch(Progress(0, None, "reading off the function"))
    evaluator = Evaluator(model)
    extraction = extract(evaluator, seed=terms.seed, law=terms.law)
    none = Verification("UNDECIDED", reason=extraction.reason)
    found = ModelCertificate(model.tokens, model.symbols, terms, extraction, none, 0.0)
    if extraction.junta is not None:
        watch(Progress(1, None, "comparing it with the model on every input"))
        verification = prove_equal(model, extraction.junta, drifts=drifts, time_limit=terms.time_limit)
        found = replace(found, verification=verification, of_weights=of_weights and drifts is not None)
        if terms.repair and verification.status != "PROVED":
            from keyhole.prover.repair import repaired  # noqa: PLC0415  (only where it is asked for)

            watch(Progress(2, None, "repairing the model"))
            found, evaluator = repaired(found, evaluator, sample)
    if (junta := found.junta) is not None and found.status != "PROVED":
        watch(Progress(3, None, f"comparing the two on {terms.fresh:,} fresh inputs"))
        from keyhole.prover.wrong_share import wrong_share  # noqa: PLC0415  (only without a proof)

        rate = sampled_disagreement(
            evaluator, junta, terms.law, delta=terms.sampling_delta, seed=terms.seed, inputs=terms.fresh
        )
        watch(Progress(4, None, "asking how rare a difference is"))
        started = monotonic()
        share = wrong_share(
            evaluator,
            junta,
            terms.law,
            delta=terms.delta,
            drifts=drifts if found.repair is None else None,
            counterexample=found.verification.counterexample,
            seed=terms.seed,
            late=lambda: monotonic() - started > terms.time_limit,
        )
        found = replace(found, sampled=rate, wrong_share=share)
    if sample is not None:
        watch(Progress(5, None, "asking the sample"))
        found = _with_sample(found, evaluator, sample, extraction.junta)
    if held_out is not None:
        repeats = repeats_of(held_out[0], terms.law)
        bound = held_out_bound(evaluator, held_out, terms.delta, repeats)
        found = replace(found, held_out=bound, held_out_repeats=repeats)
    return replace(found, seconds=monotonic() - began)


def _require_samples(model: Tabulated, sample: Sample | None, held_out: Sample | None, terms: Terms) -> None:
    """Refuse empty samples, other lengths or alphabets than the model's, and inputs set aside that were trained on."""
    for given in (sample, held_out):
        if given is None:
            continue
        inputs, labels = given
        if not len(labels) or len(labels) != len(inputs):
            raise DataError(
                f"{len(inputs)} inputs came with {len(labels)} labels; give at least one, and a label each."
            )
        if inputs.shape[1] != model.tokens:
            raise DataError(
                f"The data have {inputs.shape[1]} positions, and the model reads {model.tokens}; give data of that "
                "length."
            )
        low, high = int(inputs.min()), int(inputs.max())
        if low < 0 or high >= model.symbols:
            raise DataError(
                f"The data hold the symbol {low if low < 0 else high}, and the model's alphabet runs from 0 to "
                f"{model.symbols - 1}; give the data it was made for."
            )
    if sample is not None and held_out is not None:
        shared, chance = shared_rows(sample[0], held_out[0], terms.law, terms.accepted)
        if chance < LEVEL:
            raise DataError(
                f"{shared:,} of the {len(held_out[0]):,} inputs set aside are training inputs too, and independent "
                f"draws of {terms.law} share so many with probability at most {at_most(chance, 2)}. Give labelled "
                "inputs that the model never saw."
            )


def _with_sample(
    found: ModelCertificate, evaluator: Evaluator, sample: Sample, unrepaired: Junta | None
) -> ModelCertificate:
    """Add what the sample says of the junta, of the model, and of juntas found without it.

    Known functions are the junta, that of the model before any repair, and all that the searches found; each that fits
    is a rival of the others.
    """
    terms = found.terms
    repeats = repeats_of(sample[0], terms.law, terms.accepted)
    distinct = (sample[0][repeats.first], sample[1][repeats.first]) if repeats.refuted else sample
    doubt = law_doubt(distinct, terms.law) or repeats.says(terms.law)
    assumed = SEARCHED if terms.assume_junta is None else terms.assume_junta
    among = juntas_that_fit(sample, found.symbols, assumed, time_limit=terms.time_limit)  # what may be the target
    searched = among
    if assumed < SEARCHED:
        searched = juntas_that_fit(sample, found.symbols, SEARCHED, time_limit=terms.time_limit)
    read = tuple(junta for junta in (unrepaired, found.junta) if junta is not None)
    among = replace(among, known=(*read, *among.known, *searched.known))
    free_junta = searched.fitting[0] if searched.fitting else None
    wrong = wrong_answers(evaluator, sample)
    errors = repeats.count(wrong) if repeats.refuted else int(np.count_nonzero(wrong))
    found = replace(
        found,
        doubt=doubt,
        repeats=repeats,
        model_errors=errors,
        constant_errors=int(min(distinct[1].sum(), (~distinct[1]).sum())),
        network_free=NetworkFree(
            searched,
            None if free_junta is None else occam_bound(free_junta, sample, terms.occam_delta, repeats),
            _identified(free_junta, sample, among, found, doubt),
        ),
    )
    if found.junta is None:
        return found
    judged = occam_bound(found.junta, sample, terms.occam_delta, repeats)
    halves = [half_held_out_bound(*count, terms.delta) for count in counts_of(wrong, repeats)]
    known = [half for half in halves if half is not None]
    return replace(
        found,
        judgement=judged,
        identification=_identified(found.junta, sample, among, found, doubt),
        held_out=max(known, key=lambda half: half.bound) if len(known) == len(halves) else None,
    )


def _identified(
    junta: Junta | None, sample: Sample, among: FittingJuntas, found: ModelCertificate, doubt: str
) -> Identification | None:
    terms = found.terms
    if junta is None or terms.assume_junta is None:
        return None
    spent = terms.delta * terms.accepted
    identification = identify(junta, sample, terms.assume_junta, terms.law, spent, among, doubt, terms.noise)
    paid = identification.delta is not None  # δ is what is left of kept sets
    return replace(identification, delta=terms.delta) if paid else identification
