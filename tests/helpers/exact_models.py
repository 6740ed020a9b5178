"""What a one-layer model computes, to 260 bits: from its tables, or from its weights, on any sequences.

Arrays hold balls of Arb. Nothing here is shared with what it judges: softmax, norms and units are written out, and a
comparison is true only where it is certain.
"""

from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from keyhole.attention.layers import GELU, ReLU
from keyhole.attention.score import DenseScore
from keyhole.attention.tokens import AdditiveEmbedding
from keyhole.attention.weights import Model

BITS = 260


@contextmanager
def precisely():
    """Arb at `BITS` bits; a function may be decorated with it."""
    before, ctx.prec = ctx.prec, BITS
    try:
        yield
    finally:
        ctx.prec = before


@contextmanager
def at_precision(bits):
    """Everything here to so many bits, for numbers of extreme exponents."""
    global BITS  # noqa: PLW0603  (what `precisely` reads when it is entered)
    before, BITS = BITS, bits
    try:
        with precisely():
            yield
    finally:
        BITS = before


def lifted(numbers):
    """Doubles, as they are, in an array of balls."""
    numbers = np.asarray(numbers, dtype=np.float64)
    flat = np.empty(numbers.size, dtype=object)
    flat[:] = [arb(each) for each in numbers.reshape(-1).tolist()]
    return flat.reshape(numbers.shape)


def each(function, balls):
    """A function of every entry."""
    flat = np.empty(balls.size, dtype=object)
    flat[:] = [function(entry) for entry in balls.reshape(-1)]
    return flat.reshape(balls.shape)


def gelu(x):
    """X Φ(x)."""
    return x * (1 + (x / arb(2).sqrt()).erf()) / 2


def relu(x):
    """max(x, 0), a ball about 0 being kept."""
    return (x + abs(x)) / 2


def affine(rows, part):
    """X W + b."""
    image = rows @ lifted(part.weight)
    return image if part.bias is None else image + lifted(part.bias)


def normed(rows, norm):
    """Every row less its mean, over its spread, times the gain, plus the bias."""
    centred = rows - rows.sum(axis=-1, keepdims=True) / rows.shape[-1]
    variance = (centred * centred).sum(axis=-1, keepdims=True) / rows.shape[-1]
    spread = each(lambda v: (v + arb(norm.eps)).sqrt(), variance)
    scaled = centred / spread * lifted(norm.gain)
    return scaled if norm.bias is None else scaled + lifted(norm.bias)


@precisely()
def tables_of_weights(model):
    """For each head its scores (T + 1, A), values (T + 1, A, k) as the weights define them; the last row is [CLS]'s."""
    embedding, block = model.embedding, model.blocks[0]
    if isinstance(embedding, AdditiveEmbedding):
        codes = embedding.positions.rows(0, embedding.tokens, embedding.table)
        codes = np.pad(codes, ((0, 0), (0, embedding.width - codes.shape[1])))
        rows = lifted(codes)[:, None, :] + lifted(embedding.table)[None]
    else:
        rows = lifted(embedding.rows(0, embedding.tokens))
    query = lifted(embedding.cls)
    rows = np.concatenate([rows, np.broadcast_to(query, (1, *rows.shape[1:]))])
    if block.wiring.placement == "pre" and block.wiring.attention_norm is not None:
        rows, query = normed(rows, block.wiring.attention_norm), normed(query, block.wiring.attention_norm)
    return [(_scores(head.score, rows, query), affine(rows, head.value)) for head in block.heads]


def _scores(score, rows, query):
    if isinstance(score, DenseScore):
        return rows @ (lifted(score.matrix) @ query)
    asked, keys = query @ lifted(score.query), rows @ lifted(score.key)
    asked = asked if score.query_bias is None else asked + lifted(score.query_bias)
    keys = keys if score.key_bias is None else keys + lifted(score.key_bias)
    return keys @ asked / arb(len(asked)).sqrt()


def tables_as_given(model):
    """The same of a tabulated model: its own doubles."""
    return [
        tuple(
            lifted(np.concatenate([part, np.broadcast_to(own, (1, *part.shape[1:]))]))
            for part, own in ((head.scores, head.cls_score), (head.values, head.cls_value))
        )
        for head in model.heads
    ]


@precisely()
def exact_outputs(model, sequences):
    """The outputs of all heads side by side, (n, K): a `Model`'s from its weights, a `Tabulated`'s from its tables."""
    from_weights = isinstance(model, Model)
    heads = model.blocks[0].heads if from_weights else model.heads
    own = np.zeros((len(sequences), 1), dtype=np.int64)
    symbols = np.concatenate([sequences, own], axis=1)
    places = np.arange(symbols.shape[1])
    mixed = []
    tables = tables_of_weights(model) if from_weights else tables_as_given(model)
    for head, (scores, values) in zip(heads, tables, strict=True):
        temperature = arb(float(head.normaliser.temperature))
        masses = each(lambda s, tau=temperature: (s / tau).exp(), scores)[places, symbols]
        mixed.append((masses[:, :, None] * values[places, symbols]).sum(axis=1) / masses.sum(axis=1)[:, None])
    return np.concatenate(mixed, axis=1)


