"""Attention with the architecture the theory prescribes, trained from a random start by L-BFGS with exact slopes.

Each learner is a frozen record: what it is, how it starts, and how often. We keep the
start with the least training loss. The excess risk is never used for selection.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from keyhole.apps.pretrain.masked import MaskedTable, masked_loss, unpack
from keyhole.apps.pretrain.sinks import sink_loss
from keyhole.arrays import Float
from keyhole.errors import ArgumentError
from keyhole.latent.models import FiniteModel
from keyhole.training.learners import Method

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]

STEPS = 2000  # of L-BFGS at most
OPTIONS = {"maxiter": STEPS, "maxfun": 4 * STEPS, "ftol": 1e-14, "gtol": 1e-8}


@dataclass(frozen=True, eq=False)
class Minimum:
    """The end of training: parameters, training loss, and steps in all."""

    parameters: Float[np.ndarray, "P"]
    loss: float
    steps: int


def minimise(objective: Objective, starts: Float[Any, "starts P"], steps: int = STEPS) -> Minimum:
    """The lowest of the minima that L-BFGS finds from these starts."""
    if len(starts) < 1:
        raise ArgumentError("Training needs at least one start.")
    options = {**OPTIONS, "maxiter": steps}
    ended = [minimize(objective, start, jac=True, method="L-BFGS-B", options=options) for start in starts]
    best = min(ended, key=lambda one: float(one.fun))
    return Minimum(np.asarray(best.x), float(best.fun), sum(int(one.nit) for one in ended))


@dataclass(frozen=True)
class LatentHead(Method):
    """Attention to latent values whose keys and values are one table: scores log p_z + Σ log A[x, z], values A[·, z].

    Token-wise maps give the scores, one softmax the posterior, and its average of the values the law of what is masked.
    """

    packages: ClassVar[tuple[str, ...]] = ("numpy", "scipy")

    values: int  # latent values the head has room for
    starts: int = 2
    spread: float = 0.3  # standard deviation of the log-ratios at the start
    steps: int = STEPS

    name = "latent-head"

    def fit(self, table: MaskedTable, rng: np.random.Generator) -> Minimum:
        """Train from random starts on a sample's table, or on the law itself."""
        size = (table.contexts.shape[1] - 1) * self.values + self.values - 1
        starts = self.spread * rng.normal(size=(self.starts, size))
        return minimise(lambda at: masked_loss(at, table, self.values), starts, self.steps)

    def model(self, found: Minimum, letters: int) -> FiniteModel:
        """The learned latent model."""
        logs, prior = unpack(found.parameters, letters, self.values)
        emission, shares = np.exp(logs), np.exp(prior)
        return FiniteModel(emission / emission.sum(axis=0), shares / shares.sum())


@dataclass(frozen=True)
class PrototypeHead(Method):
    """Attention to prototypes with keys and values of their own: q(· | X) = B softmax(Sn + b), n the counts of X.

    The target may be any letter that depends on the latent: a masked token, a corrupted one, or the latent itself.
    """

    packages: ClassVar[tuple[str, ...]] = ("numpy", "scipy")

    values: int
    starts: int = 3
    spread: float = 0.3

    name = "prototype-head"

    def fit(
        self, counts: Float[Any, "K V"], targets: Float[Any, "K C"], rng: np.random.Generator
    ) -> Callable[[Float[Any, "n V"]], Float[Any, "n C"]]:
        """Train on contexts and the weight of each target; returns the predicted law of the target."""
        letters, kinds, m = counts.shape[1], targets.shape[1], self.values
        size = m * (letters + 1 + kinds)
        starts = self.spread * rng.normal(size=(self.starts, size))
        starts[:, : m * letters] /= max(1.0, float(counts.sum(axis=1).max()) ** 0.5)
        minimum = minimise(lambda at: prototype_loss(at, counts, targets, m), starts)
        return lambda some: prototype_law(minimum.parameters, some, kinds, m)[0]


def prototype_law(
    parameters: Float[Any, "P"], counts: Float[Any, "n V"], kinds: int, m: int
) -> tuple[Float[Any, "n C"], Float[Any, "n m"], Float[Any, "m C"]]:
    """The predicted law of the target, the attention weights, and the values."""
    letters = counts.shape[1]
    scores = counts @ parameters[: m * letters].reshape(letters, m) + parameters[m * letters : m * (letters + 1)]
    weights = softmax(scores)
    values = softmax(parameters[m * (letters + 1) :].reshape(m, kinds))
    return weights @ values, weights, values


def prototype_loss(
    parameters: Float[Any, "P"], counts: Float[Any, "K V"], targets: Float[Any, "K C"], m: int
) -> tuple[float, Float[Any, "P"]]:
    """The log loss of the head on weighed targets, and its slope."""
    law, weights, values = prototype_law(parameters, counts, targets.shape[1], m)
    loss = -float((targets * np.log(np.maximum(law, 1e-300))).sum())
    pull = -targets / np.maximum(law, 1e-300)  # ∂ loss / ∂ law
    to_weights = pull @ values.T
    to_scores = weights * (to_weights - (weights * to_weights).sum(axis=1, keepdims=True))
    to_values = weights.T @ pull
    to_logits = values * (to_values - (values * to_values).sum(axis=1, keepdims=True))
    return loss, np.concatenate([(counts.T @ to_scores).ravel(), to_scores.sum(axis=0), to_logits.ravel()])


@dataclass(frozen=True)
class SinkHead(Method):
    """Even attention with a sink: tokens of logit 0, a sink of logit θ and value s, all of it trained."""

    packages: ClassVar[tuple[str, ...]] = ("numpy", "scipy")

    starts: int = 3
    spread: float = 1.0  # standard deviation of θ and s at the start

    name = "sink-head"

    def fit(
        self,
        sums: Float[Any, "n V"],
        targets: Float[Any, "n V"],
        weights: Float[Any, "n"],
        tokens: int,
        rng: np.random.Generator,
        *,
        letters: bool,
    ) -> Minimum:
        """Train on contexts of so many tokens and the tokens that were masked; the first parameter is θ."""
        size = sums.shape[1] + (0 if letters else 1)
        starts = self.spread * rng.normal(size=(self.starts, size))
        return minimise(lambda at: sink_loss(at, sums, targets, weights, tokens, letters=letters), starts)


def softmax(scores: Float[Any, "n m"]) -> Float[Any, "n m"]:
    """The softmax of every row."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))
