"""Kinds of attention as estimators: each weighs rows of a context for every query, and mixes them into answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import normalisers
from keyhole.errors import ArgumentError
from keyhole.latent.inference.problem import Context, Pooling, Problem, Regression, Settings
from keyhole.latent.inference.rates import PowerOfT
from keyhole.latent.inference.smoothers import cme_weights, kernel_named, linear_weights
from keyhole.latent.kernels import Constant, Kernel, smoothing_weights

Weights = Float[Any, "n rows"]  # of every query, on the rows that an attention mixes
Answers = Float[Any, "n k"]


@dataclass(frozen=True)
class Attention:
    """A kind of attention with its settings: it weighs the rows of a context, and mixes them into answers."""

    name: str
    settings: Settings
    words: str  # the settings, for a person
    weigh: Callable[[Context], Weights]
    mix: Callable[[Weights, Context], Answers]
    linear: bool = True  # in the values, so that its expected error is known; it falls like a power of T

    def answer(self, context: Context) -> Answers:
        """The answers to the queries of a context."""
        return self.mix(self.weigh(context), context)


EQUAL = "equal keys, so the mean of the tokens"


def softmax_attention(problem: Problem, settings: Settings, _model: str) -> Attention:
    """𝔎(q, k_t)/Σ_t 𝔎(q, k_t), by the exponential kernel unless the settings name another."""
    regression = problem.regression
    chosen = Settings(Constant()) if regression is None else with_kernel(regression, settings)
    return Attention(
        "softmax",
        chosen,
        EQUAL if regression is None else kernel_words(chosen),
        lambda context: smoothing_weights(kernel_at(chosen, len(context.keys)), context.keys, context.queries),
        mix_values(problem.pooling),
    )


def conditional_mean_attention(problem: Problem, settings: Settings, _model: str) -> Attention:
    """𝔎(q, K)(𝔎(K, K) + λI)⁻¹, by the model's own kernel and ridge unless the settings name others."""
    regression, ridge = problem.regression, settings.ridge or best_ridge(problem)
    if regression is None:
        chosen = Settings(Constant())
    elif settings.kernel is None and settings.bandwidth is None:
        chosen = Settings(regression.kernel, own_kernel=True)
    else:  # a kernel that is named may be the model's own too
        chosen = with_kernel(regression, settings)
        fixed = isinstance(chosen.kernel, str) and (chosen.bandwidth is None or chosen.bandwidth.power == 0)
        own = fixed and kernel_at(chosen, 1) in (regression.kernel, *regression.equal_kernels)
        chosen = replace(chosen, own_kernel=own)
    chosen = replace(chosen, ridge=ridge)

    def weigh(context: Context) -> Weights:
        tokens = len(context.keys)
        return cme_weights(kernel_at(chosen, tokens), context.keys, context.queries, ridge=ridge(tokens))

    kernel = "equal keys, around the prior mean" if regression is None else kernel_words(chosen)
    return Attention("cme", chosen, f"{kernel}, λ = {ridge}", weigh, mix_values(problem.pooling))


def linear_attention(problem: Problem, _settings: Settings, _model: str) -> Attention:
    """(1/T) qᵀk_t: attention without softmax, one gradient step on linear maps."""
    return Attention(
        "linear",
        Settings(),
        "step 1" if problem.pooling is None else EQUAL,
        lambda context: linear_weights(context.keys, context.queries),
        mix_values(problem.pooling),
    )


def sink_attention(problem: Problem, settings: Settings, model: str) -> Attention:
    """Even attention to the tokens and to one sink, of logit log λ and the prior mean as value.

    Statement  With λ = α₀ and the value α/α₀ it is the predictive law (α_v + n_v)/(α₀ + T) of a Pólya urn; with
               λ = σ²/τ² and the value μ₀ it is the posterior mean of a Gaussian location x = z + e, z ~ N(μ₀, τ²I),
               e ~ N(0, σ²I), whose posterior variance is τ² times the sink's weight.
    Proof      The sink's mass is λ and each token's is 1. In units of 1/σ² the prior's precision is σ²/τ² and each
               token's is 1.
    Source     Ours.
    """
    pooling = problem.pooling
    if pooling is None:
        raise ArgumentError(f"A sink pools tokens, and {model} has keys; ask for softmax, cme or linear.")
    ridge, value = settings.ridge or best_ridge(problem), pooling.prior_mean[None, :]

    def weigh(context: Context) -> Weights:
        tokens = len(context.values)
        return normalisers.Softmax()(np.concatenate([[float(np.log(ridge(tokens)))], np.zeros(tokens)]))[None, :]

    return Attention(
        "sink",
        Settings(ridge=ridge),
        f"one more key, the sink, of logit log λ and value the prior mean; λ = {ridge}",
        weigh,
        lambda weights, context: weights @ np.concatenate([value, context.values]),
    )


