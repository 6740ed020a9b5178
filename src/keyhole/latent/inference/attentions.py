"""Kinds of attention as estimators: one class each, with its weights, its answer and its exact expected error."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import normalisers
from keyhole.errors import ArgumentError
from keyhole.latent.inference.problem import Chosen, Context, Pooling, Posterior, Problem, Prototypes, Regression
from keyhole.latent.inference.schedules import PowerOfT
from keyhole.latent.inference.smoothers import cme_weights, kernel_named, linear_weights
from keyhole.latent.kernels import Constant, Kernel, smoothing_weights

Weights = Float[Any, "n rows"]  # of every query, on the rows that an attention mixes
Answers = Float[Any, "n k"]
Expectation = tuple[float | None, float | None]  # of gap and error, where they are known exactly


@dataclass(frozen=True)
class Settings:
    """What an attention may be told; what is None follows the model."""

    kernel: str | Callable[[Any, Any], Any] | None = None
    bandwidth: PowerOfT | None = None
    ridge: PowerOfT | None = None


@dataclass(frozen=True)
class KernelChoice:
    """The kernel of an attention: by name with a bandwidth that follows the length, or as it is."""

    source: str | Callable[[Any, Any], Any]  # a name, a function of the user's, or a `Kernel`
    bandwidth: PowerOfT | None = None
    own: bool = False  # whether it is the model's kernel

    def at(self, tokens: int) -> Kernel:
        """The kernel at this length of the context."""
        return kernel_named(self.source, 1.0 if self.bandwidth is None else self.bandwidth(tokens))

    def chosen(self, kind: str, ridge: PowerOfT | None = None) -> Chosen:
        """The settings of an attention with this kernel."""
        if self.own:
            return Chosen(kind, own_kernel=True, ridge=ridge)
        name = self.source if isinstance(self.source, str) else None
        return Chosen(kind, name, bandwidth=self.bandwidth, ridge=ridge)

    def __str__(self) -> str:
        """As a person reads it."""
        if self.own and not isinstance(self.source, str):
            return "the model’s kernel"
        name = self.source if isinstance(self.source, str) else "own"
        return f"{name} kernel" + ("" if self.bandwidth is None else f", γ = {self.bandwidth}")


def choose_kernel(regression: Regression, settings: Settings) -> KernelChoice:
    """The kernel that the settings name, the exponential one if none; a linear one and a function have no bandwidth."""
    source = settings.kernel or "exponential"
    scaled = isinstance(source, str) and source != "linear"
    return KernelChoice(source, (settings.bandwidth or regression.bandwidth) if scaled else None)


def choose_own_kernel(regression: Regression, settings: Settings) -> KernelChoice:
    """The model's own kernel unless the settings name another; a kernel that is named may be the model's own too."""
    if settings.kernel is None and settings.bandwidth is None:
        return KernelChoice(regression.kernel, own=True)
    choice = choose_kernel(regression, settings)
    fixed = isinstance(choice.source, str) and (choice.bandwidth is None or choice.bandwidth.power == 0)
    return KernelChoice(choice.source, choice.bandwidth, own=fixed and regression.is_own(choice.at(1)))


class Attention(ABC):
    """A kind of attention made ready for a problem: it weighs rows of a context and mixes them into answers."""

    name: ClassVar[str]
    power_law: ClassVar[bool] = True  # whether its error falls like a power of T; a finite latent is found faster

    @classmethod
    @abstractmethod
    def make(cls, problem: Problem, settings: Settings, model: str) -> "Attention":
        """Make the kind for a problem, or say why it does not fit the model of that name."""

    @property
    @abstractmethod
    def words(self) -> str:
        """Its settings, as a person reads them."""

    @property
    @abstractmethod
    def chosen(self) -> Chosen:
        """Its settings, whoever chose them."""

    @property
    @abstractmethod
    def takes(self) -> tuple[str, ...]:
        """The names of the settings that it looks at."""

    @abstractmethod
    def weigh(self, context: Context) -> Weights:
        """The weight of every row for every query."""

    @abstractmethod
    def mix(self, weights: Weights, context: Context) -> Answers:
        """The answers that weights of `weigh` give."""

    @abstractmethod
    def expected(self, weights: Weights, context: Context, posterior: Posterior) -> Expectation:
        """The exact expectation of the squared distances from the posterior mean and from the truth, where known."""

    def answer(self, context: Context) -> Answers:
        """The answers to the queries of a context."""
        return self.mix(self.weigh(context), context)


class TokenAttention(Attention):
    """Attention to the tokens; without keys it is around the prior mean, m₀ + w(x̄ − m₀) with w = T/(T + λ)."""

    pooling: Pooling | None

    def shrinks_by(self, tokens: int) -> float:  # noqa: ARG002  (most kinds do not shrink)
        """The λ by which the mean of so many tokens is shrunk towards the prior mean."""
        return 0.0

    def mix(self, weights: Weights, context: Context) -> Answers:
        """The weighted values."""
        if self.pooling is None:
            return weights @ context.values
        return self.pooling.prior_mean + weights @ (context.values - self.pooling.prior_mean)

    def expected(self, weights: Weights, context: Context, posterior: Posterior) -> Expectation:
        """Over all draws without keys; given the keys where there are keys."""
        tokens, coordinates = context.values.shape
        if self.pooling is not None:
            share = tokens / (tokens + self.shrinks_by(tokens))
            return self.pooling.gap(tokens, share), self.pooling.error(tokens, share)
        if posterior.prior is None:
            return None, None
        averaged = posterior.prior.averaged(weights)
        return coordinates * averaged.gap, coordinates * averaged.error


MEAN = "equal keys, so the mean of the tokens"


@dataclass(frozen=True)
class SoftmaxAttention(TokenAttention):
    """Weights proportional to a kernel at query and key; the mean of the tokens where keys are equal."""

    kernel: KernelChoice
    pooling: Pooling | None
    name: ClassVar[str] = "softmax"

    @classmethod
    def make(cls, problem: Problem, settings: Settings, model: str) -> "SoftmaxAttention":  # noqa: ARG003  (it fits every model)
        """By the exponential kernel, unless the settings name another."""
        if problem.regression is None:
            return cls(KernelChoice(Constant()), problem.pooling)
        return cls(choose_kernel(problem.regression, settings), None)

    @property
    def words(self) -> str:
        """Its kernel."""
        return str(self.kernel) if self.pooling is None else MEAN

    @property
    def chosen(self) -> Chosen:
        """Its kernel and bandwidth."""
        return self.kernel.chosen(self.name) if self.pooling is None else Chosen(self.name)

    @property
    def takes(self) -> tuple[str, ...]:
        """A kernel where keys differ."""
        return ("kernel", "bandwidth") if self.pooling is None else ()

    def weigh(self, context: Context) -> Weights:
        """𝔎(q, k_t)/Σ_t 𝔎(q, k_t)."""
        return smoothing_weights(self.kernel.at(len(context.keys)), context.keys, context.queries)


@dataclass(frozen=True)
class ConditionalMeanAttention(TokenAttention):
    """𝔎(q, K)(𝔎(K, K) + λI)⁻¹, around the prior mean where keys are equal."""

    kernel: KernelChoice
    ridge: PowerOfT
    pooling: Pooling | None
    name: ClassVar[str] = "cme"

    @classmethod
    def make(cls, problem: Problem, settings: Settings, model: str) -> "ConditionalMeanAttention":  # noqa: ARG003  (it fits every model)
        """By the model's own kernel and ridge, unless the settings name others."""
        ridge = settings.ridge or best_ridge(problem)
        if problem.regression is None:
            return cls(KernelChoice(Constant()), ridge, problem.pooling)
        return cls(choose_own_kernel(problem.regression, settings), ridge, None)

    @property
    def words(self) -> str:
        """Its kernel and ridge."""
        if self.pooling is not None:
            return f"equal keys, around the prior mean, λ = {self.ridge}"
        return f"{self.kernel}, λ = {self.ridge}"

    @property
    def chosen(self) -> Chosen:
        """Its kernel, bandwidth and ridge."""
        if self.pooling is not None:
            return Chosen(self.name, ridge=self.ridge)
        return self.kernel.chosen(self.name, self.ridge)

    @property
    def takes(self) -> tuple[str, ...]:
        """A ridge, and a kernel where keys differ."""
        return ("kernel", "bandwidth", "ridge") if self.pooling is None else ("ridge",)

    def shrinks_by(self, tokens: int) -> float:
        """The ridge."""
        return self.ridge(tokens)

    def weigh(self, context: Context) -> Weights:
        """The weights of kernel ridge regression."""
        tokens = len(context.keys)
        return cme_weights(self.kernel.at(tokens), context.keys, context.queries, ridge=self.ridge(tokens))


