"""The sample's part of a certificate: bounds for the junta and the model, and juntas found without the model."""

from dataclasses import replace

import numpy as np

from keyhole.attention import Evaluator, Tabulated
from keyhole.boolean import Junta
from keyhole.boolean.fitting import FittingJuntas, Sample, juntas_that_fit
from keyhole.decimals import at_most
from keyhole.errors import DataError
from keyhole.prover.certificate import ModelCertificate, NetworkFree, Terms
from keyhole.prover.sample.repeats import LEVEL, repeats_of, shared_rows
from keyhole.prover.sample.sample_bound import (
    Identification,
    counts_of,
    half_held_out_bound,
    identify,
    law_doubt,
    occam_bound,
    wrong_answers,
)

SEARCHED = 3  # positions of the juntas that are searched without a network, unless more are assumed


def require_samples(model: Tabulated, sample: Sample | None, held_out: Sample | None, terms: Terms) -> None:
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


def with_sample(shown: ModelCertificate, evaluator: Evaluator, sample: Sample, given: Junta | None) -> ModelCertificate:
    """With what the sample says: of the junta, of the model, and of juntas found without it.

    `given` is the junta of the model as given, before any repair. It, the junta now shown and all that the searches
    found are what is known; each that fits is a rival of the others.
    """
    terms = shown.terms
    repeats = repeats_of(sample[0], terms.law, terms.accepted)
    distinct = (sample[0][repeats.first], sample[1][repeats.first]) if repeats.refuted else sample
    doubt = law_doubt(distinct, terms.law) or repeats.says(terms.law)
    assumed = SEARCHED if terms.assume_junta is None else terms.assume_junta
    among = juntas_that_fit(sample, shown.symbols, assumed, time_limit=terms.time_limit)  # what may be the target
    searched = (
        among if assumed >= SEARCHED else juntas_that_fit(sample, shown.symbols, SEARCHED, time_limit=terms.time_limit)
    )
    read = tuple(junta for junta in (given, shown.junta) if junta is not None)
    among = replace(among, known=(*read, *among.known, *searched.known))
    free_junta = searched.fitting[0] if searched.fitting else None
    wrong = wrong_answers(evaluator, sample)
    errors = repeats.count(wrong) if repeats.refuted else int(np.count_nonzero(wrong))
    shown = replace(
        shown,
        doubt=doubt,
        repeats=repeats,
        model_errors=errors,
        constant_errors=int(min(distinct[1].sum(), (~distinct[1]).sum())),
        network_free=NetworkFree(
            searched,
            None if free_junta is None else occam_bound(free_junta, sample, terms.occam_delta, repeats),
            _identified(free_junta, sample, among, shown, doubt),
        ),
    )
    if shown.junta is None:
        return shown
    judged = occam_bound(shown.junta, sample, terms.occam_delta, repeats)
    halves = [half_held_out_bound(*count, terms.delta) for count in counts_of(wrong, repeats)]
    known = [half for half in halves if half is not None]
    return replace(
        shown,
        judgement=judged,
        identification=_identified(shown.junta, sample, among, shown, doubt),
        held_out=max(known, key=lambda half: half.bound) if len(known) == len(halves) else None,
    )


def _identified(
    junta: Junta | None, sample: Sample, among: FittingJuntas, shown: ModelCertificate, doubt: str
) -> Identification | None:
    terms = shown.terms
    if junta is None or terms.assume_junta is None:
        return None
    spent = terms.delta * terms.accepted
    identification = identify(junta, sample, terms.assume_junta, terms.law, spent, among, doubt, terms.noise)
    return (
        identification if identification.delta is None else replace(identification, delta=terms.delta)
    )  # what is left of kept sets
