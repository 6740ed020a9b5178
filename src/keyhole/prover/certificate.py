"""The certificate: what a model computes, whether that is proved, and what error its training set promises.

Three separate steps: the model equals a junta on all inputs (a proof, a counterexample, or neither); the junta is near
the target (a bound from the sample); so the model is, up to the rate at which model and junta disagree. The model is
the function of its weights in exact arithmetic, where they are known, else of its tables in double precision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np

from keyhole.arrays import Bool
from keyhole.attention import Evaluator, Tabulated
from keyhole.boolean import Junta, SymbolLaw, uniform_law, without_ignored
from keyhole.boolean.fitting import FittingJuntas, Sample, juntas_that_fit
from keyhole.bounds import failure, kept_share
from keyhole.decimals import at_most
from keyhole.errors import ArgumentError, AssumptionError, DataError
from keyhole.progress import Progress, Watch, ignore
from keyhole.prover.extraction.extraction import Extraction, agreement, extract
from keyhole.prover.proof.equal_to_function import Verification, verify
from keyhole.prover.proof.tables import Drift
from keyhole.prover.repair import Repair, projected_junta, sharpened, sink_projection
from keyhole.prover.sample.disagreement import FRESH, Disagreement, sampled_disagreement
from keyhole.prover.sample.repeats import LEVEL, Repeats, repeats_of, shared_rows
from keyhole.prover.sample.sample_bound import (
    HeldOut,
    Identification,
    Judgement,
    counts_of,
    half_held_out_bound,
    held_out_bound,
    identify,
    law_doubt,
    occam_bound,
)
from keyhole.prover.wrong_share import WrongShare, wrong_share
from keyhole.verdicts import CertificateStatus

SET_ASIDE = 0.01  # the share of δ kept, before anything is seen, for a disagreement rate found by sampling
SEARCHED = 3  # positions of the juntas that are searched without a network, unless more are assumed


@dataclass(frozen=True)
class Terms:
    """What a certificate is asked for: settled before anything is looked at."""

    law: SymbolLaw
    delta: float = 0.01
    accepted: float = 1.0  # the probability with which a drawn training set was kept
    assume_junta: int | None = None
    noise: str = ""  # what is noisy about the sample, in words: its labels are then not the target's
    repair: bool = False
    time_limit: float = 10.0
    seed: int = 0
    largest: int = 6
    fresh: int = FRESH

    def __post_init__(self) -> None:
        failure(self.delta)
        kept_share(self.accepted)
        if self.assume_junta is not None and self.assume_junta < 0:
            raise ArgumentError(f"A function depends on 0 positions or more; got {self.assume_junta}.")
        if not 0 <= self.largest <= 12:
            raise ArgumentError(f"Functions of 0 to 12 positions are read off a model; got {self.largest}.")
        if self.fresh < 1:
            raise ArgumentError(f"Model and function are compared on 1 fresh input or more; got {self.fresh}.")
        if not self.time_limit > 0:
            raise ArgumentError(f"A proof is given a number of seconds above 0; got {self.time_limit:g}.")

    @property
    def occam_delta(self) -> float:
        """The share of the bound from the sample.

        Statement  If training sets are redrawn until they meet a condition of probability P, a statement that fails
                   with probability δP before fails with probability at most δ after.
        Proof      P(fails | kept) ≤ P(fails)/P(kept).
        Source     Ours (the trap of conditioned training sets).
        """
        return self.delta * (1 - SET_ASIDE) * self.accepted

    @property
    def sampling_delta(self) -> float:
        """The share of a disagreement rate found on fresh inputs, which no condition touches."""
        return self.delta * SET_ASIDE


@dataclass(frozen=True, eq=False)
class NetworkFree:
    """The smallest junta that fits the sample, found without the model, and what it is worth."""

    search: FittingJuntas
    judgement: Judgement | None
    identification: Identification | None


@dataclass(frozen=True, eq=False)
class ModelCertificate:
    """All that was settled about one model; parts that were not asked for, or not to be had, are None."""

    tokens: int
    symbols: int
    terms: Terms
    extraction: Extraction
    verification: Verification
    seconds: float
    sampled: Disagreement | None = None
    wrong_share: WrongShare | None = None  # of inputs on which model and function differ, where that is not proved none
    judgement: Judgement | None = None
    model_errors: int | None = None  # of the model itself on the sample, each row once if repeats are no chance
    held_out: HeldOut | None = None
    identification: Identification | None = None
    network_free: NetworkFree | None = None
    repair: Repair | None = None
    before: Verification | None = None  # of the model as given, where a repaired one is certified
    doubt: str = ""  # why the sample does not follow the law
    note: str = ""  # what the model's file says of a repair before it was written
    assumed: tuple[str, ...] = ()  # what a description of the weights was believed in, a sentence each
    described: Mapping[str, Any] | None = None  # the same as plain values
    constant_errors: int | None = None  # of the better constant on the sample
    repeats: Repeats | None = None  # rows of the sample that occur more than once
    held_out_repeats: Repeats | None = None  # and of the inputs set aside
    of_weights: bool = False  # what is proved is so of the weights, and not of the tables alone

    @property
    def junta(self) -> Junta | None:
        """The function read off the model."""
        return self.extraction.junta

    @property
    def status(self) -> CertificateStatus:
        """Whether the model equals the function on every input."""
        return self.verification.status

    @property
    def disagreement(self) -> Disagreement | None:
        """The smallest rate at which model and function can disagree: zero after a proof."""
        if self.junta is not None and self.status == "PROVED":
            return Disagreement(0.0, "proved zero")
        known = [] if self.sampled is None else [self.sampled]
        if self.wrong_share is not None:
            known.append(Disagreement(self.wrong_share.certain_high, "proved rare"))
        return min(known, key=lambda found: found.rate, default=None)

    @property
    def trivial_error(self) -> float | None:
        """The error of the better constant if the function is the target, under the law."""
        return None if self.junta is None else self.terms.law.trivial_error(self.junta)

    @property
    def error_bound(self) -> float | None:
        """The promise about the model: the junta's error bound, and the rate at which the model disagrees with it."""
        if self.judgement is None or self.disagreement is None:
            return None
        if self.disagreement.kind != "proved zero" and self.doubt:
            return None  # the rate is about another law than the sample's
        return min(1.0, self.judgement.error_bound + self.disagreement.rate)

    @property
    def vacuous(self) -> bool:
        """Whether the promise is no better than always answering the same."""
        return self.error_bound is None or self.trivial_error is None or self.error_bound >= self.trivial_error

    @property
    def delta_parts(self) -> dict[str, float]:
        """How δ is spent over drawn sets; identification and inputs set aside have a δ of their own."""
        parts = {"sample": self.terms.occam_delta, "fresh inputs": self.terms.sampling_delta}
        if self.identification is not None:
            parts["identification"] = self.terms.delta * self.terms.accepted
        if self.held_out is not None and self.held_out.kind == "measured":
            parts["held out"] = self.terms.delta
        if self.wrong_share is not None and self.wrong_share.drawn:
            parts["wrong share"] = self.terms.delta
        return parts


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
    if terms.law.symbols != model.symbols:
        raise AssumptionError(
            f"The law draws {terms.law.symbols} symbols, and the model reads {model.symbols}; make them equal."
        )
    for given in (sample, held_out):
        if given is not None:
            require_sample(given, model)
    if sample is not None and held_out is not None:
        require_apart(sample, held_out, terms)
    watch(Progress(0, None, "reading off the function"))
    evaluator = Evaluator(model)
    read = extract(evaluator, seed=terms.seed, largest=terms.largest, law=terms.law)
    if read.junta is None:
        none = Verification("UNDECIDED", reason=read.reason)
        shown = ModelCertificate(model.tokens, model.symbols, terms, read, none, 0.0)
    else:
        watch(Progress(1, None, "comparing it with the model on every input"))
        looked = verify(model, read.junta, drifts=drifts, time_limit=terms.time_limit)
        shown = ModelCertificate(
            model.tokens, model.symbols, terms, read, looked, 0.0, of_weights=of_weights and drifts is not None
        )
        if terms.repair and looked.status != "PROVED":
            watch(Progress(2, None, "repairing the model"))
            shown, evaluator = _repaired(shown, evaluator, sample)
    if (junta := shown.junta) is not None and shown.status != "PROVED":
        watch(Progress(3, None, f"comparing the two on {terms.fresh:,} fresh inputs"))
        rate = _sampled(junta, evaluator, terms)
        watch(Progress(4, None, "asking how rare a difference is"))
        share = _wrong_share(shown, evaluator, junta, drifts if shown.repair is None else None)
        shown = replace(shown, sampled=rate, wrong_share=share)
    if sample is not None:
        watch(Progress(5, None, "asking the sample"))
        shown = _with_sample(shown, evaluator, sample, read.junta)
    if held_out is not None:
        aside = repeats_of(held_out[0], terms.law)
        bound = held_out_bound(evaluator, held_out, terms.delta, aside)
        shown = replace(shown, held_out=bound, held_out_repeats=aside)
    return replace(shown, seconds=monotonic() - began)


