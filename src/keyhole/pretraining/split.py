"""The excess risk of a trained head in three parts: approximation, generalization and optimisation, each measured.

approximation  what the best head of the class loses to the exact prediction: its loss is minimised over the law itself
generalization what the head of least training loss loses to that best head
optimisation   what training, stopped as it was, loses to the head of least training loss; it may be negative
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from keyhole.errors import ArgumentError
from keyhole.estimate import Estimate
from keyhole.latent.learning import MaskedTable, draw_table, masked_loss, parameters_of, population_table
from keyhole.latent.models import FiniteModel
from keyhole.pretraining.heads import LatentHead, minimise

MANY = 8  # starts, where the least loss there is is wanted
REACH = 1.96  # standard errors of a 95 % interval


@dataclass(frozen=True)
class RiskSplit:
    """The parts of an excess log loss in nats, averaged over training sets, with 95 % intervals; they add up."""

    bayes_loss: float
    approximation: float
    generalization: Estimate
    optimisation: Estimate
    excess: Estimate


def split_risk(
    truth: FiniteModel, head: LatentHead, length: int, n: int, *, block: int = 1, repeats: int = 20, seed: int = 0
) -> RiskSplit:
    """Split the excess log loss of a head that is trained on n sequences of `length` letters, `block` of them masked.

    The least training loss is taken over the head's own starts, eight more, and the minimum of the law's own loss.
    """
    if n < 1 or repeats < 2:
        raise ArgumentError(f"{repeats} training sets of {n} sequences were asked for; use at least 2 of at least 1.")
    rng = np.random.default_rng(seed)
    population = population_table(truth, length, block)
    bayes = masked_loss(parameters_of(truth), population, len(truth.prior))[0]
    thorough = replace(head, starts=max(MANY, head.starts), steps=LatentHead(head.values).steps)
    ideal = thorough.fit(population, rng)
    if head.values == len(truth.prior):  # the class holds the truth
        ideal = replace(ideal, parameters=parameters_of(truth), loss=bayes)

    def loss(parameters: np.ndarray) -> float:
        return masked_loss(parameters, population, head.values)[0]

    general, optimal = [], []
    for _ in range(repeats):
        table = draw_table(truth.sample(n, length, rng).tokens, truth.letters, block)
        trained = head.fit(table, rng)
        starts = np.stack([ideal.parameters, trained.parameters])
        near = minimise(partial(_loss, table, head.values), starts)
        least = min(near, thorough.fit(table, rng), key=lambda one: one.loss)
        general.append(loss(least.parameters) - ideal.loss)
        optimal.append(loss(trained.parameters) - loss(least.parameters))
    approximation = ideal.loss - bayes
    both = approximation + np.array(general) + np.array(optimal)
    return RiskSplit(bayes, approximation, _mean(np.array(general)), _mean(np.array(optimal)), _mean(both))


def _loss(table: MaskedTable, values: int, parameters: np.ndarray) -> tuple[float, np.ndarray]:
    return masked_loss(parameters, table, values)


def _mean(values: np.ndarray) -> Estimate:
    middle, reach = float(values.mean()), REACH * float(values.std(ddof=1)) / len(values) ** 0.5
    return Estimate(middle, middle - reach, middle + reach)
