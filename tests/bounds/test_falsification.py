"""The hunt for violations finds those there are, and no others."""

from math import tanh
from random import Random

import pytest

from keyhole.bounds.falsification import falsify
from keyhole.bounds.softmax import softmax_move
from keyhole.errors import AssumptionError


def two_scores(rng):
    """Two pairs of scores."""
    return tuple(rng.uniform(-2, 2) for _ in range(4))


def moved(case):
    """ℓ1 distance of two softmaxes of two scores, and the largest change of a score."""
    a, b, c, d = case
    return abs(tanh((a - b) / 2) - tanh((c - d) / 2)), max(abs(a - c), abs(b - d))


def hunt(factor, tries=3000):
    """A hunt against softmax_move multiplied by a factor."""
    rng = Random(0)  # noqa: S311

    def sides(case):
        left, change = moved(case)
        return left, factor * softmax_move(change)

    def vary(case):
        return tuple(x + rng.gauss(0, 0.1) for x in case)

    return falsify(sides, lambda: two_scores(rng), vary, tries=tries)


def test_a_true_lemma_is_not_refuted_and_its_equality_case_is_neared():
    """Climbing brings the ratio above .99 for a tight inequality."""
    found = hunt(1.0)
    assert not found.refuted
    assert found.ratio > 0.99
    assert "not refuted in 3000 tries" in str(found)


def test_a_lemma_ten_percent_too_strong_is_refuted():
    """The case is returned, and both sides at it."""
    found = hunt(0.9)
    assert found.refuted
    left, change = moved(found.case)
    assert left == found.left > 0.9 * softmax_move(change)
    assert str(found).startswith("refuted: left")


def test_undefined_and_zero_sides():
    """NaN on the left refutes; 0 ≤ 0 does not."""
    assert falsify(lambda _: (float("nan"), 1.0), lambda: 0, tries=3).refuted
    assert not falsify(lambda _: (0.0, 0.0), lambda: 0, tries=3).refuted
    assert falsify(lambda _: (1.0, 0.0), lambda: 0, tries=3).refuted


def test_a_hunt_takes_at_least_one_try():
    """No tries, no hunt."""
    with pytest.raises(AssumptionError, match="at least one try"):
        falsify(lambda _: (0.0, 1.0), lambda: 0, tries=0)
