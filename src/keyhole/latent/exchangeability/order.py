"""Permutation tests of the order of tokens, signed, and exact for every exchangeable law.

Two ways in which order can show: neighbours are more (or less) alike than other tokens of their sequence, or places
have laws of their own. Statistics keep their sign: centring biases a product of neighbours downwards, so that its
absolute value would shrink under weak positive dependence.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int, Integer, Shaped
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

Data = Shaped[Any, "..."]  # (N, T), or (N, T, d) for vectors, which `require_sequences` checks
NEIGHBOURS = "neighbours are as alike as any two tokens"
PLACES = "tokens have the same distribution at every place"
LEVELS = 256  # that ranks of reals are cut into: the laws of places are compared at so many quantiles
MOST_AXES, OBLIQUE = 64, 4  # coordinates along which vectors are compared, and random directions besides
Stack = Shaped[Any, "B N T *width"]


def neighbours_test(
    tokens: Data, *, permutations: int = 999, rng: Rng = 0, direction: Direction = "either", watch: Watch = ignore
) -> PermutationTest:
    """Test whether neighbouring tokens are more alike, or less, than tokens of one sequence are in any order.

    For letters the statistic counts equal neighbours. For reals it sums products of neighbours, centred within their
    sequence.

    >>> neighbours_test(np.array([[0, 0, 0, 1, 1, 1, 2, 2, 2]] * 4), permutations=99).p_value
    0.02
    """
    require_sequences(tokens)
    letters = np.issubdtype(tokens.dtype, np.integer)
    statistic = _equal_neighbours if letters else _neighbour_products
    tokens = numbered(tokens)[1] if letters else tokens
    return _test("neighbours", NEIGHBOURS, tokens, statistic, direction, permutations, rng, watch)


def places_test(tokens: Data, *, permutations: int = 999, rng: Rng = 0, watch: Watch = ignore) -> PermutationTest:
    """Test whether places have laws of their own; whole laws are compared, not their means alone.

    For letters the statistic counts pairs of sequences that agree at a place. For reals it is the mean over places t of
    ∫(F_t − F)²/(F(1 − F)) dF, where F_t is the law of the tokens at t and F that of all of them: once for the tokens as
    they are, once for what is left of them when the mean of their sequence is taken off, both added. For vectors it is
    the mean of that over their coordinates and up to four random directions, or over 64 random ones if there are more
    than 64 coordinates.

    Statement  P(p ≤ α) ≤ α for every exchangeable law. As sequences become many, the test of letters or reals rejects
               whatever difference of the laws of places; reals are seen to 1 in 256 of their rank.
    Proof      What is reordered is a function of a token and of its sequence without the order, so that the data and
               its reorderings are exchangeable (`p_value`). Reordered, F_t nears F at every place; as it was, F_t
               nears the law of the place.
    Source     Standard (the statistic of Anderson and Darling for several samples).

    >>> first_is_zero = np.concatenate([np.zeros((30, 1), dtype=int), 1 + np.arange(120).reshape(30, 4) % 3], axis=1)
    >>> places_test(first_is_zero, permutations=99).p_value
    0.01
    """
    require_sequences(tokens)
    if len(tokens) < 2:
        raise DataError("One sequence cannot show whether places differ; give at least two.")
    stream = np.random.default_rng(rng)
    if np.issubdtype(tokens.dtype, np.integer):
        letters, coded = numbered(tokens)
        statistic = _place_agreements(letters)
    else:
        coded = rank_levels(tokens, stream)
        statistic = _place_distances(int(coded.max()) + 1)
    return _test("places", PLACES, coded, statistic, "large", permutations, stream, watch)


def numbered(tokens: Integer[Any, "N T"]) -> tuple[int, Integer[Any, "N T"]]:
    """The number of letters, and each as its number in as few bytes as possible: small tokens are reordered faster."""
    names, numbers = np.unique(tokens, return_inverse=True)
    return len(names), numbers.reshape(tokens.shape).astype(np.min_scalar_type(len(names) - 1))


def rank_levels(tokens: Float[Any, "N T *width"], rng: np.random.Generator) -> Int[Any, "N T columns"]:
    """Reals as levels of their ranks among all: as they are, and less the mean of their sequence; ties share a level.

    Vectors have such a pair of columns for each direction they are compared along.
    """
    wide, _ = unit_scale(tokens)
    wide = wide @ _directions(wide.std(axis=(0, 1)), rng) if tokens.ndim == 3 else wide[:, :, None]
    # sorted first, so that the mean is the same to the bit in every order
    columns = np.concatenate([wide, wide - np.sort(wide, axis=1).mean(axis=1, keepdims=True)], axis=2)
    count = columns.shape[0] * columns.shape[1]
    levels = min(LEVELS, count)
    ranks = np.stack([_mean_ranks(column) for column in columns.reshape(count, -1).T], axis=1)
    return ((ranks - 0.5) * levels / count).astype(np.int16).reshape(columns.shape)


def _mean_ranks(numbers: Float[Any, "n"]) -> Float[Any, "n"]:
    """Ranks from 1 to n; equal numbers share the mean of theirs."""
    _, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return (counts.cumsum() - (counts - 1) / 2)[places]


def require_sequences(tokens: Data) -> None:
    """Refuse what is not a table of sequences: too few axes or tokens, NaN, letters that are not numbers."""
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


def _directions(spread: Float[Any, "d"], rng: np.random.Generator) -> Float[Any, "d columns"]:
    """The axes, where they are not too many, and random directions; coordinates are taken in units of their spread."""
    few = len(spread) <= MOST_AXES
    oblique = rng.normal(size=(len(spread), min(OBLIQUE, len(spread) - 1) if few else MOST_AXES))
    columns = np.concatenate([np.eye(len(spread)), oblique], axis=1) if few else oblique
    return columns / np.where(spread > 0, spread, 1.0)[:, None]


def _equal_neighbours(stack: Stack) -> Float[Any, "B"]:
    return (stack[:, :, 1:] == stack[:, :, :-1]).sum(axis=(1, 2)).astype(float)


def _neighbour_products(stack: Stack) -> Float[Any, "B"]:
    centred = stack - stack.mean(axis=2, keepdims=True)
    return (centred[:, :, 1:] * centred[:, :, :-1]).reshape(len(stack), -1).sum(axis=1)


def _place_distances(levels: int) -> Callable[[Stack], Float[Any, "B"]]:
    def distances(stack: Stack) -> Float[Any, "B"]:
        """The mean over places and levels of (F_t − F)²/(F(1 − F)), both codings of the tokens added."""
        _, _, places, columns = stack.shape
        pooled = _laws(stack[:1], levels)[0].mean(axis=0)  # F, the same in every order
        inside = (pooled > 0) & (pooled < 1 - 1e-12)
        weights = np.where(inside, 1 / np.where(inside, pooled * (1 - pooled), 1.0), 0.0) / (levels * columns / 2)
        step = max(1, BLOCK // (places * columns * levels))
        parts = np.split(stack, range(step, len(stack), step))
        return (
            np.concatenate([((_laws(part, levels) - pooled) ** 2 * weights).sum(axis=(1, 2, 3)) for part in parts])
            / places
        )

    return distances


def _laws(stack: Stack, levels: int) -> Float[Any, "B T columns levels"]:
    """F_t of every reordering, place and column: the share of sequences at each level or below."""
    count, sequences, *shape = stack.shape
    cells = np.arange(count * shape[0] * shape[1]).reshape(count, 1, *shape) * levels
    counts = np.bincount((stack + cells).ravel(), minlength=cells.size * levels)
    return counts.reshape(count, *shape, levels).cumsum(axis=-1) / sequences


def _place_agreements(letters: int) -> Callable[[Stack], Float[Any, "B"]]:
    def agreements(stack: Stack) -> Float[Any, "B"]:
        """Σ over places and letters of the squared counts, one reordering at a time."""
        offsets = np.arange(stack.shape[2]) * letters
        # a table of places × letters is quick, but may be far larger than the data: then sort
        small = len(offsets) * letters <= BLOCK
        cells = ((data + offsets).ravel() for data in stack)
        counts = (np.bincount(one) if small else np.unique(one, return_counts=True)[1] for one in cells)
        return np.array([(count**2.0).sum() for count in counts])

    return agreements
