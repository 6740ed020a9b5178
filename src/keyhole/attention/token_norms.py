"""How long tokens are, and how far apart: the radii and the diameter of what the heads see."""

import math
from typing import Any

import numpy as np

from keyhole.attention.tokens import Embedding, OneHotPairs
from keyhole.attention.types import numbers_of
from keyhole.attention.weights import Wiring

PAIRS = 2048  # vectors up to which all distances between tokens are looked at


def radii(embedding: Embedding, wiring: Wiring) -> tuple[float, float, float | None]:
    """B_X, ‖x_CLS‖ and D_X as the heads see the rows; D_X is None where pairs are too many to look at."""
    if isinstance(embedding, OneHotPairs) and (wiring.attention_norm is None or wiring.placement == "post"):
        return 1.0, 1.0, math.sqrt(2)
    cls = numbers_of(wiring.enter(embedding.cls))
    query = float(np.linalg.norm(cls))
    radius = query
    for start, stop in embedding.blocks():
        entered = numbers_of(wiring.enter(embedding.rows(start, stop)))
        radius = max(radius, float(np.linalg.norm(entered, axis=-1).max()))
    if embedding.tokens * embedding.symbols + 1 > PAIRS:
        return radius, query, None
    rows = numbers_of(wiring.enter(embedding.rows(0, embedding.tokens)))
    return radius, query, _diameter(rows, cls)


def _diameter(rows: Any, cls: Any) -> float:
    """The largest distance of two rows that one sequence can show: at two positions, or to [CLS]."""
    tokens, symbols, width = rows.shape
    vectors = np.concatenate([rows.reshape(-1, width), cls[None, :]])
    vectors = vectors - vectors.mean(axis=0)  # then no vector is longer than the distances, and little cancels
    place = np.append(np.repeat(np.arange(tokens), symbols), tokens)
    square = (vectors**2).sum(axis=1)
    distance = square[:, None] + square[None, :] - 2 * vectors @ vectors.T
    return math.sqrt(max(0.0, float(distance[place[:, None] != place[None, :]].max())))
