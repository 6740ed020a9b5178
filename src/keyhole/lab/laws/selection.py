"""Laws of growth: which of them the thresholds support, by how much, and what they foretell of longer contexts.

One decade of T does not tell log T from √T. So a verdict names the runner-up and the odds, and is "undecided" unless
the contexts span what it takes and every way of comparing agrees.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from jaxtyping import Float

from keyhole.bounds.finite.floor import floor_slope
from keyhole.errors import DataError
from keyhole.lab.laws.fit import Growth, Points, fit_law, misfit, read_points
from keyhole.lab.laws.growth_laws import SHAPES, share_named
from keyhole.lab.thresholds.threshold import Threshold

LEAST = 4  # contexts with a threshold: two coefficients, and two left over by which the laws may differ
WIDE = 300.0  # longest over shortest context, as of 10..3000: less does not separate the laws
ODDS, SHARE = 10.0, 0.8  # what a verdict needs at least; below, the data are compatible with the runner-up
RESAMPLES = 400  # shares are then known to 2.5 %


@dataclass(frozen=True)
class Coefficient:
    """A number of a law, with its interval over resampled thresholds."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Law:
    """One law fitted to the thresholds, and how it fares against the others."""

    name: str
    formula: str
    coefficients: Mapping[str, Coefficient]
    aic: float
    weight: float  # Akaike's: how probable, were one of these laws the true one
    share: float  # of resamples of the thresholds in which this law has the smallest AIC
    foretold: float | None  # root mean square of ln(threshold/foretold) at the longest contexts, which it did not see

    def at(self, context: float) -> float:
        """The law's m*(T)."""
        value = {name: each.value for name, each in self.coefficients.items()}
        if "p" in value:
            return float(value["a"] * context ** value["p"])
        f = SHAPES[self.name].f
        return float(value["a"] + (value["b"] * f(np.array(float(context))) if f else 0.0))

    def __str__(self) -> str:
        shown = ", ".join(f"{k} = {c.value:.4g} ({c.low:.4g} to {c.high:.4g})" for k, c in self.coefficients.items())
        return f"m* = {self.formula} with {shown}"


@dataclass(frozen=True)
class Verdict:
    """The laws from best to worst, and whether the best may be named."""

    laws: tuple[Law, ...]
    odds: float  # of the winner against the runner-up, by AIC
    decided: bool
    scatter: float  # variance about the best law over what the intervals allow; above 1 the laws do not tell all
    held_out: tuple[int, ...]
    warnings: tuple[str, ...]

    @property
    def winner(self) -> Law:
        """The law of smallest AIC."""
        return self.laws[0]

    @property
    def runner_up(self) -> Law:
        """The next one."""
        return self.laws[1]

    @property
    def forecaster(self) -> Law | None:
        """The law that foretold the longest contexts best."""
        told = [law for law in self.laws if law.foretold is not None]
        return min(told, key=lambda law: law.foretold or 0.0, default=None)

    def __str__(self) -> str:
        first, second = self.winner, self.runner_up
        head = "" if self.decided else "undecided: "
        return (
            f"{head}{first.formula} leads, {second.formula} is next; odds {self.odds:.2g} to 1, "
            f"{first.share:.0%} against {second.share:.0%} of resamples"
        )

    def record(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "winner": self.winner.name,
            "runner_up": self.runner_up.name,
            "odds": self.odds,
            "decided": self.decided,
            "scatter": self.scatter,
            "held_out": list(self.held_out),
            "warnings": list(self.warnings),
            "laws": [
                {
                    "name": law.name,
                    "formula": law.formula,
                    "coefficients": {
                        k: {"value": c.value, "low": c.low, "high": c.high} for k, c in law.coefficients.items()
                    },
                    "aic": law.aic,
                    "weight": law.weight,
                    "share": law.share,
                    "foretold": law.foretold,
                }
                for law in self.laws
            ],
        }


def compare(
    thresholds: Sequence[Threshold], *, confidence: float = 0.9, resamples: int = RESAMPLES, seed: int = 0
) -> Verdict:
    """Every law fitted, ranked by AIC, by resamples won and by what it foretells of the longest contexts.

    `confidence` is that of the thresholds' intervals, and is given to the coefficients' too. The errors of the points
    are known, from their intervals: AIC, the deviance and 2 for each coefficient, is then unbiased however few the
    points, and the small-sample term of AICc, which pays for a variance estimated from the same points, would only
    favour the constant (by 10 at four contexts). Where the points scatter about even the best law by more than their
    intervals allow, all deviances are divided by the excess (QAIC), one more number that all laws have in common:
    otherwise narrow intervals alone would make the odds look large.
    """
    points = read_points(thresholds, confidence)
    n = len(points.contexts)
    if not _suffice(points):
        raise DataError(
            f"A law of growth was asked of {n} context lengths with a threshold, {int((points.side == 0).sum())} of "
            f"them in reach and bounded on both sides; use at least {LEAST}, and {LEAST - 1} of them in reach."
        )
    fits = {name: fit_law(points, shape) for name, shape in SHAPES.items()}
    scatter = max(1.0, min(float(fit.deviance[0]) / max(n - fit.shape.parameters, 1) for fit in fits.values()))
    drawn = points.resampled(resamples, scatter, np.random.default_rng(seed))
    again = {name: fit_law(drawn, shape) for name, shape in SHAPES.items()}
    scores = {name: float(_aic(fit, scatter)[0]) for name, fit in fits.items()}
    wins = np.argmin([_aic(fit, scatter) for fit in again.values()], axis=0)
    least = min(scores.values())
    total = sum(exp((least - score) / 2) for score in scores.values())
    seen, held = _split(n)
    laws = tuple(
        Law(
            name=name,
            formula=fit.shape.formula,
            coefficients=_coefficients(fit, again[name], confidence),
            aic=scores[name],
            weight=exp((least - scores[name]) / 2) / total,
            share=float((wins == i).mean()),
            foretold=_foretold(points, name, seen, held),
        )
        for i, (name, fit) in enumerate(fits.items())
    )
    return _judge(tuple(sorted(laws, key=lambda law: law.aic)), points, scatter, held)


