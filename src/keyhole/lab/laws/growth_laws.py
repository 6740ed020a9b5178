"""The shapes a law of growth may have: how m* could rise with the context length.

Each is two numbers: its level at the shortest context, and the ratio ρ of its values at the longest and the shortest.
So written, every law is ln m = α + h(T; ρ) with h = 0 at the shortest context, and noise of a fixed share of m is
noise of a fixed size in ln m.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from keyhole.errors import ArgumentError

Array = Float[np.ndarray, "..."]
TINY = 1e-9  # a falling line may cross zero beyond the contexts it was fitted to; its logarithm stays finite


@dataclass(frozen=True)
class Shape:
    """A law's form: a + b·f(T), or a·T^p where `f` is None, or the constant a."""

    name: str
    formula: str
    parameters: int = 2
    f: Callable[[Array], Array] | None = None

    def rise(self, contexts: Float[np.ndarray, "n"], ends: tuple[float, float], ln_ratio: Array) -> Array:
        """h(T; ρ): the logarithm of the law over its value at the shortest context; ratios lead, contexts trail."""
        if self.parameters == 1:
            return np.zeros((*np.shape(ln_ratio), len(contexts)))
        if self.f is None:
            along = np.log(contexts / ends[0]) / np.log(ends[1] / ends[0])
            return np.asarray(np.multiply.outer(ln_ratio, along))
        first, last = (float(self.f(np.array(end))) for end in ends)
        along = (self.f(contexts) - first) / (last - first)
        return np.asarray(np.log(np.maximum(1 + np.multiply.outer(np.expm1(ln_ratio), along), TINY)))

    def coefficients(self, level: Array, ln_ratio: Array, ends: tuple[float, float]) -> dict[str, Array]:
        """The numbers a and b, or a and p, from ln m at the shortest context and ln ρ."""
        if self.parameters == 1:
            return {"a": np.asarray(np.exp(level))}
        if self.f is None:
            power = ln_ratio / np.log(ends[1] / ends[0])
            return {"a": np.asarray(np.exp(level - power * np.log(ends[0]))), "p": np.asarray(power)}
        first, last = (float(self.f(np.array(end))) for end in ends)
        b = np.exp(level) * np.expm1(ln_ratio) / (last - first)
        return {"a": np.asarray(np.exp(level) - b * first), "b": np.asarray(b)}


def _log_squared(contexts: Array) -> Array:
    return np.asarray(np.log(contexts) ** 2)


def _itself(contexts: Array) -> Array:
    return contexts


SHAPES: Mapping[str, Shape] = {
    shape.name: shape
    for shape in (
        Shape("constant", "a", parameters=1),  # no growth at all: the hypothesis every other has to beat
        Shape("log", "a + b ln T", f=np.log),
        Shape("log squared", "a + b (ln T)²", f=_log_squared),
        Shape("square root", "a + b √T", f=np.sqrt),
        Shape("linear", "a + b T", f=_itself),
        Shape("power", "a T^p"),
    )
}


def confusability(truth: str, rival: str, low: float, high: float, points: int = 10) -> tuple[float, float]:
    """How well one growing quantity passes for an affine function of another, on geometric contexts.

    Returns R² of the least-squares fit and its largest residual as a share of the range. Laws are named as in
    `SHAPES`, with "log cubed" beside them.

    >>> [round(x, 4) for x in confusability("square root", "log", 100, 1000)]
    [0.9748, 0.0908]
    """
    contexts = np.geomspace(low, high, points)
    y, x = (_growth(name, contexts) for name in (truth, rival))
    design = np.stack([np.ones(points), x], axis=1)
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    explained = 1 - residual @ residual / ((y - y.mean()) @ (y - y.mean()))
    return float(explained), float(np.abs(residual).max() / np.ptp(y))


def share_named(
    truth: str,
    contexts: Float[np.ndarray, "n"],
    noise: float,
    *,
    rivals: tuple[str, ...] = ("log", "square root", "linear"),
    rise: float = 3.0,
    runs: int = 1000,
    seed: int = 0,
) -> float:
    """How often plain least squares and AIC name the law that is true, on contexts such as these.

    The truth rises from 1 to `rise` over the contexts, and each point has Gaussian noise of this share of its value.
    All rivals have two coefficients, so AIC is the smallest sum of squares.
    """
    rng = np.random.default_rng(seed)
    span = _growth(truth, contexts)
    means = 1 + (rise - 1) * (span - span[0]) / (span[-1] - span[0])
    drawn = means * (1 + noise * rng.standard_normal((runs, len(contexts))))
    left = []
    for name in rivals:
        design = np.stack([np.ones(len(contexts)), _growth(name, contexts)], axis=1)
        basis = np.linalg.qr(design)[0]
        left.append(((drawn - drawn @ basis @ basis.T) ** 2).sum(axis=1))
    return float((np.argmin(left, axis=0) == rivals.index(truth)).mean())


def _growth(name: str, contexts: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    if name == "log cubed":
        return np.asarray(np.log(contexts) ** 3)
    shape = SHAPES.get(name)
    if shape is None or shape.f is None:
        known = ", ".join([*(each for each, shape in SHAPES.items() if shape.f), "log cubed"])
        raise ArgumentError(f"{name!r} is not an affine law; use one of {known}.")
    return np.asarray(shape.f(contexts))
