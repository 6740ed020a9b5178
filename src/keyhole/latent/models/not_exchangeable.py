"""Samplers without a latent variable: a chain remembers its last token, and an urn without replacement runs out."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Int
from keyhole.errors import AssumptionError
from keyhole.latent.models.base import Draw, Rng, require_sizes


@dataclass(frozen=True)
class MarkovChain:
    """Each token repeats the last one with chance `stay`, and else is uniform: not exchangeable unless stay = 0."""

    letters: int = 4
    stay: float = 0.4

    def __post_init__(self) -> None:
        if self.letters < 2 or not 0 <= self.stay <= 1:
            raise AssumptionError(
                f"A chain needs at least 2 letters and a chance to stay from 0 to 1; "
                f"got {self.letters} and {self.stay}."
            )

    def sample(self, n: int, length: int, rng: Rng) -> Draw:
        """Draw chains from the uniform law; the latent is the first letter, the nearest thing it has to one."""
        require_sizes(n, length)
        stream = np.random.default_rng(rng)
        fresh = stream.integers(self.letters, size=(n, length))
        renewed = stream.random((n, length)) >= self.stay
        if length:
            renewed[:, 0] = True
        # the place of the last renewal before each token: its letter is the one still shown
        last = np.maximum.accumulate(np.where(renewed, np.arange(length), 0), axis=1)
        tokens = np.take_along_axis(fresh, last, axis=1)
        return Draw(tokens, tokens[:, 0] if length else np.zeros(n, dtype=np.int64))


@dataclass(frozen=True)
class Urn:
    """Letters drawn without replacement: exchangeable, yet no part of a longer exchangeable sequence once it is empty.

    One copy of each letter makes the tokens positions of a sentence in random order.
    """

    copies: Int[Any, "V"]  # how many of each letter the urn holds

    def __post_init__(self) -> None:
        if len(self.copies) < 2 or bool(np.any(self.copies < 0)) or self.copies.sum() < 1:
            raise AssumptionError("An urn holds at least two letters, no negative number of any, and not nothing.")

    @property
    def letters(self) -> int:
        """The size of the alphabet."""
        return len(self.copies)

    def sample(self, n: int, length: int, rng: Rng) -> Draw:
        """Empty the urn in random order, as far as `length` tokens; the latent is the urn itself, the same for all."""
        require_sizes(n, length)
        if length > self.copies.sum():
            raise AssumptionError(
                f"{length} tokens cannot be drawn without replacement from an urn of {self.copies.sum()}; "
                "ask for fewer, or fill the urn."
            )
        stream = np.random.default_rng(rng)
        contents = np.repeat(np.arange(self.letters), self.copies)
        tokens = stream.permuted(np.tile(contents, (n, 1)), axis=1)[:, :length]
        return Draw(tokens, np.tile(self.copies, (n, 1)))
