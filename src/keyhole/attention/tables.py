"""A layer read at [CLS] over a finite alphabet is two tables per head: token t can show A vectors, no more.

Head h gives position t and symbol a the score s[t, a] and the value v[t, a, :]; [CLS] has one score and one
value. Scores, values, a norm before attention and all embeddings are inside the tables; what follows
attention stays as it is. Nothing is lost: the tables are the model.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from keyhole.attention.layers import Affine, Identity
from keyhole.attention.normalisers import Normaliser, Softmax
from keyhole.attention.types import Array, numbers_of, require_weights, side
from keyhole.attention.weights import Model, ReadOut, Wiring
from keyhole.errors import AssumptionError, ShapeError


@dataclass(frozen=True, eq=False)
class TabulatedHead:
    """One head's tables, a row per stored position, and [CLS]'s own entries."""

    scores: Array  # (rows, A)
    values: Array  # (rows, A, k)
    cls_score: Array  # ()
    cls_value: Array  # (k,)
    normaliser: Normaliser = field(default_factory=Softmax)
    activation: Any = field(default_factory=Identity)

    def __post_init__(self) -> None:
        rows, symbols = side(self.scores, 0), side(self.scores, 1)
        require_weights(
            scores=(self.scores, ("rows", "A")),
            values=(self.values, (rows, symbols, "k")),
            cls_score=(self.cls_score, ()),
            cls_value=(self.cls_value, (side(self.values, 2),)),
        )


@dataclass(frozen=True, eq=False)
class Tabulated:
    """A one-layer [CLS] model as tables.

    With `positions` None every one of the T positions has its row, in order. Otherwise the rows belong to
    those positions, in increasing order, and one more row, the last, serves all the others.
    """

    tokens: int
    heads: tuple[TabulatedHead, ...]
    stream: Array  # (d,): the [CLS] row that enters the block: what a residual adds
    wiring: Wiring
    readout: ReadOut
    positions: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ShapeError(f"a context of length {self.tokens} is empty; give at least one position")
        listed = self.positions
        rows = self.tokens if listed is None else len(listed) + 1
        for head in self.heads:
            if side(head.scores, 0) not in {rows, "?"}:
                raise ShapeError(
                    f"a table of {side(head.scores, 0)} rows was given where {rows} are needed: "
                    + ("one per position" if listed is None else "one per listed position and one for the rest")
                )
        if listed is not None and any(
            later <= sooner for sooner, later in zip((-1, *listed), (*listed, self.tokens), strict=True)
        ):
            raise ShapeError(f"listed positions must increase from 0 to at most {self.tokens - 1}; sort them")

    @property
    def symbols(self) -> int:
        """A, the size of the alphabet."""
        return int(self.heads[0].scores.shape[1])

    @property
    def others(self) -> int:
        """The number of positions that the last row serves."""
        return 0 if self.positions is None else self.tokens - len(self.positions)

    @property
    def rows(self) -> np.ndarray:
        """The row that serves each position."""
        if self.positions is None:
            return np.arange(self.tokens)
        rows = np.full(self.tokens, len(self.positions))
        rows[list(self.positions)] = np.arange(len(self.positions))
        return rows


def tabulate(model: Model) -> Tabulated:
    """The tables of a one-layer model: exact, differentiable, and T·A·k numbers per head.

    Statement  With one layer the query at [CLS] is the same for every input, so score and value of token t
               depend on (t, b_t) alone.
    Proof      No earlier layer has moved anything into [CLS] or into token t.
    Source     Standard.
    """
    if len(model.blocks) != 1:
        raise AssumptionError(
            f"a model of {len(model.blocks)} blocks was to be tabulated; after one block tokens depend on "
            "each other, so only one-block models have tables"
        )
    embedding, wiring = model.embedding, model.blocks[0].wiring
    xp, query = array_namespace(embedding.cls), wiring.enter(embedding.cls)
    untouched = wiring.attention_norm is None or wiring.placement == "post"
    heads = []
    for head in model.blocks[0].heads:
        if untouched and hasattr(head.score, "folded") and isinstance(head.value, Affine):
            vector, shift = head.score.folded(query)
            scores = embedding.image(vector[:, None])[:, :, 0] + shift
            values = embedding.image(head.value.weight)
            values = values if head.value.bias is None else values + head.value.bias
        else:
            parts = []
            for start, stop in embedding.blocks():
                flat = xp.reshape(wiring.enter(embedding.rows(start, stop)), (-1, embedding.width))
                shape = (stop - start, embedding.symbols)
                score = xp.reshape(head.score(flat, query[None, :])[0, :], shape)
                parts.append((score, xp.reshape(head.value(flat), (*shape, -1))))
            scores, values = (xp.concat(column, axis=0) for column in zip(*parts, strict=True))
        cls_score, cls_value = head.score(query[None, :], query[None, :])[0, 0], head.value(query[None, :])[0, :]
        heads.append(TabulatedHead(scores, values, cls_score, cls_value, head.normaliser, head.activation))
    return Tabulated(embedding.tokens, tuple(heads), embedding.cls, wiring, model.readout)


def thinned(tabulated: Tabulated) -> Tabulated:
    """The same model with the rows that most positions share kept once; unchanged where that saves nothing.

    Statement  A row shared by more than half of the positions equals, in every column, that column's median.
    Proof      In sorted order more than half of a column is that one value, so its middle is.
    Source     Standard.
    """
    tabulated = dense(tabulated)
    table = np.concatenate(
        [
            numbers_of(part).reshape(tabulated.tokens, -1)
            for head in tabulated.heads
            for part in (head.scores, head.values)
        ],
        axis=1,
    )
    middle = (tabulated.tokens - 1) // 2
    common = np.partition(table, middle, axis=0)[middle]
    same = np.all(table == common, axis=1)
    listed = np.flatnonzero(~same)
    if not saves_rows(len(listed), tabulated.tokens):
        return tabulated
    kept = [*listed.tolist(), int(np.argmax(same))]
    return replace(tabulated, heads=_rows_of(tabulated, kept), positions=tuple(kept[:-1]))


def saves_rows(listed: int, tokens: int) -> bool:
    """Return True if rows for the listed positions and one for the others are at most half as many as the positions."""
    return 2 * (listed + 1) <= tokens


def dense(tabulated: Tabulated) -> Tabulated:
    """The same model with a row for every position."""
    if tabulated.positions is None:
        return tabulated
    return replace(tabulated, heads=_rows_of(tabulated, tabulated.rows), positions=None)


def _rows_of(tabulated: Tabulated, rows: Any) -> tuple[TabulatedHead, ...]:
    xp = array_namespace(tabulated.heads[0].scores)
    index = xp.asarray(np.asarray(rows))

    def chosen(part: Array) -> Array:
        return xp.take(part, index, axis=0)

    return tuple(replace(head, scores=chosen(head.scores), values=chosen(head.values)) for head in tabulated.heads)
