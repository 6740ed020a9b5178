"""Widths that contexts tell each other: the model of partial pooling against closed forms, and what tells nothing."""

from itertools import product
from math import exp, log, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.sweeps.thresholds.psychometric import (
    PLATEAUS,
    PULL,
    STRAY,
    USUAL,
    WidthPrior,
    fit_curves,
    width_likelihood,
)
from keyhole.sweeps.thresholds.shared_width import WIDTHS, width_beside, width_expected

from helpers.threshold_fakes import logistic

TAUS = (0.1, 0.2, 0.35, 0.6)  # as the model has them
rises = st.tuples(st.integers(0, 4), st.integers(3, 9), st.integers(8, 12)).map(
    lambda won: {30: (won[0], 12), 60: (won[1], 12), 120: (won[2], 12)}
)


def gaussian(centre, spread):
    """The log-likelihoods of widths that runs measured with this error in ln σ."""
    return -((np.log(WIDTHS / centre) / spread) ** 2) / 2


def pooled(measured):
    """The closed form of the model: for each τ the middle is Gaussian given the measurements, and τ has its evidence.

    A measurement x of error s has the law N(μ, τ² + s²), and μ that of N(ln ¼, 1).
    """
    parts = []
    for tau in TAUS:
        precision, weighted, evidence = 1.0, log(0.25), -log(sqrt(2 * pi)) - log(0.25) ** 2 / 2
        for centre, spread in measured:
            variance, x = tau**2 + spread**2, log(centre)
            precision, weighted = precision + 1 / variance, weighted + x / variance
            evidence += -log(2 * pi * variance) / 2 - x**2 / (2 * variance)
        evidence += weighted**2 / (2 * precision) + log(2 * pi / precision) / 2
        parts.append((evidence, weighted / precision, 1 / precision, tau**2))
    weights = np.exp(np.array([part[0] for part in parts]) - max(part[0] for part in parts))
    weights = weights / weights.sum()
    means, variances, squares = (np.array([part[i] for part in parts]) for i in (1, 2, 3))
    mean = weights @ means
    return exp(mean), sqrt(weights @ (variances + (means - mean) ** 2 + squares))


@pytest.mark.parametrize(
    "measured",
    [
        [(0.3, 0.3)],
        [(0.3, 0.25), (0.2, 0.35)],
        [(0.25, 0.3), (0.22, 0.3), (0.3, 0.3), (0.2, 0.3), (0.27, 0.3)],
        [(0.15, 0.3), (0.2, 0.3), (0.3, 0.3), (0.4, 0.3), (0.5, 0.3)],
    ],
)
def test_the_width_expected_is_that_of_the_closed_form(measured):
    """Gaussian likelihoods: mean and spread of a further context's ln σ, within what a grid of 25 widths gives."""
    found = width_expected(np.stack([gaussian(*each) for each in measured]))
    usual, spread = pooled(measured)
    assert log(found.usual) == pytest.approx(log(usual), abs=0.01)
    assert found.spread == pytest.approx(spread, rel=0.02)


def test_contexts_that_agree_tell_more_than_few_or_those_that_differ():
    """The spread shrinks with the contexts, never below the least difference of widths, and grows with differences."""
    alike = [width_expected(np.stack([gaussian(0.3, 0.3)] * count)).spread for count in (1, 2, 5, 20)]
    assert alike == sorted(alike, reverse=True)
    assert TAUS[0] < alike[-1] < USUAL.spread
    differing = np.stack([gaussian(width, 0.3) for width in (0.1, 0.8) * 3])
    assert width_expected(differing).spread > 2 * alike[-2]


@given(st.lists(rises, min_size=1, max_size=4), st.randoms())
def test_the_order_of_contexts_does_not_count(others, random):
    """The same counts in another order, and each with its sizes in another, tell the same."""
    shuffled = [dict(random.sample(list(counts.items()), len(counts))) for counts in others]
    random.shuffle(shuffled)
    found, again = width_beside({}, others, 0.5), width_beside({}, shuffled, 0.5)
    assert found == pytest.approx(again, rel=1e-9)


