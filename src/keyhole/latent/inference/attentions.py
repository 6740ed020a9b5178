"""Attention as an estimator: which kind, with which kernel, and how bandwidth and ridge follow the context."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from keyhole.errors import ArgumentError
from keyhole.kernels.families import Constant
from keyhole.kernels.sinks import Sink, attend_with_sink
from keyhole.latent.inference.problem import Bayes, Context, Pooling, Question, token_means
from keyhole.latent.inference.prototypes import likelihood_attention, prototype_attention
from keyhole.latent.inference.schedules import Rule, vanishing_bandwidth
from keyhole.latent.inference.smoothers import (
    Smoother,
    cme_smoother,
    kernel_named,
    linear_smoother,
    softmax_smoother,
)
from keyhole.latent.models.finite import FiniteLatent, FiniteModel
from keyhole.latent.models.regression import LinearRegression, SphereProcess

KINDS = ("softmax", "cme", "linear", "sink", "prototypes")


@dataclass(frozen=True)
class Settings:
    """What an estimator may be told; what is None follows the model."""

    kernel: str | Callable[[Any, Any], Any] | None = None
    bandwidth: Rule | None = None
    ridge: Rule | None = None


ON_SPHERE = ("exponential", "gaussian")  # one kernel at equal γ: ‖a − b‖² = 2 − 2aᵀb there
OWN = "own"  # the kernel that the model itself is made of


@dataclass(frozen=True)
class Estimator:
    """A kind of attention made ready for a question."""

    name: str
    words: str  # its settings, as a person reads them
    answer: Callable[[Context], Float[Any, "n k"]]
    exact: Callable[[Context, Bayes], tuple[float | None, float | None]]  # expected gap and error, where known
    power_law: bool = True  # whether its error falls like a power of T; a finite latent is found exponentially fast
    kernel: str | None = None  # its name, OWN for the model's; None without keys and for a function of the user's
    bandwidth: Rule | None = None  # what was made, whoever chose it; None where the kernel has none
    ridge: Rule | None = None


def estimators_for(question: Question) -> tuple[str, ...]:
    """The kinds worth comparing first on this question."""
    if question.kernel is not None:
        return ("softmax", "cme", "linear") if isinstance(question.model, LinearRegression) else ("softmax", "cme")
    return ("softmax", "sink", "prototypes") if isinstance(question.model, FiniteLatent) else ("softmax", "sink")


def make_estimator(kind: str, question: Question, settings: Settings) -> Estimator:
    """One kind of attention for a question, or a sentence saying why it does not fit."""
    if kind not in KINDS:
        raise ArgumentError(f"There is no attention {kind!r}; there are {', '.join(KINDS)}.")
    if kind == "prototypes":
        return _prototypes(question)
    if kind == "sink":
        return _sink(question, settings)
    return _pooled(kind, question, settings) if question.pooling else _smoothed(kind, question, settings)


def require_used(settings: Settings, kinds: Sequence[str], question: Question) -> None:
    """Refuse what none of these kinds of attention would look at."""
    named = f"{', '.join(kinds)} on {question.name}"
    weighs = question.pooling is None and any(kind in ("softmax", "cme") for kind in kinds)
    for option, given in (("kernel", settings.kernel), ("bandwidth", settings.bandwidth)):
        if given is not None and not weighs:
            raise ArgumentError(
                f"A {option} does not apply to {named}: it belongs to softmax and cme where keys differ; leave it out."
            )
    if settings.bandwidth is not None and (settings.kernel == "linear" or callable(settings.kernel)):
        raise ArgumentError(
            "A bandwidth does not apply to the linear kernel or to a function of one's own; leave it out."
        )
    if settings.ridge is not None and not any(kind in ("cme", "sink") for kind in kinds):
        raise ArgumentError(f"A ridge does not apply to {named}: it belongs to cme and sink; leave it out.")


def _smoothed(kind: str, question: Question, settings: Settings) -> Estimator:
    """Softmax, conditional-mean or linear attention over keys that differ."""
    width = question.model.key_width
    name = settings.kernel or "exponential"
    sphere = isinstance(question.model, SphereProcess)
    # normal keys: at γ = 1 the exponential tilt of softmax attention is the identity on linear maps
    bandwidth = settings.bandwidth or (vanishing_bandwidth(width) if sphere else Rule(1.0))
    scaled = isinstance(name, str) and name != "linear"  # a linear kernel and a function of the user's have no γ
    own = kind == "cme" and settings.kernel is None and settings.bandwidth is None
    ridge = settings.ridge or Rule(question.ridge)

    def smoother(tokens: int) -> Smoother:
        if kind == "linear":
            return linear_smoother()
        if kind == "softmax":
            return softmax_smoother(kernel_named(name, bandwidth(tokens)))
        kernel = question.kernel if own and question.kernel else kernel_named(name, bandwidth(tokens))
        return cme_smoother(kernel, ridge(tokens))

    def answer(context: Context) -> Float[Any, "n k"]:
        return smoother(len(context.keys))(context.keys, context.values, context.queries)

    def exact(context: Context, bayes: Bayes) -> tuple[float | None, float | None]:
        if bayes.prior is None:
            return None, None
        found = bayes.prior.averaged(smoother(len(context.keys)).weigh(context.keys, context.queries))
        coordinates = context.values.shape[1]
        return coordinates * found.gap, coordinates * found.error

    if kind == "linear":
        return Estimator(kind, "step 1", answer, exact)
    shown = f"{name if isinstance(name, str) else 'own'} kernel" + (f", γ = {bandwidth}" if scaled else "")
    if kind == "softmax":
        used = name if isinstance(name, str) else None
        return Estimator(kind, shown, answer, exact, kernel=used, bandwidth=bandwidth if scaled else None)
    words = f"{'the model’s kernel' if own else shown}, λ = {ridge}"
    if own or _is_own(question, name, bandwidth):
        return Estimator(kind, words, answer, exact, kernel=OWN, ridge=ridge)
    used = name if isinstance(name, str) else None
    return Estimator(kind, words, answer, exact, kernel=used, bandwidth=bandwidth if scaled else None, ridge=ridge)


def _is_own(question: Question, name: Any, bandwidth: Rule) -> bool:
    """Whether a kernel that was named is the model's; on the sphere the Gaussian kernel is the exponential one."""
    if isinstance(question.model, SphereProcess):
        return name in ON_SPHERE and bandwidth == Rule(question.model.temperature)
    return bool(name == "linear")