def comparable(thresholds: Sequence[Threshold]) -> bool:
    """Whether the thresholds suffice to compare laws: four that are bounded at all, three of them on both sides."""
    return _suffice(read_points(thresholds, 0.9))  # at whatever confidence: it moves errors alone


def beside_floor(law: Law, sparsity: int) -> str:
    """The slope of a logarithmic law of conjunctions beside that of the floor, which no learner can go under."""
    slope = law.coefficients["b"]
    return (
        f"{slope.value:.3g} samples per unit of ln T ({slope.low:.3g} to {slope.high:.3g}); "
        f"the floor rises by {sparsity}/ln 2 = {floor_slope(sparsity):.3f}"
    )


def _suffice(points: Points) -> bool:
    return len(points.contexts) >= LEAST and int((points.side == 0).sum()) >= LEAST - 1


def _aic(fit: Growth, scatter: float) -> Float[np.ndarray, "draws"]:
    """−2 ln of the likelihood, tempered by the scatter, and 2 for each coefficient.

    Statement  With z_i ~ N(μ_i, 1) and a k-dimensional linear law fitted, deviance + 2k − n is an unbiased estimate of
               the squared distance from the fitted law to μ, for every n ≥ k: no n − k − 1 enters.
    Proof      The deviance is |(I − P)z|² with mean |(I − P)μ|² + n − k; the fitted law is Pz, and
               E|Pz − μ|² = |(I − P)μ|² + k. The difference, n − 2k, is what 2k makes up for.
    Source     Mallows' C_p; Akaike. Hurvich and Tsai's further term is for an estimated variance.
    """
    return np.asarray(fit.deviance / scatter + 2 * fit.shape.parameters)


def _split(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The contexts seen, and the longest quarter, held out; at least three are seen."""
    held = max(1, min(n // 4, n - 3))
    return np.arange(n - held), np.arange(n - held, n)


def _foretold(points: Points, name: str, seen: np.ndarray, held: np.ndarray) -> float | None:
    earlier, later = points.only(seen), points.only(held)
    if (earlier.side == 0).sum() < 2:
        return None
    return misfit(later, fit_law(earlier, SHAPES[name]).at(later.contexts)[0])


def _coefficients(fit: Growth, again: Growth, confidence: float) -> dict[str, Coefficient]:
    values = fit.shape.coefficients(fit.level, fit.ln_ratio, fit.ends)
    spread = fit.shape.coefficients(again.level, again.ln_ratio, again.ends)
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    return {
        name: Coefficient(float(values[name][0]), *(float(end) for end in np.quantile(spread[name], ends)))
        for name in values
    }


def _judge(laws: tuple[Law, ...], points: Points, scatter: float, held: np.ndarray) -> Verdict:
    first, second = laws[:2]
    odds = exp(min((second.aic - first.aic) / 2, 700.0))
    contexts = tuple(int(context) for context in points.contexts)
    verdict = Verdict(laws, odds, decided=False, scatter=scatter, held_out=contexts[held[0] :], warnings=())
    warnings = []
    if points.ends[1] / points.ends[0] < WIDE:
        warnings.append(_too_narrow(points))
    if (told := verdict.forecaster) is not None and told.name != first.name:
        warnings.append(
            f"{told.formula} foretold T = {', '.join(map(str, verdict.held_out))} better than {first.formula} did."
        )
    if odds < ODDS or first.share < SHARE:
        warnings.append(f"The odds of {first.formula} against {second.formula} are too small to name a law.")
    if scatter > 1.5:
        warnings.append(f"The points scatter about every law {scatter:.1f} times as much as their intervals allow.")
    decided = not warnings or (len(warnings) == 1 and scatter > 1.5)
    return Verdict(laws, odds, decided, scatter, verdict.held_out, tuple(warnings))


def _too_narrow(points: Points) -> str:
    """The warning that the span of contexts obliges to."""
    noise = float(np.median(points.errors))
    log_named, root_named = (share_named(truth, points.contexts, noise) for truth in ("log", "square root"))
    return (
        f"T from {points.ends[0]:.0f} to {points.ends[1]:.0f} does not tell log T from √T; use about 10 to 3000 or "
        f"more. With {noise:.0%} noise a point and m* tripling, least squares names log T on these contexts in "
        f"{log_named:.0%} of runs where it is true, and √T in {root_named:.0%}."
    )
