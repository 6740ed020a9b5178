"""Activations act on each coordinate by itself, fix 0, and are Lipschitz."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar

from array_api_compat import array_namespace, is_jax_array, is_torch_array

from keyhole.attention.types import Array


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
