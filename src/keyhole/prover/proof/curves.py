"""Activations between straight lines: on a range [l, u], α x + β ≤ σ(x) for the best β at a slope α, and so above.

σ(x) − αx is looked at on a grid that holds both ends and every bend. Between grid points at distance h a function with
|σ″| ≤ c is within c h²/8 of its chord, so its extremes are those of the grid up to that.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import GELU, Activation, Identity, ReLU, SiLU, TanhGELU
from keyhole.errors import AssumptionError
from keyhole.rigorous import GROW, UNDERFLOW_OF_RADIUS, UNIT, Ball

LATTICE = 2.0**-8  # where GELU is known from ball arithmetic
EDGE = 10.0  # beyond it GELU is 0 or x, up to 10 Φ(−10) < 2^−70
FAR = 40.0  # beyond it SiLU is, up to 40 e^−40 < 2^−52
# These hold for both GELUs and for SiLU, whose own are smaller (`SiLU`): xΦ(x) has |σ⁗| ≤ 4φ(0) = 1.596,
# |σ″| = |2 − x²| φ(x) ≤ 2φ(0) = 0.7979 and the Lipschitz
# constant 1.1289…; for the approximation by tanh see `TanhGELU`.
GELU_ERROR = 2.0**-39  # 1.604/24 · (LATTICE/2)⁴ = 0.98e-12, and the rounding of four terms below 41
GELU_CURVATURE = 0.8
GELU_SLOPE = 1.13
POINTS = 97  # of a grid on a curved activation


@dataclass(frozen=True, eq=False)
class Lines:
    """α and β of one line per unit of each part, and where it touches."""

    slope: Float[np.ndarray, "parts units"]
    offset: Float[np.ndarray, "parts units"]
    touch: Float[np.ndarray, "parts units"]


@dataclass(frozen=True, eq=False)
class Curves:
    """An activation's values on a grid over the range of every unit of each part."""

    grid: Float[np.ndarray, "points parts units"]
    values: Float[np.ndarray, "points parts units"]
    error: Float[np.ndarray, "parts units"]  # of the values, and between grid points

    @property
    def size(self) -> Float[np.ndarray, "parts units"]:
        """A bound of |σ| on the range."""
        return np.asarray((np.abs(self.values).max(axis=0) + self.error) * GROW)

    def chord(self) -> Float[np.ndarray, "parts units"]:
        """The slope between the ends."""
        width = self.grid[-1] - self.grid[0]
        return np.asarray((self.values[-1] - self.values[0]) / np.where(width > 0, width, 1.0))

    def below(self, slope: Float[np.ndarray, "parts units"]) -> Lines:
        """The highest lines of these slopes that are certainly below."""
        height, touch, rounding = self._against(slope, np.argmin)
        return Lines(slope, np.asarray(height - rounding), touch)

    def above(self, slope: Float[np.ndarray, "parts units"]) -> Lines:
        """The lowest lines of these slopes that are certainly above."""
        height, touch, rounding = self._against(slope, np.argmax)
        return Lines(slope, np.asarray(height + rounding), touch)

    def _against(self, slope: np.ndarray, extreme: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        over = self.values - slope * self.grid
        at = extreme(over, axis=0)[None]  # type: ignore[operator]
        touch = np.take_along_axis(self.grid, at, axis=0)[0]
        ends = np.maximum(np.abs(self.grid[0]), np.abs(self.grid[-1]))
        rounding = (
            self.error + 4 * UNIT * (np.abs(slope) * ends + self.size)
        ) * GROW + UNDERFLOW_OF_RADIUS  # slope · x may underflow
        return np.take_along_axis(over, at, axis=0)[0], touch, rounding


def curves(
    activation: Activation, low: Float[np.ndarray, "parts units"], high: Float[np.ndarray, "parts units"]
) -> Curves:
    """The activation on its ranges."""
    if isinstance(activation, GELU | TanhGELU | SiLU):
        step = np.linspace(0.0, 1.0, POINTS)[:, None, None]
        grid = low + (high - low) * step
        grid[0], grid[-1] = low, high
        values = curve(activation, Ball(grid, np.zeros_like(grid)))
        gap = ((high - low) / (POINTS - 1) + 8 * UNIT * np.maximum(np.abs(low), np.abs(high))) * GROW
        return Curves(grid, values.mid, np.asarray(values.rad.max(axis=0) + GELU_CURVATURE / 8 * gap * gap * GROW))
    grid = np.stack([low, np.clip(0.0, low, high), high])
    values = curve(activation, Ball(grid, np.zeros_like(grid)))
    return Curves(grid, values.mid, np.zeros_like(low))


def curve(activation: Activation, x: Ball) -> Ball:
    """σ of every entry."""
    if isinstance(activation, Identity):
        return x
    if isinstance(activation, ReLU):
        return Ball(np.asarray(np.maximum(x.mid, 0.0)), x.rad)
    known = _smooth(x.mid, *_tabulated(activation))
    return Ball(known.mid, np.asarray((known.rad + GELU_SLOPE * x.rad) * GROW))


def slopes(
    activation: Activation, low: Float[np.ndarray, "*shape"], high: Float[np.ndarray, "*shape"]
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """The middle and the radius of a range that holds every slope (σ(x) − σ(y))/(x − y) for x, y between two ends.

    Statement  |slope − middle| ≤ radius.
    Proof      A slope is σ′ somewhere between; with |σ″| ≤ c that is within c (high − low)/2 of σ′ at the middle, which
               is within c h/2 of σ′ at the nearest lattice point, h the lattice's step. Slopes of a GELU are between
               −0.13 and 1.13, those of ReLU between 0 and 1.
    """
    if isinstance(activation, Identity):
        return np.ones_like(low), np.zeros_like(low)
    if isinstance(activation, ReLU):
        bent = (low < 0) & (high > 0)
        return np.where(bent, 0.5, (low >= 0) * 1.0), np.where(bent, 0.5, 0.0)
    lattice, edge = _tabulated(activation)
    place = np.clip(np.nan_to_num((low + high) / 2), -edge, edge)
    middle = lattice[1][np.rint(place / LATTICE).astype(np.int64) + round(edge / LATTICE)]
    radius = GELU_CURVATURE / 2 * (high - low + LATTICE) * GROW
    anywhere = ~(radius < GELU_SLOPE - 0.5)
    return np.where(anywhere, 0.5, middle), np.where(anywhere, GELU_SLOPE - 0.5, radius)


def require_known(activation: object) -> None:
    """Refuse an activation that has no lines here."""
    if not isinstance(activation, Identity | ReLU | GELU | TanhGELU | SiLU):
        name = getattr(activation, "name", type(activation).__name__)
        raise AssumptionError(
            f"the activation {name} was to be bounded between lines; that is known here for identity, relu, gelu, "
            "gelu_tanh and silu"
        )


def _tabulated(activation: Activation) -> tuple[tuple[np.ndarray, ...], float]:
    """The lattice of a smooth activation, and where it ends."""
    if isinstance(activation, SiLU):
        return _silu_lattice(), FAR
    return (_lattice() if isinstance(activation, GELU) else _tanh_lattice()), EDGE


def _smooth(x: np.ndarray, lattice: tuple[np.ndarray, ...], edge: float) -> Ball:
    """A smooth activation by Taylor's formula of third order about the nearest lattice point.

    Statement  The error is below |σ⁗| (h/2)⁴/24, h the lattice's step, with |σ⁗| ≤ 1.604.
    Proof      For xΦ(x), σ⁗ = (−x⁴ + 7x² − 4) φ is largest in absolute value at 0, where it is 4φ(0) = 1.596; for the
               approximation by tanh see `TanhGELU`, and `SiLU`.
    """
    inside = np.clip(np.where(np.isnan(x), 0.0, x), -edge, edge)  # NaN has no place in the lattice, and stays NaN below
    index = np.rint(inside / LATTICE).astype(np.int64)
    step = inside - index * LATTICE
    value, first, second, third = (part[index + round(edge / LATTICE)] for part in lattice)
    near = value + step * (first + step * (second + step * third))
    mid = np.where(np.abs(x) < edge, near, np.maximum(x, 0.0))
    return Ball(np.asarray(mid), np.full(np.shape(mid), GELU_ERROR))


@lru_cache(maxsize=1)
def _lattice() -> tuple[np.ndarray, ...]:
    """σ, σ′, σ″/2 and σ‴/6 at the lattice points, Φ and φ from ball arithmetic."""
    from flint import arb, ctx  # noqa: PLC0415  (imported to prove)

    count = round(EDGE / LATTICE)
    x = np.arange(-count, count + 1) * LATTICE
    with ctx.workprec(80):
        half, root = arb(0.5), arb(2).sqrt()
        scale = 1 / (2 * arb.pi()).sqrt()
        distribution = np.array([float((half * (1 + (arb(place) / root).erf())).mid()) for place in x.tolist()])
        density = np.array([float(((-(arb(place) ** 2) * half).exp() * scale).mid()) for place in x.tolist()])
    return x * distribution, distribution + x * density, (1 - x * x / 2) * density, (x**3 - 4 * x) / 6 * density


@lru_cache(maxsize=1)
def _tanh_lattice() -> tuple[np.ndarray, ...]:
    """The same for x(1 + tanh u)/2 = x/(1 + exp(−2u)), u = √(2/π)(x + 0.044715x³)."""
    return _lattice_of_sigmoid(EDGE, tanh=True)


@lru_cache(maxsize=1)
def _silu_lattice() -> tuple[np.ndarray, ...]:
    """The same for x/(1 + exp(−x))."""
    return _lattice_of_sigmoid(FAR, tanh=False)


def _lattice_of_sigmoid(edge: float, *, tanh: bool) -> tuple[np.ndarray, ...]:
    """x/(1 + exp(−v)) and its first coefficients at the lattice points, from power series of balls."""
    from flint import arb, arb_series, ctx  # noqa: PLC0415  (imported to prove)

    count = round(edge / LATTICE)
    precision, terms = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = 80, 4
    try:
        scale, cubic = (2 * (2 / arb.pi()).sqrt(), arb("0.044715")) if tanh else (arb(1), arb(0))
        rows = []
        for place in (np.arange(-count, count + 1) * LATTICE).tolist():
            t = arb_series([place, 1])
            coefficients = (t / ((-scale * (t + cubic * t * t * t)).exp() + 1)).coeffs()
            rows.append([float(part.mid()) for part in coefficients] + [0.0] * (4 - len(coefficients)))
    finally:
        ctx.prec, ctx.cap = precision, terms
    return tuple(np.array(rows).T)
