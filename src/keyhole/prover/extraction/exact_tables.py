"""Tables of models whose sums cancel in doubles, or whose scores lie too far apart for them.

Scores and values are made once more, in balls of as many bits as it takes. Scores are then brought nearer to each other
where they lie so far apart that only their order counts. What the doubles that are left may be off is stated, and goes
into every bound that follows, so that a proof is of the weights.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from math import exp, inf, nextafter
from typing import Any

import numpy as np

from keyhole.attention import (
    AdditiveEmbedding,
    Affine,
    DenseScore,
    Embedding,
    FactoredScore,
    LayerNorm,
    Model,
    RMSNorm,
    Softmax,
    Tabulated,
    TabulatedHead,
    numbers_of,
)
from keyhole.prover.proof.tables import Drift

FIRST_BITS, MOST_BITS = 128, 2**14  # sums of products of four doubles are exact within some 9,000 bits
NEARER_BITS = 2**12  # differences of doubles are exact
SCORE_ERROR, VALUE_ERROR = 2.0**-55, 2.0**-60  # of a score; of a value over the largest of its coordinate
NOTHING = 1100  # a value known to 2^−1100 is known as a double, however small its coordinate is
APART = 45.0  # nats beyond ln(T + 1) between tokens: the lower has less than e^−45/(T + 1) of the other's weight
LARGEST = (
    2**18
)  # numbers of an embedding that are turned into balls: 2,000 positions of width 64; half a gigabyte at most

Numbers = list[Any]  # balls of Arb, whose package has no types
Made = tuple[Tabulated, tuple[Drift, ...]]


def exact_tables(model: Model, given: Tabulated) -> Made | None:
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
    heads = [made for index, head in enumerate(given.heads) if (made := _exact_head(model, index, head))]
    if len(heads) < len(given.heads):
        return None
    return replace(given, heads=tuple(head for head, _ in heads)), tuple(drift for _, drift in heads)


def nearer_tables(given: Tabulated) -> Made:
    """Tables as they are given, with scores that lie too far apart brought nearer, and what that moves.

    Statement  As `exact_tables`, of tables that are the model.
    Source     Ours.
    """
    heads, drifts = [], []
    for head in given.heads:
        with _bits(NEARER_BITS):
            scores = [score / _ball(_temperature(head)) for score in _lifted(_listed(head.scores, head.cls_score))]
            close, error = _doubles(brought_nearer(scores, given.tokens))
        heads.append(_with_scores(head, close))
        drifts.append(_drift(error, 0.0))
    return replace(given, heads=tuple(heads)), tuple(drifts)


def brought_nearer(scores: Numbers, tokens: int) -> Numbers:
    """Scores with every gap between neighbours in order cut down to W = `APART` + ln(T + 1); the largest becomes 0.

    Statement  The output of a head with values of at most V moves by 4 e^{−APART} V at most, on every input.
    Proof      Scores without a gap above W between them are a cluster, in which all differences are kept. Of an
               input's tokens take the cluster of the largest score. A token below it has at most e^{−W} of the largest
               one's weight, before and after, and all T + 1 have e^{−APART} together; so the mean over the cluster
               alone lies within 2 e^{−APART} V of both outputs.
    Source     Ours.
    """
    most = _ball(APART) + _ball(float(tokens + 1)).log()
    order = sorted(range(len(scores)), key=lambda index: scores[index].mid(), reverse=True)
    nearer = [_ball(0.0)] * len(scores)
    for above, below in pairwise(order):
        gap = scores[above] - scores[below]
        nearer[below] = nearer[above] - min(gap, most)  # `most` only where the gap is certainly larger
    return nearer


def _exact_head(model: Model, index: int, given: TabulatedHead) -> tuple[TabulatedHead, Drift] | None:
    """One head in doubles, and what they are off; None if an entry is beyond all doubles."""
    bits = FIRST_BITS
    while True:
        with _bits(bits):
            scores, values = _entries(model, index)
            if bits >= MOST_BITS or _known(scores, values):
                close, score_error = _doubles(brought_nearer(scores, model.embedding.tokens))
                kept, value_error = _doubles([entry for row in values for entry in row])
                break
        bits *= 2
    if not np.isfinite(kept).all():
        return None
    kept = kept.reshape(len(values), -1)
    made = replace(given, values=kept[:-1].reshape(numbers_of(given.values).shape), cls_value=kept[-1])
    return _with_scores(made, close), _drift(score_error, value_error)


def _known(scores: Numbers, values: list[Numbers]) -> bool:
    """Return whether every entry is known to the precision of a double."""
    if any(not score.rad() < SCORE_ERROR for score in scores):
        return False
    nothing = _ball(2.0) ** -NOTHING
    for column in zip(*values, strict=True):
        largest = max((abs(entry.mid()) for entry in column), default=nothing)
        if any(not entry.rad() <= max(largest * VALUE_ERROR, nothing) for entry in column):
            return False
    return True


def _entries(model: Model, index: int) -> tuple[Numbers, list[Numbers]]:
    """Scores in units of the temperature, and values, of all pairs and, last, of [CLS]."""
    from flint import arb_mat  # noqa: PLC0415  (imported to prove)

    block = model.blocks[0]
    head, norm = block.heads[index], block.wiring.attention_norm if block.wiring.placement == "pre" else None
    query = _normed(_lifted(numbers_of(model.embedding.cls)), norm)
    rows = arb_mat([*(_normed(row, norm) for row in _rows(model.embedding)), query])
    vector, shift = _folded(head.score, query)
    temperature = _ball(_temperature(head))
    scores = [(row[0] + shift) / temperature for row in (rows * arb_mat([[entry] for entry in vector])).table()]
    return scores, _images(rows, head.value)


def _images(rows: Any, part: Any) -> list[Numbers]:
    """Return the images of rows by an affine map."""
    from flint import arb_mat  # noqa: PLC0415  (imported to prove)

    images: list[Numbers] = (rows * arb_mat([_lifted(row) for row in numbers_of(part.weight)])).table()
    bias = None if part.bias is None else _lifted(numbers_of(part.bias))
    return images if bias is None else [[entry + own for entry, own in zip(row, bias, strict=True)] for row in images]


def _rows(embedding: Embedding) -> list[Numbers]:
    """The vectors of every position and symbol; the sum of a code and a token vector is not rounded."""
    if not isinstance(embedding, AdditiveEmbedding):
        return [_lifted(row) for row in numbers_of(embedding.rows(0, embedding.tokens)).reshape(-1, embedding.width)]
    codes = numbers_of(embedding.positions.rows(0, embedding.tokens, embedding.table))
    codes = np.pad(codes, ((0, 0), (0, embedding.width - codes.shape[1])))
    table = [_lifted(row) for row in numbers_of(embedding.table)]
    return [
        [own + shared for own, shared in zip(code, row, strict=True)] for code in map(_lifted, codes) for row in table
    ]


def _normed(row: Numbers, norm: LayerNorm | None) -> Numbers:
    """A row as a head sees it."""
    if norm is None:
        return row
    mean = _ball(0.0) if isinstance(norm, RMSNorm) else sum(row) / len(row)
    centred = [entry - mean for entry in row]
    spread = (sum(entry * entry for entry in centred) / len(row) + _ball(norm.eps)).sqrt()
    gain = _lifted(numbers_of(norm.gain))
    bias = [_ball(0.0)] * len(row) if norm.bias is None else _lifted(numbers_of(norm.bias))
    return [entry / spread * times + plus for entry, times, plus in zip(centred, gain, bias, strict=True)]


def _folded(score: Any, query: Numbers) -> tuple[Numbers, Any]:
    """The vector and the number with which a token's score is their product and sum."""
    if isinstance(score, DenseScore):
        return [_product(_lifted(row), query) for row in numbers_of(score.matrix)], _ball(0.0)
    columns = [_lifted(column) for column in numbers_of(score.query).T]
    asked = [_product(column, query) for column in columns]
    if score.query_bias is not None:
        asked = [entry + own for entry, own in zip(asked, _lifted(numbers_of(score.query_bias)), strict=True)]
    root = _ball(float(len(asked))).sqrt()
    asked = [entry / root for entry in asked]
    shift = _ball(0.0) if score.key_bias is None else _product(_lifted(numbers_of(score.key_bias)), asked)
    return [_product(_lifted(row), asked) for row in numbers_of(score.key)], shift


