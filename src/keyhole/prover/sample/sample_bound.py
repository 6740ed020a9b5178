"""Bounds from a labelled sample for a junta that was chosen after looking at it.

All juntas were in the race before the sample was drawn, each with its share of δ; so the bound holds for whichever a
network, or a search without any network, ends up with.

Where no proof excludes that a model and a junta disagree, the rate is counted on fresh inputs, which are free where
their law is known. The count is a binomial, its ceiling exact.
"""

from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np

from keyhole.arrays import Bool
from keyhole.attention import Evaluator
from keyhole.boolean import Junta, SymbolLaw, without_ignored
from keyhole.boolean.fitting import FittingJuntas, Sample, every_cell_seen
from keyhole.bounds import Real
from keyhole.bounds.finite import certificate_nats, exact_error, held_out_ceiling, identification_size
from keyhole.decimals import at_most, chance
from keyhole.prover.sample.repeats import Repeats, repeats_of

DOUBT = 1e-6  # the chance with which a sample of the law is doubted all the same
SMALLEST = 1e-300  # 0 log 0 is 0


@dataclass(frozen=True)
class Judgement:
    """The junta's errors on the sample and the ceiling on its error, at its share of δ."""

    samples: int
    errors: int
    nats: float
    error_bound: float
    rarer_label: float  # the share of the rarer label: the better constant's error on the sample


def occam_bound(junta: Junta, sample: Sample, delta: float, repeats: Repeats | None = None) -> Judgement:
    """Occam's bound by exact inversion.

    Where the rows repeat beyond chance, each distinct row counts once, and errs if one of its copies does; of this
    count and that of all rows the worse is taken. The first is right of copies of independent draws, the second of
    independent draws of a law that repeats its rows; so the bound holds for either.

    Statement  err ≤ max{p : P(Bin(m, p) ≤ k) ≥ δ·prior}, prior = 2^(−A^s)/((s+1)(s+2) C(T, s)), for all juntas at once.
    Assumes    The m samples are independent draws from the law under which errors are counted.
    Proof      Union over all juntas, each at δ times its prior; the priors sum to one.
    Source     Ours (certificates); Textbook (Occam).
    """
    inputs, labels = sample
    tokens = inputs.shape[1]
    nats = certificate_nats(tokens, junta.sparsity, delta, junta.symbols)
    share = float(labels.mean())
    bound, m, errors = max((exact_error(nats, *count), *count) for count in counts_of(junta(inputs) != labels, repeats))
    return Judgement(m, errors, nats, bound, min(share, 1 - share))


def counts_of(wrong: Bool[np.ndarray, "m"], repeats: Repeats | None) -> list[tuple[int, int]]:
    """Rows and errors among them: of all rows, and, where they repeat beyond chance, of the distinct ones."""
    everything = (len(wrong), int(np.count_nonzero(wrong)))
    if repeats is None or not repeats.refuted:
        return [everything]
    return [everything, (repeats.distinct, repeats.count(wrong))]


@dataclass(frozen=True)
class HeldOut:
    """A held-out bound: errors on labelled inputs that no training saw, or what a half would have said."""

    bound: float
    kind: Literal["measured", "hypothetical half"]
    errors: int
    inputs: int


def held_out_bound(evaluator: Evaluator, sample: Sample, delta: float, repeats: Repeats | None = None) -> HeldOut:
    """The model's own errors on inputs set aside, and their exact ceiling; repeated rows count as in `occam_bound`."""
    wrong = wrong_answers(evaluator, sample)
    bound, m, errors = max((held_out_ceiling(k, n, delta), n, k) for n, k in counts_of(wrong, repeats))
    return HeldOut(bound, "measured", errors, m)


def half_held_out_bound(samples: int, errors: int, delta: float) -> HeldOut | None:
    """Return the bound of half of the samples, had it been set aside and shown as many errors of the model.

    A model trained on all samples has no held-out half; and one trained on the other half might have learned less.
    """
    half = samples // 2
    if half == 0 or errors > half:
        return None
    return HeldOut(held_out_ceiling(errors, half, delta), "hypothetical half", errors, half)


