"""The interface of a latent model to attention, `Problem`, and its records.

A problem draws contexts of keys, values and queries, solves for the posterior mean of the answers, and lists the kinds
of attention that are worth comparing. A model without keys (letters, a location) has all keys equal: attention then
only pools its tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from keyhole.arrays import Float, Shaped
from keyhole.attention import require_context
from keyhole.errors import ArgumentError, AssumptionError, ShapeError
from keyhole.latent.inference.rates import PowerOfT, parse_schedule
from keyhole.latent.inference.smoothers import Prior
from keyhole.latent.kernels import Kernel


@dataclass(frozen=True)
class Context:
    """One sequence and its queries; `require_length` checks that the arrays fit together."""

    keys: Float[Any, "T d"]
    values: Float[Any, "T_values k"]
    queries: Float[Any, "n d_queries"]
    truth: Float[Any, "n_truth k_truth"]  # E[v | q, z]: what an endless context would tell
    tokens: Shaped[Any, "T_tokens *token"]  # as the model draws them: letters, vectors, or keys and values side by side

    def first(self, tokens: int) -> "Context":
        """The same queries with the first tokens only."""
        return Context(self.keys[:tokens], self.values[:tokens], self.queries, self.truth, self.tokens[:tokens])

    def require_length(self, tokens: int) -> None:
        """Refuse a context whose arrays do not fit together or whose length is not the one asked for."""
        require_context(self.keys, self.values, self.queries)
        lengths = (len(self.keys), len(self.tokens))
        if lengths != (tokens, tokens):
            raise ShapeError(
                f"A context of {tokens} tokens was asked for; the model drew {lengths[0]} keys and {lengths[1]} tokens."
            )
        self.require_answers("truth", self.truth)

    def require_answers(self, what: str, answers: Float[Any, "..."]) -> None:
        """Refuse answers that are not a row per query and a column per coordinate of the values."""
        shape = (len(self.queries), self.values.shape[1])
        if answers.shape != shape:
            raise ShapeError(
                f"The {what} of a context with {shape[0]} queries and values of width {shape[1]} has shape {shape}; "
                f"the model gave {answers.shape}."
            )


@dataclass(frozen=True)
class Posterior:
    """The posterior mean of the answers, and for a regression the weights and covariances it was computed from."""

    mean: Float[Any, "n k"]
    prior: Prior | None = None


@dataclass(frozen=True)
class Pooling:
    """A model without keys: its prior mean m₀ and its two variances, summed over coordinates.

    With s² = E Var(x | z) and t² = Var E[x | z] the best linear rule is m₀ + T/(T + s²/t²) (x̄ − m₀).
    """

    prior_mean: Float[Any, "k"]
    noise: float  # s²
    signal: float  # t²
    linear: bool  # whether the posterior mean is that rule

    @property
    def ridge(self) -> float:
        """λ = s²/t²: σ²/τ² of a Gaussian location, α₀ of a Pólya urn."""
        return self.noise / self.signal

    def error(self, tokens: int, weight: float) -> float:
        """E‖m₀ + w(x̄ − m₀) − E[x | z]‖² = (1 − w)² t² + w² s²/T."""
        return (1 - weight) ** 2 * self.signal + weight**2 * self.noise / tokens

    def gap(self, tokens: int, weight: float) -> float | None:
        """The same against the posterior mean, (w − w*)²(t² + s²/T) with w* = T/(T + λ), where that rule is it."""
        if not self.linear:
            return None
        best = tokens / (tokens + self.ridge)
        return (weight - best) ** 2 * (self.signal + self.noise / tokens)


@dataclass(frozen=True)
class Regression:
    """A model with keys, v = f(k) + noise: the kernel of f, and the default settings of attention."""

    kernel: Kernel
    ridge: float  # λ = σ²/τ², with which conditional-mean attention is the posterior mean
    bandwidth: PowerOfT  # of a kernel that is given by name
    equal_kernels: tuple[Kernel, ...] = ()  # kernels that agree with the model's own at all its keys


@dataclass(frozen=True)
class Prototypes:
    """A latent with finitely many values: the mean of a token under each, and attention to them."""

    means: Float[Any, "m k"]  # E[x | z]
    weigh: Callable[[Shaped[Any, "n T *token"]], Float[Any, "n m"]]  # the posterior of z, computed by attention


@dataclass(frozen=True)
class Settings:
    """The settings of an attention; those that are None follow the model, or do not apply."""

    kernel: str | Callable[[Any, Any], Any] | None = None  # a name, a function of the user's, or a `Kernel`
    bandwidth: PowerOfT | None = None
    ridge: PowerOfT | None = None
    own_kernel: bool = False  # whether it is the kernel of the model itself


def read_settings(
    kernel: str | Callable[[Any, Any], Any] | None = None,
    bandwidth: str | float | None = None,
    ridge: str | float | None = None,
) -> Settings:
    """Settings from numbers and rules as a person types them, such as 0.5*T^-1/3.

    >>> read_settings("gaussian", "0.5*T^-1/2", 2).bandwidth
    PowerOfT(factor=0.5, power=-0.5)
    """
    try:
        power = None if ridge is None else parse_schedule(str(ridge))
    except AssumptionError as error:
        raise AssumptionError(f"{error} Equal keys without a ridge have no unique answer.") from None
    return Settings(kernel, None if bandwidth is None else parse_schedule(str(bandwidth)), power)


@dataclass(frozen=True)
class Prediction:
    """A sentence with the numbers it states; without a sentence there is nothing exact to say."""

    words: str | None = None
    floor: float | None = None  # where the error tends, or what it never falls below at the largest context
    gap_rate: float | None = None  # exponent of T of the distance from the posterior mean, where it has set in
    error_rate: float | None = None  # the same of the distance from E[v | q, z]


@runtime_checkable
class Problem(Protocol):
    """A latent model that attention can estimate: `keyhole.infer` takes any value with these members.

    `ModelWithoutKeys` and `ModelWithKeys` supply all of them but a few; derive a model of your own from one of the two.
    """

    @property
    def attentions(self) -> tuple[str, ...]:
        """The kinds of attention worth comparing first."""

    @property
    def repeats(self) -> int:
        """The default number of contexts."""

    @property
    def pooling(self) -> Pooling | None:
        """Prior mean and variances of a model without keys; None where there are keys."""

    @property
    def regression(self) -> Regression | None:
        """The kernel of a model with keys; None where there are none."""

    @property
    def prototypes(self) -> Prototypes | None:
        """The values of a finite latent; None for any other."""

    def draw_context(self, tokens: int, rng: np.random.Generator) -> Context:
        """A latent, a context of so many tokens given it, and queries with their true answers."""

    def solve(self, context: Context) -> Posterior:
        """The exact posterior mean of the answers."""

    def predict(self, kind: str, settings: Settings, tokens: int) -> Prediction:
        """Predict the errors of an attention with these settings, up to contexts of so many tokens."""


MEMBERS = ("attentions", "repeats", "pooling", "regression", "prototypes", "draw_context", "solve", "predict")


def require_problem(name: str, model: object) -> Problem:
    """Return the model if it is a `Problem`; refuse it with the members that it lacks."""
    if not isinstance(model, Problem):
        lacks = [member for member in MEMBERS if not hasattr(model, member)]
        raise ArgumentError(
            f"{name} cannot be asked of attention: it lacks {', '.join(lacks)}. Give the name of a registered model, "
            "or derive your own from keyhole.latent.ModelWithoutKeys or ModelWithKeys."
        )
    if (model.pooling is None) == (model.regression is None):
        raise ArgumentError(
            f"{name} states {'neither' if model.pooling is None else 'both'} of pooling and regression; a model "
            "without keys states pooling, a model with keys regression."
        )
    return model
