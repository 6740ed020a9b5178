"""A head read as decision lists: which pairs of position and symbol decide, in which order, and what cutting costs.

Give every pair (t, a), and [CLS], an exponential clock whose rate is the exponential of its score. For an input call
the pairs (t, b_t) and [CLS] present. The head's output is the mean value of the first present pair to ring, and for
fixed clocks that is a decision list: look whether x_t = a; if so answer its value, otherwise go on to the next ring.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, exp, inf, log

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import Softmax, Tabulated, TabulatedHead, from_terms, numbers_of
from keyhole.boolean import SymbolLaw
from keyhole.errors import AssumptionError
from keyhole.rigorous import exactly, exponentials, total

TIMES = 600  # at which clocks are looked at, evenly in their logarithm
BEYOND = 40.0  # in logarithms of time before the fastest clock: e^−40 of it is lost
EXACT = 256  # rings up to which powers are taken in exact fractions
BLOCK = 2**22  # numbers held at once
SHOWN = 8  # pairs shown
SMALL = 0.01  # the error that a depth is sought for
DEPTHS = (1, 2, 4, 8, 16, 32, 64)  # at which a cut is stated


@dataclass(frozen=True)
class Ring:
    """Pairs of equal rank: one position's symbol, all that share a row of the tables, or [CLS]."""

    position: int | None  # None for a row that many positions share, and for [CLS]
    symbol: int | None  # None for [CLS]
    count: int  # positions
    score: float
    following: float  # chance that it rings next, when all pairs shown before it have rung
    decides: float  # share of the inputs, and of the clocks, on which it is the first present pair to ring
    answer: float  # the model's output where this head gives its value and other heads give 0


@dataclass(frozen=True)
class Cut:
    """The error of a list that is cut after so many rings, in units of the head's largest value."""

    depth: int
    every: float  # at most, on every input; rounded up
    average: float  # at most, on average over inputs of the law; rounded up


@dataclass(frozen=True)
class HeadReading:
    """One head as decision lists: the pairs that decide most, in the order of their scores, and all others together."""

    rings: tuple[Ring, ...]
    others: int  # pairs that are not shown
    others_decide: float
    others_answer: tuple[float, float] | None  # the least and the largest of their answers
    spread: float  # R
    absent: float  # κ, the largest ratio of the rates of absent pairs to those of present ones; rounded up
    cuts: tuple[Cut, ...]
    depth: int | None  # D from which both kinds of error are at most 1 %, or None where no depth was found


def read_lists(tabulated: Tabulated, law: SymbolLaw, shown: int = SHOWN) -> tuple[HeadReading, ...]:
    """Every head of a one-layer softmax model as decision lists.

    Statement  u(b) = E[value of the first present pair to ring].
    Proof      The first of independent exponential clocks to ring is clock i with probability rate_i / Σ rates; of the
               present ones that is softmax.
    Source     Ours (Lemma L); the order of rings is that of scores with Gumbel noise, largest first.
    """
    if shown < 1:
        raise AssumptionError(f"At least one pair is shown; got {shown}.")
    if law.symbols != tabulated.symbols:
        raise AssumptionError(
            f"A law of {law.symbols} symbols was given for a model of {tabulated.symbols}; give one of as many."
        )
    return tuple(_read_head(tabulated, index, law, shown) for index in range(len(tabulated.heads)))