def test_contexts_without_a_rise_tell_nothing():
    """None, only failures, only successes, or a success rate that levels off below one half: the usual prior."""
    stunted = {10: (0, 40), 30: (6, 40), 100: (12, 40), 300: (12, 40), 1000: (12, 40)}
    silent = [{}, {16: (0, 20), 32: (0, 20)}, {16: (20, 20), 32: (20, 20)}, stunted]
    assert width_beside({}, [], 0.5) is USUAL
    telling = {30: (4, 24), 60: (12, 24), 120: (22, 24)}
    for each in silent:
        assert width_beside(telling, [each], 0.5) is USUAL
        assert width_beside(each, [telling], 0.5) == width_beside({}, [telling], 0.5) != USUAL
    assert width_beside({}, [telling, *silent], 0.5) == width_beside({}, [telling], 0.5)


def test_what_is_vague_is_not_told():
    """One context of a dozen runs that separate perfectly hardly says more than was known."""
    assert width_beside({}, [{16: (0, 3), 32: (0, 3), 64: (3, 3), 128: (3, 3)}], 0.5) is USUAL


def counts_of(middle, width, runs):
    """As many successes as a curve has on average."""
    sizes = np.round(middle * np.geomspace(0.4, 2.5, 9)).astype(int).tolist()
    return {m: (round(runs * logistic(middle, width)(m)), runs) for m in sizes}


def test_a_context_whose_own_runs_are_against_it_is_told_nothing():
    """Beside five steep curves: a slow one is told nothing, a steep one is; of few runs none is enough against it."""
    others = [counts_of(middle, 0.1, 40) for middle in (40, 60, 90, 130, 200)]
    assert width_beside(counts_of(80, 0.6, 20), others, 0.5) is USUAL
    told = width_beside(counts_of(80, 0.1, 20), others, 0.5)
    assert told == width_beside({}, others, 0.5) == width_beside({60: (0, 3), 90: (3, 3)}, others, 0.5)
    assert told.usual == pytest.approx(0.1, rel=0.2)


@pytest.mark.parametrize("width", [0.1, 0.25, 0.5])
def test_many_runs_at_other_contexts_tell_the_width(width):
    """Five contexts with as many successes as a curve of this width has: it is expected within a tenth."""
    others = [counts_of(middle, width, 200) for middle in (40, 60, 90, 130, 200)]
    found = width_beside({}, others, 0.5)
    assert found.usual == pytest.approx(width, rel=0.1)
    assert found.spread < 0.3


def test_the_likelihood_of_a_width_is_summed_over_curves():
    """Curve by curve, as it is defined: differences of log-likelihoods agree with a sum that is spelt out."""
    counts = {30: (1, 9), 50: (4, 9), 90: (8, 9)}
    fit = fit_curves(counts, 0.5)
    widths = np.array([0.1, 0.3, 0.9])

    def chance(m, place, width, plateau):
        odds = (log(m) - place) / width + log(0.5 / (plateau - 0.5))
        return min(max(plateau / (1 + exp(-max(min(odds, 40), -40))), STRAY), 1 - STRAY)

    spelt = []
    for width in widths:
        total = 0.0
        for place, share in product(fit.places, PLATEAUS):
            plateau = 0.5 + 0.5 * share
            likelihood = plateau**PULL
            for m, (won, trials) in counts.items():
                p = chance(m, place, width, plateau)
                likelihood *= p**won * (1 - p) ** (trials - won)
            total += likelihood
        spelt.append(log(total))
    found = width_likelihood(fit, widths)
    assert found - found[0] == pytest.approx(np.array(spelt) - spelt[0], abs=1e-9)
    other = width_likelihood(
        fit_curves(counts, 0.5, WidthPrior(0.3, 0.4)), widths
    )  # on its own grid of θ, without its prior
    assert other - other[0] == pytest.approx(np.array(spelt) - spelt[0], abs=0.1)
