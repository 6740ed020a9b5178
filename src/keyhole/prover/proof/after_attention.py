"""The layers after the heads, in one form: an affine map, a norm, one layer of units, further norms, a read-out.

With o the outputs of all heads side by side:

    x = o M + c,   z = q · gain (x − mean) + bias,   q = 1/√(variance(x) + ε)     (z = x without a norm)
    y = skip + σ(z W + b) W′ + b′,   skip one of 0, x, z
    f = ⟨w, norms and shifts of y⟩ + w₀

Every number is kept with its rounding error.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import (
    Activation,
    Affine,
    Array,
    FeedForward,
    Identity,
    LayerNorm,
    RMSNorm,
    Tabulated,
    numbers_of,
)
from keyhole.errors import AssumptionError
from keyhole.prover.proof.curves import curve, require_known
from keyhole.rigorous import Ball, exact, inverse, root


@dataclass(frozen=True, eq=False)
class Norm:
    """A LayerNorm's numbers, or an RMSNorm's, which does not centre its rows."""

    gain: Float[np.ndarray, "d"]
    bias: Float[np.ndarray, "d"]
    eps: float
    centres: bool = True

    def centred(self, x: Ball) -> Ball:
        """The rows less their mean, where the norm takes it off; below, such rows are called centred in both cases."""
        return x.centred() if self.centres else x

    def spread(self, centred: Ball) -> Ball:
        """√(variance + ε) of centred rows."""
        return root((centred * centred).total() * inverse(exact(float(len(self.gain)))) + exact(self.eps))

    def __call__(self, centred: Ball, spread: Ball) -> Ball:
        """The normed rows."""
        return centred * inverse(spread)[..., None] * exact(self.gain) + exact(self.bias)


@dataclass(frozen=True, eq=False)
class Units:
    """One layer of units: pre-activations q (o L + l) + b, and what they write."""

    matrix: Ball  # (K, h), L
    shift: Ball  # (h,), l
    bias: Ball  # (h,), b
    activation: Activation
    outer: Ball  # (h, d′), W′
    outer_bias: Ball  # (d′,)


@dataclass(frozen=True, eq=False)
class Tail:
    """The whole of what follows the heads; `after` holds norms, and shifts as plain vectors, in order."""

    matrix: Ball  # (K, d), M
    shift: Ball  # (d,), c
    norm: Norm | None
    skip: Literal["none", "raw", "normed"]
    units: Units
    after: tuple[Norm | Float[np.ndarray, "d"], ...]
    weight: Ball  # (d′,)
    bias: Ball  # ()

    @property
    def centred(self) -> tuple[Ball, Ball]:
        """M and c with the mean of their outputs taken off, as the first norm does."""
        if self.norm is None:
            return self.matrix, self.shift
        return self.norm.centred(self.matrix), self.norm.centred(self.shift)


@dataclass(frozen=True, eq=False)
class Trace:
    """A batch of points on their way through the tail."""

    middle: Ball  # x − mean, or x without a norm
    spread: Ball  # √(variance + ε), or 1
    units: Ball  # pre-activations
    stages: tuple[tuple[Ball, Ball], ...]  # for each norm of `after`: its centred rows and their spread
    output: Ball  # f


def trace(tail: Tail, outputs: Ball) -> Trace:
    """Follow outputs of the heads, of shape (n, K), to the number they end in."""
    x = outputs @ tail.matrix + tail.shift
    middle, spread, z = x, exact(np.ones(len(x.mid))), x
    if tail.norm is not None:
        middle = tail.norm.centred(x)
        spread = tail.norm.spread(middle)
        z = tail.norm(middle, spread)
    units = tail.units
    before = (outputs @ units.matrix + units.shift) * inverse(spread)[:, None] + units.bias
    y = curve(units.activation, before) @ units.outer + units.outer_bias
    if tail.skip != "none":
        y = y + (x if tail.skip == "raw" else z)
    stages = []
    for stage in tail.after:
        if isinstance(stage, Norm):
            rows = stage.centred(y)
            stages.append((rows, stage.spread(rows)))
            y = stage(*stages[-1])
        else:
            y = y + exact(stage)
    return Trace(middle, spread, before, tuple(stages), y @ tail.weight + tail.bias)


def tail_of(model: Tabulated) -> Tail:
    """The tail of a one-layer model, or one sentence on why its tail is not of this form."""
    wiring, readout = model.wiring, model.readout
    if wiring.projected:
        raise AssumptionError(
            "a model that projects its rows into the unit ball was to be verified; the projection is not bounded "
            "here, so verify a model without it"
        )
    stream = numbers_of(model.stream)
    widths = [int(head.cls_value.shape[0]) for head in model.heads]
    joined = np.eye(sum(widths)) if wiring.join == "concatenate" else np.concatenate([np.eye(w) for w in widths])
    matrix, shift = exact(joined), exact(np.zeros(joined.shape[1]))
    if wiring.output is not None:
        weight, bias = affine_of(wiring.output)
        matrix, shift = matrix @ weight, bias
    if wiring.residual == "each":
        shift = shift + exact(stream)
    pre, feed = wiring.placement == "pre", wiring.feedforward
    entering = None if feed is None else wiring.feedforward_norm
    normed, leaving = (entering, None) if pre else (wiring.attention_norm, entering)
    stages = (leaving, stream if wiring.residual == "block" else None, readout.norm)
    after = tuple(norm_of(stage) if isinstance(stage, LayerNorm) else stage for stage in stages if stage is not None)
    norm = None if normed is None else norm_of(normed)
    kinds = {type(head.activation) for head in model.heads}
    if kinds != {Identity}:
        return _after_activated_heads(model, matrix, shift, norm, after)
    if feed is None:
        skip: Literal["none", "raw", "normed"] = "raw" if norm is None else "normed"
    elif wiring.residual != "each":
        skip = "none"
    else:
        skip = "raw" if pre or norm is None else "normed"
    units = _units(feed, matrix, shift, norm)
    return Tail(matrix, shift, norm, skip, units, after, *_readout(model))


def _after_activated_heads(
    model: Tabulated, matrix: Ball, shift: Ball, norm: Norm | None, after: tuple[Norm | np.ndarray, ...]
) -> Tail:
    """Heads with an activation of their own: they are the units, and only affine maps may follow before a norm."""
    for head in model.heads:
        require_known(head.activation)
    if model.wiring.feedforward is not None or len({type(head.activation) for head in model.heads}) > 1:
        raise AssumptionError(
            "heads with activations of their own were to be verified together with a feed-forward part, or with "
            "several kinds of them; one layer of units of one kind is bounded here"
        )
    activation = model.heads[0].activation
    width = matrix.mid.shape[0]
    same, nothing = exact(np.eye(width)), exact(np.zeros(width))
    units = Units(same, nothing, nothing, activation, matrix, shift)
    return Tail(same, nothing, None, "none", units, (*(() if norm is None else (norm,)), *after), *_readout(model))


def _units(feed: FeedForward | None, matrix: Ball, shift: Ball, norm: Norm | None) -> Units:
    width = matrix.mid.shape[1]
    if feed is None:
        weight, bias = exact(np.zeros((width, 0))), exact(np.zeros(0))
        outer, outer_bias = exact(np.zeros((0, width))), exact(np.zeros(width))
        activation: Activation = Identity()
    else:
        require_known(feed.activation)
        activation = feed.activation
        weight, bias = affine_of(feed.inner) if feed.inner else (exact(np.eye(width)), exact(np.zeros(width)))
        hidden = weight.mid.shape[1]
        outer, outer_bias = affine_of(feed.outer) if feed.outer else (exact(np.eye(hidden)), exact(np.zeros(hidden)))
    if norm is None:
        return Units(matrix @ weight, shift @ weight, bias, activation, outer, outer_bias)
    scaled = exact(norm.gain[:, None]) * weight
    bias = exact(norm.bias) @ weight + bias
    return Units(norm.centred(matrix) @ scaled, norm.centred(shift) @ scaled, bias, activation, outer, outer_bias)


def _readout(model: Tabulated) -> tuple[Ball, Ball]:
    bias = model.readout.bias
    return exact(numbers_of(model.readout.weight)), exact(0.0 if bias is None else numbers_of(bias))


def norm_of(norm: LayerNorm) -> Norm:
    """A LayerNorm's numbers, or an RMSNorm's."""
    gain = numbers_of(norm.gain)
    return Norm(gain, _or_zeros(norm.bias, len(gain)), norm.eps, not isinstance(norm, RMSNorm))


def affine_of(affine: Affine) -> tuple[Ball, Ball]:
    """Weight and bias of an affine map, zeros where it has none."""
    weight = numbers_of(affine.weight)
    return exact(weight), exact(_or_zeros(affine.bias, weight.shape[1]))


def _or_zeros(array: Array | None, length: int) -> np.ndarray:
    return np.zeros(length) if array is None else np.asarray(numbers_of(array))
