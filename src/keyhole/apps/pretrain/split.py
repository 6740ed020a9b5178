"""The excess risk of a trained head in three parts: approximation, generalization and optimisation, each measured.

approximation   what the best head of the class loses to the exact prediction: its loss is minimised over the law itself
generalization  what the head of least training loss loses to that best head
optimisation    what training, stopped as it was, loses to the head of least training loss; it may be negative
"""

from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np

from keyhole.apps.pretrain.latent_heads import LatentHead, Minimum, minimise
from keyhole.apps.pretrain.masked import MaskedTable, draw_table, masked_loss, parameters_of, population_table
from keyhole.apps.pretrain.tasks import FiniteTask, Outcome, entropy_of_blocks, samples_of
from keyhole.latent.models import FiniteModel
from keyhole.sweeps.runs import RunSpec

MORE = 4  # starts beside the head's own, where the least training loss there is is wanted
MANY = 8  # starts on the law itself


@dataclass(frozen=True)
class RiskParts(FiniteTask):
    """Predict the last `block` letters by log loss, and split the excess of each training set into its parts."""

    block: int = 1
    kind = "parts of a risk"

    @property
    def name(self) -> str:
        """The name of the task."""
        return f"parts:{self.block}"

    def measure(self, spec: RunSpec) -> Outcome:
        """Train on a drawn sample; the least training loss is sought from more starts and the law's own minimum."""
        head, model = cast("LatentHead", spec.learner), self.model
        _, drawn, learning, _ = spec.seeds()
        rng = np.random.default_rng(learning)
        population, bayes, ideal = best_of_class(self, head.values, spec.context)
        tokens = model.sample(samples_of(spec), spec.context, np.random.default_rng(drawn)).tokens
        table = draw_table(tokens, model.letters, self.block)
        trained = head.fit(table, rng)
        near = minimise(
            lambda at: masked_loss(at, table, head.values), np.stack([ideal.parameters, trained.parameters])
        )
        least = min(near, LatentHead(head.values, MORE).fit(table, rng), key=lambda one: one.loss)
        learned, reached = (masked_loss(one.parameters, population, head.values)[0] for one in (least, trained))
        numbers = {
            "bayes_loss": bayes,
            "approximation": ideal.loss - bayes,
            "generalization": learned - ideal.loss,
            "optimisation": reached - learned,
            "excess": reached - bayes,
            "train_gap": trained.loss - least.loss,
        }
        share = 1 - numbers["excess"] / (entropy_of_blocks(model, self.block) - bayes)
        return Outcome(share, numbers, trained.steps, fitted=trained.loss <= least.loss + 1e-7)


@cache
def best_of_class(task: RiskParts, values: int, length: int) -> tuple[MaskedTable, float, Minimum]:
    """The law of contexts and blocks, the Bayes loss, and the head of the class that loses least on it."""
    truth = task.model
    population = population_table(truth, length, task.block)
    bayes = masked_loss(parameters_of(truth), population, len(truth.prior))[0]
    if values >= len(truth.prior):  # the class holds the truth
        repeated = np.arange(values) % len(truth.prior)  # latents in excess are copies, which share the prior
        shares = truth.prior[repeated] / np.bincount(repeated)[repeated]
        return population, bayes, Minimum(parameters_of(FiniteModel(truth.emission[:, repeated], shares)), bayes, 0)
    return population, bayes, LatentHead(values, MANY).fit(population, np.random.default_rng(0))
