"""How far is attention from the exact posterior, and how does that fall with the length of the context?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.old_result import OldResult as Result
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.figure import Axis, Figure
from keyhole.latent.inference import (
    IDENTITY,
    Attention,
    Curve,
    MeanError,
    PowerOfT,
    Prediction,
    Problem,
    Settings,
    Slope,
    make_attention,
    measure_curves,
    parse_schedule,
    require_problem,
    require_used,
)
from keyhole.latent.models import find_model
from keyhole.progress import Watch, ignore
from keyhole.show.document import Document
from keyhole.show.inference import inference_document

MOST_REPEATS = 10**6  # contexts drawn


@dataclass(frozen=True)
class Reading:
    """One estimator: what was measured, what is exact, what theory says."""

    curve: Curve
    gap_slope: Slope | None
    error_slope: Slope | None
    prediction: Prediction

    def record(self) -> dict[str, Any]:
        """The reading as plain values."""
        curve = self.curve
        columns = zip(
            curve.sizes,
            curve.mean_gaps(),
            curve.mean_errors(),
            _means(curve.expected_gaps, len(curve.sizes)),
            _means(curve.expected_errors, len(curve.sizes)),
            strict=True,
        )
        return {
            "attention": curve.name,
            "settings": curve.words,
            "is_the_posterior_mean": curve.identical,
            "points": [
                {
                    "size": size,
                    "gap": gap.value,
                    "gap_standard_error": gap.standard_error,
                    "gap_exact": gap_law,
                    "error": error.value,
                    "error_standard_error": error.standard_error,
                    "error_exact": error_law,
                }
                for size, gap, error, gap_law, error_law in columns
            ],
            "gap_slope": _slope_record(self.gap_slope, curve.expected_slope(of="gap")),
            "error_slope": _slope_record(self.error_slope, curve.expected_slope(of="error")),
            "theory": {
                "words": self.prediction.words,
                "floor": self.prediction.floor,
                "gap_rate": self.prediction.gap_rate,
                "error_rate": self.prediction.error_rate,
            },
            "gap_slope_exact": curve.expected_slope(of="gap"),
            "error_slope_exact": curve.expected_slope(of="error"),
        }


@dataclass(frozen=True, repr=False)
class Inference(Result):
    """The answer: every estimator on the same contexts."""

    schema: ClassVar[str] = "infer/1"
    has_figure: ClassVar[bool] = True

    model: str
    repeats: int
    seed: int
    keys: bool  # whether the model has keys, so that exact numbers are given them
    readings: tuple[Reading, ...]

    @property
    def summary(self) -> str:
        """The model, and the kinds of attention that were measured."""
        names = ", ".join(reading.curve.name for reading in self.readings)
        sizes = self.readings[0].curve.sizes
        return f"{names} on {self.model}, T from {sizes[0]:,} to {sizes[-1]:,}, {self.repeats} repeats"

    def document(self) -> Document:
        """A table per estimator, and how to read it."""
        return inference_document(self.record())

    def record(self) -> dict[str, Any]:
        """The answer as plain lists and dictionaries."""
        return {
            "model": self.model,
            "repeats": self.repeats,
            "seed": self.seed,
            "exact_given_keys": self.keys,
            "estimators": [reading.record() for reading in self.readings],
        }

    def figure(self) -> Figure:
        """Distances from the posterior mean against the length, expectations beside; and what that mean misses."""
        rows: list[dict[str, Any]] = []
        for reading in self.readings:
            curve = reading.curve
            if curve.identical:
                continue
            for size, mean in zip(curve.sizes, curve.mean_gaps(), strict=True):
                rows.append(_point(size, mean, curve.name))
            for size, law in zip(curve.sizes, _means(curve.expected_gaps, len(curve.sizes)), strict=True):
                if law is not None:
                    rows.append(_point(size, MeanError(law, 0.0), f"{curve.name}, exact"))
        exact = next((reading.curve for reading in self.readings if reading.curve.identical), None)
        if exact is not None:
            named = f"another distance: the posterior mean ({exact.name}) from the truth"
            positive = zip(exact.sizes, exact.mean_errors(), strict=True)
            rows += [_point(size, mean, named) for size, mean in positive if mean.value > IDENTITY]
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


def infer(
    model: str | Problem,
    sizes: Sequence[int],
    *,
    attention: Sequence[str] = (),
    kernel: str | Callable[[Any, Any], Any] | None = None,
    bandwidth: str | float | PowerOfT | None = None,
    ridge: str | float | PowerOfT | None = None,
    repeats: int | None = None,
    trained: bool = False,
    store: str | Path | None = None,
    seed: int = 0,
    watch: Watch = ignore,
) -> Inference:
    """Measure kinds of attention against the exact posterior mean of a latent model, at every size.

    The model is the name of a registered one (`keyhole.latent.model_names()`) or any value that satisfies
    `keyhole.latent.Problem`, such as a model of your own. Kernels are exponential, gaussian, matern, polynomial,
    linear, or a function of two arrays of rows. Bandwidth γ and ridge λ are numbers or powers of T such as
    0.5*T^-1/3; left out, they follow the model. With `trained` a small Transformer encoder is trained on masked tokens
    of the model, kept in the store of runs, and measured beside them. `watch` hears of every repeat.

    >>> answer = infer("gaussian", [8, 64], repeats=8)
    >>> [(reading.curve.name, reading.curve.identical) for reading in answer.readings]
    [('softmax', False), ('sink', True)]
    """
    named = model if isinstance(model, str) else type(model).__name__
    problem = require_problem(named, find_model(model) if isinstance(model, str) else model)
    settings = Settings(kernel, _schedule(bandwidth), _ridge(ridge))
    kinds = tuple(attention) or problem.attentions
    if len(set(kinds)) < len(kinds):
        raise ArgumentError(f"A kind of attention was named twice in {', '.join(kinds)}; name each once.")
    attentions = [make_attention(kind, problem, settings, model=named) for kind in kinds]
    require_used(settings, attentions, named)
    times = problem.repeats if repeats is None else repeats
    if times > MOST_REPEATS:
        raise ArgumentError(f"{times:,} repeats were asked for; use at most {MOST_REPEATS:,}.")
    theory = [_predicted(problem, made, sizes) for made in attentions]
    if trained:
        from keyhole.api.trained_attention import train_encoder  # imports the lab

        encoder = train_encoder(problem, store=store, watch=watch)
        attentions, theory = [*attentions, encoder], [*theory, encoder.prediction]
    curves = measure_curves(problem, attentions, sizes, repeats=times, seed=seed, watch=watch)
    rng = np.random.default_rng([seed, times])
    readings = tuple(
        Reading(
            curve,
            curve.slope(rng, of="gap"),
            curve.slope(rng, of="error"),
            prediction,
        )
        for curve, prediction in zip(curves, theory, strict=True)
    )
    return Inference(named, times, seed, problem.pooling is None, readings)


def _predicted(problem: Problem, made: Attention, sizes: Sequence[int]) -> Prediction:
    """What theory says, before anything is measured; nothing where the settings leave the range of doubles."""
    try:
        return problem.predict(made.chosen, max(sizes, default=1))
    except (
        ArithmeticError,
        ValueError,
    ):  # the attention itself then has no finite answer, which is told when it is asked
        return Prediction()


def _ridge(given: str | float | PowerOfT | None) -> PowerOfT | None:
    try:
        return _schedule(given)
    except AssumptionError as error:
        raise AssumptionError(f"{error} Equal keys without a ridge have no unique answer.") from None


def _schedule(given: str | float | PowerOfT | None) -> PowerOfT | None:
    if given is None or isinstance(given, PowerOfT):
        return given
    return parse_schedule(given) if isinstance(given, str) else PowerOfT(float(given))


def _means(table: Any, columns: int) -> list[float | None]:
    return [None] * columns if table is None else [float(mean) for mean in table.mean(axis=0)]


def _slope_record(found: Slope | None, law: float | None) -> dict[str, Any] | None:
    return None if found is None else {**found.record(), "exact": law}


def _point(size: int, found: MeanError, name: str) -> dict[str, Any]:
    low = max(found.value - 2 * found.standard_error, found.value / 10)  # a band on a logarithmic axis stays above 0
    return {
        "T": size,
        "distance": found.value,
        "low": low,
        "high": found.value + 2 * found.standard_error,
        "estimator": name,
    }
