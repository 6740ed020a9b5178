"""Tables of models whose sums cancel in doubles, or whose scores lie too far apart for them.

Scores and values are made once more, in balls of as many bits as it takes. Scores are then brought nearer to each other
where they lie so far apart that only their order counts. The error of the resulting doubles goes into every
bound that follows, so that a proof is of the weights.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from math import exp, inf, nextafter
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from keyhole.attention import (
    Affine,
    DenseScore,
    FactoredScore,
    Model,
    RMSNorm,
    Softmax,
    Tabulated,
    TabulatedHead,
    numbers_of,
)
from keyhole.prover.extraction.drift import folded, rows_of
from keyhole.prover.proof.tables import Drift

BITS = tuple(2**power for power in range(7, 15))  # sums of products of four doubles are exact within some 9,000 bits
NEARER_BITS = 2**12  # differences of doubles are exact
SCORE_ERROR, VALUE_ERROR = 2.0**-55, 2.0**-60  # of a score; of a value over the largest of its coordinate
NOTHING = 1100  # a value known to 2^−1100 is known as a double, however small its coordinate is
APART = 45.0  # nats beyond ln(T + 1) between tokens: the lower has less than e^−45/(T + 1) of the other's weight
LARGEST = 2**18  # numbers of an embedding made balls: 2,000 positions of width 64; half a gigabyte at most

Numbers = np.ndarray  # balls of Arb, whose package has no types


def exact_tables(model: Model, given: Tabulated) -> tuple[Tabulated, tuple[Drift, ...]] | None:
    """The tables of a model from balls, their scores brought nearer, and what they are off; None if not to be had.

    Statement  The outputs of the heads that the weights define lie within what the drifts say of those of the tables.
    Assumes    One block; bilinear scores and affine values; position codes are the doubles that their rule gives.
    Proof      Every entry lies in its ball, which is refined until it is small; the rest is `brought_nearer`.
    Source     Ours.
    """
    embedding = model.embedding
    plain = all(
        isinstance(head.value, Affine) and isinstance(head.score, DenseScore | FactoredScore)
        for head in model.blocks[0].heads
    )
    if not plain or embedding.tokens * embedding.symbols * embedding.width > LARGEST:
        return None
    heads, drifts = [], []
    for index, head in enumerate(given.heads):
        for bits in BITS:
            with ctx.workprec(bits):
                scores, values = entries(model, index)
                if bits == BITS[-1] or _known(scores, values):
                    close, score_error = _with_nearer(head, scores, embedding.tokens)
                    doubles, value_error = _doubles(values.ravel())
                    break
        if not np.isfinite(doubles).all():  # an entry is beyond all doubles
            return None
        doubles = doubles.reshape(values.shape)
        heads.append(replace(close, values=doubles[:-1].reshape(numbers_of(head.values).shape), cls_value=doubles[-1]))
        drifts.append(Drift(score_error, value_error))
    return replace(given, heads=tuple(heads)), tuple(drifts)


def nearer_tables(given: Tabulated) -> tuple[Tabulated, tuple[Drift, ...]]:
    """Tables as they are given, with scores that lie too far apart brought nearer, and what that moves.

    Statement  As `exact_tables`, of tables that are the model.
    Source     Ours.
    """
    heads, drifts = [], []
    for head in given.heads:
        with ctx.workprec(NEARER_BITS):
            scores = lifted(np.append(numbers_of(head.scores).ravel(), numbers_of(head.cls_score)))
            close, error = _with_nearer(head, scores / temperature(head), given.tokens)
        heads.append(close)
        drifts.append(Drift(error, 0.0))
    return replace(given, heads=tuple(heads)), tuple(drifts)


def brought_nearer(scores: list[Any], tokens: int) -> list[Any]:
    """Scores with every gap between neighbours in order cut down to W = `APART` + ln(T + 1); the largest becomes 0.

    Statement  The output of a head with values of at most V moves by 4 e^{−APART} V at most, on every input.
    Proof      Scores without a gap above W between them are a cluster, in which all differences are kept. Of an
               input's tokens take the cluster of the largest score. A token below it has at most e^{−W} of the largest
               one's weight, before and after, and all T + 1 have e^{−APART} together; so the mean over the cluster
               alone lies within 2 e^{−APART} V of both outputs.
    Source     Ours.
    """
    most = arb(APART) + arb(float(tokens + 1)).log()
    order = sorted(range(len(scores)), key=lambda index: scores[index].mid(), reverse=True)
    nearer = [arb(0.0)] * len(scores)
    for above, below in pairwise(order):
        gap = scores[above] - scores[below]
        nearer[below] = nearer[above] - min(gap, most)  # `most` only where the gap is certainly larger
    return nearer


def _known(scores: Numbers, values: Numbers) -> bool:
    """Return whether every entry is known to the precision of a double."""
    if any(not score.rad() < SCORE_ERROR for score in scores):
        return False
    nothing = arb(2.0) ** -NOTHING
    for column in values.T:
        largest = max((abs(entry.mid()) for entry in column), default=nothing)
        if any(not entry.rad() <= max(largest * VALUE_ERROR, nothing) for entry in column):
            return False
    return True


def entries(model: Model, index: int) -> tuple[Numbers, Numbers]:
    """Scores in units of the temperature, and values, of all pairs and, last, of [CLS]."""
    block, embedding = model.blocks[0], model.embedding
    head, norm = block.heads[index], block.wiring.attention_norm if block.wiring.placement == "pre" else None
    rows = rows_of(embedding, 0, embedding.tokens, lifted)
    rows = np.concatenate([rows, lifted(numbers_of(embedding.cls))[None]])
    if norm is not None:
        centred = rows if isinstance(norm, RMSNorm) else rows - rows.sum(axis=1, keepdims=True) / rows.shape[1]
        spread = np.sqrt((centred * centred).sum(axis=1, keepdims=True) / rows.shape[1] + arb(norm.eps))
        rows = centred / spread * lifted(numbers_of(norm.gain))
        rows = rows if norm.bias is None else rows + lifted(numbers_of(norm.bias))
    vector, shift = folded(head.score, rows[-1], lifted, lambda width: 1 / arb(width).sqrt())
    value: Any = head.value  # affine
    matrices = (vector[:, None], lifted(numbers_of(value.weight)))
    left = arb_mat(rows.tolist())
    scores, values = (np.array((left * arb_mat(some.tolist())).table(), dtype=object) for some in matrices)
    scores = (scores[:, 0] + shift) / temperature(head)
    return scores, values if value.bias is None else values + lifted(numbers_of(value.bias))


def _doubles(balls: Iterable[Any]) -> tuple[np.ndarray, float]:
    """Doubles near the balls, and how far the truth can be from one of them, rounded up."""
    near = [(ball, float(ball.mid())) for ball in balls]
    off = (float(abs(ball - arb(number)).upper()) for ball, number in near)
    return np.array([number for _, number in near]), nextafter(max(off, default=0.0), inf)


def _with_nearer(head: TabulatedHead, scores: Numbers, tokens: int) -> tuple[TabulatedHead, float]:
    """The head with scores in units of the temperature, [CLS]'s last, brought nearer; and the error of scores.

    Bringing them nearer counts as an error of scores, which multiplies V.
    """
    close, error = _doubles(brought_nearer(scores.tolist(), tokens))
    table = close[:-1].reshape(numbers_of(head.scores).shape)
    near = replace(head, scores=table, cls_score=np.asarray(close[-1]), normaliser=Softmax())
    return near, nextafter(nextafter(error + 4 * exp(-APART), inf), inf)


def temperature(head: Any) -> Any:
    """Return the temperature of a head as a ball."""
    return arb(head.normaliser.temperature if isinstance(head.normaliser, Softmax) else 1.0)


def lifted(numbers: np.ndarray) -> Numbers:
    """Return doubles as balls of radius 0."""
    return np.array([arb(number) for number in numbers.ravel().tolist()], dtype=object).reshape(numbers.shape)
