"""Position codes: one vector per place in the context, by rule or by table, any block of them on demand."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array

from keyhole.arrays import Float, UInt64
from keyhole.attention.types import Array, require_weights
from keyhole.errors import ShapeError

WORD_BITS = 64  # of a word of the generator
COUNT_WORDS = 4  # and gives four of them per count: Philox 4×64


class Positions(ABC):
    """T codes of one width; any block of rows can be computed by itself."""

    @property
    @abstractmethod
    def tokens(self) -> int:
        """T, the number of places."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of coordinates of a code."""

    @abstractmethod
    def rows(self, start: int, stop: int, like: Array) -> Float[Any, "rows width"]:
        """The codes of places start, …, stop − 1, as an array of the kind of `like`."""


@dataclass(frozen=True, eq=False)
class LearnedPositions(Positions):
    """Codes kept as a table of weights."""

    table: Array  # (T, width)

    def __post_init__(self) -> None:
        require_weights(positions=(self.table, ("T", "width")))

    @property
    def tokens(self) -> int:
        """T, the rows of the table."""
        return int(self.table.shape[0])

    @property
    def width(self) -> int:
        """The columns of the table."""
        return int(self.table.shape[1])

    def rows(self, start: int, stop: int, like: Array) -> Float[Any, "rows width"]:  # noqa: ARG002  (it has a kind)
        """A slice of the table."""
        return self.table[start:stop, :]


@dataclass(frozen=True)
class _Rule(Positions):
    """Codes given by a rule, so that nothing is kept of them."""

    count: int
    size: int

    def __post_init__(self) -> None:
        if self.count < 1 or self.size < 1:
            raise ShapeError(
                f"{self.count} positions of width {self.size} were asked for; a context has at least one "
                "position, and a code at least one coordinate"
            )

    @property
    def tokens(self) -> int:
        """T, as asked for."""
        return self.count

    @property
    def width(self) -> int:
        """The width, as asked for."""
        return self.size

    def rows(self, start: int, stop: int, like: Array) -> Float[Any, "rows width"]:
        """The rule's numbers, brought to the library, type and device of `like`."""
        return array_namespace(like).asarray(self.numbers(np.arange(start, stop)), **kind(like))

    @abstractmethod
    def numbers(self, places: Any) -> Any:
        """The codes of consecutive places, in double precision."""


@dataclass(frozen=True)
class OneHotPositions(_Rule):
    """p_t = e_t: orthonormal codes, of any width ≥ T."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < self.count:
            raise ShapeError(
                f"{self.count} one-hot positions need as many coordinates, and {self.size} were given; "
                f"take a width of at least {self.count}, or sign codes"
            )

    def numbers(self, places: Any) -> Any:
        """Rows of the identity."""
        return (places[:, None] == np.arange(self.size)[None, :]).astype(np.float64)


@dataclass(frozen=True)
class SignCodes(_Rule):
    """p_t ∈ {±1/√d}^d at random from a seed, ‖p_t‖ = 1: nearly orthogonal once d ≫ log T.

    Row t is the generator's answer to its own counts, t·c, …, t·c + c − 1 with c counts per row: a row is the
    same whenever, in whichever block and order it is computed.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.seed < 2**128:
            raise ShapeError(f"a seed is a whole number from 0 to 2¹²⁸ − 1, the generator's key; got {self.seed}")

    def numbers(self, places: Any) -> Any:
        """Bits of the keyed counter, read as signs."""
        if len(places) == 0:
            return np.zeros((0, self.size))
        words = self.words(int(places[0]), int(places[0]) + len(places)).astype("<u8")
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little", count=self.size)
        return (1.0 - 2.0 * bits) / math.sqrt(self.size)

    def words(self, start: int, stop: int) -> UInt64[np.ndarray, "rows words"]:
        """The codes of places start, …, stop − 1 as bits, 64 to a word, a 1 for a minus sign; spare bits are 0."""
        counts = math.ceil(self.size / (WORD_BITS * COUNT_WORDS))
        generator = np.random.Philox(key=self.seed, counter=start * counts)
        words: Any = generator.random_raw((stop - start) * counts * COUNT_WORDS).reshape(stop - start, -1)
        words = words[:, : math.ceil(self.size / WORD_BITS)].copy()
        words[:, -1] &= np.uint64((1 << ((self.size - 1) % WORD_BITS + 1)) - 1)
        return np.asarray(words)

    def products(self, start: int, stop: int, others: tuple[int, ...]) -> Float[np.ndarray, "rows others"]:
        """⟨p_t, p_i⟩ for places start, …, stop − 1 and each other place i.

        Statement  ⟨p_t, p_i⟩ = 1 − 2 h/d, h the number of coordinates in which the two codes differ.
        Proof      A coordinate adds 1/d where they agree and −1/d where they differ.
        """
        words = self.words(start, stop)
        apart = [np.bitwise_count(words ^ self.words(i, i + 1)).sum(axis=1, dtype=np.int64) for i in others]
        return 1.0 - 2.0 * np.stack(apart, axis=1) / self.size


def kind(like: Array) -> dict[str, Any]:
    """The type and device that an array made beside `like` is to have."""
    if is_torch_array(like):
        return {"dtype": like.dtype, "device": device(like)}
    return {"dtype": like.dtype}  # a traced jax array has no device yet
