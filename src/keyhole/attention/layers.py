"""Maps of each token by itself: affine, normalising, projecting, feeding forward; and activations of each coordinate.

An activation fixes 0 and is Lipschitz.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from importlib import import_module
from typing import ClassVar

from array_api_compat import array_namespace, is_array_api_obj, is_jax_array, is_torch_array

from keyhole.attention.types import Array, optional, require_weights, side
from keyhole.errors import AssumptionError, ShapeError


class Activation(ABC):
    """A map σ of the line with σ(0) = 0, and its Lipschitz constant L_σ."""

    name: ClassVar[str]
    lipschitz: ClassVar[float]

    @abstractmethod
    def __call__(self, x: Array) -> Array:
        """σ of every entry."""


@dataclass(frozen=True)
class Identity(Activation):
    """σ(x) = x.

    >>> Identity().lipschitz
    1.0
    """

    name: ClassVar[str] = "identity"
    lipschitz: ClassVar[float] = 1.0

    def __call__(self, x: Array) -> Array:
        """Every entry as it is."""
        return x


@dataclass(frozen=True)
class ReLU(Activation):
    """σ(x) = max(x, 0), which also satisfies σ(cx) = cσ(x) for c ≥ 0: path norms rest on that."""

    name: ClassVar[str] = "relu"
    lipschitz: ClassVar[float] = 1.0

    def __call__(self, x: Array) -> Array:
        """The positive part of every entry."""
        xp = array_namespace(x)
        return xp.where(x > 0, x, xp.zeros_like(x))


@dataclass(frozen=True)
class GELU(Activation):
    """σ(x) = xΦ(x), Φ the standard normal distribution function, exactly (no tanh approximation).

    Statement  L_σ = Φ(√2) + √2 φ(√2) = (1 + erf 1)/2 + 1/(e√π) = 1.1289041…, taken as 1.128905, rounded up.
    Proof      σ′ = Φ + xφ and σ″ = (2 − x²)φ, so σ′ is largest at √2 and least at −√2, where it is
               1 − Φ(√2) − √2 φ(√2), smaller in absolute value.
    Equality   At x = √2.
    Source     Standard.

    >>> GELU().lipschitz
    1.128905
    """

    name: ClassVar[str] = "gelu"
    lipschitz: ClassVar[float] = 1.128905

    def __call__(self, x: Array) -> Array:
        """x(1 + erf(x/√2))/2 for every entry."""
        home = "torch" if is_torch_array(x) else "jax.scipy" if is_jax_array(x) else "scipy"  # awake already
        return x * (1 + import_module(f"{home}.special").erf(x / math.sqrt(2))) / 2


@dataclass(frozen=True)
class TanhGELU(Activation):
    """σ(x) = x(1 + tanh(√(2/π)(x + 0.044715x³)))/2, the approximation of GELU that GPT-2 uses.

    Statement  L_σ ≤ 1.129, |σ″| ≤ 0.798 and |σ⁗| ≤ 1.604.
    Proof      By ball arithmetic on a cover of [−10, 10]; beyond it σ is 0 or x up to e^−80, with all derivatives.
    Source     Ours.

    >>> TanhGELU().lipschitz
    1.129
    """

    name: ClassVar[str] = "gelu_tanh"
    lipschitz: ClassVar[float] = 1.129

    def __call__(self, x: Array) -> Array:
        """x(1 + tanh(…))/2 for every entry."""
        xp = array_namespace(x)
        return x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))) / 2


@dataclass(frozen=True)
class SiLU(Activation):
    """σ(x) = x/(1 + e^−x), the gate of SwiGLU.

    Statement  L_σ ≤ 1.0999, |σ″| ≤ 0.501 and |σ⁗| ≤ 0.501.
    Proof      By ball arithmetic on a cover of [−40, 40]; beyond it σ is 0 or x up to 40 e^−40, with all derivatives.
    Equality   |σ″| = |σ⁗| = ½ at 0.
    Source     Ours.

    >>> SiLU().lipschitz
    1.0999
    """

    name: ClassVar[str] = "silu"
    lipschitz: ClassVar[float] = 1.0999

    def __call__(self, x: Array) -> Array:
        """x/(1 + e^−x) for every entry, by tanh, which does not overflow."""
        return x * (1 + array_namespace(x).tanh(x / 2)) / 2


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
