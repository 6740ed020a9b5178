"""The distance of attention from the posterior mean at growing lengths of the context.

One latent serves all sizes of a repeat, and smaller contexts are the beginning of larger ones: common draws, so that
a slope is not blurred by a change of target. Errors are squared distances from the posterior mean ("gap") and from
E[v | q, z] ("error"), never from noisy values.

Rates of theory where a ridge shrinks the mean of tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose, log2
from typing import Any, Literal

import numpy as np

from keyhole.arrays import Float
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.estimate import Estimate
from keyhole.latent.inference.attentions import Attention
from keyhole.latent.inference.problem import Context, Posterior, Problem
from keyhole.latent.inference.rates import PowerOfT, fit_slope, slope
from keyhole.progress import Progress, Watch, ignore

MOST_TOKENS = 8192  # of one context, whose matrix of T × T takes 0.5 GB
IDENTITY = 1e-18  # squared distances below this are rounding: the estimator is the posterior mean

Table = Float[Any, "repeats sizes"]
Distance = Literal["gap", "error"]


@dataclass(frozen=True, eq=False)
class Curve:
    """One estimator's errors over repeats and sizes, with what theory expects of each."""

    name: str
    words: str
    sizes: tuple[int, ...]
    gaps: Table  # squared distance from the posterior mean
    errors: Table  # squared distance from E[v | q, z]
    expected_gaps: Table | None  # exact, given the keys where there are keys
    expected_errors: Table | None
    power_law: bool = True

    @property
    def identical(self) -> bool:
        """Return whether the estimator is the posterior mean, up to rounding."""
        return bool(np.max(self.gaps) <= IDENTITY)

    def slope(self, rng: np.random.Generator, *, of: Distance) -> Estimate | None:
        """The slope of the gap or of the error; None for one size, for no gap, or where an error is 0 by chance."""
        if self._flat(of):
            return None
        try:
            return fit_slope(self.sizes, self.gaps if of == "gap" else self.errors, rng)
        except AssumptionError:  # few repeats of few tokens may have no error by chance, and 0 has no logarithm
            return None

    def expected_slope(self, *, of: Distance) -> float | None:
        """The slope of the exact expectation over the same sizes."""
        table = self.expected_gaps if of == "gap" else self.expected_errors
        if table is None or self._flat(of) or not bool(np.all(table.mean(axis=0) > 0)):
            return None
        return slope(self.sizes, table.mean(axis=0))

    def _flat(self, of: Distance) -> bool:
        return len(self.sizes) < 2 or not self.power_law or (of == "gap" and self.identical)


def measure_curves(
    problem: Problem,
    attentions: Sequence[Attention],
    sizes: Sequence[int],
    *,
    repeats: int,
    seed: int,
    watch: Watch = ignore,
) -> tuple[Curve, ...]:
    """Every attention on the same contexts, at every size."""
    if seed < 0:
        raise ArgumentError(f"A seed is an integer from 0; got {seed}.")
    ordered = tuple(sorted(set(sizes)))
    if not ordered or ordered[0] < 1 or repeats < 2:
        raise AssumptionError(
            f"An error is measured at one size or more, each at least 1, over at least two repeats; got the sizes "
            f"{list(sizes)} and {repeats} repeats."
        )
    if ordered[-1] > MOST_TOKENS:
        raise ArgumentError(f"Contexts here have up to {MOST_TOKENS} tokens; got {ordered[-1]}. Ask for smaller sizes.")
    tables = np.full((4, len(attentions), repeats, len(ordered)), np.nan)
    for repeat in range(repeats):
        context = problem.draw_context(ordered[-1], np.random.default_rng([seed, repeat]))
        context.require_length(ordered[-1])
        for column, size in enumerate(ordered):
            part = context.first(size)
            posterior = problem.solve(part)
            part.require_answers("posterior mean", posterior.mean)
            for row, attention in enumerate(attentions):
                weights, answer = _attend(attention, part)
                expected = expected_distances(problem, attention, weights, part, posterior)
                tables[:2, row, repeat, column] = _distance(answer, posterior.mean), _distance(answer, part.truth)
                tables[2:, row, repeat, column] = [np.nan if number is None else number for number in expected]
        watch(Progress(repeat + 1, repeats, "contexts"))
    return tuple(
        Curve(
            attention.name,
            attention.words,
            ordered,
            gaps,
            errors,
            _known(expected_gaps),
            _known(expected_errors),
            attention.linear,
        )
        for attention, gaps, errors, expected_gaps, expected_errors in zip(attentions, *tables, strict=True)
    )


