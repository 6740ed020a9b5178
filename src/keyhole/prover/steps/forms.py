"""Functions over boxes: a plane and a radius, so that the function is nowhere further from the plane.

A box has a centre and half-widths. A form stands for mid + slope·(z − centre) ± rad. Every operation adds what it
leaves out, and its own rounding, to the radius.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import Activation, Affine, FeedForward, GatedFeedForward, LayerNorm, Map
from keyhole.errors import AssumptionError
from keyhole.prover.proof.curves import curve, slopes
from keyhole.rigorous import GROW, UNDERFLOW_OF_RADIUS, UNIT, Ball, exact, gamma


@dataclass(frozen=True, eq=False)
class Form:
    """k functions on each of n boxes."""

    mid: Float[np.ndarray, "n k"]
    slope: Float[np.ndarray, "n k R"]
    rad: Float[np.ndarray, "n k"]
    half: Float[np.ndarray, "n R"]

    @property
    def reach(self) -> Float[np.ndarray, "n k"]:
        """A bound of the distance of the functions from `mid`."""
        return np.asarray((np.einsum("nkr,nr->nk", np.abs(self.slope), self.half) + self.rad) * GROW)

    @property
    def size(self) -> Float[np.ndarray, "n k"]:
        """A bound of their absolute values."""
        return np.asarray((np.abs(self.mid) + self.reach) * GROW)

    def __add__(self, other: "Form") -> "Form":
        rad = self.rad + other.rad + 4 * UNIT * (self.size + other.size)
        return Form(self.mid + other.mid, self.slope + other.slope, np.asarray(rad * GROW), self.half)

    def __mul__(self, other: "Form") -> "Form":
        mine, others = self.reach, other.reach
        rad = np.abs(self.mid) * other.rad + np.abs(other.mid) * self.rad + mine * others
        rad = rad + 16 * UNIT * self.size * other.size
        slope = self.mid[..., None] * other.slope + other.mid[..., None] * self.slope
        return Form(self.mid * other.mid, slope, np.asarray(rad * GROW + UNDERFLOW_OF_RADIUS), self.half)

    def take(self, columns: slice) -> "Form":
        """Some of the functions."""
        return Form(self.mid[:, columns], self.slope[:, columns], self.rad[:, columns], self.half)


def coordinates(centre: Float[np.ndarray, "n R"], half: Float[np.ndarray, "n R"]) -> Form:
    """The coordinates themselves."""
    n, width = centre.shape
    return Form(centre, np.broadcast_to(np.eye(width), (n, width, width)), np.zeros((n, width)), half)


def constant(row: Ball, half: Float[np.ndarray, "n R"]) -> Form:
    """The same numbers on every box."""
    n, width = half.shape
    k = len(row.mid)
    return Form(np.tile(row.mid, (n, 1)), np.zeros((n, k, width)), np.tile(row.rad, (n, 1)), half)


def linear(x: Form, weight: Ball, bias: Ball | None = None) -> Form:
    """x @ weight + bias."""
    mid, slope = x.mid @ weight.mid, np.einsum("nkr,kl->nlr", x.slope, weight.mid)
    size = x.size @ np.abs(weight.mid)
    rad = x.rad @ np.abs(weight.mid) + x.size @ weight.rad
    if bias is not None:
        mid, size, rad = mid + bias.mid, size + np.abs(bias.mid), rad + bias.rad
    rad = rad + gamma(2 * len(weight.mid) + 8) * size
    return Form(mid, slope, np.asarray(rad * GROW + UNDERFLOW_OF_RADIUS), x.half)


def mean_square(x: Form, eps: float) -> tuple[Form, Float[np.ndarray, "n 1"], Float[np.ndarray, "n 1"]]:
    """The mean of x² plus ε, as one function, and numbers below and above it."""
    count, reach = x.mid.shape[1], x.reach
    mid = (x.mid**2).mean(axis=1, keepdims=True) + eps
    slope = 2 * np.einsum("nk,nkr->nr", x.mid, x.slope)[:, None] / count
    top = ((np.abs(x.mid) + reach) ** 2).mean(axis=1, keepdims=True) + eps
    bottom = (np.maximum(np.abs(x.mid) - reach, 0.0) ** 2).mean(axis=1, keepdims=True) + eps
    rad = (2 * np.abs(x.mid) * x.rad + reach**2).mean(axis=1, keepdims=True) + gamma(4 * count + 16) * top
    square = Form(mid, slope, np.asarray(rad * GROW + UNDERFLOW_OF_RADIUS), x.half)
    rounding = gamma(2 * count + 16)
    low = np.maximum(bottom * (1 - rounding), mid - square.reach - 4 * UNIT * top)
    return square, low, np.minimum(top * (1 + rounding), mid + square.reach + 4 * UNIT * top)


def root(square: Form, low: np.ndarray, high: np.ndarray, *, inverse: bool) -> Form:
    """√x or 1/√x of a positive function that lies between two numbers, by the tangent at its middle.

    Statement  The tangent is off by at most the larger of its errors at the two ends.
    Proof      Both functions are convex or concave, so that the error grows away from the middle on either side.
    Source     Textbook.
    """
    middle = np.sqrt(square.mid)

    def of(x: np.ndarray) -> np.ndarray:
        return np.asarray(1 / np.sqrt(x) if inverse else np.sqrt(x))

    value, first = of(square.mid), -0.5 / (middle * square.mid) if inverse else 0.5 / middle
    wide = np.maximum(high - square.mid, square.mid - low)
    error = np.maximum(*(np.abs(of(end) - value - first * (end - square.mid)) for end in (low, high)))
    error = error + 16 * UNIT * (np.maximum(of(low), of(high)) + value + np.abs(first) * wide)
    rad = (np.abs(first) * square.rad + error) * GROW + UNDERFLOW_OF_RADIUS
    slope = first[..., None] * square.slope
    rad = rad + 4 * UNIT * np.abs(first) * square.reach
    return Form(value, slope, np.asarray(rad * GROW), square.half)


def activated(activation: Activation, x: Form) -> Form:
    """σ(x), by slopes between the middle and everywhere."""
    reach = x.reach
    value = curve(activation, exact(x.mid))
    slope, spread = slopes(activation, np.nextafter(x.mid - reach, -np.inf), np.nextafter(x.mid + reach, np.inf))
    rad = value.rad + np.abs(slope) * x.rad + spread * reach + 8 * UNIT * (np.abs(value.mid) + np.abs(slope) * reach)
    return Form(value.mid, slope[..., None] * x.slope, np.asarray(rad * GROW + UNDERFLOW_OF_RADIUS), x.half)


def after(layer: Map, x: Form) -> Form:
    """The map's image."""
    match layer:
        case Affine():
            return linear(x, exact(layer.weight), None if layer.bias is None else exact(layer.bias))
        case LayerNorm():
            rows = centred(x) if layer.centres else x
            scale = root(*mean_square(rows, layer.eps), inverse=True)
            count = rows.mid.shape[1]
            mid, slope, rad = (np.repeat(part, count, axis=1) for part in (scale.mid, scale.slope, scale.rad))
            wide = Form(mid, slope, rad, x.half)
            gain = constant(exact(layer.gain), x.half)
            y = rows * wide * gain
            return y if layer.bias is None else y + constant(exact(layer.bias), x.half)
        case FeedForward():
            hidden = activated(layer.activation, x if layer.inner is None else after(layer.inner, x))
            return hidden if layer.outer is None else after(layer.outer, hidden)
        case GatedFeedForward():
            return after(layer.outer, activated(layer.activation, after(layer.gate, x)) * after(layer.inner, x))
    raise AssumptionError(f"a {type(layer).__name__} after attention is not known to the prover; leave it out")


