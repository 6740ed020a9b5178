"""Could the sequences go on for ever? A test of what a latent variable implies and reordering cannot see.

Tokens that are independent given a latent are never negatively correlated: Cov(g(x¹), g(x²)) = Var E[g | z] ≥ 0 for
every function g. Draws without replacement, such as positions, fail it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from keyhole.errors import DataError
from keyhole.latent.model import Rng
from keyhole.latent.order import Data, require_sequences
from keyhole.latent.permutations import PermutationTest, Watch, block_sizes, p_value

MOST_LETTERS = 64  # a frequent letter each, and one for all the rest: a function of the token, so the null still holds
BINS = 4  # letters a real number is cut into, by the quartiles of the first half


@dataclass(frozen=True)
class ExtendibilityTest(PermutationTest):
    """The test, with the direction it looked along and the covariance it found there."""

    direction: tuple[float, ...]  # g, a number per letter or per coordinate
    covariance: float  # estimate of Cov(g(x¹), g(x²)) on the second half
    sequences: int  # N₂: how many sequences the second half has


def extendibility_test(
    tokens: Data, *, permutations: int = 999, rng: Rng = 0, watch: Watch | None = None
) -> ExtendibilityTest:
    """Reject when some function of the tokens is negatively correlated within sequences.

    Statement  The first half of the sequences (in random order) chooses g, the eigenvector of the smallest
               eigenvalue of the centred pair matrix. On the second half, t studentises an unbiased estimate of
               Cov(g(x¹), g(x²)); small t speaks against every mixture of independent tokens. Its critical value
               is that of tokens permuted across the sequences of the second half: exact for independent tokens,
               asymptotically valid for every mixture, since t is studentised.
    Assumes    Sequences are independent of each other, and exchangeable within.
    Source     Ours. A bootstrap of the eigenvalue itself would reject most independent data: the least of many
               noisy eigenvalues is biased downwards, and resampling repeats the bias.

    >>> from keyhole.latent.contrasts import Urn
    >>> emptied = Urn(np.array([2, 2, 2, 2])).sample(200, 8, 0).tokens
    >>> extendibility_test(emptied, permutations=99).p_value
    0.01
    """
    require_sequences(tokens)
    if len(tokens) < 4:
        raise DataError(
            f"{len(tokens)} sequences cannot be split in two halves of two; give at least four, "
            "or ask for the order alone."
        )
    stream = np.random.default_rng(rng)
    order = stream.permutation(len(tokens))
    first, second = tokens[order[: len(order) // 2]], tokens[order[len(order) // 2 :]]
    if tokens.ndim == 3:
        direction = least_direction(first.astype(float))
        seen = second @ direction
    else:
        first_letters, second_letters = as_letters(first, second)
        direction = least_letter_direction(first_letters, int(first_letters.max()) + 1)
        # a letter that the first half lacks cannot be in the second: `as_letters` has put it with the rest
        seen = direction[second_letters]
    observed, covariance = studentised(seen[None])
    flat, parts = seen.ravel(), []
    for size in block_sizes(permutations, flat.size):
        mixed = stream.permuted(np.broadcast_to(flat, (size, flat.size)), axis=1)
        parts.append(studentised(mixed.reshape(size, *seen.shape))[0])
        if watch is not None:
            watch(size)
    p = p_value(float(observed[0]), np.concatenate(parts) if parts else np.zeros(0), "small")
    return ExtendibilityTest(
        name="extendible",
        null="tokens are independent given a latent variable",
        statistic=float(observed[0]),
        p_value=p,
        permutations=permutations,
        direction=tuple(float(number) for number in direction),
        covariance=float(covariance[0]),
        sequences=len(second),
    )


def studentised(seen: Float[Any, "B N T"]) -> tuple[Float[Any, "B"], Float[Any, "B"]]:
    """The statistic t and the estimated covariance θ̂, of B data sets of real tokens g(x).

    Statement  With S_i the sum of a sequence, q_i = (S_i² − Σ_t g²)/(T(T − 1)) and m_i = S_i/T,
               θ̂ = mean(q) − mean(m)² + var(m)/N is unbiased for Cov(g(x¹), g(x²)), and
               t = θ̂ √N / sd(q_i − 2 mean(m) m_i).
    Proof      q_i averages g(x^s)g(x^t) over pairs s ≠ t; E mean(m)² exceeds (E m)² by Var(m)/N. The standard
               deviation is that of θ̂'s linear part.
    Source     Ours.
    """
    N, T = seen.shape[1:]
    sums = seen.sum(axis=2)
    pairs = (sums**2 - (seen**2).sum(axis=2)) / (T * (T - 1))
    means = sums / T
    middle = means.mean(axis=1, keepdims=True)
    covariance = pairs.mean(axis=1) - middle[:, 0] ** 2 + means.var(axis=1, ddof=1) / N
    spread = (pairs - 2 * middle * means).std(axis=1, ddof=1)
    rounding = 1e-13 * (seen**2).mean(axis=(1, 2))  # of sums of squares that cancel
    covariance = np.where(np.abs(covariance) <= rounding, 0.0, covariance)
    # sequences that are permutations of each other have no spread at all: any covariance is then beyond doubt
    without = np.where(covariance == 0, 0.0, np.copysign(np.inf, covariance))
    t = np.divide(covariance * np.sqrt(N), spread, out=without, where=spread > rounding)
    return t, covariance


def pair_matrix(counts: Int[Any, "N V"], length: int) -> Float[Any, "V V"]:
    """The centred law of two tokens of one sequence, P(x¹ = a, x² = b) − P(x¹ = a)P(x² = b), from letter counts.

    Statement  Under a latent variable it is positive semi-definite. For a Pólya urn of α of each of V letters it
               has the eigenvalue α/(Vα(Vα + 1)) on vectors of sum 0; for draws without replacement a negative one.
    Proof      vᵀMv = Cov(v(x¹), v(x²)) = Var E[v(x) | z] ≥ 0.
    Source     Standard.
    """
    pairs = (counts.T @ counts - np.diag(counts.sum(axis=0))) / (len(counts) * length * (length - 1))
    edge = pairs.sum(axis=1)
    return pairs - np.outer(edge, edge)


def least_eigenvalue(counts: Int[Any, "N V"], length: int) -> float:
    """The smallest eigenvalue of the pair matrix on vectors of sum 0: an estimate, to be read with its bias."""
    basis = sum_free_basis(counts.shape[1])
    return float(np.linalg.eigvalsh(basis.T @ pair_matrix(counts, length) @ basis)[0])


def least_letter_direction(letters: Int[Any, "N T"], alphabet: int) -> Float[Any, "V"]:
    """A number per letter, of sum 0 and norm 1, whose covariance between tokens is least."""
    rows = np.arange(len(letters))[:, None] * alphabet
    counts = np.bincount((letters + rows).ravel(), minlength=len(letters) * alphabet).reshape(-1, alphabet)
    basis = sum_free_basis(alphabet)
    return basis @ np.linalg.eigh(basis.T @ pair_matrix(counts, letters.shape[1]) @ basis)[1][:, 0]


def least_direction(vectors: Float[Any, "N T d"]) -> Float[Any, "d"]:
    """A linear function of unit variance per coordinate, whose covariance between tokens is least."""
    N, T, d = vectors.shape
    scale = vectors.reshape(-1, d).std(axis=0)
    if not bool(np.all(scale > 0)):
        raise DataError("a coordinate of the vectors is constant; leave it out.")
    unit = (vectors - vectors.reshape(-1, d).mean(axis=0)) / scale
    sums = unit.sum(axis=1)
    matrix = (sums.T @ sums - np.einsum("ntd,nte->de", unit, unit)) / (N * T * (T - 1))
    return np.linalg.eigh(matrix)[1][:, 0] / scale


def sum_free_basis(letters: int) -> Float[Any, "V rest"]:
    """An orthonormal basis of the vectors of sum 0."""
    return np.linalg.svd(np.ones((1, letters)))[2][1:].T


def as_letters(first: Data, second: Data) -> tuple[Int[Any, "N T"], Int[Any, "M T"]]:
    """Both halves as letters 0, 1, … by a function of the token that the first half alone has chosen."""
    if np.issubdtype(first.dtype, np.floating):
        edges = np.unique(np.quantile(first, np.arange(1, BINS) / BINS))
        coded, other = np.searchsorted(edges, first, side="right"), np.searchsorted(edges, second, side="right")
    else:
        names, counts = np.unique(first, return_counts=True)
        kept = np.sort(names[np.argsort(-counts, kind="stable")[: MOST_LETTERS - 1]])
        coded, other = (_code(half, kept) for half in (first, second))
    used = np.unique(coded)
    if len(used) < 2:
        raise DataError("half of the sequences hold one letter only; there is no correlation to look at.")
    # codes the first half never uses go with its last letter, so that the alphabet has no empty letter
    return np.searchsorted(used, coded), np.minimum(np.searchsorted(used, other), len(used) - 1)


def _code(half: Data, kept: Int[Any, "K"]) -> Int[Any, "N T"]:
    places = np.minimum(np.searchsorted(kept, half), len(kept) - 1)
    return np.where(kept[places] == half, places, len(kept))
