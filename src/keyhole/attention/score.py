"""A score compares a token with a query; here it is bilinear, by a dense matrix or by two thin ones.

How long tokens are, and how far apart: the radii and the diameter of what the heads see.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from keyhole.arrays import Float
from keyhole.attention.tokens import Embedding, OneHotPairs
from keyhole.attention.types import Array, numbers_of, optional, require_weights, side
from keyhole.attention.weights import Wiring


@dataclass(frozen=True, eq=False)
class DenseScore:
    """Score(x, z) = xᵀ M z."""

    matrix: Array  # (d, d)

    def __post_init__(self) -> None:
        require_weights(score=(self.matrix, ("d", side(self.matrix, 0))))

    @property
    def inputs(self) -> int:
        """d, the width of a token and of a query."""
        return int(self.matrix.shape[0])

    def __call__(self, tokens: Array, queries: Array) -> Array:
        """Scores of shape (…, queries, tokens)."""
        xp = array_namespace(tokens)
        return queries @ self.matrix.T @ xp.matrix_transpose(tokens)

    def folded(self, query: Float[Any, "d"]) -> tuple[Float[Any, "d"], Array]:
        """The vector q = Mz and the number 0 with which the score of one fixed query is x ↦ xᵀq + 0."""
        return self.matrix @ query, 0 * self.matrix[0, 0]


@dataclass(frozen=True, eq=False)
class FactoredScore:
    """Score(x, z) = (W_Kᵀx + b_K)ᵀ(W_Qᵀz + b_Q)/√d_h, that is M = W_K W_Qᵀ/√d_h when there is no bias."""

    query: Array  # (d, h)
    key: Array  # (d, h)
    query_bias: Array | None = None  # (h,)
    key_bias: Array | None = None  # (h,)

    def __post_init__(self) -> None:
        d, h = side(self.query, 0), side(self.query, 1)
        require_weights(
            query=(self.query, ("d", "h")),
            key=(self.key, (d, h)),
            query_bias=optional(self.query_bias, h),
            key_bias=optional(self.key_bias, h),
        )

    @property
    def inputs(self) -> int:
        """d, the width of a token and of a query."""
        return int(self.query.shape[0])

    def __call__(self, tokens: Array, queries: Array) -> Array:
        """Scores of shape (…, queries, tokens)."""
        xp = array_namespace(tokens)
        keys = tokens @ self.key if self.key_bias is None else tokens @ self.key + self.key_bias
        return self._projected(queries) @ xp.matrix_transpose(keys)

    def folded(self, query: Float[Any, "d"]) -> tuple[Float[Any, "d"], Array]:
        """The vector q and the number c with which the score of one fixed query is x ↦ xᵀq + c: no keys."""
        xp = array_namespace(query)
        projected = self._projected(query)
        shift = 0 * projected[0] if self.key_bias is None else xp.sum(self.key_bias * projected)
        return self.key @ projected, shift

    def _projected(self, queries: Array) -> Array:
        projected = queries @ self.query if self.query_bias is None else queries @ self.query + self.query_bias
        return projected / math.sqrt(self.query.shape[1])


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
    tokens, symbols, width = rows.shape
    vectors = np.concatenate([rows.reshape(-1, width), cls[None, :]])
    vectors = vectors - vectors.mean(axis=0)  # then no vector is longer than the distances, and little cancels
    place = np.append(np.repeat(np.arange(tokens), symbols), tokens)  # one sequence shows one symbol at each
    square = (vectors**2).sum(axis=1)
    distance = square[:, None] + square[None, :] - 2 * vectors @ vectors.T
    return radius, query, math.sqrt(max(0.0, float(distance[place[:, None] != place[None, :]].max())))
