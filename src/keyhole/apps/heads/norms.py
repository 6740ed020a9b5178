"""The norms of every head of a checkpoint, beside those of random weights and of the same weights shuffled.

A head has two matrices: M = W_K W_Qᵀ/√k, with which scores are X M z (W_QK is its transpose), and W_OV = W_V W_O,
which takes a row to what the head writes of it. Neither is formed: both are products of thin factors.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from keyhole.apps.heads.controls import starting_deviation
from keyhole.attention import ThinNorms, thin_norms
from keyhole.checkpoints import AttentionHead, Checkpoint
from keyhole.errors import CheckpointError
from keyhole.progress import Progress, Watch, ignore

STATISTICS: Mapping[str, str] = MappingProxyType(
    {
        "qk-spectral": "‖M‖₂ of M = W_K W_Qᵀ/√k",
        "qk-frobenius": "‖M‖_F",
        "qk-columns": "‖M‖_{2,1}, columns (of queries)",
        "qk-rows": "‖Mᵀ‖_{2,1}, rows (of keys)",
        "qk-rank": "stable rank of M",
        "ov-spectral": "‖W_OV‖₂ of W_OV = W_V W_O",
        "ov-frobenius": "‖W_OV‖_F",
        "ov-columns": "‖W_OV‖_{2,1}, columns (outputs)",
        "ov-rows": "‖W_OVᵀ‖_{2,1}, rows (inputs)",
        "ov-rank": "stable rank of W_OV",
    }
)
NORM_NAMES = {"layer": "LayerNorm", "rms": "RMSNorm", "batch": "BatchNorm", "centred": "centring"}
FIELDS = {"columns": "columns21", "rows": "rows21", "rank": "stable_rank"}  # of `ThinNorms`


@dataclass(frozen=True)
class HeadStatistics:
    """One head, by its layer and its number from 0, and the norms of its two matrices."""

    layer: int
    head: int
    score: ThinNorms  # of M
    value: ThinNorms  # of W_OV

    def __getitem__(self, statistic: str) -> float:
        """Return a statistic by its name, such as qk-spectral."""
        matrix, _, name = statistic.partition("-")
        return float(getattr(self.score if matrix == "qk" else self.value, FIELDS.get(name, name)))


@dataclass(frozen=True)
class NotCovered:
    """A part of the model that norms of W_QK and W_OV leave out, and why."""

    what: str
    reason: str


@dataclass(frozen=True)
class HeadNormSet:
    """The heads of all distinct layers as they were trained, redrawn at random, and shuffled."""

    trained: tuple[HeadStatistics, ...]
    random: tuple[HeadStatistics, ...]
    shuffled: tuple[HeadStatistics, ...]
    deviation: float  # of the random weights


def head_norms(checkpoint: Checkpoint, *, seed: int = 0, watch: Watch = ignore) -> HeadNormSet:
    """Measure the norms of every head, and of two controls of the same shape.

    The random control draws every entry from a normal law with the deviation that weights have before training
    (`initializer_range` of the configuration, or 0.02; in GPT-2 that of W_O is smaller by √(2·layers)). The shuffled
    one permutes the entries within each of W_Q, W_K, W_V and W_O of a head, so that their Frobenius norms and the law
    of their entries stay. Layers that share their weights are counted once.
    """
    deviation = starting_deviation(checkpoint)
    rng = np.random.default_rng(seed)
    sets: tuple[list[HeadStatistics], ...] = ([], [], [])
    layers = checkpoint.distinct_layers
    for done, index in enumerate(layers, 1):
        with threadpool_limits(1):  # matrices this small wait for each other's threads longer than they compute
            for number, head in enumerate(checkpoint.layers[index].heads):
                random = redrawn(head, deviation, checkpoint.output_share, rng)
                for kept, each in zip(sets, (head, random, shuffled(head, rng)), strict=True):
                    score, value = thin_norms(*each.score_factors), thin_norms(*each.value_factors)
                    kept.append(HeadStatistics(index, number, score, value))
        watch(Progress(done, len(layers), f"layer {index + 1}"))
    return HeadNormSet(tuple(sets[0]), tuple(sets[1]), tuple(sets[2]), deviation)


def redrawn(head: AttentionHead, deviation: float, output_share: float, rng: np.random.Generator) -> AttentionHead:
    """Return a head of the same shape with normal entries, those of its output matrix smaller by a share."""
    drawn = _changed(head, lambda part: rng.normal(0, deviation, part.shape))
    return replace(drawn, output=output_share * drawn.output)


def shuffled(head: AttentionHead, rng: np.random.Generator) -> AttentionHead:
    """Return a head with the entries of each matrix permuted."""
    return _changed(head, lambda part: rng.permutation(part.reshape(-1)).reshape(part.shape))


def _changed(head: AttentionHead, change: Callable[[np.ndarray], np.ndarray]) -> AttentionHead:
    parts: dict[str, Any] = {name: change(getattr(head, name)) for name in ("query", "key", "value", "output")}
    return replace(head, **parts)


def distances(first: Checkpoint, later: Checkpoint) -> tuple[tuple[int, int, float, float], ...]:
    """Return how far each head moved: layer, head, ‖M' − M‖_F/‖M‖_F and the same of W_OV.

    Statement  L'R'ᵀ − LRᵀ = [L', −L] [R', R]ᵀ is a product of thin factors too.
    Source     Standard.
    """
    if first.sizes != later.sizes:
        raise CheckpointError(
            f"{later.source} has other sizes than {first.source} ({later.sizes} and {first.sizes}); a series is of one "
            "model at several times."
        )
    moved = []
    for index in first.distinct_layers:
        for number, (one, two) in enumerate(zip(first.layers[index].heads, later.layers[index].heads, strict=True)):
            shares = []
            for factors in ("score_factors", "value_factors"):
                (left, right), (left2, right2) = getattr(one, factors), getattr(two, factors)
                change = thin_norms(np.hstack([left2, -left]), np.hstack([right2, right])).frobenius
                before = thin_norms(left, right).frobenius
                shares.append(change / before if before else float("inf"))
            moved.append((index, number, shares[0], shares[1]))
    return tuple(moved)


def not_covered(checkpoint: Checkpoint) -> tuple[NotCovered, ...]:
    """Return what norms of W_QK and W_OV leave out, by the first layer, each with the reason."""
    layer, sizes = checkpoint.layers[0], checkpoint.sizes
    attention, norms = layer.attention, (layer.attention_norm, layer.feedforward_norm)
    biased = [name for name in ("query", "key", "value", "output") if getattr(attention, f"{name}_bias") is not None]
    gained = next((norm.kind for norm in norms if norm and norm.gain is not None), "")
    crossed = [each.name for each in checkpoint.unused if each.reason.startswith("cross-attention")]
    parts = (
        (
            biased,
            f"biases ({', '.join(biased)})",
            "they add constants to scores and outputs; norms are of the matrices",
        ),
        (
            gained,
            f"{NORM_NAMES.get(gained, gained)} gains",
            "they scale rows between the matrices, and no Lipschitz constant of such a norm is free of epsilon",
        ),
        (attention.query_norm, "norms of queries and keys", "they bound the scores, whatever W_QK is"),
        (
            checkpoint.positions.kind == "rotary",
            "rotary positions",
            "a rotation stands between W_Q and W_K; W_QK is that of a token and itself, distance 0",
        ),
        (layer.feedforward, "feed-forward parts", "no bound here has them between layers"),
        (
            checkpoint.config.get("sliding_window"),
            "a sliding window",
            "it hides distant keys, which norms do not see",
        ),
        (crossed, "cross-attention", f"{', '.join(crossed[:1])} and others: keys of another sequence"),
        (
            sizes.key_value_heads < sizes.heads,
            "sharing of keys and values",
            f"{sizes.heads} heads share {sizes.key_value_heads} keys and values; each counts as if it had its own",
        ),
    )
    return tuple(NotCovered(what, reason) for there, what, reason in parts if there)
