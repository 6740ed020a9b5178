"""A one-layer checkpoint at a fixed length, read at one token: the model that tables are made of.

A word is shown between constant tokens, such as  BOS x_1 … x_n SEP . The answer is read at a constant token, or at the
last symbol of the word, once for each symbol it can be. After one layer a token that sees all others has a query that
does not depend on them, so that the whole model is tables. A constant token is a row that is the same for every symbol.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import (
    GELU,
    Activation,
    Affine,
    Block,
    FactoredScore,
    FeedForward,
    Head,
    LayerNorm,
    Model,
    PairEmbedding,
    ReadOut,
    ReLU,
    RMSNorm,
    TanhGELU,
    Wiring,
)
from keyhole.checkpoints.checkpoint import Checkpoint, Layer, RowNorm
from keyhole.errors import AssumptionError, CheckpointError

ACTIVATIONS: Mapping[str, Activation] = {  # that are bounded between lines
    "relu": ReLU(),
    "gelu": GELU(),
    "gelu_tanh": TanhGELU(),
}


@dataclass(frozen=True)
class Frame:
    """The tokens around a word, and the one at which the answer is read; tokens by their number.

    `before` and `after` are the constant tokens around the word. The answer is read at the last token: the last of
    `after`, or, where that is empty, the last symbol of the word; with `read_first`, at the first token of `before`.
    """

    alphabet: tuple[int, ...]
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    read_first: bool = False

    @property
    def at_symbol(self) -> bool:
        """True if the answer is read at the last symbol of the word."""
        return not self.after and not self.read_first

    def tokens(self, word: tuple[int, ...]) -> tuple[int, ...]:
        """Return all tokens of a word of symbols, as the model gets them."""
        return (*self.before, *(self.alphabet[symbol] for symbol in word), *self.after)


@dataclass(frozen=True, eq=False)
class FramedModel:
    """The model at one length: which of its positions hold the word, and how many sums of vectors were rounded."""

    model: Model
    positions: tuple[int, ...]
    rounded: int


def framed_model(
    checkpoint: Checkpoint,
    frame: Frame,
    length: int,
    weight: Float[np.ndarray, "d"],
    bias: float,
    *,
    last: int | None = None,
) -> FramedModel:
    """Return the model of words of one length in the frame, with a read-out of its own.

    `weight` and `bias` are the read-out, a difference of two logits for instance (`logit_difference`). Where the answer
    is read at the last symbol, `last` says which symbol that is, and the model's word is the symbols before it.
    """
    layer = require_one_layer(checkpoint)
    options = [(token,) for token in frame.before] + [frame.alphabet] * length + [(token,) for token in frame.after]
    if frame.at_symbol:
        if last is None:
            raise AssumptionError("The answer is read at the last symbol of the word; say which symbol that is.")
        options[-1] = (frame.alphabet[last],)
    if frame.read_first and not frame.before:
        raise AssumptionError(
            "The answer was to be read at the first token, and that is the first symbol of the word, so that the query "
            "depends on the input; show a constant token before the word, or read at the last token."
        )
    read = 0 if frame.read_first else len(options) - 1
    if checkpoint.causal and read != len(options) - 1:
        raise AssumptionError(
            "The model is causal, so its first token sees no other; read the answer at the last token."
        )
    rows, rounded = _rows(checkpoint, options)
    others = [place for place in range(len(options)) if place != read]
    if not others:
        raise AssumptionError("The word is a single symbol at which the answer is read; ask about longer words.")
    symbols = len(frame.alphabet)
    table = np.stack([np.broadcast_to(rows[place], (symbols, rows[place].shape[1])) for place in others])
    word = range(len(frame.before), len(frame.before) + length)
    positions = tuple(others.index(place) for place in word if place != read)
    norm = None if checkpoint.final_norm is None else layer_norm(checkpoint.final_norm)
    model = Model(
        PairEmbedding(np.ascontiguousarray(table), np.ascontiguousarray(rows[read][0])),
        (layer_block(checkpoint, layer),),
        ReadOut(weight, np.asarray(bias), norm),
    )
    return FramedModel(model, positions, rounded)


def logit_difference(
    checkpoint: Checkpoint, wanted: int | Sequence[int], rival: int | Sequence[int] | None
) -> tuple[Float[np.ndarray, "d"], float]:
    """Return the read-out whose sign says which of two logits is larger, or, without a rival, the sign of one.

    Several tokens stand for the mean of their logits.
    """
    out = checkpoint.unembedding
    if out is None:
        raise CheckpointError(f"{checkpoint.source} has no map to logits, so no answer can be read.")
    weight, bias = np.asarray(out.weight), np.zeros(out.outputs) if out.bias is None else np.asarray(out.bias)
    means = []
    for which in (wanted,) if rival is None else (wanted, rival):
        tokens = [which] if isinstance(which, int) else list(which)
        for token in tokens:
            if not 0 <= token < out.outputs:
                raise AssumptionError(
                    f"The model has {out.outputs} logits, counted from 0; there is none numbered {token}."
                )
        means.append((weight[:, tokens].mean(axis=1), bias[tokens].mean()))
    (row, shift), *others = means
    for other, back in others:
        row, shift = row - other, shift - back
    return np.ascontiguousarray(row), float(shift)


def require_one_layer(checkpoint: Checkpoint) -> Layer:
    """Return the layer of a model that can be tabulated; refuse any other model."""
    checkpoint.require_complete()
    checkpoint.require_own_function()
    if len(checkpoint.layers) != 1:
        raise AssumptionError(
            f"{checkpoint.source} has {len(checkpoint.layers)} layers; after one layer tokens depend on each other, so "
            "that only one-layer models are verified."
        )
    layer = checkpoint.layers[0]
    for there, what in (
        (checkpoint.parallel, "attention and feed-forward part in parallel"),
        (checkpoint.positions.kind not in ("learned", "none"), f"{checkpoint.positions.kind} positions"),
        (layer.attention.query_norm is not None or layer.attention.key_norm is not None, "norms of queries or keys"),
        (checkpoint.embedding.tokens is None, "no table of tokens"),
        (checkpoint.embedding.cls is not None, "rows of its own before every input"),
    ):
        if there:
            raise AssumptionError(f"{checkpoint.source} has {what}, which is not verified here.")
    return layer


def _rows(checkpoint: Checkpoint, options: list[tuple[int, ...]]) -> tuple[list[np.ndarray], int]:
    """Return the vectors that each place can show, and how many of their numbers were rounded when they were added."""
    embedding = checkpoint.embedding
    tokens, places = embedding.tokens, embedding.positions
    assert tokens is not None  # noqa: S101  (asked before)
    wanted = max(token for each in options for token in each)
    if wanted >= len(tokens):
        raise AssumptionError(f"The model has {len(tokens)} tokens, counted from 0; there is none numbered {wanted}.")
    if places is not None and embedding.offset + len(options) > len(places):
        raise AssumptionError(
            f"The word and the tokens around it take {len(options)} places, and the model has "
            f"{len(places) - embedding.offset}; ask about shorter words."
        )
    rows, rounded = [], 0
    for place, each in enumerate(options):
        row = tokens[list(each)]
        for added in (
            None if places is None else places[embedding.offset + place],
            None if embedding.segments is None else embedding.segments[0],
        ):
            if added is not None:
                row, lost = rounded_sum(row, added)
                rounded += lost
        if embedding.norm is not None:
            row, rounded = embedding.norm(row), rounded + row.size
        if embedding.widen is not None:
            row, rounded = np.asarray(embedding.widen(row)), rounded + row.size
        rows.append(row)
    return rows, rounded


def rounded_sum(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, int]:
    """Return a sum in double precision, and how many entries of it are not exact (Knuth's two-sum)."""
    total = one + other
    back = total - one
    return total, int(np.count_nonzero((one - (total - back)) + (other - back)))


def layer_block(checkpoint: Checkpoint, layer: Layer) -> Block:
    """Return a layer as a block of exact arithmetic; refuse parts that cannot be bounded."""
    heads = []
    for head in layer.heads:
        width = head.query.shape[1]
        if not np.isclose(head.scale * np.sqrt(width), 1.0, rtol=1e-15, atol=0):
            raise AssumptionError(f"Scores are scaled by {head.scale:g} and not by 1/√{width}; that is not verified.")
        score = FactoredScore(head.query, head.key, head.query_bias, head.key_bias)
        heads.append(Head(score, Affine(head.value, head.value_bias)))
    feed = layer.feedforward
    activation = None if feed is None else ACTIVATIONS.get(str(feed.activation))
    if feed is not None and feed.gate is not None:
        raise AssumptionError(f"{checkpoint.source} has gated units, which are not bounded between lines here.")
    if feed is not None and activation is None:
        raise AssumptionError(
            f"{checkpoint.source} has the activation {feed.activation}; units are bounded between lines for "
            f"{', '.join(ACTIVATIONS)}."
        )
    wiring = Wiring(
        join="concatenate",
        output=Affine(layer.attention.output, layer.attention.output_bias),
        feedforward=None if feed is None or activation is None else FeedForward(feed.inner, activation, feed.outer),
        residual="each",
        placement=str(checkpoint.placement),
        attention_norm=None if layer.attention_norm is None else layer_norm(layer.attention_norm),
        feedforward_norm=None if layer.feedforward_norm is None else layer_norm(layer.feedforward_norm),
    )
    return Block(tuple(heads), wiring)


def layer_norm(norm: RowNorm) -> LayerNorm:
    """Return a norm of a checkpoint as one of exact arithmetic; refuse a kind that cannot be bounded."""
    kinds = {"layer": LayerNorm, "rms": RMSNorm}
    if norm.kind not in kinds or norm.gain is None:
        raise AssumptionError(f"A norm of the kind {norm.kind} without a gain is not bounded here.")
    return kinds[norm.kind](norm.gain, norm.bias, norm.eps)
