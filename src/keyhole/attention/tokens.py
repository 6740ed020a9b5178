"""Tokens as vectors: every (position, symbol) has one, and [CLS] one more, the last row of X."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace

from keyhole.arrays import Float, Shaped
from keyhole.attention.positions import Positions, kind
from keyhole.attention.types import Array, require_weights, side
from keyhole.errors import ShapeError

BLOCK = 2**22  # numbers of an embedding held at once when it is only passed through


class Embedding(ABC):
    """T positions that each show one of A symbols, as vectors of width d; and the vector of [CLS]."""

    cls: Array  # (d,)

    @property
    @abstractmethod
    def sides(self) -> tuple[int, int, int]:
        """T, A and d."""

    @property
    def tokens(self) -> int:
        """T, without [CLS]."""
        return self.sides[0]

    @property
    def symbols(self) -> int:
        """A, the size of the alphabet."""
        return self.sides[1]

    @property
    def width(self) -> int:
        """d, the number of coordinates."""
        return self.sides[2]

    @abstractmethod
    def rows(self, start: int, stop: int) -> Float[Any, "rows A d"]:
        """The vectors of positions start, …, stop − 1, one per symbol."""

    def image(self, weight: Float[Any, "d k"]) -> Float[Any, "T A k"]:
        """Wᵀx for every (position, symbol), a block of positions at a time."""
        parts = [self.rows(start, stop) @ weight for start, stop in self.blocks()]
        return array_namespace(weight).concat(parts, axis=0)

    def blocks(self) -> list[tuple[int, int]]:
        """Consecutive ranges of positions whose vectors together stay small."""
        step = max(1, BLOCK // (self.symbols * self.width))
        return [(start, min(start + step, self.tokens)) for start in range(0, self.tokens, step)]


@dataclass(frozen=True, eq=False)
class PairEmbedding(Embedding):
    """One vector per (position, symbol), kept as a table."""

    table: Array  # (T, A, d)
    cls: Array  # (d,)

    def __post_init__(self) -> None:
        require_weights(table=(self.table, ("T", "A", "d")), cls=(self.cls, (side(self.table, 2),)))
        require_alphabet(side(self.table, 1))

    @property
    def sides(self) -> tuple[int, int, int]:
        """The sides of the table."""
        return tuple(self.table.shape)

    def rows(self, start: int, stop: int) -> Float[Any, "rows A d"]:
        """A slice of the table."""
        return self.table[start:stop, :, :]


@dataclass(frozen=True, eq=False)
class OneHotPairs(Embedding):
    """x_t = e_(t·A + b_t) and x_CLS = e_(T·A): orthonormal pairs, of which only the kind of array is kept."""

    count: int
    alphabet: int
    like: Array  # (): a scalar of the library and type the vectors are to have

    def __post_init__(self) -> None:
        require_alphabet(self.alphabet)
        if self.count < 1:
            raise ShapeError(f"a context of length {self.count} is empty; give at least one position")

    @property
    def sides(self) -> tuple[int, int, int]:
        """One coordinate per pair, and one for [CLS]."""
        return self.count, self.alphabet, self.count * self.alphabet + 1

    @property
    def cls(self) -> Float[Any, "d"]:
        """The last unit vector."""
        return self._unit(self.width - 1, self.width)[0, :]

    def rows(self, start: int, stop: int) -> Float[Any, "rows A d"]:
        """Unit vectors in order."""
        xp = array_namespace(self.like)
        pairs = self._unit(start * self.alphabet, stop * self.alphabet)
        return xp.reshape(pairs, (stop - start, self.alphabet, self.width))

    def image(self, weight: Float[Any, "d k"]) -> Float[Any, "T A k"]:
        """The rows of W themselves: no vector is made."""
        pairs = weight[: self.count * self.alphabet, :]
        return array_namespace(weight).reshape(pairs, (self.count, self.alphabet, weight.shape[1]))

    def _unit(self, start: int, stop: int) -> Float[Any, "rows d"]:
        xp = array_namespace(self.like)
        place, coordinate = xp.arange(start, stop), xp.arange(self.width)
        return xp.astype(place[:, None] == coordinate[None, :], self.like.dtype)


@dataclass(frozen=True, eq=False)
class AdditiveEmbedding(Embedding):
    """x_t = p_t + e_(b_t): a token vector plus a position code, padded with zeros if narrower."""

    table: Array  # (A, d): a vector per symbol
    positions: Positions
    cls: Array  # (d,): with its own position added, if it has one

    def __post_init__(self) -> None:
        require_weights(table=(self.table, ("A", "d")), cls=(self.cls, (side(self.table, 1),)))
        require_alphabet(side(self.table, 0))
        width = side(self.table, 1)
        if isinstance(width, int) and isinstance(self.positions, Positions) and self.positions.width > width:
            raise ShapeError(
                f"position codes of width {self.positions.width} do not fit into tokens of width {width}; "
                "widen the token vectors or narrow the codes"
            )

    @property
    def sides(self) -> tuple[int, int, int]:
        """The number of position codes, and the sides of the table."""
        return (self.positions.tokens, *self.table.shape)

    def rows(self, start: int, stop: int) -> Float[Any, "rows A d"]:
        """Every token vector at every one of these positions."""
        xp = array_namespace(self.table)
        codes = self.positions.rows(start, stop, self.table)
        spare = self.width - self.positions.width
        if spare:
            codes = xp.concat([codes, xp.zeros((stop - start, spare), **kind(codes))], axis=1)
        return codes[:, None, :] + self.table[None, :, :]

    def image(self, weight: Float[Any, "d k"]) -> Float[Any, "T A k"]:
        """The images of codes and of token vectors, added: T + A products instead of T·A."""
        top = weight[: self.positions.width, :]
        parts = [self.positions.rows(start, stop, self.table) @ top for start, stop in self.blocks()]
        codes = array_namespace(weight).concat(parts, axis=0)
        return codes[:, None, :] + (self.table @ weight)[None, :, :]


def require_alphabet(symbols: int | str) -> None:
    """Refuse an alphabet of fewer than two symbols."""
    if isinstance(symbols, int) and symbols < 2:
        raise ShapeError(f"an alphabet of {symbols} symbol says nothing; give at least two symbols")


def require_symbols(sequences: Array, tokens: int, symbols: int) -> None:
    """Refuse sequences of another length or alphabet than the model was made for."""
    xp = array_namespace(sequences)
    if sequences.ndim not in {1, 2} or sequences.shape[-1] != tokens:
        raise ShapeError(
            f"sequences of shape {tuple(sequences.shape)} were given to a model of {tokens} positions; "
            f"give one sequence ({tokens},) or a batch (n, {tokens})"
        )
    if not xp.isdtype(sequences.dtype, ("bool", "integral")):
        raise ShapeError(f"symbols are whole numbers from 0 to {symbols - 1} or bits; got {sequences.dtype}")
    if xp.isdtype(sequences.dtype, "bool") or sequences.shape[0] == 0:
        return
    try:
        low, high = int(xp.min(sequences)), int(xp.max(sequences))
    except TypeError:  # a traced array has no values yet
        return
    if low < 0 or high >= symbols:
        raise ShapeError(
            f"symbols run from 0 to {symbols - 1} here, and the sequences hold {low if low < 0 else high}; "
            "use the alphabet the model was made for"
        )


def embed_tokens(embedding: Embedding, sequences: Shaped[Any, "*batch T"]) -> Float[Any, "*batch rows d"]:
    """The rows X of each sequence, [CLS] last: shape (…, T + 1, d)."""
    require_symbols(sequences, embedding.tokens, embedding.symbols)
    xp = array_namespace(embedding.cls)
    pairs = xp.reshape(embedding.rows(0, embedding.tokens), (-1, embedding.width))
    first = xp.arange(embedding.tokens) * embedding.symbols
    index = first + xp.astype(xp.asarray(sequences), first.dtype)
    rows = xp.take(pairs, xp.reshape(index, (-1,)), axis=0)
    rows = xp.reshape(rows, (*sequences.shape, embedding.width))
    cls = xp.broadcast_to(embedding.cls, (*sequences.shape[:-1], 1, embedding.width))
    return xp.concat([rows, cls], axis=-2)
