"""A head with a sink, trained on masked tokens: its loss, its slope, and how sharply data tell its logit.

Every token has logit 0 and itself as value; the sink has logit θ and value s. The prediction is (e^θ s + Σx)/(e^θ + T).
For letters (a Pólya urn) it is a law and s a softmax, with the log loss; for numbers (a Gaussian location) it is a
mean, with half the squared error.
"""

from math import lgamma
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.latent.models import GaussianLocation, Polya, count_vectors, log_multinomials

Table = tuple[Float[Any, "K V"], Float[Any, "K V"], Float[Any, "K"]]  # sums of context, targets, weights


def sink_loss(
    parameters: Float[Any, "P"],
    sums: Float[Any, "K V"],
    targets: Float[Any, "K V"],
    weights: Float[Any, "K"],
    tokens: int,
    *,
    letters: bool,
) -> tuple[float, Float[Any, "P"]]:
    """The loss of the head and its slope. Parameters: θ, then V − 1 log-ratios of s (letters) or its coordinates.

    `sums` are the counts or the sums of the context's tokens, `targets` the masked tokens as vectors.
    """
    strength = np.exp(parameters[0])
    if letters:
        logits = np.append(parameters[1:], 0.0)
        value = np.exp(logits - np.logaddexp.reduce(logits))
    else:
        value = parameters[1:]
    scale = strength + tokens
    prediction = (strength * value + sums) / scale
    by_strength = strength * (value - prediction) / scale  # ∂ prediction / ∂ θ
    if letters:
        chosen = (prediction * targets).sum(axis=1)
        loss = -float(weights @ np.log(chosen))
        pull = targets / chosen[:, None]  # −∂ loss / ∂ prediction
        to_value = strength / scale * (weights @ pull)
        slope = value * (to_value - value @ to_value)
        return loss, -np.concatenate([[weights @ (pull * by_strength).sum(axis=1)], slope[:-1]])
    rest = targets - prediction
    loss = float(weights @ np.square(rest).sum(axis=1)) / 2
    return loss, -np.concatenate([[weights @ (rest * by_strength).sum(axis=1)], strength / scale * (weights @ rest)])


def sink_standard_error(model: Polya | GaussianLocation, tokens: int) -> float:
    """√n times the standard error of the sink logit, as n → ∞: n sequences, one prediction each after `tokens` tokens.

    Statement  Letters: √((F⁻¹)_θθ), F the Fisher matrix of (θ, s), summed over all contexts. Numbers, with λ = σ²/τ²:
               √(v (λ + T)³/(d τ² T λ²)), v = σ² + σ²τ²/(σ² + Tτ²) the risk of the prediction.
    Proof      At the truth the residual is independent of the context (Gaussian) and the score has mean 0 given it,
               so the inverse Fisher matrix is the asymptotic covariance. For numbers θ and s are orthogonal at the
               truth, ∂prediction/∂θ = λ(μ₀ − posterior mean)/(λ + T) has d coordinates of variance
               λ²/(λ + T)² · τ²T/(λ + T), and least squares has the variance v over its sum.
    Source     Textbook asymptotics.

    >>> polya = Polya(np.array([1.0, 2.0, 1.0]))
    >>> round(sink_standard_error(polya, 1), 2), round(sink_standard_error(polya, 8), 2)
    (4.83, 5.17)
    """
    if isinstance(model, GaussianLocation):
        ridge = model.noise_variance / model.prior_variance
        risk = model.noise_variance + model.bayes_risk(tokens) / model.width
        return float(np.sqrt(risk * (ridge + tokens) ** 3 / (model.width * model.prior_variance * tokens * ridge**2)))
    sums, targets, weights = polya_table(model, tokens)
    total = float(model.concentration.sum())
    value = model.concentration / total
    prediction = (model.concentration + sums) / (total + tokens)
    chosen = (prediction * targets).sum(axis=1)
    by_strength = ((total * (value - prediction) / (total + tokens)) * targets).sum(axis=1) / chosen
    to_value = total / (total + tokens) * targets / chosen[:, None]
    by_value = value * (to_value - (to_value @ value)[:, None])
    scores = np.concatenate([by_strength[:, None], by_value[:, :-1]], axis=1)
    fisher = scores.T @ (weights[:, None] * scores)
    return float(np.sqrt(np.linalg.inv(fisher)[0, 0]))


def polya_table(model: Polya, tokens: int) -> Table:
    """Every context of a Pólya urn and every next letter, with their exact probability."""
    letters, total = model.letters, float(model.concentration.sum())
    counts = np.concatenate(list(count_vectors(letters, tokens)))
    rising = np.array([[lgamma(a + k) - lgamma(a) for k in range(tokens + 1)] for a in model.concentration])
    logs = sum(rising[letter][counts[:, letter]] for letter in range(letters)) - (
        lgamma(total + tokens) - lgamma(total)
    )
    law = np.exp(logs + log_multinomials(counts))
    following = (model.concentration + counts) / (total + tokens)
    return (
        np.repeat(counts, letters, axis=0).astype(float),
        np.tile(np.eye(letters), (len(counts), 1)),
        (law[:, None] * following).ravel(),
    )