def expected_distances(
    problem: Problem, attention: Attention, weights: Float[Any, "n rows"], context: Context, posterior: Posterior
) -> tuple[float | None, float | None]:
    """The expected squared distances from the posterior mean and from the truth, where they are known exactly.

    Without keys they are over all draws, since the answer is m₀ + w(x̄ − m₀) with w = T/(T + λ); with keys they are
    given the keys.
    """
    if not attention.linear:
        return (0.0 if attention.name == "prototypes" else None), None
    tokens, coordinates = context.values.shape
    if problem.pooling is not None:
        ridge = attention.settings.ridge
        share = tokens / (tokens + (ridge(tokens) if ridge else 0.0))
        return problem.pooling.gap(tokens, share), problem.pooling.error(tokens, share)
    if posterior.prior is None:
        return None, None
    gap, spread = posterior.prior.averaged(weights)
    return coordinates * gap, coordinates * (gap + spread)


def _attend(attention: Attention, context: Context) -> tuple[Float[Any, "n rows"], Float[Any, "n k"]]:
    """Weights and answers, which are finite."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        weights = attention.weigh(context)
        answer = attention.mix(weights, context)
    if not bool(np.all(np.isfinite(answer))):
        raise AssumptionError(
            f"{attention.name} ({attention.words}) has no finite answer at T = {len(context.keys)} in double "
            "precision; give another bandwidth, ridge or kernel."
        )
    return weights, answer


def _distance(answer: Float[Any, "n k"], target: Float[Any, "n k"]) -> float:
    return float(np.square(answer - target).sum(axis=1).mean())


def _known(table: Table) -> Table | None:
    return None if bool(np.any(np.isnan(table))) else table


def shrinking_rates(ridge: PowerOfT) -> tuple[float, float]:
    """The exponents of gap and error when w = T/(T + λ_T), λ_T = cT^p, stands where T/(T + λ) is best.

    Statement  The gap falls like T^(2 max(p, 0) − 2) and the error like T^max(2p − 2, −1) if p < 1; neither falls
               if p ≥ 1.
    Assumes    λ_T is not λ itself.
    Proof      The gap is (w − w*)²(t² + s²/T) with w − w* ≈ (λ − λ_T)/T; the error is (1 − w)²t² + w²s²/T.
    Source     Ours.

    >>> shrinking_rates(PowerOfT(1.0, 0.75)), shrinking_rates(PowerOfT(3.0)), shrinking_rates(PowerOfT(1.0, 1.0))
    ((-0.5, -0.5), (-2.0, -1.0), (0.0, 0.0))
    """
    if ridge.power >= 1:
        return 0.0, 0.0
    return 2 * max(ridge.power, 0.0) - 2, max(2 * ridge.power - 2, -1.0)


def reached_rates(ridge: PowerOfT, best: float, tokens: int) -> tuple[float | None, float | None]:
    """Those exponents that gap and error have come within a tenth of, over the last doubling before T; else None.

    >>> reached_rates(PowerOfT(1.0, 0.25), 4.0, 1024), reached_rates(PowerOfT(1e6), 4.0, 1024)
    ((None, -1.0), (None, None))
    """

    def losses(length: float) -> tuple[float, float]:  # in units of t²
        weight, right = length / (length + ridge.factor * length**ridge.power), length / (length + best)
        gap = (weight - right) ** 2 * (1 + best / length)
        return gap, (1 - weight) ** 2 + weight**2 * best / length

    pairs = zip(losses(tokens / 2), losses(tokens), shrinking_rates(ridge), strict=True)
    gap, error = (
        rate if before > 0 and now > 0 and abs(log2(now / before) - rate) <= 0.1 else None
        for before, now, rate in pairs
    )
    return gap, error


def is_constant(schedule: PowerOfT, value: float) -> bool:
    """Return whether a schedule is this value at every length; numbers that were typed and divided agree."""
    return schedule.power == 0 and isclose(schedule.factor, value, rel_tol=1e-12)
