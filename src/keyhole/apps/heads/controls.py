"""Controls of what a trained model's heads do: the same model with its scores' weights shuffled, or all redrawn."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from keyhole.attention import Affine
from keyhole.checkpoints import FeedForwardPart, Prepared, PreparedLayer

INITIAL = 0.02  # deviation of redrawn weights
CONTROLS: Mapping[str, str] = {
    "shuffled": "entries of W_Q and of W_K permuted within each layer, so that their norms stay; the rest as trained",
    "random": f"every matrix of the layers redrawn, normal of deviation {INITIAL:g}, without biases; embeddings and "
    "norms as trained",
}


def controlled(model: Prepared, control: str, seed: int = 0) -> Prepared:
    """The model with weights of a control; its embeddings, norms and sizes stay."""
    rng = np.random.default_rng(seed)
    change = _shuffled if control == "shuffled" else _redrawn
    return replace(model, layers=tuple(change(layer, rng) for layer in model.layers))


def _shuffled(layer: PreparedLayer, rng: np.random.Generator) -> PreparedLayer:
    mixed: dict[str, Any] = {
        name: rng.permutation(getattr(layer, name).reshape(-1)).reshape(getattr(layer, name).shape)
        for name in ("query", "key")
    }
    return replace(layer, **mixed)


def _redrawn(layer: PreparedLayer, rng: np.random.Generator) -> PreparedLayer:
    def like(matrix: Any) -> np.ndarray:
        drawn: np.ndarray = rng.normal(0, INITIAL, matrix.shape).astype(matrix.dtype)
        return drawn

    def redrawn(part: Affine | None) -> Affine | None:
        return None if part is None else Affine(like(part.weight), None)

    drawn: dict[str, Any] = {name: like(getattr(layer, name)) for name in ("query", "key", "value", "output")}
    silent: dict[str, Any] = {f"{name}_bias": None for name in ("query", "key", "value", "output")}
    feed = layer.feedforward
    if feed is not None:
        inner, outer = Affine(like(feed.inner.weight), None), Affine(like(feed.outer.weight), None)
        feed = FeedForwardPart(inner, outer, feed.activation, redrawn(feed.gate))
    return replace(layer, **drawn, **silent, feedforward=feed)
