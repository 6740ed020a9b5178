"""Controls of what a trained model's heads do: the same model with its scores' weights shuffled, or all redrawn."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from keyhole.attention import Affine
from keyhole.checkpoints import Checkpoint, FeedForwardPart, Prepared

INITIAL = 0.02  # deviation of weights before training, where the configuration does not say it
CONTROLS: Mapping[str, str] = {
    "shuffled": "entries of W_Q and of W_K permuted within each layer, so that their norms stay; the rest as trained",
    "random": f"every matrix of the layers redrawn as its family starts it, normal of deviation {INITIAL:g} where the "
    "configuration says no other, without biases; embeddings and norms as trained",
}


def starting_deviation(checkpoint: Checkpoint) -> float:
    """Return the deviation of weights before training; that of output matrices is smaller by `output_share`."""
    stated = checkpoint.config.get("initializer_range")
    return float(stated) if isinstance(stated, float) and 0 < stated < 1e6 else INITIAL


def controlled(model: Prepared, control: str, seed: int = 0) -> Prepared:
    """Return the model with weights of a control; its embeddings, norms and sizes stay."""
    rng, usual = np.random.default_rng(seed), starting_deviation(model.checkpoint)
    narrow = usual * model.checkpoint.output_share

    def like(matrix: Any, deviation: float = usual) -> np.ndarray:
        drawn: np.ndarray = rng.normal(0, deviation, matrix.shape).astype(matrix.dtype)
        return drawn

    layers = []
    for layer in model.layers:
        part, feed = layer.attention, layer.feedforward
        if control == "shuffled":
            query, key = (rng.permutation(each.reshape(-1)).reshape(each.shape) for each in (part.query, part.key))
            layers.append(layer.changed(attention=replace(part, query=query, key=key)))
            continue
        matrices: dict[str, Any] = {name: like(getattr(part, name)) for name in ("query", "key", "value")}
        matrices["output"] = like(part.output, narrow)
        silent: dict[str, Any] = {f"{name}_bias": None for name in matrices}
        if feed is not None:
            inner, outer = Affine(like(feed.inner.weight)), Affine(like(feed.outer.weight, narrow))
            gate = None if feed.gate is None else Affine(like(feed.gate.weight))
            feed = FeedForwardPart(inner, outer, feed.activation, gate)
        layers.append(layer.changed(attention=replace(part, **matrices, **silent), feedforward=feed))
    return replace(model, layers=tuple(layers))
