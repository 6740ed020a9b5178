"""Distances of tables made in double precision from the tables that the weights define.

The weights are numbers; scores and values are sums of products of them, and rounding can spoil such a sum where large
terms cancel. Here the tables are made once more with a radius for every number, so that the true ones lie inside. What
they may be off goes into every bound that follows: a proof is of the weights.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keyhole.attention import (
    AdditiveEmbedding,
    Affine,
    DenseScore,
    Embedding,
    FactoredScore,
    Head,
    Model,
    OneHotPairs,
    Softmax,
    Tabulated,
    TabulatedHead,
    numbers_of,
)
from keyhole.decimals import at_most
from keyhole.errors import AssumptionError
from keyhole.prover.proof.after_attention import Norm, affine_of, norm_of
from keyhole.prover.proof.tables import Drift
from keyhole.rigorous import GROW, Ball, exact, inverse, root

LIMIT = 1e-9  # a head's output then moves by 2e-9 of its largest value at most: far below any margin of use
SMALLEST = 2.0**-100  # values are compared with this, where they are all smaller


def drifts_of(model: Model, tables: Tabulated) -> tuple[Drift, ...]:
    """Return a bound of the error of the scores and the values of each head.

    Statement  The tables that the weights define in exact arithmetic differ from those given by at most this much.
    Assumes    One block; bilinear scores and affine values; position codes are the doubles that their rule gives.
    Proof      The true entry lies in its ball: it is off by |entry − middle| + radius at most.
    Source     Ours.
    """
    norm = model.blocks[0].wiring.attention_norm if model.blocks[0].wiring.placement == "pre" else None
    entering = None if norm is None else norm_of(norm)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite bounds nothing
        return tuple(
            _drift(head, table, model.embedding, entering)
            for head, table in zip(model.blocks[0].heads, tables.heads, strict=True)
        )


def is_exact_enough(drifts: Sequence[Drift], tables: Tabulated) -> bool:
    """Return whether every score, and every value over the largest of its head, is within `LIMIT` of the truth."""
    return all(bool((worst <= LIMIT).all()) for worst in _relative(drifts, tables))


def require_exact_enough(drifts: Sequence[Drift], tables: Tabulated) -> None:
    """Refuse a model whose scores, or values over the largest of their head, may be off by more than `LIMIT`."""
    if is_exact_enough(drifts, tables):
        return
    scores, values = _relative(drifts, tables)
    of_scores, of_values = (at_most(float(worst.max()), 2) for worst in (scores, values))
    raise AssumptionError(
        f"The model's weights nearly cancel: rounding may move its scores by {of_scores} and its values by {of_values} "
        f"of the largest, and {LIMIT:g} is let pass. Scale the weights down, or certify its tables."
    )


def _relative(drifts: Sequence[Drift], tables: Tabulated) -> tuple[np.ndarray, np.ndarray]:
    """Return the drift of the scores, and of the values over the largest of their head, head by head."""
    largest = [max(float(np.abs(part).max()) for part in (head.values, head.cls_value)) for head in tables.heads]
    values = [drift.value / max(most, SMALLEST) for drift, most in zip(drifts, largest, strict=True)]
    return np.array([drift.score for drift in drifts]), np.array(values)


def _drift(head: Head, table: TabulatedHead, embedding: Embedding, norm: Norm | None) -> Drift:
    if not isinstance(head.value, Affine) or not isinstance(head.score, DenseScore | FactoredScore):
        raise AssumptionError(
            "A head's score is not bilinear or its value map not affine, so the rounding of its tables is not known; "
            "certify its tables, as `tabulate` gives them."
        )
    query = _entered(exact(numbers_of(embedding.cls)), norm)
    vector, score_shift = folded(head.score, query, exact, lambda width: inverse(root(exact(width))))
    weight, bias = affine_of(head.value)
    maps = Ball(
        np.concatenate([vector.mid[:, None], weight.mid], axis=1),
        np.concatenate([vector.rad[:, None], weight.rad], axis=1),
    )
    shifts = Ball(np.append(score_shift.mid, bias.mid), np.append(score_shift.rad, bias.rad))
    shape = (embedding.tokens * embedding.symbols, -1)
    given = np.concatenate([numbers_of(table.scores)[:, :, None], numbers_of(table.values)], axis=2).reshape(shape)
    cls = np.append(numbers_of(table.cls_score), numbers_of(table.cls_value))
    worst = _distance(query @ maps + shifts, cls)
    for start, stop in embedding.blocks():
        part = given[start * embedding.symbols : stop * embedding.symbols]
        if norm is None and isinstance(embedding, OneHotPairs):
            images = maps[start * embedding.symbols : stop * embedding.symbols]
        else:
            images = _entered(rows_of(embedding, start, stop, exact), norm) @ maps
        worst = np.maximum(worst, _distance(images + shifts, part).max(axis=0))
    temperature = head.normaliser.temperature if isinstance(head.normaliser, Softmax) else 1.0
    # a quotient that underflows is still not 0: it meets values of any size
    return Drift(float(np.nextafter(worst[0] / temperature * GROW, np.inf)), float(worst[1:].max()))


def _distance(truth: Ball, given: np.ndarray) -> np.ndarray:
    """Return the largest distance of the truth from the numbers given, rounded upwards."""
    return (truth - exact(given)).size


def _entered(rows: Ball, norm: Norm | None) -> Ball:
    """Return rows after the norm, as a head sees them."""
    if norm is None:
        return rows
    centred = norm.centred(rows)
    return norm(centred, norm.spread(centred))


def folded(
    score: Any, query: Any, lift: Callable[[np.ndarray], Any], inverse_root: Callable[[float], Any]
) -> tuple[Any, Any]:
    """The vector and the number with which a token's score is their product and sum; `lift` makes balls of doubles."""
    if isinstance(score, DenseScore):
        return lift(numbers_of(score.matrix)) @ query, lift(np.zeros(()))
    width = int(score.query.shape[1])
    query_bias, key_bias = (
        lift(np.zeros(width) if bias is None else numbers_of(bias)) for bias in (score.query_bias, score.key_bias)
    )
    vector = (query @ lift(numbers_of(score.query)) + query_bias) * inverse_root(float(width))
    return lift(numbers_of(score.key)) @ vector, key_bias @ vector


def rows_of(embedding: Embedding, start: int, stop: int, lift: Callable[[np.ndarray], Any]) -> Any:
    """The rows of some positions, all symbols; the sum of a code and a token vector is not rounded."""
    if not isinstance(embedding, AdditiveEmbedding):
        return lift(numbers_of(embedding.rows(start, stop)).reshape(-1, embedding.width))
    codes = numbers_of(embedding.positions.rows(start, stop, embedding.table))
    codes = np.pad(codes, ((0, 0), (0, embedding.width - codes.shape[1])))
    tokens = np.tile(numbers_of(embedding.table), (len(codes), 1))
    return lift(np.repeat(codes, embedding.symbols, axis=0)) + lift(tokens)
