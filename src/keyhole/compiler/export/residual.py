"""A compiled model as the residual block of every textbook: embed, attend, add, feed forward, add, unembed.

The stream of a token holds named directions and each part writes only to fresh ones: the embedding to pairs of position
and symbol, or to positions and bits; head h to its own "attention on …" directions; the feed-forward part to "output".
So nothing that is read was written twice. W_V copies what is gathered and W_in holds the theorem's numbers: for each
head the product of its W_V, its W_O and W_in is the plan's W_V.

Only the query at [CLS], the last token, is compiled. Any other token's query is 0, so it attends to all T + 1 tokens
alike; what it gathers and writes is finite, and no other token sees it.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from keyhole.arrays import Float, Int, Shaped
from keyhole.attention import AdditiveEmbedding
from keyhole.compiler.constructions.plan import HeadPlan, Plan
from keyhole.errors import CompileError

MAX_NUMBERS = 2**27  # of all dense matrices together: 1 GB


@dataclass(frozen=True, eq=False)
class ResidualBlock:
    """One standard layer: x + Σ_h attention_h(x), then + W_out ReLU(W_in x); scores are divided by √d_head."""

    directions: tuple[str, ...]  # of the residual stream
    tokens: tuple[str, ...]  # of the vocabulary; the last is [CLS]
    units: tuple[str, ...]  # hidden, of the feed-forward part
    paired: bool  # whether a token names its position too
    embed: Float[np.ndarray, "vocabulary d"]  # W_E
    position: Float[np.ndarray, "length d"]  # W_pos, [CLS] last
    query: Float[np.ndarray, "h d d_head"]  # W_Q
    key: Float[np.ndarray, "h d d_head"]  # W_K
    value: Float[np.ndarray, "h d d_head"]  # W_V
    output: Float[np.ndarray, "h d_head d"]  # W_O
    inner: Float[np.ndarray, "d k"]  # W_in
    inner_bias: Float[np.ndarray, "k"]  # b_in
    outer: Float[np.ndarray, "k d"]  # W_out
    unembed: Float[np.ndarray, "d 1"]  # W_U

    @property
    def context(self) -> int:
        """T, without [CLS]."""
        return len(self.position) - 1


def to_residual(plan: Plan) -> ResidualBlock:
    """The plan as a residual block: the same function, exactly, on every input."""
    gathered = [_gather(plan, head, f"head {h}") for h, head in enumerate(plan.heads)]
    widths = [len(names) for names, _, _ in gathered]
    d, d_head, vocabulary = plan.dimension + sum(widths) + 1, max(widths), plan.layout.vocabulary()
    numbers = d * (len(vocabulary) + plan.context + 1 + 4 * d_head * len(plan.heads) + 2 * plan.width)
    if numbers > MAX_NUMBERS:
        raise CompileError(
            f"A residual block of context {plan.context} was asked for, whose dense matrices hold {numbers:.2g} "
            f"numbers; at most {MAX_NUMBERS:.2g} are written. Use a shorter context, or the tables."
        )
    names = [*plan.layout.directions(), *(name for names, _, _ in gathered for name in names), "output"]
    query, key, value = (np.zeros((len(plan.heads), d, d_head)) for _ in range(3))
    output, inner, outer = np.zeros((len(plan.heads), d_head, d)), np.zeros((d, plan.width)), np.zeros((plan.width, d))
    fresh = plan.dimension
    for h, (head, (_, columns, rows), width) in enumerate(zip(plan.heads, gathered, widths, strict=True)):
        query[h, plan.dimension - 1, 0] = sqrt(d_head)  # undone by the division of every score
        key[h, : plan.dimension, 0] = plan.key_vector(head)
        value[h, : plan.dimension, :width] = columns
        output[h, :width, fresh : fresh + width] = np.eye(width)
        inner[fresh : fresh + width] = rows
        fresh += width
    outer[:, -1] = plan.readout
    position, embedding = np.zeros((plan.context + 1, d)), plan.layout.embedding()
    if isinstance(embedding, AdditiveEmbedding):  # else tokens name their position
        codes = embedding.positions.rows(0, plan.context, np.zeros(()))
        position[:-1, : codes.shape[1]] = codes
    return ResidualBlock(
        directions=tuple(names),
        tokens=tuple(vocabulary),
        units=plan.units,
        paired=plan.layout.names_position,
        embed=np.eye(len(vocabulary), d, plan.dimension - len(vocabulary)),  # a unit vector for every token
        position=position,
        query=query,
        key=key,
        value=value,
        output=output,
        inner=inner,
        inner_bias=np.zeros(plan.width),
        outer=outer,
        unembed=np.eye(1, d, d - 1).T,
    )


def token_ids(block: ResidualBlock, bits: Shaped[np.ndarray, "n T"]) -> Int[np.ndarray, "n length"]:
    """The tokens of each input, [CLS] last: the bits, or 2t + b_t where a token names its position."""
    symbols = bits.astype(np.int64) + (2 * np.arange(block.context) if block.paired else 0)
    return np.concatenate([symbols, np.full((len(bits), 1), len(block.tokens) - 1)], axis=1)


def _gather(
    plan: Plan, head: HeadPlan, name: str
) -> tuple[list[str], Float[np.ndarray, "d g"], Float[np.ndarray, "g k"]]:
    """The directions that one head writes: for each a name, a column of W_V and a row of W_in.

    By symbol where every position is read alike; else by relevant pair, and what all other tokens share.
    """
    own = head.own_values
    if not own.any() and np.array_equal(head.values, np.broadcast_to(head.rest_values, head.values.shape)):
        names = [f"{name}: attention on zeros", f"{name}: attention on ones"]
        symbols = np.zeros((plan.dimension, 2))  # a column is 1 on the coordinates that say "this token shows b"
        if plan.layout.names_position:
            symbols[0:-1:2, 0] = symbols[1:-1:2, 1] = 1.0
        else:
            symbols[-3:-1] = np.eye(2)
        return names, symbols, head.rest_values
    shared = np.array_equal(head.rest_values[0], head.rest_values[1])
    if not shared or not plan.layout.names_position:
        raise CompileError(
            f"The values of {name} depend on the position in a way that the embedding of construction "
            f"{plan.construction} cannot tell apart; compile it as pairs."
        )
    places = plan.function.positions
    pairs = [2 * place + symbol for place in places for symbol in range(2)]
    columns = np.zeros((plan.dimension, len(pairs)))
    columns[pairs, np.arange(len(pairs))] = 1.0
    names = [f"{name}: attention on x{place}={symbol}" for place in places for symbol in range(2)]
    rows = head.values.reshape(len(pairs), plan.width)
    others, cls = np.ones(plan.dimension), np.zeros(plan.dimension)
    others[[*pairs, -1]], cls[-1] = 0.0, 1.0
    for title, column, row in (("all other tokens", others, head.rest_values[0]), ("[CLS]", cls, own)):
        if row.any():
            names.append(f"{name}: attention on {title}")
            columns, rows = np.column_stack([columns, column]), np.vstack([rows, row])
    return names, columns, rows