def centred(x: Form) -> Form:
    """x less its mean."""
    count = x.mid.shape[1]
    matrix = exact(np.eye(count)) - Ball(np.full((count, count), 1 / count), np.full((count, count), UNIT))
    return linear(x, matrix)


def scaled_logits(readout: Sequence[Map], x: Form) -> tuple[Form, Form]:
    """Logits times a positive factor, and that factor: the length of the row where a norm would divide by it.

    Statement  With y = gain·x/n + bias and logits yW + c, n·logits = (gain·x)W + n (bias W + c); a difference of logits
               exceeds μ where that of the scaled ones exceeds μ n.
    Proof      n > 0.
    Source     Ours.
    """
    one = constant(exact(np.ones(1)), x.half)
    for number, layer in enumerate(readout):
        last = readout[number + 1 :]
        if isinstance(layer, LayerNorm) and len(last) == 1 and isinstance(last[0], Affine):
            rows = centred(x) if layer.centres else x
            norm = root(*mean_square(rows, layer.eps), inverse=False)
            logits = linear(rows, exact(np.asarray(layer.gain))[:, None] * exact(last[0].weight))
            offset = exact(np.zeros(last[0].outputs)) if last[0].bias is None else exact(last[0].bias)
            if layer.bias is not None:
                offset = offset + exact(layer.bias) @ exact(last[0].weight)
            if offset.mid.any() or offset.rad.any():
                logits = logits + linear(norm, offset[None])
            return logits, norm
        x = after(layer, x)
    return x, one
