"""A checkpoint evaluated by its definition, head by head and row by row: the oracle that weights were read right."""

import numpy as np
from scipy.special import erf

ACTIVATIONS = {
    "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def softmax(scores):
    """Every row to weights."""
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def turned(rows, code):
    """Rotary positions: coordinate i and i + k/2 of row t turned by t · base^(−2i/k)."""
    half = rows.shape[1] // 2
    angles = np.arange(len(rows))[:, None] * code.base ** (-np.arange(half) / half)
    one, two = rows[:, :half], rows[:, half:]
    return np.concatenate([one * np.cos(angles) - two * np.sin(angles), two * np.cos(angles) + one * np.sin(angles)], 1)


def attention(checkpoint, layer, rows):
    """The layer's attention maps (heads, T, T) and what its heads write, of rows that were normalised already."""
    maps, written = [], 0.0 if layer.attention.output_bias is None else layer.attention.output_bias
    for head in layer.heads:
        query, key, value = rows @ head.query, rows @ head.key, rows @ head.value
        query = query if head.query_bias is None else query + head.query_bias
        key = key if head.key_bias is None else key + head.key_bias
        value = value if head.value_bias is None else value + head.value_bias
        if layer.attention.query_norm is not None:
            query, key = layer.attention.query_norm(query), layer.attention.key_norm(key)
        if checkpoint.positions.kind == "rotary":
            query, key = turned(query, checkpoint.positions), turned(key, checkpoint.positions)
        scores = head.scale * query @ key.T
        if checkpoint.causal:
            scores = np.where(np.tri(len(rows), dtype=bool), scores, -np.inf)
        maps.append(softmax(scores))
        written = written + maps[-1] @ value @ head.output
    return np.array(maps), written


def embed(checkpoint, inputs):
    """Rows of whole numbers through the tables, or of features through their map."""
    part = checkpoint.embedding
    if inputs.ndim == 1:
        rows = part.tokens[inputs]
        if part.segments is not None:
            rows = rows + part.segments[0]
    else:
        rows = inputs if part.features is None else part.features(inputs)
    if part.cls is not None:
        rows = np.concatenate([part.cls, rows])
    if part.positions is not None:
        rows = rows + part.positions[part.offset : part.offset + len(rows)]
    rows = rows if part.norm is None else part.norm(rows)
    return rows if part.widen is None else part.widen(rows)


def run(checkpoint, inputs):
    """The last rows, after the final norm, and all attention maps (layers, heads, T, T)."""
    rows, maps = embed(checkpoint, inputs), []
    for layer in checkpoint.layers:
        pre = checkpoint.placement == "pre"
        first, second = (norm or (lambda x: x) for norm in (layer.attention_norm, layer.feedforward_norm))
        seen, written = attention(checkpoint, layer, first(rows) if pre else rows)
        maps.append(seen)
        rows = rows + written if pre else first(rows + written)
        if layer.feedforward is not None:
            fed = feed(layer.feedforward, second(rows) if pre else rows)
            rows = rows + fed if pre else second(rows + fed)
    return rows if checkpoint.final_norm is None else checkpoint.final_norm(rows), np.array(maps)


def feed(part, rows):
    """The feed-forward part."""
    activate = ACTIVATIONS[part.activation]
    inner = part.inner(rows)
    return part.outer(activate(inner) if part.gate is None else activate(part.gate(rows)) * inner)
