"""Kernel smoothing answers a query by the values of the keys around it; softmax attention is one instance."""

from math import inf

import numpy as np

from keyhole.attention import Answers, Keys, Mixtures, Queries, Softmax, Values, require_context
from keyhole.errors import ShapeError
from keyhole.latent.kernels.families import Kernel

BLOCK = 1024  # queries answered at once: a T × 1024 matrix is held, never T × n


def in_blocks(rows: int, block: int = BLOCK) -> list[slice]:
    """Slices of at most `block` rows that cover all; one empty slice when there are none.

    >>> in_blocks(5, 3)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return [slice(start, min(start + block, rows)) for start in range(0, max(rows, 1), block)]


def smoothing_weights(kernel: Kernel, keys: Keys, queries: Queries) -> Mixtures:
    """The weight k(q, k_t)/Σ_t k(q, k_t) of every key for every query, by logarithms."""
    return Softmax()(kernel.logarithm(queries, keys))


def smooth(kernel: Kernel, keys: Keys, values: Values, queries: Queries, *, block: int = BLOCK) -> Answers:
    """The Nadaraya–Watson estimate Σ_t k(q, k_t) v_t / Σ_t k(q, k_t) for every query.

    Statement  With the kernel exp(qᵀk/γ) it is softmax attention at temperature γ. For keys and queries on
               the unit sphere it is also Gaussian smoothing of bandwidth h, h² = γ.
    Proof      ‖q − k‖² = 2 − 2qᵀk on the sphere, and a factor common to all tokens cancels.
    Source     Standard.

    >>> from keyhole.latent.kernels.families import Constant
    >>> smooth(Constant(), np.eye(2), np.array([[1.0], [3.0]]), np.zeros((1, 2))).tolist()
    [[2.0]]
    """
    require_context(keys, values, queries)
    blocks = [smoothing_weights(kernel, keys, queries[some, :]) @ values for some in in_blocks(queries.shape[0], block)]
    return np.concatenate(blocks, axis=0)


def smooth_left_out(kernel: Kernel, keys: Keys, values: Values) -> Answers:
    """For every token the smoothed value at its key, from all the other tokens.

    Statement  Leaving token t out of the smoother at query k_t gives its own key the weight 0 and shares out
               the rest in proportion; no second pass over the data is needed.
    Proof      The estimate at k_t without token t is the same ratio of sums, without its terms t.
    Source     Standard.
    """
    require_context(keys, values)
    tokens = keys.shape[0]
    if tokens < 2:
        raise ShapeError("a context of one token leaves nothing when it is left out; give at least two")
    index = np.arange(tokens)
    blocks = []
    for some in in_blocks(tokens):
        own = index[some][:, None] == index[None, :]
        logits = np.where(own, -inf, kernel.logarithm(keys[some, :], keys))
        blocks.append(Softmax()(logits) @ values)
    return np.concatenate(blocks, axis=0)
