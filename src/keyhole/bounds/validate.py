"""Checks of what theorems are given: norms, counts, and chances between 0 and 1."""

from math import inf, isfinite

from keyhole.errors import AssumptionError

Real = int | float  # a whole number is a real number, also where types are checked at run time


def norm(name: str, value: Real) -> float:
    """The value as a float, if it can be a norm: finite and not negative."""
    if not 0 <= value < inf:  # refuses NaN too
        raise AssumptionError(
            f"{name} is a norm, so it must be ≥ 0 and finite; got {value}. Measure it again or correct it."
        )
    return float(value)


def positive(name: str, value: Real) -> float:
    """The value as a float, if it is finite and above zero."""
    if not 0 < value < inf:
        raise AssumptionError(f"{name} must be above 0 and finite; got {value}.")
    return float(value)


def sample_size(value: Real) -> float:
    """The number of samples as a float, if there is at least one."""
    if not (value >= 1 and isfinite(value)):
        raise AssumptionError(
            f"A bound needs at least one sample; got {float(value):g}. Give a number of samples from 1 on."
        )
    return float(value)


def whole(name: str, value: Real, least: int = 1) -> int:
    """The value as a whole number, if it is one and not below `least`."""
    if not (isfinite(value) and value == int(value) and value >= least):
        raise AssumptionError(f"{name} must be a whole number ≥ {least}; got {value}.")
    return int(value)


def failure(delta: Real) -> float:
    """The chance of failure as a float, if it lies strictly between 0 and 1."""
    if not 0 < delta < 1:
        raise AssumptionError(
            f"δ is the chance that the bound fails, so 0 < δ < 1; got {delta}. Use 0.01, for example."
        )
    return float(delta)


def kept_share(accepted: Real | None) -> float:
    """The probability with which a drawn training set was kept: 1 where none was redrawn.

    Statement  What fails with probability ≤ δ·accepted over drawn sets fails with probability ≤ δ over kept ones.
    Proof      P(fails | kept) ≤ P(fails)/P(kept).
    Source     Textbook.
    """
    if accepted is None:
        return 1.0
    if not 0 < accepted <= 1:
        raise AssumptionError(f"A training set is kept with a probability above 0 and at most 1; got {accepted}.")
    return float(accepted)


def subset_size(context: int, sparsity: int) -> None:
    """Refuse to choose more positions than there are."""
    whole("the context", context)
    whole("the sparsity", sparsity, least=0)
    if sparsity > context:
        raise AssumptionError(
            f"A function of {sparsity} positions needs a context of at least {sparsity}; got {context}."
        )