@dataclass(frozen=True)
class LinearAttention(TokenAttention):
    """(1/T) qᵀk_t: attention without softmax, one gradient step on linear maps."""

    pooling: Pooling | None
    name: ClassVar[str] = "linear"

    @classmethod
    def make(cls, problem: Problem, settings: Settings, model: str) -> "LinearAttention":  # noqa: ARG003  (it fits every model)
        """There is nothing to set."""
        return cls(problem.pooling)

    @property
    def words(self) -> str:
        """The length of its step."""
        return "step 1" if self.pooling is None else MEAN

    @property
    def chosen(self) -> Chosen:
        """Nothing but the kind."""
        return Chosen(self.name)

    @property
    def takes(self) -> tuple[str, ...]:
        """No setting."""
        return ()

    def weigh(self, context: Context) -> Weights:
        """Products of queries and keys."""
        return linear_weights(context.keys, context.queries)


@dataclass(frozen=True)
class SinkAttention(TokenAttention):
    """Even attention to the tokens and to one sink, of logit log λ and the prior mean as value."""

    ridge: PowerOfT
    pooling: Pooling
    name: ClassVar[str] = "sink"

    @classmethod
    def make(cls, problem: Problem, settings: Settings, model: str) -> "SinkAttention":
        """A sink as heavy as the prior, unless the settings give another ridge."""
        if problem.pooling is None:
            raise ArgumentError(f"A sink pools tokens, and {model} has keys; ask for softmax, cme or linear.")
        return cls(settings.ridge or best_ridge(problem), problem.pooling)

    @property
    def words(self) -> str:
        """The logit of the sink."""
        return f"one more key, the sink, of logit log λ and value the prior mean; λ = {self.ridge}"

    @property
    def chosen(self) -> Chosen:
        """The ridge that stands in the logit."""
        return Chosen(self.name, ridge=self.ridge)

    @property
    def takes(self) -> tuple[str, ...]:
        """A ridge."""
        return ("ridge",)

    def shrinks_by(self, tokens: int) -> float:
        """The ridge: the sink weighs as much as λ tokens."""
        return self.ridge(tokens)

    def weigh(self, context: Context) -> Weights:
        """Softmax of the sink's logit and of a 0 for each token."""
        tokens = len(context.values)
        return normalisers.Softmax()(np.concatenate([[float(np.log(self.ridge(tokens)))], np.zeros(tokens)]))[None, :]

    def mix(self, weights: Weights, context: Context) -> Answers:
        """The sink's value and the tokens, weighed."""
        return weights @ np.concatenate([self.pooling.prior_mean[None, :], context.values])