@dataclass(frozen=True)
class Identification:
    """The answer to "is the junta the target?", given an assumption that the sample cannot test."""

    identified: bool
    by: Literal["sample size", "enumeration", ""]
    assumption: str
    why: str
    needed: int | None = None  # the sample size at which the first rule applies
    delta: float | None = None  # by sample size: the chance of being wrong all the same; by enumeration there is none

    def __str__(self) -> str:
        sure = "certain" if self.delta is None else f"wrong with probability at most δ = {chance(self.delta)}"
        verdict = f"yes, by {self.by} ({sure} if what is assumed holds)" if self.identified else "no"
        return f"{verdict}: {self.why}. Assumed, and not to be seen in any sample: {self.assumption}."


def identify(
    junta: Junta,
    sample: Sample,
    assumed: int,
    law: SymbolLaw,
    delta: float,
    found: FittingJuntas,
    doubt: str = "",
    noise: str = "",
) -> Identification:
    """Decide if the target, assumed a junta on at most S positions, must be this one.

    A rival is any other function on at most S positions in `found.known` that fits the sample: what a search found,
    of any size, finished or not, and what the caller knows besides and has put there, as functions read off a model.

    Statement  By enumeration: exactly one junta on ≤ S positions fits, whatever the law and the draw. By size: uniform
               bits, |I| ≤ S, no error, every cell witnessed, no rival known, and m ≥ m_id(T, S, δ) leave a wrong
               function with probability ≤ δ.
    Assumes    The target is a junta on at most S positions, and labels the sample: with noise nothing is identified.
    Proof      `juntas_that_fit`; `identification_size`. To be silent where a rival fits only takes certificates away,
               so that a wrong one is not likelier; and where a finished search leaves one function, the first rule has
               spoken.
    Source     Ours.
    """
    inputs, labels = sample
    tokens = inputs.shape[1]
    words = f"the target depends on at most {assumed} of the {tokens} positions"
    junta, places = without_ignored(junta), f"{assumed} {'position' if assumed == 1 else 'positions'}"
    # a finished search that leaves no single function, while this one fits, leaves several; an unfinished may know one
    several = found.finished and found.fitting and found.only is None and found.sparsity <= assumed
    errors = int(np.count_nonzero(junta(inputs) != labels))
    if noise:
        why = f"the sample has {noise}, so the only function that fits it need not be the target"
    elif junta.sparsity > assumed:
        why = f"the function reads {junta.sparsity} positions, more than the {assumed} assumed"
    elif errors:
        why = (
            f"the function errs on {errors} of the samples, and a target that labels them without noise on none; if "
            "labels are noisy, say so"
        )
    elif found.only is not None and found.sparsity >= min(assumed, tokens) and _equal(found.only, junta):
        why = f"of all functions of at most {places} it is the only one that fits the sample"
        return Identification(identified=True, by="enumeration", assumption=words, why=why)
    elif several or any(
        rival.sparsity <= assumed and not _equal(rival, junta) and np.array_equal(rival(inputs), labels)
        for rival in map(without_ignored, found.known)
    ):
        why = f"other functions of at most {places} fit the sample too"
    elif (doubt := doubt or repeats_of(inputs, law).says(law)) or not law.uniform or law.symbols != 2:
        why = doubt or f"a sample size that identifies is known for uniform bits only, not for {law}"
    else:
        needed, words = identification_size(tokens, min(assumed, tokens), delta), f"{words}, and bits are uniform"
        if not every_cell_seen(inputs, junta):
            why = "a cell of its table has no sample"
        elif len(inputs) < needed:
            why = f"{needed} samples are needed, and there are {len(inputs)}"
        else:
            why = f"it fits {len(inputs)} ≥ {needed} samples, each cell of its table witnessed"
            return Identification(True, "sample size", words, why, needed, delta)  # noqa: FBT003  (identified)
        return Identification(identified=False, by="", assumption=words, why=why, needed=needed)
    return Identification(identified=False, by="", assumption=words, why=why)