def _product(one: Numbers, other: Numbers) -> Any:
    return sum((a * b for a, b in zip(one, other, strict=True)), _ball(0.0))


def _doubles(balls: Numbers) -> tuple[np.ndarray, float]:
    """Doubles near the balls, and how far the truth can be from one of them, rounded up."""
    near = [float(ball.mid()) for ball in balls]
    off = (float(abs(ball - _ball(number)).upper()) for ball, number in zip(balls, near, strict=True))
    return np.array(near), nextafter(max(off, default=0.0), inf)


def _drift(score_error: float, value_error: float) -> Drift:
    """Return the drift of a head: bringing scores nearer counts as an error of scores, which multiplies V."""
    return Drift(nextafter(nextafter(score_error + 4 * exp(-APART), inf), inf), value_error)


def _with_scores(head: TabulatedHead, scores: np.ndarray) -> TabulatedHead:
    """The head with other scores, in units of the temperature; [CLS]'s comes last."""
    shape = numbers_of(head.scores).shape
    return replace(head, scores=scores[:-1].reshape(shape), cls_score=np.asarray(scores[-1]), normaliser=Softmax())


def _listed(table: Any, own: Any) -> np.ndarray:
    """The entries of a table of scores, then [CLS]'s."""
    return np.append(numbers_of(table).ravel(), numbers_of(own))


def _temperature(head: Any) -> float:
    return head.normaliser.temperature if isinstance(head.normaliser, Softmax) else 1.0


def _lifted(numbers: np.ndarray) -> Numbers:
    return [_ball(number) for number in numbers.tolist()]


def _ball(number: float) -> Any:
    from flint import arb  # noqa: PLC0415  (imported to prove)

    return arb(number)


@contextmanager
def _bits(bits: int) -> Iterator[None]:
    """Balls of so many bits."""
    from flint import ctx  # noqa: PLC0415  (imported to prove)

    before, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = before
