"""Pretrain, freeze, and fit a linear head: what a masked prediction is worth to a downstream task.

Downstream, sequences are read whole. The representation is the pretext prediction; its exact value is Aπ(X). Risks are
excess over the best answer Tπ(X), summed over every vector of counts, so that no label noise enters them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.apps.pretrain.condition import (
    block_law,
    condition_numbers,
    linear_head,
    require_downstream,
    transfer_bound,
)
from keyhole.apps.pretrain.latent_heads import minimise, softmax
from keyhole.apps.pretrain.masked import require_few_counts
from keyhole.arrays import Float
from keyhole.errors import ArgumentError
from keyhole.latent.models import FiniteModel, count_vectors, letter_counts

PENALTY = 1e-6  # on the scores of a network trained on labels alone
TINY = 1e-9  # directions of a representation below this share of the largest are left out of a fitted head


@dataclass(frozen=True)
class Downstream:
    """Excess risks of a downstream task, and the bound κ_T²ε²."""

    condition: float  # κ_T
    pretext_error: float  # ε² = E‖ĝ − Aπ‖² on whole sequences
    bound: float  # κ_T² ε²
    exact_head: float  # excess of the head W = TU(AU)⁺ on the learned representation
    fitted_head: float  # of a head fitted to the labels
    oracle: float  # of a head fitted to the labels on the exact posterior
    scratch: float  # of the same network trained on the labels alone
    blind: float  # of the best constant: the variance of Tπ


def transfer(
    truth: FiniteModel,
    pretext: Float[Any, "rows m"],
    represent: Any,
    task: Float[Any, "k m"],
    length: int,
    labels: int,
    rng: np.random.Generator,
) -> Downstream:
    """Judge a frozen representation (a function from counts to rows) on a downstream task, with labels drawn afresh."""
    require_downstream(task, len(truth.prior))
    if labels < 2:
        raise ArgumentError(f"A head was to be fitted to {labels} labels; use at least 2.")
    require_few_counts(truth.letters, length)
    counts = np.concatenate(list(count_vectors(truth.letters, length))).astype(float)
    joint = np.concatenate(list(truth.joint_counts(length)))
    law = joint.sum(axis=1)
    kept = law > 1e-14
    counts, law = counts[kept], law[kept] / law[kept].sum()
    posterior = joint[kept] / joint[kept].sum(axis=1, keepdims=True)
    best = posterior @ task.T
    learned = represent(counts)

    def excess(answers: np.ndarray) -> float:
        return float(law @ np.square(answers - best).sum(axis=1))

    error = float(law @ np.square(learned - posterior @ pretext.T).sum(axis=1))
    condition = condition_numbers(pretext, task).downstream
    exact = excess(linear_head(pretext, task)(learned)) if np.isfinite(condition) else float("inf")
    drawn = truth.sample(labels, length, rng)
    seen = letter_counts(drawn.tokens, truth.letters).astype(float)
    answers = task.T[drawn.latents]
    fitted = excess(fit_head(represent(seen), answers)(learned))
    oracle = excess(fit_head(truth.posterior(drawn.tokens), answers)(posterior))
    alone = fit_from_scratch(seen, np.eye(len(truth.prior))[drawn.latents] / labels)(counts)
    return Downstream(
        condition,
        error,
        transfer_bound(condition, error) if np.isfinite(condition) else float("inf"),
        exact,
        fitted,
        oracle,
        excess(alone @ task.T),
        float(law @ np.square(best - law @ best).sum(axis=1)),
    )


def fit_from_scratch(counts: Float[Any, "n V"], labels: Float[Any, "n m"]) -> Any:
    """Attention to the latent values trained on labels alone: softmax(Sn + b), which holds the posterior; convex.

    A penalty of 1e-6 on S keeps it finite where the labels can be separated.
    """
    letters, m = counts.shape[1], labels.shape[1]

    def law(parameters: np.ndarray, some: np.ndarray) -> np.ndarray:
        return np.asarray(softmax(some @ parameters[: letters * m].reshape(letters, m) + parameters[letters * m :]))

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        minimum, weights = law(parameters, counts), labels.sum(axis=1, keepdims=True)
        missed = minimum * weights - labels
        penalty = np.concatenate([PENALTY * parameters[: letters * m], np.zeros(m)])
        slope = np.concatenate([(counts.T @ missed).ravel(), missed.sum(axis=0)]) + penalty
        return -float((labels * np.log(np.maximum(minimum, 1e-300))).sum()) + float(penalty @ parameters) / 2, slope

    minimum = minimise(loss, np.zeros((1, (letters + 1) * m)))
    return lambda some: law(minimum.parameters, some)


def fit_head(rows: Float[Any, "n width"], answers: Float[Any, "n k"]) -> Any:
    """Least squares with an intercept, in the directions in which the rows vary."""
    middle, target = rows.mean(axis=0), answers.mean(axis=0)
    slope = np.linalg.lstsq(rows - middle, answers - target, rcond=TINY)[0]
    return lambda some: (some - middle) @ slope + target


def block_representation(learned: FiniteModel, block: int) -> Any:
    """From counts of a whole sequence to the learned law of a further block, in the coordinates of `block_law`."""
    law = block_law(learned, block)
    with np.errstate(divide="ignore"):
        logs, prior = np.log(learned.emission), np.log(learned.prior)

    def represent(counts: np.ndarray) -> np.ndarray:
        scores = counts @ np.maximum(logs, -1e4) + np.maximum(prior, -1e4)
        return np.asarray(softmax(scores) @ law.T)

    return represent
