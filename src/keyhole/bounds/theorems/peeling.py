"""Norms measured after training: pay for having looked, by a union over scales in steps of 2^{1/4}."""

from collections.abc import Iterable
from math import ceil, log, log2
from typing import NamedTuple

from keyhole.bounds.theorems.norm_fields import Dial
from keyhole.bounds.validate import Real, norm, positive
from keyhole.norm_profile import NormProfile

STEPS = 4  # classes per doubling: finer ones cost δ, coarser ones the norm itself


class Peeled(NamedTuple):
    """A norm rounded up to the class it is charged to, and the share of δ that class was given."""

    value: float
    weight: float


def peeled(value: Real, scale: Real = 1.0) -> Peeled:
    """The class 2^{j/4}·scale that holds a measured norm, and its share of δ.

    Statement  If for every j ≥ 1 the bound for norms ≤ 2^{j/4} n₀ fails with probability ≤ δ/(j(j+1)), then with
               probability ≥ 1 − δ it holds for the smallest j ≥ 1 that fits the measured norm.
    Assumes    The scale n₀ was chosen before the data were seen.
    Proof      Σ_{j≥1} 1/(j(j+1)) = 1, and a union bound; for several norms the shares multiply.
    Equality   The shares add up to one exactly.
    Source     Textbook (Rule 4).

    >>> peeled(4.0)
    Peeled(value=4.0, weight=0.013888888888888888)
    """
    ratio = norm("a measured norm", value) / positive("a scale", scale)
    j = max(1, ceil(STEPS * log2(ratio) - 1e-12)) if ratio > 0 else 1  # a power of two must not reach the next class
    return Peeled(max(2.0 ** (j / STEPS) * scale, float(value)), 1 / (j * (j + 1)))


def peeled_or_zero(value: Real, scale: Real = 1.0) -> Peeled:
    """As `peeled`, with zero as a class of its own: for a number that a design can make exactly zero.

    Statement  Shares 1/((j+1)(j+2)), j ≥ 0; j = 0 is the class {0}, j ≥ 1 the class ≤ 2^{j/4} n₀.
    Proof      Σ_{j≥0} 1/((j+1)(j+2)) = 1.
    Source     Ours, after the textbook rule.

    >>> peeled_or_zero(0.0)
    Peeled(value=0.0, weight=0.5)
    """
    if norm("a measured norm", value) == 0:
        return Peeled(0.0, 0.5)
    rounded, weight = peeled(value, scale)
    j = round(-0.5 + (0.25 + 1 / weight) ** 0.5)
    return Peeled(rounded, 1 / ((j + 1) * (j + 2)))


def peel(profile: NormProfile, dials: Iterable[Dial]) -> tuple[NormProfile, float]:
    """The class of a measured profile, every norm read rounded up, and ln(1/share) of the share of δ that it has.

    Shares multiply, and with some hundred norms their product is below every number: so they are kept in nats.
    """
    nats = 0.0
    for dial in dials:
        rule = peeled_or_zero if dial.way == ("spread",) else peeled
        rounded, weight = rule(dial.read(profile))
        profile, nats = dial.turn(profile, rounded), nats - log(weight)
    return profile, nats
