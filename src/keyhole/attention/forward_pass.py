"""The forward pass: rows in, rows out, through any number of blocks, at every query."""

from typing import Any

from keyhole.arrays import Float, Shaped
from keyhole.attention.tokens import embed_tokens
from keyhole.attention.types import Array
from keyhole.attention.weights import Block, Head, Model
from keyhole.errors import ShapeError


def attend(head: Head, tokens: Float[Any, "*batch T d"], queries: Float[Any, "*batch Q d"]) -> Array:
    """One head at each query, φ_out(Σ_t weight_t φ_in(x_t)): shape (…, Q, k)."""
    if tokens.shape[-2] == 0:
        raise ShapeError("attention over an empty context was asked for; give at least one token")
    weights = head.normaliser(head.score(tokens, queries))
    return head.activation(weights @ head.value(tokens))


def transform(blocks: tuple[Block, ...], rows: Float[Any, "*batch T d"]) -> Float[Any, "*batch T d_out"]:
    """The rows after all blocks, in order; each row is a query over all rows."""
    for block in blocks:
        entered = block.wiring.enter(rows)
        rows = block.wiring.finish(rows, tuple(attend(head, entered, entered) for head in block.heads))
    return rows


def forward(model: Model, sequences: Shaped[Any, "*batch T"]) -> Float[Any, "*batch"]:
    """The number that a model reads off [CLS], for one sequence (T,) or each of a batch (n, T).

    This is the general forward pass, for any depth, position and normaliser: the reference against which tables,
    products and compiled models are tested, and a wrong word is shown; `evaluate` is faster.
    """
    return model.readout(transform(model.blocks, embed_tokens(model.embedding, sequences))[..., -1, :])
