"""Theorem L: a head with a fixed query is a mixture of decision lists, so its scores cost little or nothing.

Give every pair (position, symbol) and every constant token an exponential clock whose rate is the exponential of its
score. The pairs that an input shows are present. The output of the head is the mean value of the first present pair
to ring, and for fixed clocks that is a decision list.
"""

from collections.abc import Callable
from functools import lru_cache
from math import ceil, exp, floor, inf, log, log1p, sqrt
from typing import NamedTuple

from keyhole.bounds.derivation import STANDARD, Complexity, Lemma, Step
from keyhole.bounds.theorems.tabulated import LARGEST_SPREAD, FixedQueryLayer, fixed_query_layer
from keyhole.bounds.validate import Real, norm, sample_size, whole
from keyhole.decimals import at_most
from keyhole.errors import AssumptionError
from keyhole.norm_profile import NormProfile

THEOREM_L = Lemma(
    "Theorem L",
    "R_m ≤ κ L P_∞ R_m(G), κ = 1 without units or with odd ones, or if every read-out weight is ≥ 0, else 2",
)
MIXTURE = Lemma("Lemma L, any law", "R_m(G) ≤ min over D of √(2 D ln(2N) / m) + η_D, and ≤ 1")
INDEPENDENT = Lemma(
    "Lemma L, independent symbols",
    "R_m(G) ≤ min over D of √(2 D ln(2N) / m) + ρ^D + √(2 ρ^D D ln N / m) + D ln N / (3m), and ≤ 1",
)
MASSART = Lemma("Massart over decision lists", "√(2 D ln(2N) / m), N = AT + constant tokens", STANDARD)
TRUNCATION = Lemma("truncation after D rings, any input", "η_D = (1 − 1/(1 + (A−1)e^R))^D")
ABSENCE = Lemma("truncation after D rings, independent symbols", "ρ^D, ρ = 1 − p")
BERNSTEIN = Lemma("maximal inequality of Bernstein", "√(2 ρ^D D ln N / m) + D ln N / (3m)", STANDARD)

COARSE = 1.25  # ratio of the depths looked at first; between the neighbours of the best all are searched
NEGLIGIBLE = 200.0  # nats: no sample size here makes a remainder of e^−200 worth a deeper list


class Lists(NamedTuple):
    """A bound on R_m(G), the depth D at which lists are cut, and the three terms that add up to it."""

    value: float
    depth: int
    chosen: float  # of the lists of D literals
    remainder: float  # what cutting them leaves out
    fluctuation: float  # of the share of inputs that see no literal of a list; 0 where no law is used
    literals: int  # N

    @property
    def terms(self) -> float:
        """The sum of the terms, which the value is unless 1 is smaller."""
        return self.chosen + self.remainder + self.fluctuation


def literal_count(context: Real, symbols: Real = 2, constant_tokens: Real = 1) -> int:
    """N = AT + c: pairs of position and symbol, and constant tokens.

    >>> literal_count(1000)
    2001
    """
    pairs = whole("the alphabet", symbols) * whole("the context", context)
    return pairs + whole("the number of constant tokens", constant_tokens, least=0)


def average_absence(least_probability: Real, depth: Real) -> float:
    """ρ^D: the chance, over inputs with independent symbols, that D given pairs are all absent, at most.

    Statement  P(b shows none of D distinct pairs) ≤ ρ^D, ρ = 1 − p, if every symbol has probability ≥ p everywhere.
    Proof      Positions are independent, k pairs of one position are absent with probability ≤ 1 − kp ≤ (1 − p)^k, and
               a constant token is never absent.
    Equality   One pair of each of D positions, its symbol having probability p.
    Source     Ours (Theorem L).

    >>> average_absence(0.5, 10)
    0.0009765625
    """
    return (1 - probability(least_probability)) ** whole("the depth", depth)


def largest_frequency(chance: float, nats: float, samples: float) -> float:
    """How far the largest of e^nats frequencies lies above its mean, in expectation, at most.

    Statement  E max over n events of (frequency in m draws − probability) ≤ √(2 v L / m) + L/(3m), L = ln n, if every
               event has probability, and so variance, ≤ v.
    Proof      Bernstein's maximal inequality: the centred sums have log-moments λ²mv/(2(1 − λ/3)).
    Source     Textbook.

    >>> round(largest_frequency(0.1, 7.0, 1000.0), 4)
    0.0397
    """
    return sqrt(2 * chance * nats / samples) + nats / (3 * samples)


