"""How far is attention from the exact posterior, and how does that fall with the length of the context?"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.errors import ArgumentError
from keyhole.estimate import Estimate
from keyhole.figure import Axis, Figure
from keyhole.files.record import hidden
from keyhole.latent.inference import (
    IDENTITY,
    Attention,
    Curve,
    Prediction,
    Problem,
    Settings,
    make_attentions,
    measure_curves,
    require_problem,
)
from keyhole.latent.inference import read_settings as read_settings  # which the command line needs
from keyhole.latent.models import find_model
from keyhole.progress import Watch, ignore
from keyhole.show.answer import Show

MOST_REPEATS = 10**6  # contexts drawn


@dataclass(frozen=True)
class Distances:
    """The mean squared distances of an estimator at one length, from the posterior mean (gap) and the truth (error)."""

    size: int
    gap: float
    gap_standard_error: float
    gap_exact: float | None  # its expectation, where it is known
    error: float
    error_standard_error: float
    error_exact: float | None


@dataclass(frozen=True)
class Slope(Estimate):
    """A slope in log T with its interval, and that of the exact expectation."""

    exact: float | None


@dataclass(frozen=True)
class Estimator:
    """One kind of attention: what was measured, what is exact, what theory says."""

    attention: str
    settings: str
    is_the_posterior_mean: bool
    points: tuple[Distances, ...]
    gap_slope: Slope | None
    error_slope: Slope | None
    theory: Prediction
    gap_slope_exact: float | None
    error_slope_exact: float | None


@dataclass(frozen=True, repr=False)
class Inference(Result):
    """Kinds of attention beside the exact posterior mean, on the same contexts."""

    schema: ClassVar[str] = "infer/1"

    model: str
    repeats: int
    seed: int
    exact_given_keys: bool  # whether the model has keys, so that expectations are given them
    estimators: tuple[Estimator, ...]
    curves: tuple[Curve, ...] = hidden(compare=False)  # the distances of every repeat

    def lines(self, show: Show) -> None:
        """Set a row for each kind of attention and length; theory below."""
        show.line(
            f"{self.model}: squared distance of attention from the posterior mean (gap) and from the mean that knows "
            f"the latent (error): mean ± standard error over {self.repeats} draws, and by formula (exact)"
        )
        rows = []
        for each in self.estimators:
            for point in each.points:
                gap = f"{point.gap:.2e} ± {point.gap_standard_error:.0e}"
                error = f"{point.error:.2e} ± {point.error_standard_error:.0e}"
                known = (point.gap_exact, point.error_exact)
                gap_exact, error_exact = ("" if mean is None else f"{mean:.2e}" for mean in known)
                if each.is_the_posterior_mean:
                    gap = gap_exact = "0"
                rows.append((each.attention, f"{point.size:,}", gap, gap_exact, error, error_exact))
        columns = {"attention": "<", "T": ">", "gap": "<", "exact gap": "<", "error": "<", "exact error": "<"}
        show.table(columns, rows)
        for each in self.estimators:
            slopes = {"gap": each.gap_slope, "error": each.error_slope}
            parts = [_slope(name, slope) for name, slope in slopes.items() if slope is not None]
            if parts:
                show.line(f"{each.attention}: {'; '.join(parts)}")
        if show.verbose:
            for each in self.estimators:
                show.line()
                show.line(f"{each.attention} ({each.settings})")
                if each.theory.words is not None:
                    show.line(f"theory: {each.theory.words}")
            show.line()
            given = "given the keys that were drawn" if self.exact_given_keys else "over all draws"
            show.line(
                "The posterior mean is the exact Bayesian answer; E[v|q,z] is the answer if the latent z were known "
                f"(v: value, q: query). Exact: the expectation {given}. Slopes are of logarithms against log T, with "
                f"95 % intervals from resampled repeats. Seed {self.seed}."
            )

    def figure(self) -> Figure:
        """Draw distances from the posterior mean against the length, expectations beside; and its own error."""
        bands: list[tuple[str, int, float, float]] = []  # name, length, mean, standard error
        for each in self.estimators:
            if not each.is_the_posterior_mean:
                bands += [(each.attention, at.size, at.gap, at.gap_standard_error) for at in each.points]
                name = f"{each.attention}, exact"
                bands += [(name, at.size, at.gap_exact, 0.0) for at in each.points if at.gap_exact is not None]
        for each in [each for each in self.estimators if each.is_the_posterior_mean][:1]:
            name = f"another distance: the posterior mean ({each.attention}) from the truth"
            bands += [(name, at.size, at.error, at.error_standard_error) for at in each.points if at.error > IDENTITY]
        rows: list[dict[str, Any]] = [  # a band on a logarithmic axis stays above 0
            {"T": size, "distance": y, "low": max(y - 2 * error, y / 10), "high": y + 2 * error, "estimator": name}
            for name, size, y, error in bands
        ]
        return Figure(
            title=f"Attention and the posterior mean: {self.model}",
            subtitle="squared distance from the posterior mean, ± two standard errors; what equals it is not drawn",
            kind="lines",
            rows=tuple(rows),
            x=Axis("T", "length of the context T", "log"),
            y=Axis("distance", "squared distance", "log"),
            colour=Axis("estimator", "", "category"),
            low="low",
            high="high",
        )


def _slope(name: str, slope: Slope) -> str:
    formula = "" if slope.exact is None else f", by formula T^{slope.exact:.2f}"
    return f"{name} measured like T^{slope.value:.2f} ({slope.low:.2f} to {slope.high:.2f}){formula}"


def infer(
    model: str | Problem,
    sizes: Sequence[int],
    *,
    attention: Sequence[str | Attention] = (),
    settings: Settings = Settings(),  # noqa: B008  (a frozen value)
    repeats: int | None = None,
    seed: int = 0,
    watch: Watch = ignore,
) -> Inference:
    """Measure kinds of attention against the exact posterior mean of a latent model, at every size.

    The model is the name of a registered one (`keyhole.latent.model_names()`) or any value that satisfies
    `keyhole.latent.Problem`, such as a model of your own. A kind of attention is a name, or an `Attention` of your own,
    such as a trained encoder. `settings` (`keyhole.latent.read_settings`) have a kernel, exponential, gaussian, matern,
    polynomial, linear, or a function of two arrays of rows, and a bandwidth γ and a ridge λ, numbers or powers of T
    such as 0.5*T^-1/3; those left out follow the model. `watch` is called after every repeat.

    >>> answer = infer("gaussian", [8, 64], repeats=8)
    >>> [(each.attention, each.is_the_posterior_mean) for each in answer.estimators]
    [('softmax', False), ('sink', True)]
    """
    named = model if isinstance(model, str) else type(model).__name__
    problem = require_problem(named, find_model(model) if isinstance(model, str) else model)
    kinds = tuple(attention) or problem.attentions
    names = [each for each in kinds if isinstance(each, str)]
    by_name = dict(zip(names, make_attentions(names, problem, settings, named), strict=True))
    attentions = [by_name[each] if isinstance(each, str) else each for each in kinds]
    times = problem.repeats if repeats is None else repeats
    if times > MOST_REPEATS:
        raise ArgumentError(f"{times:,} repeats were asked for; use at most {MOST_REPEATS:,}.")
    theory = [Prediction()] * len(kinds)
    for place, each in enumerate(attentions):
        with suppress(ArithmeticError, ValueError):  # settings beyond the range of doubles, which measuring refuses
            if isinstance(kinds[place], str):
                theory[place] = problem.predict(each.name, each.settings, max(sizes, default=1))
    curves = measure_curves(problem, attentions, sizes, repeats=times, seed=seed, watch=watch)
    rng = np.random.default_rng([seed, times])
    estimators = tuple(_estimator(curve, prediction, rng) for curve, prediction in zip(curves, theory, strict=True))
    return Inference(named, times, seed, problem.pooling is None, estimators, curves)


def _estimator(curve: Curve, theory: Prediction, rng: np.random.Generator) -> Estimator:
    """Return the means of a curve over its repeats, and its slopes."""
    columns: list[list[Any]] = []
    for measured, expected in ((curve.gaps, curve.expected_gaps), (curve.errors, curve.expected_errors)):
        standard_error = measured.std(axis=0, ddof=1) / len(measured) ** 0.5
        exact = [None] * len(curve.sizes) if expected is None else expected.mean(axis=0).tolist()
        columns += [measured.mean(axis=0).tolist(), standard_error.tolist(), exact]
    gap_slope, error_slope = curve.slope(rng, of="gap"), curve.slope(rng, of="error")
    gap_exact, error_exact = curve.expected_slope(of="gap"), curve.expected_slope(of="error")
    return Estimator(
        attention=curve.name,
        settings=curve.words,
        is_the_posterior_mean=curve.identical,
        points=tuple(Distances(*row) for row in zip(curve.sizes, *columns, strict=True)),
        gap_slope=None if gap_slope is None else Slope(**gap_slope.record(), exact=gap_exact),
        error_slope=None if error_slope is None else Slope(**error_slope.record(), exact=error_exact),
        theory=theory,
        gap_slope_exact=gap_exact,
        error_slope_exact=error_exact,
    )
