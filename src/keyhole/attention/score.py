"""A score compares a token with a query; here it is bilinear, by a dense matrix or by two thin ones."""

import math
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace

from keyhole.arrays import Float
from keyhole.attention.types import Array, optional, require_weights, side


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
    """Score(x, z) = (W_Kᵀx + b_K)ᵀ(W_Qᵀz + b_Q)/√d_h, that is M = W_K W_Qᵀ/√d_h without biases."""

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