def latent_attention(problem: Problem, _settings: Settings, model: str) -> Attention:
    """Attention to the latent values themselves: exact Bayes when there are finitely many."""
    prototypes = problem.prototypes
    if prototypes is None:
        raise ArgumentError(
            f"Prototypes are the values of a finite latent, which {model} has not; ask the model finite."
        )
    return Attention(
        "prototypes",
        Settings(),
        "pooled log-likelihoods at the latent values",
        lambda context: prototypes.weigh(context.tokens[None]),
        lambda weights, _context: weights @ prototypes.means,
        linear=False,
    )


KINDS: dict[str, Callable[[Problem, Settings, str], Attention]] = {
    "softmax": softmax_attention,
    "cme": conditional_mean_attention,
    "linear": linear_attention,
    "sink": sink_attention,
    "prototypes": latent_attention,
}
WITH_KEYS = {"softmax": ("kernel", "bandwidth"), "cme": ("kernel", "bandwidth", "ridge")}  # settings that apply
WITHOUT_KEYS = {"cme": ("ridge",), "sink": ("ridge",)}


def make_attention(
    kind: str, problem: Problem, settings: Settings | None = None, *, model: str | None = None
) -> Attention:
    """Make one kind of attention for a problem; refuse a kind that does not fit it."""
    if kind not in KINDS:
        raise ArgumentError(f"{kind!r} is not an attention; there are {', '.join(KINDS)}.")
    return KINDS[kind](problem, settings or Settings(), model or type(problem).__name__)


def make_attentions(kinds: Sequence[str], problem: Problem, settings: Settings, model: str) -> list[Attention]:
    """Make several kinds of attention; refuse a setting that applies to none of them."""
    if len(set(kinds)) < len(kinds):
        raise ArgumentError(f"A kind of attention was named twice in {', '.join(kinds)}; name each once.")
    attentions = [make_attention(kind, problem, settings, model=model) for kind in kinds]
    named = f"{', '.join(kinds)} on {model}"
    applying = WITH_KEYS if problem.pooling is None else WITHOUT_KEYS
    used = {setting for kind in kinds for setting in applying.get(kind, ())}
    for option, given in (("kernel", settings.kernel), ("bandwidth", settings.bandwidth)):
        if given is not None and option not in used:
            raise ArgumentError(
                f"A {option} does not apply to {named}: it belongs to softmax and cme where keys differ; leave it out."
            )
    if settings.bandwidth is not None and (settings.kernel == "linear" or callable(settings.kernel)):
        raise ArgumentError(
            "A bandwidth does not apply to the linear kernel or to a function of one's own; leave it out."
        )
    if settings.ridge is not None and "ridge" not in used:
        raise ArgumentError(f"A ridge does not apply to {named}: it belongs to cme and sink; leave it out.")
    return attentions


def mix_values(pooling: Pooling | None) -> Callable[[Weights, Context], Answers]:
    """The weighted values; without keys around the prior mean, m₀ + w(x̄ − m₀)."""
    if pooling is None:
        return lambda weights, context: weights @ context.values
    return lambda weights, context: pooling.prior_mean + weights @ (context.values - pooling.prior_mean)


def with_kernel(regression: Regression, settings: Settings) -> Settings:
    """The kernel that the settings name, the exponential one if none; a linear one and a function have no bandwidth."""
    source = settings.kernel or "exponential"
    scaled = isinstance(source, str) and source != "linear"
    return Settings(source, (settings.bandwidth or regression.bandwidth) if scaled else None)


def kernel_at(settings: Settings, tokens: int) -> Kernel:
    """The kernel at this length of the context."""
    return kernel_named(settings.kernel or "exponential", settings.bandwidth(tokens) if settings.bandwidth else 1.0)


def kernel_words(settings: Settings) -> str:
    """The kernel and its bandwidth, for a person."""
    if settings.own_kernel and not isinstance(settings.kernel, str):
        return "the model’s kernel"
    name = settings.kernel if isinstance(settings.kernel, str) else "own"
    return f"{name} kernel" + ("" if settings.bandwidth is None else f", γ = {settings.bandwidth}")


def best_ridge(problem: Problem) -> PowerOfT:
    """The ridge with which conditional-mean attention is the posterior mean, or the best linear rule."""
    stated = problem.regression or problem.pooling
    if stated is None:
        raise ArgumentError(f"{type(problem).__name__} states neither pooling nor regression, so it has no ridge.")
    return PowerOfT(stated.ridge)