def nats_per_ring(spread: Real, symbols: Real) -> float:
    """The rate ln(1 + e^{−R}/(A−1)) at which the chance falls that an input shows none of the pairs that ring.

    Statement  P(the first D rings are absent) ≤ η_D = (1 − 1/(1 + (A−1)e^R))^D for every input; this is −ln η_1.
    Proof      As long as no present clock has rung, the next ring is present with probability (present mass) over
               (present and remaining absent mass). At every position the absent mass is at most (A−1)e^R times the
               present one, and it only shrinks.
    Equality   Approached for many positions whose absent scores are all R higher.
    Source     Ours (Theorem L).

    >>> round(exp(-10 * nats_per_ring(0.0, 2)), 7)
    0.0009766
    """
    r, others = norm("the spread R", spread), whole("the alphabet", symbols) - 1
    if others == 0:
        return inf
    return log1p(exp(-r) / others) if r <= LARGEST_SPREAD else 0.0


@lru_cache(maxsize=4096)
def any_law_lists(spread: float, literals: int, samples: float, symbols: int = 2) -> Lists:
    """Bounds R_m of all heads with a fixed query, values within ±1 and spread ≤ R, on every sample.

    Statement  R_m(G) ≤ min over D ≥ 1 of √(2 D ln(2N) / m) + η_D, and ≤ 1.
    Assumes    Softmax, a query that does not depend on the input, an alphabet of A symbols.
    Proof      Cut at the D-th ring of all N clocks, and let the output be 0 if none of them was present. For fixed
               clocks what is cut is linear in the values of D distinct pairs, so it is a mixture of lists with values
               ±1: at most (2N)^D functions bounded by 1, and Massart's lemma holds for their convex hull. What is left
               out is at most η_D on every input (`nats_per_ring`).
    Source     Ours (Theorem L).

    >>> lists = any_law_lists(4.0, 2001, 1e6)
    >>> round(lists.value, 7), lists.depth
    (0.0743399, 275)
    """
    nats = nats_per_ring(spread, symbols)
    m, n = sample_size(samples), whole("the number of literals", literals)

    def at(depth: int) -> Lists:
        chosen, left = sqrt(2 * depth * log(2 * n) / m), exp(-depth * nats)
        return Lists(min(1.0, chosen + left), depth, chosen, left, 0.0, n)

    return _least(at, _deepest(nats, n, m))


@lru_cache(maxsize=4096)
def product_law_lists(least_probability: float, literals: int, samples: float) -> Lists:
    """Bounds the expected R_m of all heads with a fixed query and values within ±1, whatever their scores.

    Statement  R_m(G) ≤ min over D ≥ 1 of √(2 D ln(2N)/m) + ρ^D + √(2 ρ^D D ln N/m) + D ln N/(3m), and ≤ 1, ρ = 1 − p.
    Assumes    Softmax, a fixed query, and independent symbols, each with probability ≥ p at every position; m
               independent inputs.
    Proof      Cut as for any law. What is left out is a mixture over clocks of the indicator that the first D pairs to
               ring are all absent. Of D given pairs that has probability ≤ ρ^D (`average_absence`). Its average over
               the sample is at most the largest of N^D frequencies (`largest_frequency`).
    Source     Ours (Theorem L).

    >>> lists = product_law_lists(0.5, 2001, 1e6)
    >>> round(lists.value, 7), lists.depth
    (0.0142671, 10)
    """
    p = probability(least_probability)
    nats = -log1p(-p)
    m, n = sample_size(samples), whole("the number of literals", literals)

    def at(depth: int) -> Lists:
        chosen, left = sqrt(2 * depth * log(2 * n) / m), average_absence(p, depth)
        moved = largest_frequency(left, depth * log(n), m)
        return Lists(min(1.0, chosen + left + moved), depth, chosen, left, moved, n)

    return _least(at, _deepest(nats, n, m))


def probability(value: Real) -> float:
    """The least probability of a symbol as a float, if it lies above 0 and below 1."""
    if not 0 < value < 1:
        raise AssumptionError(f"The least probability of a symbol lies above 0 and below 1; got {value}.")
    return float(value)


def _deepest(nats: float, literals: int, samples: float) -> int:
    """A depth beyond which the bound is 1 anyway, or what is left out does not count."""
    capped = samples / (2 * log(2 * literals))
    return max(1, floor(min(capped, NEGLIGIBLE / nats if nats > 0 else inf)) + 1)


