"""The excess risk of a trained head in three parts: approximation, generalization and optimisation, each measured.

approximation   what the best head of the class loses to the exact prediction: its loss is minimised over the law itself
generalization  what the head of least training loss loses to that best head
optimisation    what training, stopped as it was, loses to the head of least training loss; it may be negative
"""

import time
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, cast

import numpy as np

from keyhole.apps.pretrain.latent_heads import LatentHead, Minimum, minimise
from keyhole.apps.pretrain.tasks import FiniteTask, entropy_of_blocks, result, samples_of
from keyhole.errors import ArgumentError
from keyhole.estimate import Estimate
from keyhole.latent.masking import MaskedTable, draw_table, masked_loss, parameters_of, population_table
from keyhole.latent.models import FiniteModel
from keyhole.sweeps.runs import RunResult, RunSpec

MORE = 4  # starts beside the head's own, where the least training loss there is is wanted
MANY = 8  # starts on the law itself
REACH = 1.96  # standard errors of a 95 % interval


@dataclass(frozen=True)
class RiskSplit:
    """The parts of an excess log loss in nats, averaged over training sets, with 95 % intervals; they add up."""

    bayes_loss: float
    approximation: float
    generalization: Estimate
    optimisation: Estimate
    excess: Estimate


@dataclass(frozen=True)
class RiskParts(FiniteTask):
    """Predict the last `block` letters by log loss, and split the excess of each training set into its parts."""

    block: int = 1

    @property
    def name(self) -> str:
        """How a person names it."""
        return f"parts:{self.block}"

    def record(self) -> dict[str, Any]:
        """Every field as plain values."""
        return {"pretraining": "parts of a risk", **asdict(self)}

    def make(self, spec: RunSpec) -> RunResult:
        """Train on a drawn sample; the least training loss is sought from more starts and the law's own minimum."""
        began = time.perf_counter()
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
        return result(
            began,
            share,
            fitted=trained.loss <= least.loss + 1e-7,
            steps=trained.steps,
            words=self.name,
            numbers=numbers,
        )


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


def split_risk(
    truth: FiniteModel, head: LatentHead, length: int, n: int, *, block: int = 1, repeats: int = 20, seed: int = 0
) -> RiskSplit:
    """Split the excess log loss of a head trained on n sequences of `length` letters, `block` of them masked."""
    if n < 1 or repeats < 2:
        raise ArgumentError(f"{repeats} training sets of {n} sequences were asked for; use at least 2 of at least 1.")
    task = RiskParts(tuple(map(tuple, truth.emission.tolist())), tuple(truth.prior.tolist()), block)
    made = [task.make(RunSpec(task, head, length, n, each)).numbers for each in range(seed, seed + repeats)]
    parts = {name: np.array([each[name] for each in made]) for name in made[0]}
    generalization, optimisation, excess = (_mean(parts[name]) for name in ("generalization", "optimisation", "excess"))
    return RiskSplit(made[0]["bayes_loss"], made[0]["approximation"], generalization, optimisation, excess)


def _mean(values: np.ndarray) -> Estimate:
    middle, reach = float(values.mean()), REACH * float(values.std(ddof=1)) / len(values) ** 0.5
    return Estimate(middle, middle - reach, middle + reach)
