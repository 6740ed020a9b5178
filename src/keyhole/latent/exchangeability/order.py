"""Does the order of the tokens matter? Signed permutation tests, exact for every exchangeable law.

Two ways in which order can show: neighbours are more (or less) alike than other tokens of their sequence, or places
have laws of their own. Statistics keep their sign: centring biases a product of neighbours downwards, so that its
absolute value would shrink under weak positive dependence.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from keyhole.errors import DataError
from keyhole.latent.exchangeability.permutations import (
    BLOCK,
    Direction,
    PermutationTest,
    p_value,
    reorder_within,
)
from keyhole.latent.models.base import Rng
from keyhole.progress import Progress, Watch, ignore

Data = Shaped[Any, "..."]  # (N, T), or (N, T, d) for vectors; whether it is, is asked by `require_sequences`
NEIGHBOURS = "neighbours are as alike as any two tokens"
PLACES = "every place has the same law"
Stack = Shaped[Any, "B N T *width"]


def neighbours_test(
    tokens: Data, *, permutations: int = 999, rng: Rng = 0, direction: Direction = "either", watch: Watch = ignore
) -> PermutationTest:
    """Are neighbouring tokens more alike, or less, than tokens of one sequence are in any order?

    For letters the statistic counts equal neighbours. For reals it sums products of neighbours, centred within their
    sequence.

    >>> neighbours_test(np.array([[0, 0, 0, 1, 1, 1, 2, 2, 2]] * 4), permutations=99).p_value
    0.02
    """
    require_sequences(tokens)
    statistic = _equal_neighbours if np.issubdtype(tokens.dtype, np.integer) else _neighbour_products
    return _test("neighbours", NEIGHBOURS, tokens, statistic, direction, permutations, rng, watch)


def places_test(tokens: Data, *, permutations: int = 999, rng: Rng = 0, watch: Watch = ignore) -> PermutationTest:
    """Do places have laws of their own? Counts pairs of sequences that agree at a place, or sums squared column sums.

    >>> first_is_zero = np.concatenate([np.zeros((30, 1), dtype=int), 1 + np.arange(120).reshape(30, 4) % 3], axis=1)
    >>> places_test(first_is_zero, permutations=99).p_value
    0.01
    """
    require_sequences(tokens)
    if len(tokens) < 2:
        raise DataError("One sequence cannot show whether places differ; give at least two.")
    if np.issubdtype(tokens.dtype, np.integer):
        names, coded = np.unique(tokens, return_inverse=True)
        tokens, statistic = coded.reshape(tokens.shape), _place_agreements(len(names))
    else:
        statistic = _place_sums
    return _test("places", PLACES, tokens, statistic, "large", permutations, rng, watch)


def require_sequences(tokens: Data) -> None:
    """Refuse what is not a table of sequences: too few axes or tokens, NaN, letters that are no numbers."""
    if tokens.ndim not in (2, 3):
        raise DataError(
            f"Sequences need a row each and a column per token, or a third axis for vectors; got {tokens.ndim} "
            f"{'axis' if tokens.ndim == 1 else 'axes'}."
        )
    if tokens.shape[0] < 1 or tokens.shape[1] < 2 or tokens.size == 0:
        raise DataError(
            f"{tokens.shape[0]} sequences of {tokens.shape[1]} tokens cannot show whether order matters; give at least "
            "one sequence of two tokens."
        )
    if not (np.issubdtype(tokens.dtype, np.integer) or np.issubdtype(tokens.dtype, np.floating)):
        raise DataError(f"Tokens must be whole numbers (letters) or reals; got an array of {tokens.dtype}.")
    if tokens.ndim == 3 and np.issubdtype(tokens.dtype, np.integer):
        raise DataError("Vectors must be reals; convert the whole numbers with astype(float).")
    if not bool(np.all(np.isfinite(tokens))):
        raise DataError("The sequences hold NaN or infinity; drop or fill those rows first.")


def unit_scale(tokens: Data) -> tuple[Float[Any, "N T *width"], float]:
    """Reals of full width, centred per coordinate, at most 2 in size; and the power of 2 they were divided by.

    Products of neighbours of the data itself may overflow, and sums of large numbers hide small differences.
    """
    wide = tokens.astype(np.float64)
    scale = float(2.0 ** min(np.frexp(np.abs(wide).max())[1], 1023)) or 1.0
    small = wide / scale
    return small - small.mean(axis=(0, 1)), scale


def _test(
    name: str,
    null: str,
    tokens: Data,
    statistic: Callable[[Stack], Float[Any, "B"]],
    direction: Direction,
    permutations: int,
    rng: Rng,
    watch: Watch,
) -> PermutationTest:
    stream = np.random.default_rng(rng)
    tokens, scale = unit_scale(tokens) if np.issubdtype(tokens.dtype, np.floating) else (tokens, 1.0)
    observed = float(statistic(tokens[None])[0])
    parts, done = [], 0
    for block in reorder_within(tokens, permutations, stream):
        parts.append(statistic(block))
        done += len(block)
        watch(Progress(done, permutations, f"reordering ({name})"))
    reordered = np.concatenate(parts) if parts else np.zeros(0)
    p = p_value(observed, reordered, direction)
    return PermutationTest(name, null, observed * scale * scale, p, permutations)  # products: of the data's own units


def _equal_neighbours(stack: Stack) -> Float[Any, "B"]:
    return (stack[:, :, 1:] == stack[:, :, :-1]).sum(axis=(1, 2)).astype(float)


def _neighbour_products(stack: Stack) -> Float[Any, "B"]:
    centred = stack - stack.mean(axis=2, keepdims=True)
    return (centred[:, :, 1:] * centred[:, :, :-1]).reshape(len(stack), -1).sum(axis=1)


def _place_sums(stack: Stack) -> Float[Any, "B"]:
    centred = stack - stack.mean(axis=2, keepdims=True)
    return (centred.sum(axis=1) ** 2).reshape(len(stack), -1).sum(axis=1)


def _place_agreements(letters: int) -> Callable[[Stack], Float[Any, "B"]]:
    def agreements(stack: Stack) -> Float[Any, "B"]:
        """Σ over places and letters of the squared counts, one reordering at a time."""
        offsets = np.arange(stack.shape[2]) * letters
        # a table of places × letters is quick, but may be far larger than the data: then sort
        count = np.bincount if len(offsets) * letters <= BLOCK else _repeats
        return np.array([(count((data + offsets).ravel()) ** 2.0).sum() for data in stack])

    return agreements


def _repeats(numbers: Int[Any, "n"]) -> Int[Any, "m"]:
    return np.unique(numbers, return_counts=True)[1]