def _read_head(tabulated: Tabulated, index: int, law: SymbolLaw, shown: int) -> HeadReading:
    head = tabulated.heads[index]
    if not isinstance(head.normaliser, Softmax):
        raise AssumptionError("Only a softmax head is a mixture of decision lists, and a head here has another.")
    counts = np.ones(len(numbers_of(head.scores)), dtype=int)
    if tabulated.positions is not None:
        counts[-1] = tabulated.others
    scores = numbers_of(head.scores) / head.normaliser.temperature
    cls = float(numbers_of(head.cls_score)) / head.normaliser.temperature
    decides, cls_decides = deciding_shares(scores, cls, counts, np.array(law.chances))
    values = numbers_of(head.values)
    answers = _answer_of(tabulated, index, values.reshape(-1, values.shape[-1])).reshape(values.shape[:2])
    places: list[int | None] = list(range(tabulated.tokens) if tabulated.positions is None else tabulated.positions)
    places += [None] * (tabulated.positions is not None)
    rings = [
        Ring(places[t], a, int(counts[t]), float(scores[t, a]), 0.0, float(decides[t, a]), float(answers[t, a]))
        for t in range(len(scores))
        for a in range(scores.shape[1])
        if counts[t]
    ]
    alone = float(_answer_of(tabulated, index, numbers_of(head.cls_value)[None])[0])
    rings.append(Ring(None, None, 1, cls, 0.0, cls_decides, alone))
    by_share = sorted(rings, key=lambda ring: -ring.decides)
    first, rest = by_share[:shown], by_share[shown:]
    top = max(ring.score for ring in rings)
    left, ordered = sum(ring.count * exp(ring.score - top) for ring in rings), []
    for ring in sorted(first, key=lambda ring: -ring.score):
        mass = ring.count * exp(ring.score - top)
        ordered.append(replace(ring, following=min(1.0, mass / left) if left > 0 else 1.0))
        left -= mass
    ratio = absent_ratio(head, counts)
    return HeadReading(
        rings=tuple(ordered),
        others=sum(ring.count for ring in rest),
        others_decide=sum(ring.decides for ring in rest),
        others_answer=(min(ring.answer for ring in rest), max(ring.answer for ring in rest)) if rest else None,
        spread=float(np.ptp(scores[counts > 0], axis=1).max(initial=0.0)),
        absent=ratio,
        cuts=tuple(
            Cut(depth, every := cut_on_every_input(ratio, depth), min(every, cut_on_average(law, depth)))
            for depth in DEPTHS
        ),
        depth=_depth(ratio, law, SMALL),
    )


