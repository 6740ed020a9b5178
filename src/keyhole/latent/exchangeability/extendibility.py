"""A test of a latent variable, which permutation tests cannot make: could the sequences go on for ever?

Tokens that are independent given a latent are never negatively correlated: Cov(g(x¹), g(x²)) = Var E[g | z] ≥ 0 for
every function g. Nor are they all different more often than equally likely letters are. Draws without replacement, such
as positions, fail both.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.errors import DataError
from keyhole.latent.exchangeability.balance import (
    Birthday,
    balance_p_value,
    birthday_test,
    choose_balance,
    covariance_within,
)
from keyhole.latent.exchangeability.order import Data, require_sequences, unit_scale
from keyhole.latent.exchangeability.permutations import PermutationTest
from keyhole.latent.models.base import Rng, letter_counts, sum_zero_basis

MOST_LETTERS = 64  # a frequent letter each, and one for all the rest: a function of the token, so the null still holds
BINS = 4  # letters a real number is cut into, by the quartiles of the first half


@dataclass(frozen=True)
class ExtendibilityTest(PermutationTest):
    """The test, with the direction it looked along and what it counted there; it needs no permutations.

    The statistic is the number of sequences of the second half with `least` to `most` tokens on the upper side of g.
    Where all tokens can be different it counts that too, and each count has half of the level.
    """

    direction: tuple[float, ...]  # g, a number per letter or per coordinate
    covariance: float  # estimate of Cov(g(x¹), g(x²)) on the second half: described, not judged
    sequences: int  # N₂: how many sequences the second half has
    least: int  # a
    most: int  # b
    ceiling: float  # π*: no latent variable puts a larger share of sequences between a and b
    balance_p_value: float  # of that count alone
    birthday: Birthday | None  # the other look, at sequences whose tokens are all different; None where it has no sense


def extendibility_test(tokens: Data, *, rng: Rng = 0) -> ExtendibilityTest:
    """Reject when tokens divide more evenly within sequences, or repeat less often, than any latent variable lets them.

    Where the first half holds one letter only, p = 1 and π* = 1.

    Statement  The first half of the sequences (in random order) chooses g, the eigenvector of the smallest
               eigenvalue of the centred pair matrix, and counts a to b. On the second half K is the number of a
               sequence's tokens on the upper side of g. No mixture of independent tokens gives a ≤ K ≤ b a chance
               above π*, so P(p₁ ≤ α) ≤ α for every mixture, every N and every α, with p₁ = P(Bin(N₂, π*) ≥ the number
               of such sequences). If tokens are letters and the first half has at least T different ones, p₂ is that
               of `birthday_test` and p = min(1, 2·min(p₁, p₂)): each has half of the level. Otherwise tokens
               cannot all be different and p = p₁. In both cases P(p ≤ α) ≤ α.
    Assumes    Sequences are independent of each other; their latents need not have one law.
    Proof      Given the first half, `balance_ceiling`, `balance_p_value` and `birthday_test`; a union of two.
    Equality   Independent tokens, up to the steps of the binomial, where there is one look.
    Source     Ours. Studentising the covariance and permuting tokens across sequences is exact for independent
               tokens only: where a rare latent value carries all the spread, it rejects several times too often. A
               bootstrap of the eigenvalue rejects most independent data: the least of many noisy eigenvalues is
               biased downwards, and resampling repeats the bias. The price is power: what few sequences show, or
               what shows in the size of g but not in its sign, is not seen.

    >>> from keyhole.latent.models.not_exchangeable import Urn
    >>> emptied = Urn(np.array([2, 2, 2, 2])).sample(200, 8, 0).tokens
    >>> extendibility_test(emptied).p_value < 1e-6
    True
    >>> positions = Urn(np.ones(100, dtype=int)).sample(400, 8, 0).tokens
    >>> extendibility_test(positions).birthday.distinct
    200
    """
    require_sequences(tokens)
    if len(tokens) < 4:
        raise DataError(
            f"{len(tokens)} sequences cannot be split in two halves of two; give at least four, "
            "or ask for the order alone."
        )
    if tokens.ndim == 3 and bool((tokens == tokens[:1, :1]).all(axis=(0, 1)).any()):
        raise DataError("A coordinate of the vectors is constant; leave it out.")
    stream = np.random.default_rng(rng)
    order = stream.permutation(len(tokens))
    whole = np.issubdtype(tokens.dtype, np.integer)
    tokens, scale = (tokens, 1.0) if whole else unit_scale(tokens)
    first, second = tokens[order[: len(order) // 2]], tokens[order[len(order) // 2 :]]
    if tokens.ndim == 3:
        unscaled = least_direction(first)
        scores, held_out, direction = first @ unscaled, second @ unscaled, unscaled / scale
        edge = float(np.median(scores))
    else:
        first_letters, second_letters = as_letters(first, second)
        direction = least_letter_direction(first_letters, int(first_letters.max()) + 1)
        # a letter that the first half lacks cannot be in the second: `as_letters` has put it with the rest
        scores, held_out, edge = direction[first_letters], direction[second_letters], 0.0
    event = choose_balance((scores > edge).sum(axis=1), tokens.shape[1])
    counts = (held_out > edge).sum(axis=1)
    balanced = int(((counts >= event.least) & (counts <= event.most)).sum())
    p = balance_p_value(balanced, len(second), event.ceiling)
    birthday = birthday_test(first, second) if whole and len(np.unique(first)) >= tokens.shape[1] else None
    return ExtendibilityTest(
        name="extendible",
        null="tokens are independent given a latent variable",
        statistic=float(balanced),
        p_value=p if birthday is None else min(1.0, 2 * min(p, birthday.p_value)),
        permutations=0,
        least_p=_least_p(len(second), event.ceiling, birthday),
        direction=tuple(float(number) for number in direction),
        covariance=covariance_within(held_out),
        sequences=len(second),
        least=event.least,
        most=event.most,
        ceiling=event.ceiling,
        balance_p_value=p,
        birthday=birthday,
    )


def _least_p(sequences: int, ceiling: float, birthday: Birthday | None) -> float:
    """Return p where every sequence divides evenly, or none repeats a letter."""
    if birthday is None:
        return ceiling**sequences
    return min(1.0, 2 * min(ceiling, birthday.ceiling) ** sequences)


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
    basis = sum_zero_basis(counts.shape[1])
    return float(np.linalg.eigvalsh(basis.T @ pair_matrix(counts, length) @ basis)[0])


def least_letter_direction(letters: Int[Any, "N T"], alphabet: int) -> Float[Any, "V"]:
    """A number per letter, of sum 0 and norm 1, whose covariance between tokens is least; 0 for one letter."""
    if alphabet == 1:
        return np.zeros(1)
    counts = letter_counts(letters, alphabet)
    basis = sum_zero_basis(alphabet)
    return basis @ np.linalg.eigh(basis.T @ pair_matrix(counts, letters.shape[1]) @ basis)[1][:, 0]


def least_direction(vectors: Float[Any, "N T d"]) -> Float[Any, "d"]:
    """A linear function of coordinates of unit variance, whose covariance between tokens is least."""
    N, T, d = vectors.shape
    spread = vectors.reshape(-1, d).std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)  # a coordinate may be constant in this half: it then stays 0
    unit = (vectors - vectors.reshape(-1, d).mean(axis=0)) / scale
    sums = unit.sum(axis=1)
    matrix = (sums.T @ sums - np.einsum("ntd,nte->de", unit, unit)) / (N * T * (T - 1))
    return np.linalg.eigh(matrix)[1][:, 0] / scale


def as_letters(first: Data, second: Data) -> tuple[Int[Any, "N T"], Int[Any, "M T"]]:
    """Both halves as letters 0, 1, … by a function of the token that the first half alone has chosen."""
    if np.issubdtype(first.dtype, np.floating):
        edges = np.unique(np.quantile(first, np.arange(1, BINS) / BINS, method="inverted_cdf"))
        coded, other = np.searchsorted(edges, first, side="right"), np.searchsorted(edges, second, side="right")
    else:
        names, counts = np.unique(first, return_counts=True)
        kept = np.sort(names[np.argsort(-counts, kind="stable")[: MOST_LETTERS - 1]])
        coded, other = (_code(half, kept) for half in (first, second))
    used = np.unique(coded)
    # codes the first half never uses go with its last letter, so that the alphabet has no empty letter
    return np.searchsorted(used, coded), np.minimum(np.searchsorted(used, other), len(used) - 1)


def _code(half: Data, kept: Int[Any, "K"]) -> Int[Any, "N T"]:
    places = np.minimum(np.searchsorted(kept, half), len(kept) - 1)
    return np.where(kept[places] == half, places, len(kept))
