"""The certificate of a model: its terms, all that was settled, and the steps that settle it.

Three separate steps: the model equals a junta on all inputs (a proof, a counterexample, or neither); the junta is near
the target (a bound from the sample); so the model is, up to the rate at which model and junta disagree. The model is
the function of its weights in exact arithmetic, where they are known, else of its tables in double precision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from keyhole.attention import Evaluator, Tabulated
from keyhole.boolean import Junta, SymbolLaw, uniform_law
from keyhole.boolean.fitting import FittingJuntas, Sample, juntas_that_fit
from keyhole.bounds import failure, kept_share
from keyhole.decimals import at_most
from keyhole.errors import ArgumentError, DataError
from keyhole.progress import Progress, Watch, ignore
from keyhole.prover.extraction.extraction import Extraction, extract
from keyhole.prover.proof.equal_to_function import prove_equal
from keyhole.prover.proof.lower_bound import Verification
from keyhole.prover.proof.tables import Drift
from keyhole.prover.sample.repeats import LEVEL, Repeats, repeats_of, shared_rows
from keyhole.prover.sample.sample_bound import (
    FRESH,
    Disagreement,
    HeldOut,
    Identification,
    Judgement,
    counts_of,
    half_held_out_bound,
    held_out_bound,
    identify,
    law_doubt,
    occam_bound,
    sampled_disagreement,
    wrong_answers,
)
from keyhole.verdicts import CertificateStatus

if TYPE_CHECKING:
    from keyhole.prover.repair import Repair
    from keyhole.prover.wrong_share.interval import WrongShare

SEARCHED = 3  # positions of the juntas that are searched without a network, unless more are assumed

SET_ASIDE = 0.01  # the share of δ kept, before anything is seen, for a disagreement rate found by sampling

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


@dataclass(frozen=True)
class Terms:
    """The terms of a certificate, fixed before anything is computed."""

    law: SymbolLaw
    delta: float = 0.01
    accepted: float = 1.0  # the probability with which a drawn training set was kept
    assume_junta: int | None = None
    noise: str = ""  # what is noisy about the sample, in words: its labels are then not the target's
    repair: bool = False
    time_limit: float = 10.0
    seed: int = 0
    fresh: int = FRESH

    def __post_init__(self) -> None:
        failure(self.delta)
        kept_share(self.accepted)
        if self.assume_junta is not None and self.assume_junta < 0:
            raise ArgumentError(f"A function depends on 0 positions or more; got {self.assume_junta}.")
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
    wrong_share: "WrongShare | None" = None  # of inputs where model and function differ, unless that is proved none
    judgement: Judgement | None = None
    model_errors: int | None = None  # of the model itself on the sample, each row once if repeats are no chance
    held_out: HeldOut | None = None
    identification: Identification | None = None
    network_free: NetworkFree | None = None
    repair: "Repair | None" = None
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
        """The verdict on equality of the model and the function on every input."""
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
        """True where the promise is not better than always answering the same."""
        return self.error_bound is None or self.trivial_error is None or self.error_bound >= self.trivial_error

    @property
    def delta_parts(self) -> dict[str, float]:
        """The shares of δ over drawn sets; identification and inputs set aside have a δ of their own."""
        parts = {"sample": self.terms.occam_delta, "fresh inputs": self.terms.sampling_delta}
        if self.identification is not None:
            parts["identification"] = self.terms.delta * self.terms.accepted
        if self.held_out is not None and self.held_out.kind == "measured":
            parts["held out"] = self.terms.delta
        if self.wrong_share is not None and self.wrong_share.drawn:
            parts["wrong share"] = self.terms.delta
        return parts

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return warnings about the model, the data or the description."""
        sentences = []
        errors, constant = self.model_errors, self.constant_errors
        if errors and constant is not None and errors >= constant:
            described = ", their description" if self.described is not None else ""
            sentences.append(
                f"the model errs on {errors:,} inputs of its own training set, and always answering the same errs on "
                f"{constant:,}. It learned nothing from these data, or the weights{described} and the data do not "
                "belong together."
            )
        if self.described is not None and not self.described.get("probes"):
            sentences.append(
                "the description of the weights was not tested: add outputs of the original model as probes."
            )
        for whose, repeats in (("sample", self.repeats), ("inputs set aside", self.held_out_repeats)):
            if repeats is not None and repeats.refuted:
                sentences.append(
                    f"the {whose}: {repeats.says(self.terms.law)}. They are not independent draws of that law. "
                    "Copies of a row are counted once; where all rows together say worse, that is taken. Give each row "
                    "as often as it was drawn."
                )
        return tuple(sentences)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return every assumption, a sentence each."""
        noise = self.terms.noise
        sentences = [
            f"inputs are {self.terms.law} (a proof on all inputs does not need this)"
            + ("" if not self.doubt else f", which is in doubt: {self.doubt}"),
            OF_WEIGHTS if self.of_weights else OF_TABLES,
            ARITHMETIC,
            *self.assumed,
        ]
        if self.judgement is not None:
            labelled = f"with {noise}, so its labels are not the target's" if noise else "labelled by one target"
            drawn_like = "new inputs and labels are drawn like it" if noise else "new inputs are drawn like it"
            copied = self.repeats is not None and self.repeats.refuted
            drawn_rows = "the distinct rows of the sample are" if copied else "the sample is"
            sentences.append(f"{drawn_rows} independent draws, {labelled}; {drawn_like}")
            if self.terms.accepted < 1:
                sentences.append(
                    f"training sets were redrawn and kept with probability {self.terms.accepted:g}; δ is paid for it"
                )
        if self.identification is not None:
            sentences.append(self.identification.assumption)
        return tuple(sentences)


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
