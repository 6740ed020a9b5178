"""Maps that act on each token by itself: affine, normalising, projecting, feeding forward."""

from dataclasses import dataclass, field
from typing import ClassVar

from array_api_compat import array_namespace, is_array_api_obj

from keyhole.attention.activations import Activation, ReLU
from keyhole.attention.types import Array, optional, require_weights, side
from keyhole.errors import AssumptionError, ShapeError


@dataclass(frozen=True, eq=False)
class Affine:
    """x ↦ Wᵀx + b: the columns of W are output coordinates."""

    weight: Array  # (inputs, outputs)
    bias: Array | None = None  # (outputs,)

    def __post_init__(self) -> None:
        require_weights(weight=(self.weight, ("inputs", "outputs")), bias=optional(self.bias, side(self.weight, 1)))

    @property
    def inputs(self) -> int:
        """The width it reads."""
        return int(self.weight.shape[0])

    @property
    def outputs(self) -> int:
        """The width it writes."""
        return int(self.weight.shape[1])

    def __call__(self, x: Array) -> Array:
        """The image of every row."""
        image = x @ self.weight
        return image if self.bias is None else image + self.bias


@dataclass(frozen=True, eq=False)
class LayerNorm:
    """x ↦ gain·(x − mean)/√(variance + ε) + bias, over one token's coordinates; not Lipschitz as ε → 0."""

    gain: Array  # (d,)
    bias: Array | None = None  # (d,)
    eps: float = 1e-5
    centres: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_weights(gain=(self.gain, ("d",)), bias=optional(self.bias, side(self.gain, 0)))
        if not self.eps > 0:  # refuses NaN too
            raise AssumptionError(f"a LayerNorm divides by √(variance + eps), so eps must be > 0; got {self.eps}")

    @property
    def inputs(self) -> int:
        """The width it reads and writes."""
        return int(self.gain.shape[0])

    def __call__(self, x: Array) -> Array:
        """Every row with its own mean and variance."""
        xp = array_namespace(x)
        centred = x - xp.mean(x, axis=-1, keepdims=True) if self.centres else x
        scaled = centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + self.eps) * self.gain
        return scaled if self.bias is None else scaled + self.bias


@dataclass(frozen=True, eq=False)
class RMSNorm(LayerNorm):
    """x ↦ gain·x/√(mean of x² + ε) + bias: a LayerNorm that leaves the mean where it is."""

    centres: ClassVar[bool] = False


def project(x: Array) -> Array:
    """Π: every row moved to the nearest point of the unit ball, x/max(1, ‖x‖₂); 1-Lipschitz."""
    xp = array_namespace(x)
    square = xp.sum(x * x, axis=-1, keepdims=True)
    outside = square > 1
    # the root is taken where it is used only: its slope at 0 is infinite, and 0·∞ would spoil a gradient
    return x / xp.sqrt(xp.where(outside, square, xp.ones_like(square)))


@dataclass(frozen=True, eq=False)
class FeedForward:
    """x ↦ outer(σ(inner(x))); without `inner` the units are the coordinates themselves, as in a tf-head."""

    inner: Affine | None = None
    activation: Activation = field(default_factory=ReLU)
    outer: Affine | None = None

    def __post_init__(self) -> None:
        if self.inner is None or self.outer is None or not is_array_api_obj(self.inner.weight):
            return
        if self.inner.outputs == self.outer.inputs:
            return
        raise ShapeError(
            f"the inner map writes {self.inner.outputs} units, but the outer one reads {self.outer.inputs}; "
            "give both the same number of hidden units"
        )

    def __call__(self, x: Array) -> Array:
        """Every row through its hidden units."""
        hidden = self.activation(x if self.inner is None else self.inner(x))
        return hidden if self.outer is None else self.outer(hidden)

    def width_from(self, width: int) -> int:
        """The width it writes when it reads `width`; refuses a width it cannot read."""
        for name, part in (("inner", self.inner), ("outer", self.outer)):
            if part is not None:
                if part.inputs != width:
                    raise ShapeError(
                        f"the feed-forward's {name} map reads {part.inputs} coordinates, but {width} arrive; "
                        "make the two widths equal"
                    )
                width = part.outputs
        return width