def require_sample(sample: Sample, model: Tabulated) -> None:
    """Refuse samples of another length or alphabet than the model's, and empty ones."""
    inputs, labels = sample
    if not len(labels) or len(labels) != len(inputs):
        raise DataError(f"{len(inputs)} inputs came with {len(labels)} labels; give at least one, and a label each.")
    if inputs.shape[1] != model.tokens:
        raise DataError(
            f"The data have {inputs.shape[1]} positions, and the model reads {model.tokens}; give data of that length."
        )
    low, high = int(inputs.min()), int(inputs.max())
    if low < 0 or high >= model.symbols:
        raise DataError(
            f"The data hold the symbol {low if low < 0 else high}, and the model's alphabet runs from 0 to "
            f"{model.symbols - 1}; give the data it was made for."
        )


def require_apart(sample: Sample, held_out: Sample, terms: Terms) -> None:
    """Refuse inputs set aside that are training inputs too, beyond what chance explains."""
    shared, chance = shared_rows(sample[0], held_out[0], terms.law, terms.accepted)
    if chance < LEVEL:
        raise DataError(
            f"{shared:,} of the {len(held_out[0]):,} inputs set aside are training inputs too, and independent draws "
            f"of {terms.law} share so many with probability at most {at_most(chance, 2)}. Give labelled inputs that "
            "the model never saw."
        )