def _pooled(kind: str, question: Question, settings: Settings) -> Estimator:
    """With equal keys softmax and linear attention are the mean, and conditional-mean attention shrinks it."""
    if kind == "cme":
        ridge = settings.ridge or Rule(question.ridge)
        return _shrunk(
            question,
            kind,
            f"equal keys, around the prior mean, λ = {ridge}",
            ridge,
            lambda tokens: cme_smoother(Constant(), ridge(tokens)),
            made=ridge,
        )
    even = linear_smoother() if kind == "linear" else softmax_smoother(Constant())
    return _shrunk(question, kind, "equal keys: the mean of the tokens", lambda _tokens: 0.0, lambda _tokens: even)


def _shrunk(
    question: Question,
    kind: str,
    words: str,
    ridge: Callable[[int], float],
    smoother: Callable[[int], Smoother],
    *,
    made: Rule | None = None,
) -> Estimator:
    """An estimator m₀ + T/(T + λ) (x̄ − m₀), computed by attention around the prior mean."""
    pooling = require_pooling(question, kind)

    def answer(context: Context) -> Float[Any, "n k"]:
        around = context.values - pooling.prior_mean
        return pooling.prior_mean + smoother(len(around))(context.keys, around, context.queries)

    def exact(context: Context, _bayes: Bayes) -> tuple[float | None, float | None]:
        tokens = len(context.values)
        weight = tokens / (tokens + ridge(tokens))
        return pooling.gap(tokens, weight), pooling.error(tokens, weight)

    return Estimator(kind, words, answer, exact, ridge=made)


def require_pooling(question: Question, kind: str) -> Pooling:
    """Refuse a kind that pools tokens where there are keys."""
    if question.pooling is None:
        raise ArgumentError(f"{kind} pools tokens, and {question.name} has keys; ask for softmax, cme or linear.")
    return question.pooling


def _sink(question: Question, settings: Settings) -> Estimator:
    """Even attention to the tokens and to one sink, of logit log λ and the prior mean as value."""
    require_pooling(question, "sink")
    ridge = settings.ridge or Rule(question.ridge)

    def answer(context: Context) -> Float[Any, "n k"]:
        tokens = len(context.values)
        sink = Sink(float(np.log(ridge(tokens))), question.prior_mean)
        return attend_with_sink(sink, np.zeros(tokens), context.values)[None, :]

    shrunk = _pooled("cme", question, settings)
    return Estimator("sink", f"a sink of logit log λ, λ = {ridge}", answer, shrunk.exact, ridge=ridge)


def _prototypes(question: Question) -> Estimator:
    """Attention to the latent values themselves: exact Bayes when there are finitely many."""
    model = question.model
    if not isinstance(model, FiniteLatent):
        raise ArgumentError(
            f"prototypes are the values of a finite latent, which {question.name} has not; ask the model finite."
        )

    def answer(context: Context) -> Float[Any, "n k"]:
        if isinstance(model, FiniteModel):
            posterior = prototype_attention(context.values.argmax(axis=1)[None, :], model.emission, model.prior)
        else:
            posterior = likelihood_attention(model.log_likelihood(context.values[None]), model.prior)
        return posterior @ token_means(model)

    words = "pooled log-likelihoods at the latent values"
    return Estimator("prototypes", words, answer, lambda _context, _bayes: (0.0, None), power_law=False)