def deciding_shares(
    scores: Float[np.ndarray, "rows A"], cls: float, counts: np.ndarray, chances: Float[np.ndarray, "A"]
) -> tuple[Float[np.ndarray, "rows A"], float]:
    """Return the share of inputs and clocks on which each row and symbol decides, and [CLS]'s.

    Statement  Pair (t, a) decides with probability ∫ p_a w e^{−xw} e^{−xw_CLS} Π_{t'≠t} φ_t'(x) dx over the time x of
               its ring, w = e^{s[t,a]} and φ_t(x) = Σ_a p_a e^{−x w_ta}. All shares add up to 1.
    Proof      It decides if it is present and no present clock rang before.
    Source     Standard. Computed by the trapezoidal rule in log x, which is exact to many digits for such integrands;
               an estimate, not a promise.
    """
    chances = chances[None, :, None]
    rates = np.concatenate([scores.ravel(), [cls]])
    low, high = -float(rates.max()) - BEYOND, -float(rates.min()) + log(BEYOND)
    times = np.linspace(low, min(high, -cls + log(BEYOND)) if np.isfinite(cls) else high, TIMES)
    step = times[1] - times[0]
    log_left = -np.exp(cls + times)
    rows = max(1, BLOCK // (scores.shape[1] * TIMES))
    blocks = [(start, min(start + rows, len(scores))) for start in range(0, len(scores), rows)]
    for start, stop in blocks:
        phi = (chances * np.exp(-np.exp(scores[start:stop, :, None] + times))).sum(axis=1)
        log_left = log_left + counts[start:stop] @ np.log(np.maximum(phi, 1e-320))
    shares = np.empty(scores.shape)
    for start, stop in blocks:
        clocks = np.exp(scores[start:stop, :, None] + times)
        alive = chances * np.exp(-clocks)
        phi = np.maximum(alive.sum(axis=1, keepdims=True), 1e-320)
        density = clocks * alive * np.exp(np.minimum(log_left - np.log(phi), 0.0))
        shares[start:stop] = counts[start:stop, None] * density.sum(axis=2) * step
    return shares, float((np.exp(cls + times) * np.exp(log_left)).sum() * step)


def absent_ratio(head: TabulatedHead, counts: np.ndarray) -> float:
    """κ: how many times the rates of the absent pairs can be those of the present ones, rounded up.

    Statement  κ = (W − p)/(p + w_CLS), W the sum of all pairs' rates and p = Σ_t min_a e^{s[t,a]}; κ ≤ (A−1)e^R.
    Proof      Present pairs' rates add up to P ≥ p, the absent ones' to W − P, and (W − P)/(P + w_CLS) falls with P.
    Equality   The input that shows every position's least score.
    Source     Ours.
    """
    temperature = head.normaliser.temperature if isinstance(head.normaliser, Softmax) else 1.0
    scores, cls = numbers_of(head.scores)[counts > 0], float(numbers_of(head.cls_score))
    weights, top = counts[counts > 0].astype(np.float64), max(float(scores.max(initial=cls)), cls)
    ordered = np.sort(scores, axis=1)
    rates = [exponentials(column.tolist(), shift=top, temperature=temperature) for column in ordered.T]
    least, *others = (total(column * exactly(weights)) for column in rates)
    above = sum(others, start=exactly(0.0))
    present = least + exponentials([cls], shift=top, temperature=temperature)[0]
    return float(above.over(present).high) if float(present.low) > 0 else inf


def cut_on_every_input(ratio: float, depth: int) -> float:
    """Return the largest error of a head cut after D rings, in units of its largest value; rounded up.

    Statement  P(the first D rings are all absent) ≤ (κ/(1 + κ))^D.
    Proof      As long as no present clock has rung, the next ring is absent with probability (absent rates left)/(those
               and the present ones), and the absent ones only get fewer.
    Equality   Approached by many positions whose absent scores are all R higher.
    Source     Ours (Lemma L).

    >>> cut_on_every_input(1.0, 2)
    0.25
    """
    return 1.0 if ratio == inf else _power(Fraction(ratio) / (1 + Fraction(ratio)), depth)


def cut_on_average(law: SymbolLaw, depth: int) -> float:
    """Return its mean error over inputs with independent symbols, whatever the scores; rounded up.

    Statement  E|u − u_D| ≤ ρ^D in units of the largest value, ρ = 1 − p, p the least chance of a symbol.
    Proof      D given pairs are all absent with probability at most ρ^D: positions are independent, and k pairs of one
               position are all absent with probability at most 1 − kp ≤ (1 − p)^k. [CLS] is never absent.
    Equality   A list whose first D items are D positions' least likely symbols.
    Source     Ours (Lemma L).

    >>> cut_on_average(SymbolLaw((0.5, 0.5)), 2)
    0.25
    """
    return _power(1 - Fraction(min(law.chances)), depth)


def _power(chance: Fraction, depth: int) -> float:
    """A chance to the power D as a double, rounded up: in exact fractions, or where these are long, as a double."""
    if depth <= EXACT:
        return _rounded_up(chance**depth)
    return min(1.0, float(np.nextafter(np.nextafter(_rounded_up(chance) ** depth, 2.0), 2.0)))


def _rounded_up(number: Fraction) -> float:
    near = float(number)
    return near if Fraction(near) >= number else float(np.nextafter(near, inf))


def _depth(ratio: float, law: SymbolLaw, error: float) -> int | None:
    """The least depth at which both kinds of error are at most so large."""
    rates = [ratio / (1 + ratio) if ratio < inf else 1.0, 1 - min(law.chances)]
    if max(rates) >= 1:
        return None
    depth = max(1, *(ceil(log(error) / log(rate)) if rate > 0 else 1 for rate in rates))
    both = max(cut_on_every_input(ratio, depth), cut_on_average(law, depth))
    return depth if both <= error else depth + 1


def _answer_of(tabulated: Tabulated, index: int, values: np.ndarray) -> np.ndarray:
    """The model's output where one head gives a row of values, for each row, and other heads give 0."""
    parts = []
    for i, head in enumerate(tabulated.heads):
        given = values if i == index else np.zeros((len(values), numbers_of(head.cls_value).shape[0]))
        parts.append(np.concatenate([given, np.ones((len(values), 1))], axis=1))
    return np.asarray(numbers_of(from_terms(tabulated, np.concatenate(parts, axis=1))))
