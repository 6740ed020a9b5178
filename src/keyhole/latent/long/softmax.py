"""Softmax attention over very long contexts: a block of keys at a time, never a row of all scores.

Where no score can leave the range of the exponential, none is shifted; elsewhere the largest score so far is carried
along. Both are softmax attention exactly, up to rounding in the arrays' own precision.
"""

from math import log

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import Keys, Queries, Values, require_context, require_positive
from keyhole.latent.kernels import in_blocks

QUERIES, KEYS = 256, 1024  # scores held at once: 1 MB in single precision, which a core's second cache keeps


def softmax_long(
    keys: Keys,
    values: Values,
    queries: Queries,
    *,
    temperature: float,
    blocks: tuple[int, int] = (QUERIES, KEYS),
) -> Float[np.ndarray, "n k"]:
    """Vᵀ softmax(Kq/γ) for every query.

    >>> softmax_long(np.eye(2), np.array([[1.0], [3.0]]), np.zeros((1, 2)), temperature=1.0).tolist()
    [[2.0]]
    """
    require_context(keys, values, queries)
    require_positive("a temperature", temperature)
    scaled = queries / np.asarray(temperature, dtype=queries.dtype)
    held = np.empty((min(blocks[0], max(len(queries), 1)), min(blocks[1], len(keys))), dtype=queries.dtype)
    parts = in_blocks(len(queries), blocks[0])
    attend = _attend if is_tame(keys, values, scaled) else _attend_shifted
    answers = np.empty((len(queries), values.shape[1]), dtype=values.dtype)
    for some in parts:
        answers[some] = attend(keys, values, scaled[some], held)
    return answers


def is_tame(
    keys: Float[np.ndarray, "T d"], values: Float[np.ndarray, "T k"], queries: Float[np.ndarray, "n d"]
) -> bool:
    """Whether exp(qᵀk) and its sums stay within the numbers' range for every query and key.

    Statement  With b = max‖q‖ max‖k‖ and V = max(1, |v|), b + log(TV) < log(largest number) and
               b < −log(smallest normal number) suffice.
    Proof      Every score lies in [−b, b], and a sum has T terms, each at most V e^b.
    Source     Ours (Cauchy–Schwarz).
    """
    numbers = np.finfo(queries.dtype)
    reach = _longest(queries) * _longest(keys)
    size = len(keys) * max(1.0, float(np.abs(values).max(initial=0.0)))
    return reach + log(size) < log(float(numbers.max)) and reach < -log(float(numbers.smallest_normal))


def _attend(keys: np.ndarray, values: np.ndarray, queries: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The plain ratio of sums."""
    mixed = np.zeros((len(queries), values.shape[1]), dtype=values.dtype)
    mass = np.zeros(len(queries), dtype=queries.dtype)
    for some in in_blocks(len(keys), held.shape[1]):
        scores = _scores(queries, keys[some], held)
        np.exp(scores, out=scores)
        mass += scores.sum(axis=1)
        mixed += scores @ values[some]
    return mixed / mass[:, None]


def _attend_shifted(keys: np.ndarray, values: np.ndarray, queries: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The same ratio, numerator and denominator scaled by the largest score met so far."""
    mixed = np.zeros((len(queries), values.shape[1]), dtype=values.dtype)
    mass = np.zeros(len(queries), dtype=queries.dtype)
    largest = np.full(len(queries), -np.inf, dtype=queries.dtype)
    for some in in_blocks(len(keys), held.shape[1]):
        scores = _scores(queries, keys[some], held)
        renewed = np.maximum(largest, scores.max(axis=1))
        scores -= renewed[:, None]
        np.exp(scores, out=scores)
        fade = np.exp(largest - renewed)
        mass = fade * mass + scores.sum(axis=1)
        mixed = fade[:, None] * mixed + scores @ values[some]
        largest = renewed
    return mixed / mass[:, None]


def _scores(queries: np.ndarray, keys: np.ndarray, held: np.ndarray) -> np.ndarray:
    """qᵀk of one block, in memory that is used again for the next."""
    place = held[: len(queries), : len(keys)]
    return np.matmul(queries, keys.T, out=place)


def _longest(rows: np.ndarray) -> float:
    return float(np.sqrt(np.max(np.einsum("ij,ij->i", rows, rows, dtype=np.float64), initial=0.0)))