def _least(at: Callable[[int], Lists], deepest: int) -> Lists:
    """The smallest of the bounds at depths 1 to `deepest`: on a coarse grid, then between the neighbours of the best.

    Every depth gives a valid bound, so a depth that is missed costs digits and never validity.
    """
    grid = [1]
    while grid[-1] < deepest:
        grid.append(min(deepest, max(grid[-1] + 1, ceil(COARSE * grid[-1]))))
    best = min(range(len(grid)), key=lambda index: at(grid[index]).terms)
    low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    while high - low > 2:
        third = (high - low) // 3
        left, right = low + third, high - third
        low, high = (low, right) if at(left).terms <= at(right).terms else (left, high)
    return min((at(depth) for depth in range(low, high + 1)), key=lambda lists: lists.terms)


def list_complexity(profile: NormProfile, samples: Real) -> Complexity:
    """Bounds one layer with a fixed query under any law, with e^{R/2} for its scores and no norm of them.

    Statement  R_m(F) ≤ κ L P_∞ R_m(G) for every sample, any number of units and heads; κ as `sign_factor`; R_m(G) as
               `any_law_lists`.
    Assumes    One layer, one fixed query, a finite alphabet; no LayerNorm after attention.
    Proof      A unit's input over its reach is a mixture of heads with values within ±1 and constants, which are such
               heads; hull, contraction and signs as for Theorem T.
    Source     Ours (Theorem L).
    """
    layer = fixed_query_layer(profile, "Theorem L", needs=("path_inf", "spread"))
    spread = norm("the spread R", profile.spread or 0.0)
    m, literals = sample_size(samples), literal_count(layer.context, profile.symbols, profile.constant_tokens)
    lists = any_law_lists(spread, literals, m, profile.symbols)
    cut = Step("what cutting leaves out η_D", lists.remainder, TRUNCATION, (("R", spread), ("D", float(lists.depth))))
    return _layer_complexity(layer, lists, MIXTURE, (cut.of(lists.remainder / lists.terms),))


def product_list_complexity(profile: NormProfile, samples: Real) -> Complexity:
    """Bounds one layer with a fixed query for independent symbols: its scores do not occur.

    Statement  R_m(F) ≤ κ L P_∞ R_m(G) in expectation, any number of units and heads, any scores; κ as
               `sign_factor`; R_m(G) as `product_law_lists`.
    Assumes    One layer, one fixed query, a finite alphabet; no LayerNorm after attention; independent symbols, each
               with probability ≥ p at every position.
    Proof      As `list_complexity`.
    Source     Ours (Theorem L).
    """
    layer = fixed_query_layer(profile, "Theorem L", needs=("path_inf",))
    if profile.least_probability is None:
        raise AssumptionError(
            "It is about independent symbols and needs the least probability of a symbol, which was not given; give "
            "the law of inputs, such as uniform."
        )
    m, literals = sample_size(samples), literal_count(layer.context, profile.symbols, profile.constant_tokens)
    p = probability(profile.least_probability)
    lists = product_law_lists(p, literals, m)
    given = (("p", p), ("D", float(lists.depth)))
    cut = Step("what cutting leaves out ρ^D", lists.remainder, ABSENCE, given)
    moved = Step("how far its frequency strays", lists.fluctuation, BERNSTEIN, given)
    parts = (cut.of(lists.remainder / lists.terms), moved.of(lists.fluctuation / lists.terms))
    drawn = f"symbols are drawn independently, each with probability at least {at_most(p, 6)} at every position"
    return _layer_complexity(layer, lists, INDEPENDENT, parts).assuming(drawn)


def _layer_complexity(layer: FixedQueryLayer, lists: Lists, lemma: Lemma, parts: tuple[Step, ...]) -> Complexity:
    """The complexity of a layer from that of one head with values within ±1."""
    given = (("N", float(lists.literals)), ("D", float(lists.depth)))
    chosen = Step("lists of D literals", lists.chosen, MASSART, given, (), lists.chosen / lists.terms)
    head = Step("one head R_m(G)", lists.value, lemma, given, (chosen, *parts))
    value = layer.factor * lists.value
    return Complexity(value, Step("complexity R_m", value, THEOREM_L, layer.inputs, (head,)), layer.conditions)