@precisely()
def exact_f(model, sequences):
    """The model's number for each sequence."""
    wiring = model.blocks[0].wiring if isinstance(model, Model) else model.wiring
    heads = len(model.blocks[0].heads) if isinstance(model, Model) else len(model.heads)
    stream = lifted(model.embedding.cls if isinstance(model, Model) else model.stream)
    x = exact_outputs(model, sequences)
    if wiring.join == "sum":
        x = x.reshape(len(x), heads, -1).sum(axis=1)
    if wiring.output is not None:
        x = affine(x, wiring.output)
    if wiring.residual == "each":
        x = x + stream
    if wiring.attention_norm is not None and wiring.placement == "post":
        x = normed(x, wiring.attention_norm)
    if wiring.feedforward is not None:
        x = _fed(wiring, x)
    if wiring.residual == "block":
        x = x + stream
    if model.readout.norm is not None:
        x = normed(x, model.readout.norm)
    bias = arb(0) if model.readout.bias is None else arb(float(model.readout.bias))
    return x @ lifted(model.readout.weight) + bias


def _fed(wiring, x):
    norm, pre = wiring.feedforward_norm, wiring.placement == "pre"
    feed = wiring.feedforward
    curved = {GELU: gelu, ReLU: relu}[type(feed.activation)]
    y = affine(each(curved, affine(normed(x, norm) if norm is not None and pre else x, feed.inner)), feed.outer)
    y = x + y if wiring.residual == "each" else y
    return normed(y, norm) if norm is not None and not pre else y


@precisely()
def holds(ball, truths):
    """Whether every truth is certainly within the radius of its middle."""
    mids, rads, truths = (part.reshape(-1).tolist() for part in np.broadcast_arrays(ball.mid, ball.rad, truths))
    return all(abs(truth - arb(mid)) <= arb(rad) for mid, rad, truth in zip(mids, rads, truths, strict=True))


def below(numbers, truths):
    """Whether every number is certainly no larger than its truth."""
    pairs = np.broadcast_arrays(np.asarray(numbers, dtype=np.float64), truths)
    numbers, truths = (part.reshape(-1).tolist() for part in pairs)
    return all(arb(number) <= truth for number, truth in zip(numbers, truths, strict=True))


@precisely()
def least_signed(truths, cells, signs):
    """The smallest sign·f of each cell."""
    return np.array([min(sign * truth for truth in truths[cells == cell]) for cell, sign in enumerate(signs)])


def rational(numbers):
    """Doubles as fractions."""
    numbers = np.asarray(numbers, dtype=np.float64)
    flat = np.empty(numbers.size, dtype=object)
    flat[:] = [Fraction(entry) for entry in numbers.reshape(-1).tolist()]
    return flat.reshape(numbers.shape)


def strained(model, size, values=None):
    """The model with its last two coordinates alike and ± size in the maps that read them: the sums nearly cancel.

    The map of the values may have a size of its own: digits lost there are lost once, those of scores twice.
    """
    values = size if values is None else values
    embedding = model.embedding

    def alike(array):
        array = np.array(array)
        array[..., -1] = array[..., -2]
        return array

    def torn(matrix, size=size):
        push = size * np.linspace(0.3, 1.1, matrix.shape[1])
        return np.concatenate([matrix[:-2], matrix[-2:-1] + push, matrix[-1:] - push])

    changed = {"table": alike(embedding.table), "cls": alike(embedding.cls)}
    if isinstance(embedding, AdditiveEmbedding) and hasattr(embedding.positions, "table"):
        changed["positions"] = replace(embedding.positions, table=alike(embedding.positions.table))
    block = model.blocks[0]
    norm = block.wiring.attention_norm
    if norm is not None:
        norm = replace(norm, gain=alike(norm.gain), bias=alike(norm.bias))
    heads = tuple(
        replace(
            head,
            score=DenseScore(torn(torn(head.score.matrix).T).T)
            if isinstance(head.score, DenseScore)
            else replace(head.score, query=torn(head.score.query), key=torn(head.score.key)),
            value=replace(head.value, weight=torn(head.value.weight, values)),
        )
        for head in block.heads
    )
    block = replace(block, heads=heads, wiring=replace(block.wiring, attention_norm=norm))
    return replace(model, embedding=replace(embedding, **changed), blocks=(block,))
