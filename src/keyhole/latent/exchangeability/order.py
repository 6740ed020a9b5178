"""Permutation tests of the order of tokens, exact for every exchangeable law.

Two ways in which order can show: tokens a few places apart are more (or less) alike than other tokens of their
sequence, or places have laws of their own. Each test takes several looks, and judges the largest of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int, Integer, Shaped
from keyhole.errors import DataError
from keyhole.latent.exchangeability.permutations import (
    BLOCK,
    Look,
    PermutationTest,
    deviations,
    p_value,
    reorder_within,
)
from keyhole.latent.models.base import Rng
from keyhole.progress import Progress, Watch, ignore

Data = Shaped[Any, "..."]  # (N, T), or (N, T, d) for vectors, which `require_sequences` checks
NEIGHBOURS = "tokens a few places apart are as alike as any two"
PLACES = "tokens have the same distribution at every place"
LEVELS = 256  # that ranks of reals are cut into: the laws of places are compared at so many quantiles
FADING = 0.3  # dependence fades: a lag counts as the one before does if it is so many standard deviations further off
LAGS = 5  # distances at which tokens of a sequence are compared, at most
MOST_AXES, OBLIQUE = 64, 4  # coordinates along which vectors are compared, and random directions besides
Stack = Shaped[Any, "B N T *width"]


def neighbours_test(tokens: Data, *, permutations: int = 999, rng: Rng = 0, watch: Watch = ignore) -> PermutationTest:
    """Test whether tokens 1 to 5 places apart are more alike, or less, than tokens of one sequence are in any order.

    For letters a look counts equal tokens at one distance. For reals it sums their products, centred within their
    sequence. Each is taken in standard deviations of the reorderings, in size, less 0.3 for each place further
    apart; the statistic is the largest.

    >>> neighbours_test(np.array([[0, 0, 0, 1, 1, 1, 2, 2, 2]] * 4), permutations=99).p_value
    0.01
    """
    require_sequences(tokens)
    whole = np.issubdtype(tokens.dtype, np.integer)
    alike = _equal_tokens if whole else _products
    tokens = numbered(tokens)[1] if whole else unit_scale(tokens)[0]
    lags = range(1, min(LAGS, tokens.shape[1] - 1) + 1)

    def looks(stack: Stack) -> Float[Any, "B looks"]:
        return alike(stack, lags)

    names = tuple(f"lag {lag}" for lag in lags)
    return _test("neighbours", NEIGHBOURS, tokens, names, looks, permutations, np.random.default_rng(rng), watch)


def places_test(tokens: Data, *, permutations: int = 999, rng: Rng = 0, watch: Watch = ignore) -> PermutationTest:
    """Test whether places have laws of their own: by whole laws, by a drift along the places, and by their spreads.

    For letters the first look counts pairs of sequences that agree at a place, and the second is Σ D_a²/n_a, where D_a
    sums t − t̄ over the n_a tokens that are the letter a. For reals the first is the mean over places t of
    ∫(F_t − F)²/(F(1 − F)) dF, where F_t is the law of the tokens at t and F that of all of them; the second is the
    square of Σ (t − t̄)·(mean rank at t); the third sums over t the squares by which the mean squared rank at t, less
    the middle, differs from that of all. Each is taken once for the tokens as they are, once for what is left of them
    when the mean of their sequence is taken off, both added. For vectors it is the mean of that over their coordinates
    and up to four random directions, or over 64 random ones if there are more than 64 coordinates. Cube roots of the
    looks, in standard deviations of the reorderings, are compared, and the statistic is the largest.

    Statement  P(p ≤ α) ≤ α for every exchangeable law. As sequences become many, the test of letters or reals rejects
               whatever difference of the laws of places; reals are seen to 1 in 256 of their rank.
    Proof      What is reordered is a function of a token and of its sequence without the order, so that the data and
               its reorderings are exchangeable (`p_value`). Reordered, F_t nears F at every place; as it was, F_t
               nears the law of the place, and the first look leaves what reorderings give it.
    Source     Standard (the statistics of Anderson and Darling, of Mood, and of trend).

    >>> first_is_zero = np.concatenate([np.zeros((30, 1), dtype=int), 1 + np.arange(120).reshape(30, 4) % 3], axis=1)
    >>> places_test(first_is_zero, permutations=99).p_value
    0.01
    """
    require_sequences(tokens)
    if len(tokens) < 2:
        raise DataError("One sequence cannot show whether places differ; give at least two.")
    stream = np.random.default_rng(rng)
    names: tuple[str, ...] = ("laws of places", "drift along places")
    if np.issubdtype(tokens.dtype, np.integer):
        letters, coded = numbered(tokens)
        looks = _place_agreements(letters)
    else:
        coded = rank_levels(tokens, stream)
        looks = _place_distances(int(coded.max()) + 1)
        names = (*names, "spread by place")

    def roots(stack: Stack) -> Float[Any, "B looks"]:
        return np.cbrt(looks(stack))  # near normal, so that their tails compare (Wilson and Hilferty)

    return _test("places", PLACES, coded, names, roots, permutations, stream, watch)


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
    names: tuple[str, ...],
    looks: Callable[[Stack], Float[Any, "B looks"]],
    permutations: int,
    rng: np.random.Generator,
    watch: Watch,
) -> PermutationTest:
    parts, done = [looks(tokens[None])], 0
    for block in reorder_within(tokens, permutations, rng):
        parts.append(looks(block))
        done += len(block)
        watch(Progress(done, permutations, f"reordering ({name})"))
    off = deviations(np.concatenate(parts))
    largest = (np.abs(off) - FADING * np.arange(off.shape[1]) if name == "neighbours" else off).max(axis=1)
    return PermutationTest(
        name,
        null,
        statistic=float(largest[0]),
        p_value=p_value(float(largest[0]), largest[1:]),
        permutations=permutations,
        least_p=p_value(float(largest.max()), np.delete(largest, largest.argmax())),
        looks=tuple(Look(look, float(number)) for look, number in zip(names, off[0], strict=True)),
    )


def _directions(spread: Float[Any, "d"], rng: np.random.Generator) -> Float[Any, "d columns"]:
    """The axes, where they are not too many, and random directions; coordinates are taken in units of their spread."""
    few = len(spread) <= MOST_AXES
    oblique = rng.normal(size=(len(spread), min(OBLIQUE, len(spread) - 1) if few else MOST_AXES))
    columns = np.concatenate([np.eye(len(spread)), oblique], axis=1) if few else oblique
    return columns / np.where(spread > 0, spread, 1.0)[:, None]


def _equal_tokens(stack: Stack, lags: range) -> Float[Any, "B looks"]:
    return np.stack([(stack[:, :, lag:] == stack[:, :, :-lag]).sum(axis=(1, 2)) for lag in lags], axis=1).astype(float)


def _products(stack: Stack, lags: range) -> Float[Any, "B looks"]:
    centred = stack - stack.mean(axis=2, keepdims=True)
    products = (centred[:, :, lag:] * centred[:, :, :-lag] for lag in lags)
    return np.stack([product.reshape(len(stack), -1).sum(axis=1) for product in products], axis=1)


def _place_distances(levels: int) -> Callable[[Stack], Float[Any, "B looks"]]:
    def distances(stack: Stack) -> Float[Any, "B looks"]:
        """Laws, drift and spread of places, both codings of the tokens added."""
        _, _, places, columns = stack.shape
        pooled = _laws(stack[:1], levels)[0].mean(axis=0)  # F, the same in every order
        inside = (pooled > 0) & (pooled < 1 - 1e-12)
        weights = np.where(inside, 1 / np.where(inside, pooled * (1 - pooled), 1.0), 0.0) / (levels * columns / 2)
        steps = np.arange(places) - (places - 1) / 2
        squared = 2.0 * np.arange(levels) + 2 - levels  # (l + 1 − c)² − (l − c)² about the middle c of the levels

        def measured(part: Stack) -> Float[Any, "B looks"]:
            off = _laws(part, levels) - pooled
            drift = np.einsum("t,btcl->bc", steps, off) / levels
            spread = off @ squared / levels**2
            laws = (off**2 * weights).sum(axis=(1, 2, 3)) / places
            return np.stack([laws, (drift**2).sum(axis=1), (spread**2).sum(axis=(1, 2))], axis=1)

        step = max(1, BLOCK // (places * columns * levels))
        return np.concatenate([measured(part) for part in np.split(stack, range(step, len(stack), step))])

    return distances


def _laws(stack: Stack, levels: int) -> Float[Any, "B T columns levels"]:
    """F_t of every reordering, place and column: the share of sequences at each level or below."""
    count, sequences, *shape = stack.shape
    cells = np.arange(count * shape[0] * shape[1]).reshape(count, 1, *shape) * levels
    counts = np.bincount((stack + cells).ravel(), minlength=cells.size * levels)
    return counts.reshape(count, *shape, levels).cumsum(axis=-1) / sequences


def _place_agreements(letters: int) -> Callable[[Stack], Float[Any, "B looks"]]:
    def agreements(stack: Stack) -> Float[Any, "B looks"]:
        """Σ of the squared counts over places and letters, and Σ D²/n over letters; one reordering at a time."""
        sequences, places = stack.shape[1:]
        offsets = np.arange(places) * letters
        steps = np.tile(np.arange(places) - (places - 1) / 2, sequences)
        shares = 1.0 / np.bincount(stack[0].ravel(), minlength=letters)
        # a table of places × letters is quick, but may be far larger than the data: then sort
        small = places * letters <= BLOCK
        cells = ((data + offsets).ravel() for data in stack)
        counts = (np.bincount(one) if small else np.unique(one, return_counts=True)[1] for one in cells)
        agreeing = [(count**2.0).sum() for count in counts]
        drifts = [(np.bincount(data.ravel(), steps, letters) ** 2 * shares).sum() for data in stack]
        return np.array([agreeing, drifts]).T

    return agreements
