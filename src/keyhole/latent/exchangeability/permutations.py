"""A permutation test ranks a statistic among its values on reordered data; its p-value is exact."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from keyhole.arrays import Float, Shaped
from keyhole.errors import AssumptionError, DataError

BLOCK = 1 << 21  # tokens of reordered data held at once
TIES = 1e-9  # equal statistics summed in other orders differ by 1e-12 of their size at most


@dataclass(frozen=True)
class Look:
    """One of the statistics that a test compares."""

    name: str
    deviations: float  # from the mean of the reorderings and the data, in standard deviations


@dataclass(frozen=True)
class PermutationTest:
    """A test of the data: its statistic, and how surprising that is if the null hypothesis holds."""

    name: str
    null: str  # what is believed until shown otherwise
    statistic: float
    p_value: float
    permutations: int  # 0 where the law of the statistic is known without
    rejects: bool = field(default=False, kw_only=True)  # at the level that its caller gives it
    least_p: float = field(
        default=0.0, kw_only=True
    )  # that any reordering looked at would have; above the level the test cannot reject
    looks: tuple[Look, ...] = field(default=(), kw_only=True)  # of which the statistic is the largest deviation


def deviations(looks: Float[Any, "B looks"]) -> Float[Any, "B looks"]:
    """Return the looks in standard deviations of all rows, the data's among them; 0 for a look that does not vary.

    The rows are exchangeable under the null, and each is treated alike: so are their deviations, and the largest.
    """
    if not bool(np.all(np.isfinite(looks))):  # a NaN compares as neither extreme nor not, and would look surprising
        raise DataError("A statistic of the data or of a reordering is not finite; rescale the data.")
    spread = looks.std(axis=0)
    varies = spread > TIES * np.abs(looks).max(axis=0)
    return np.where(varies, (looks - looks.mean(axis=0)) / np.where(varies, spread, 1.0), 0.0)


def p_value(observed: float, reordered: Float[Any, "B"]) -> float:
    """(1 + how many reorderings have as large a statistic)/(B + 1).

    Statement  Under the null hypothesis P(p ≤ α) ≤ α for every α and B; ties count against rejection. The smallest
               possible p is 1/(B + 1).
    Proof      The data and its B reorderings are exchangeable under the null, so the rank of the data among them
               is uniform, or larger where there are ties.
    Source     Standard.

    >>> p_value(3.0, np.array([1.0, 2.0, 3.0, 0.0]))
    0.4
    """
    scale = TIES * max(abs(observed), float(np.abs(reordered).max(initial=0.0)))
    return (1 + int((reordered >= observed - scale).sum())) / (len(reordered) + 1)


def least_permutations(level: float, tests: int) -> int:
    """The fewest permutations with which so many tests, the level shared by them, can ever reject.

    >>> least_permutations(0.05, 3)
    59
    """
    if not 0 < level < 1:
        raise AssumptionError(f"A level is a probability between 0 and 1; got {level}.")
    return max(0, int(np.ceil(tests / level)) - 1)


def require_permutations(permutations: int, level: float, tests: int) -> None:
    """Refuse a level that is not a probability, and permutations too few to ever reject at it."""
    needed = least_permutations(level, tests)
    if permutations < needed:
        raise AssumptionError(
            f"{permutations} permutations can never reject at level {level:g} shared by {tests} tests; "
            f"ask for at least {needed}."
        )


def reorder_within(
    tokens: Shaped[Any, "N T *width"], permutations: int, rng: np.random.Generator
) -> Iterator[Shaped[Any, "B N T *width"]]:
    """The data with the tokens of every sequence reordered independently, some permutations at a time."""
    most = max(1, BLOCK // max(tokens.size, 1))
    for start in range(0, permutations, most):
        size = min(most, permutations - start)
        if tokens.ndim == 2:
            yield rng.permuted(np.broadcast_to(tokens, (size, *tokens.shape)), axis=2)
        else:  # whole vectors move: permute their places
            places = np.broadcast_to(np.arange(tokens.shape[1]), (size, *tokens.shape[:2]))
            order = rng.permuted(places, axis=2)
            yield np.take_along_axis(tokens[None], order[..., None], axis=2)