def law_doubt(sample: Sample, law: SymbolLaw, level: float = DOUBT) -> str:
    """Return why the sample's symbols cannot have been drawn from the law, or nothing.

    Statement  Independent symbols of the law are doubted with probability at most `level`; of sets kept with
               probability P, at most `level`/P.
    Proof      P(share ≥ x) and P(share ≤ x) are at most e^{−n KL(x‖p)} on their sides of p (Chernoff). Two sides of A
               symbols at all positions together have one half of the level, of A symbols at T positions the other.
    Source     Textbook (Chernoff; Bonferroni).
    """
    inputs, _ = sample
    m, tokens = inputs.shape
    shares = np.stack([np.mean(inputs == symbol, axis=0) for symbol in range(law.symbols)])
    chances, limit = np.asarray(law.chances)[:, None], log(4 * law.symbols / level)
    pooled = shares.mean(axis=1, keepdims=True)
    for share, draws, least in ((pooled, m * tokens, limit), (shares, m, limit + log(tokens))):
        divergence = sum(  # KL(x‖p) of bits, in nats
            part * np.log(np.maximum(part, SMALLEST) / chance)
            for part, chance in ((share, chances), (1 - share, 1 - chances))
        )
        nats = np.asarray(draws * divergence - least)
        if (nats > 0).any():
            symbol, place = np.unravel_index(np.argmax(nats), nats.shape)
            where = "" if share is pooled else f" at position {place}"
            return (
                f"symbol {symbol} makes up {share[symbol, place]:.3g} of the sample{where}, and the law ({law}) says "
                f"{law.chances[symbol]:.3g}"
            )
    return ""


def _equal(one: Junta, other: Junta) -> bool:
    return one.positions == other.positions and np.array_equal(one.table, other.table)


def wrong_answers(evaluator: Evaluator, sample: Sample) -> Bool[np.ndarray, "m"]:
    """Return which samples the model answers otherwise than their label."""
    inputs, labels = sample
    return np.asarray((np.asarray(evaluator(inputs)) > 0) != labels)


FRESH = 10**6
BLOCK = 2**24  # symbols drawn at once


@dataclass(frozen=True)
class Disagreement:
    """A rate η that the chance of disagreement does not exceed, and what it rests on."""

    rate: float
    kind: Literal["proved zero", "sampled", "proved rare"]
    disagreements: int = 0
    inputs: int = 0
    delta: float = 0.0  # the chance, over the fresh inputs, that the rate is too small; 0 where nothing was drawn

    def __str__(self) -> str:
        if self.kind == "sampled":
            return (
                f"at most {at_most(self.rate, 2)} ({self.disagreements:,} of {self.inputs:,} fresh inputs disagree; "
                f"fails with probability {chance(self.delta)})"
            )
        if self.kind == "proved zero":
            return "0: equal on all inputs"
        return f"at most {at_most(self.rate, 2)} (proved, no inputs drawn)"


def sampled_disagreement(
    evaluator: Evaluator, junta: Junta, law: SymbolLaw, *, delta: Real, seed: int = 0, inputs: int = FRESH
) -> Disagreement:
    """The rate by the exact binomial ceiling of what fresh inputs show.

    Statement  With k disagreements on N fresh inputs, η ≤ max{p : P(Bin(N, p) ≤ k) ≥ δ}; for k = 0 this is
               1 − δ^(1/N) ≤ ln(1/δ)/N.
    Assumes    Inputs follow the law, and N was chosen before any was drawn.
    Proof      Disagreements are independent trials; invert the lower tail.
    Source     Textbook (Clopper and Pearson, one side).
    """
    rng = np.random.default_rng([seed, 2])
    tokens, count = evaluator.model.tokens, 0
    step = max(1, BLOCK // tokens)
    for start in range(0, inputs, step):
        drawn = law.draw(min(step, inputs - start), tokens, rng)
        count += int(np.count_nonzero((np.asarray(evaluator(drawn)) > 0) != junta(drawn)))
    return Disagreement(held_out_ceiling(count, inputs, delta), "sampled", count, inputs, float(delta))