@dataclass(frozen=True)
class PrototypeAttention(Attention):
    """Attention to the latent values themselves: exact Bayes when there are finitely many."""

    prototypes: Prototypes
    name: ClassVar[str] = "prototypes"
    power_law: ClassVar[bool] = False

    @classmethod
    def make(cls, problem: Problem, settings: Settings, model: str) -> "PrototypeAttention":  # noqa: ARG003  (nothing to set)
        """The values of the latent, where it has finitely many."""
        if problem.prototypes is None:
            raise ArgumentError(
                f"Prototypes are the values of a finite latent, which {model} has not; ask the model finite."
            )
        return cls(problem.prototypes)

    @property
    def words(self) -> str:
        """What it weighs by."""
        return "pooled log-likelihoods at the latent values"

    @property
    def chosen(self) -> Chosen:
        """Nothing but the kind."""
        return Chosen(self.name)

    @property
    def takes(self) -> tuple[str, ...]:
        """No setting."""
        return ()

    def weigh(self, context: Context) -> Weights:
        """The posterior of the latent, by pooling and attending."""
        return self.prototypes.weigh(context.tokens[None])

    def mix(self, weights: Weights, context: Context) -> Answers:  # noqa: ARG002  (the weights hold all of it)
        """The token expected under that posterior."""
        return weights @ self.prototypes.means

    def expected(self, weights: Weights, context: Context, posterior: Posterior) -> Expectation:  # noqa: ARG002
        """No gap; the error has no closed form."""
        return 0.0, None


KINDS: dict[str, type[Attention]] = {
    kind.name: kind
    for kind in (SoftmaxAttention, ConditionalMeanAttention, LinearAttention, SinkAttention, PrototypeAttention)
}


def make_attention(
    kind: str, problem: Problem, settings: Settings | None = None, *, model: str | None = None
) -> Attention:
    """One kind of attention for a problem, or a sentence saying why it does not fit."""
    if kind not in KINDS:
        raise ArgumentError(f"There is no attention {kind!r}; there are {', '.join(KINDS)}.")
    return KINDS[kind].make(problem, settings or Settings(), model or type(problem).__name__)


def best_ridge(problem: Problem) -> PowerOfT:
    """The ridge with which conditional-mean attention is the posterior mean, or the best linear rule."""
    stated = problem.regression or problem.pooling
    if stated is None:
        raise ArgumentError(f"{type(problem).__name__} states neither pooling nor regression, so it has no ridge.")
    return PowerOfT(stated.ridge)


def require_used(settings: Settings, attentions: Sequence[Attention], model: str) -> None:
    """Refuse a setting that none of these attentions would look at."""
    named = f"{', '.join(attention.name for attention in attentions)} on {model}"
    taken = {setting for attention in attentions for setting in attention.takes}
    for option, given in (("kernel", settings.kernel), ("bandwidth", settings.bandwidth)):
        if given is not None and option not in taken:
            raise ArgumentError(
                f"A {option} does not apply to {named}: it belongs to softmax and cme where keys differ; leave it out."
            )
    if settings.bandwidth is not None and (settings.kernel == "linear" or callable(settings.kernel)):
        raise ArgumentError(
            "A bandwidth does not apply to the linear kernel or to a function of one's own; leave it out."
        )
    if settings.ridge is not None and "ridge" not in taken:
        raise ArgumentError(f"A ridge does not apply to {named}: it belongs to cme and sink; leave it out.")
