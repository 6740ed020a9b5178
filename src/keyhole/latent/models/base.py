"""An exchangeable model draws a latent once per sequence, then every token independently given it.

A model is any value with the methods of a protocol. Tokens are arrays with a row per sequence
and a column per token: letters (n, T) counted from 0, or real vectors (n, T, d). A token of a regression is a key
and its value side by side.
"""

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from keyhole.arrays import Float, Shaped
from keyhole.errors import AssumptionError, DataError

Rng: TypeAlias = int | np.random.Generator  # a seed, or a stream to draw from
Tokens: TypeAlias = Shaped[Any, "n T *width"]
Letters: TypeAlias = Shaped[Any, "n T"]  # whole numbers from 0, which `require_letters` checks
Probabilities: TypeAlias = Float[Any, "n m"]  # a probability vector per sequence

SUMS = 1e-9  # a law of 10⁴ terms rounded at 1e-16 sums to 1 within 1e-12; typed digits deserve a little more


@dataclass(frozen=True)
class Draw:
    """Sequences, and the latent each of them was drawn from."""

    tokens: Tokens
    latents: Shaped[Any, "n *latent"]


@runtime_checkable
class Sampler(Protocol):
    """Anything that draws sequences: all that a test of exchangeability needs of a model."""

    def sample(self, n: int, length: int, rng: Rng) -> Draw:
        """Draw n sequences of `length` tokens; one seed gives the same tokens."""


def require_probabilities(what: str, law: Float[Any, "*rows"]) -> None:
    """Refuse numbers that are not probabilities: NaN, negative, or columns that do not sum to 1."""
    name = what[:1].upper() + what[1:]
    if law.size == 0 or not bool(np.all(np.isfinite(law))) or bool(np.any(law < 0)):
        shown = ", ".join(f"{number:.4g}" for number in law.ravel()[:6]) + ", …" * (law.size > 6)
        raise AssumptionError(f"{name} must be non-negative numbers, at least one; got {shown or 'none'}.")
    sums = np.ravel(law.sum(axis=0))
    if bool(np.any(np.abs(sums - 1) > SUMS)):
        worst = sums[np.argmax(np.abs(sums - 1))]
        raise AssumptionError(f"{name} must sum to 1, but sums to {worst:.9g}; divide by the sum.")


def require_letters(tokens: Letters, letters: int) -> None:
    """Refuse tokens that are not whole numbers below the size of the alphabet."""
    if not np.issubdtype(tokens.dtype, np.integer):
        raise DataError(f"Letters are whole numbers from 0 to {letters - 1}; got an array of {tokens.dtype}.")
    if tokens.size and (tokens.min() < 0 or tokens.max() >= letters):
        raise DataError(
            f"The alphabet has {letters} letters, 0 to {letters - 1}; got letters from {tokens.min()} to "
            f"{tokens.max()}."
        )


def require_vectors(tokens: Tokens, width: int) -> None:
    """Refuse tokens that are not finite vectors of the model's width."""
    if tokens.ndim != 3 or tokens.shape[2] != width:
        raise DataError(f"Tokens of this model have shape (n, T, {width}); got {tokens.shape}.")
    if not (np.issubdtype(tokens.dtype, np.number) and bool(np.all(np.isfinite(tokens)))):
        raise DataError("Tokens hold NaN or infinity; every entry must be a finite number.")


def require_sizes(n: int, length: int) -> None:
    """Refuse to draw fewer than one sequence, or a sequence of negative length."""
    if n < 1 or length < 0:
        raise AssumptionError(f"{n} sequences of {length} tokens were asked for; ask for at least 1 of at least 0.")


def letter_counts(tokens: Letters, letters: int) -> Shaped[Any, "n letters"]:
    """The number of times each letter occurs in each sequence.

    >>> letter_counts(np.array([[0, 2, 2]]), 4).tolist()
    [[1, 0, 2, 0]]
    """
    require_letters(tokens, letters)
    rows = np.arange(len(tokens))[:, None] * letters
    return np.bincount((tokens + rows).ravel(), minlength=len(tokens) * letters).reshape(len(tokens), letters)


def sum_zero_basis(m: int) -> Float[Any, "m m_less"]:
    """An orthonormal basis of the vectors of m entries that sum to 0."""
    return np.asarray(np.linalg.svd(np.ones((1, m)))[2][1:].T)


def draw_letters(laws: Probabilities, length: int, rng: np.random.Generator) -> Letters:
    """For each row, `length` letters independently from its law."""
    edges = np.cumsum(laws, axis=1)
    edges /= edges[:, -1:]  # so that rounding leaves no gap at the top
    places = rng.random((len(laws), length))
    return (places[:, :, None] >= edges[:, None, :-1]).sum(axis=2)