def _sampled(junta: Junta, evaluator: Evaluator, terms: Terms) -> Disagreement:
    return sampled_disagreement(
        evaluator, junta, terms.law, delta=terms.sampling_delta, seed=terms.seed, inputs=terms.fresh
    )


def _wrong_share(
    shown: ModelCertificate, evaluator: Evaluator, junta: Junta, drifts: Sequence[Drift] | None
) -> WrongShare | None:
    """The share of inputs on which the two differ, with a δ of its own and as much time as the proof had."""
    terms, began = shown.terms, monotonic()
    return wrong_share(
        evaluator,
        junta,
        terms.law,
        delta=terms.delta,
        drifts=drifts,
        counterexample=shown.verification.counterexample,
        seed=terms.seed,
        late=lambda: monotonic() - began > terms.time_limit,
    )


def _with_sample(
    shown: ModelCertificate, evaluator: Evaluator, sample: Sample, given: Junta | None
) -> ModelCertificate:
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
    wrong = _wrong(evaluator, sample)
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
    return replace(
        shown,
        judgement=judged,
        identification=_identified(shown.junta, sample, among, shown, doubt),
        held_out=_half(counts_of(wrong, repeats), terms.delta),
    )


def _half(counts: list[tuple[int, int]], delta: float) -> HeldOut | None:
    """What a half would have said, by the worse of the counts; none where one count has none."""
    halves = [half_held_out_bound(samples, errors, delta) for samples, errors in counts]
    known = [half for half in halves if half is not None]
    return max(known, key=lambda half: half.bound) if len(known) == len(halves) else None


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


def _repaired(
    shown: ModelCertificate, evaluator: Evaluator, sample: Sample | None
) -> tuple[ModelCertificate, Evaluator]:
    """The first repair that ends in a proof: sharpening, where no sample is lost by it, else the sink projection."""
    model, terms, junta = evaluator.model, shown.terms, shown.junta
    if junta is None:  # nothing to be near to
        return shown, evaluator
    if sample is not None and not _wrong(evaluator, sample).any():
        sharp = sharpened(model)
        sharp_evaluator = Evaluator(sharp.model)
        looked = verify(sharp.model, junta, time_limit=terms.time_limit)
        if looked.status == "PROVED" and not _wrong(sharp_evaluator, sample).any():
            changed = replace(shown, repair=sharp, before=shown.verification, verification=looked, of_weights=False)
            return changed, sharp_evaluator
    sunk = sink_projection(model, junta, terms.law)
    projected = Evaluator(sunk.model)
    computed = projected_junta(projected, junta)
    looked = verify(sunk.model, computed, time_limit=terms.time_limit)
    read = replace(shown.extraction, junta=without_ignored(computed))
    if not np.array_equal(computed.table, junta.table):
        sunk = replace(sunk, says=f"{sunk.says} It computes another function than was read off the model as given.")
        share = agreement(evaluator, computed, seed=terms.seed, samples=read.samples, law=terms.law)
        read = replace(read, agreement=share)
    changed = replace(shown, repair=sunk, before=shown.verification, verification=looked)
    return replace(changed, extraction=read, of_weights=False), projected


def _wrong(evaluator: Evaluator, sample: Sample) -> Bool[np.ndarray, "m"]:
    inputs, labels = sample
    return np.asarray((np.asarray(evaluator(inputs)) > 0) != labels)
