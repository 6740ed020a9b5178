"""A sink is one more token, of fixed score and value, before all others: where a prior can live.

With it softmax attention can leave weight unspent, and two textbook posteriors are exactly a softmax.
"""

from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import Array, Scores, Softmax, require_numbers, require_positive
from keyhole.errors import AssumptionError, ShapeError


@dataclass(frozen=True)
class Sink:
    """The score and the value of the token that is always there."""

    logit: float
    value: Float[Any, "k"]


def attend_with_sink(sink: Sink, scores: Scores, values: Array) -> Array:
    """Softmax attention over the sink and the tokens, scores (…, T) and values (…, T, k): (…, k).

    A context without tokens is allowed: the sink is then alone.
    """
    expected = (*scores.shape, sink.value.shape[0])
    if tuple(values.shape) != expected:
        raise ShapeError(
            f"scores of shape {tuple(scores.shape)} and a sink of width {sink.value.shape[0]} need values "
            f"of shape {expected}; got {tuple(values.shape)}"
        )
    require_numbers(values=values)
    value = np.broadcast_to(sink.value, (*scores.shape[:-1], 1, sink.value.shape[0]))
    weights = _weights(sink, scores)
    return (weights[..., None, :] @ np.concatenate([value, values], axis=-2))[..., 0, :]


def sink_weight(sink: Sink, scores: Scores) -> Float[Any, "*batch"]:
    """The weight that softmax leaves on the sink."""
    return _weights(sink, scores)[..., 0]


def _weights(sink: Sink, scores: Scores) -> Array:
    """The weights of the sink and of the tokens; a score of −∞ masks a token."""
    require_numbers(scores=np.where(scores == -inf, 0.0, scores))
    logit = np.full((*scores.shape[:-1], 1), sink.logit)
    return Softmax()(np.concatenate([logit, scores], axis=-1))


def polya_sink(concentration: Float[Any, "k"]) -> Sink:
    """The sink with which uniform attention to one-hot tokens is the predictive law of a Pólya urn.

    Statement  With α the urn's contents, α₀ = Σα, and n_v the number of tokens v among T, the predictive law
               (α_v + n_v)/(α₀ + T) is softmax attention with logit 0 on every token, one-hot values, and a
               sink of logit log α₀ and value α/α₀.
    Proof      The sink's mass is α₀ and each token's is 1.
    Source     Ours.

    >>> tokens = np.eye(3)[[0, 0, 1]]
    >>> (7 * attend_with_sink(polya_sink(np.array([1.0, 2.0, 1.0])), np.zeros(3), tokens)).round(12).tolist()
    [3.0, 3.0, 1.0]
    """
    total = float(np.sum(concentration))
    if not (0 < total < inf and float(np.min(concentration)) >= 0):
        raise AssumptionError("an urn holds a non-negative finite amount of every colour, and not nothing in all")
    return Sink(log(total), concentration / total)


def gaussian_sink(prior_mean: Float[Any, "k"], *, prior_variance: float, noise_variance: float) -> Sink:
    """The sink with which uniform attention to the tokens is the posterior mean of a Gaussian location.

    Statement  For x = z + e, z ~ N(μ₀, τ²I), e ~ N(0, σ²I), the posterior mean of z given T tokens is softmax
               attention with logit 0 on every token, the tokens as values, and a sink of logit log(σ²/τ²) and
               value μ₀. The posterior variance is τ² times the sink's weight.
    Proof      In units of 1/σ² the prior's precision is σ²/τ² and each token's is 1; the sink's weight is
               (σ²/τ²)/(σ²/τ² + T) = σ²/(σ² + Tτ²).
    Source     Ours.

    >>> sink = gaussian_sink(np.zeros(1), prior_variance=2.0, noise_variance=0.5)
    >>> attend_with_sink(sink, np.zeros(3), np.array([[1.0], [2.0], [3.0]])).round(7).tolist()
    [1.8461538]
    """
    require_positive("a prior variance", prior_variance)
    require_positive("a noise variance", noise_variance)
    return Sink(log(noise_variance / prior_variance), prior_mean)
