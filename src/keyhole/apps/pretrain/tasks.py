"""Tasks of pretraining as runs: each is a latent model and a question, and makes its runs itself.

The `accuracy` of such a run is (constant loss − its loss)/(constant loss − Bayes loss).
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import log
from typing import Any, ClassVar, cast

import numpy as np

from keyhole.apps.pretrain.condition import block_law
from keyhole.apps.pretrain.downstream import block_representation, transfer
from keyhole.apps.pretrain.latent_heads import LatentHead, Minimum, PrototypeHead, SinkHead, minimise
from keyhole.apps.pretrain.masked import (
    MaskedTable,
    PooledSquares,
    draw_table,
    excess_divergence,
    masked_loss,
    parameters_of,
    pooled_excess,
    pooled_risk,
    population_table,
    require_mask,
)
from keyhole.apps.pretrain.sinks import sink_standard_error
from keyhole.errors import ArgumentError
from keyhole.latent.models import FiniteModel, GaussianLocation, Polya
from keyhole.progress import Watch, ignore
from keyhole.sweeps import Execution
from keyhole.sweeps.runs import SUCCESS, RunResult, RunSpec, Store, digest, gather_runs
from keyhole.training.learners import Method

Rows = tuple[tuple[float, ...], ...]

MORE = 4  # starts beside the head's own, where the least training loss there is is wanted
MANY = 8  # starts on the law itself
OPTIMISED = 1e-7  # nats by which a training loss may exceed the best known one, and count as optimised


@dataclass(frozen=True)
class Outcome:
    """The measurements of one run."""

    share: float  # of what the Bayes answer saves over a constant one that the run saves
    numbers: dict[str, float]
    steps: int = 0
    fitted: bool = True
    words: str = ""  # the name of the task, if empty
    weights: Mapping[str, np.ndarray] | None = None


class PretrainingTask(ABC):
    """A latent model and a question, as a frozen dataclass of plain numbers, which name and seed its runs."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the task."""

    def record(self) -> dict[str, Any]:
        """Every field as plain values."""
        return {"pretraining": self.kind, **asdict(cast("Any", self))}

    @abstractmethod
    def measure(self, spec: RunSpec) -> Outcome:
        """Train a learner on drawn data, and judge it."""

    def make(self, spec: RunSpec) -> RunResult:
        """Make one run."""
        began = time.perf_counter()
        outcome = self.measure(spec)
        return RunResult(
            success=outcome.share >= SUCCESS,
            fitted=outcome.fitted,
            accuracy=outcome.share,
            train_accuracy=None,
            steps=outcome.steps,
            seconds=time.perf_counter() - began,
            function=outcome.words or self.name,
            positions=(),
            numbers=outcome.numbers,
            readings=(),
            weights=outcome.weights,
            weights_digest=None if outcome.weights is None else digest(outcome.weights),
        )


Cell = tuple[PretrainingTask, Method, int, int]  # task, learner, tokens of a sequence, training sequences


def run_groups(
    cells: Iterable[Cell],
    seeds: Sequence[int],
    execution: Execution,
    watch: Watch = ignore,
) -> list[list[RunResult]]:
    """Make the runs of each cell, one for each seed; return them cell by cell."""
    with Store(execution.folder) as store:
        made = gather_runs([RunSpec(*cell, seed) for cell in cells for seed in seeds], store, execution, watch)
    return [made[start : start + len(seeds)] for start in range(0, len(made), len(seeds))]


def numbers_of(runs: Sequence[RunResult], name: str) -> tuple[float, ...]:
    """One number of each run."""
    return tuple(run.numbers[name] for run in runs)


def samples_of(spec: RunSpec) -> int:
    """The number of training sequences."""
    if spec.samples is None:
        raise ArgumentError(f"{spec.task.name} was asked to learn from fresh samples; give a number of sequences.")
    return spec.samples


@dataclass(frozen=True)
class FiniteTask(PretrainingTask):
    """A finite latent model as plain numbers, which name and seed runs."""

    emission: Rows
    prior: tuple[float, ...]

    @property
    def model(self) -> FiniteModel:
        """The latent model."""
        return FiniteModel(np.array(self.emission), np.array(self.prior))


@dataclass(frozen=True)
class MaskedLetters(FiniteTask):
    """Predict the last `block` letters of a sequence from the others, by log loss.

    Beside the trained head stands the maximum-likelihood estimate: the lowest training loss known, from the truth or
    from any random start. Where the head's own starts end above it, its optimisation failed, and the run says so.
    """

    block: int = 1
    kind = "masked letters"

    @property
    def name(self) -> str:
        """The task and its mask."""
        return f"masked:{self.block}"

    def measure(self, spec: RunSpec) -> Outcome:
        """Train on a drawn sample, and judge over every context."""
        head, model = cast("LatentHead", spec.learner), self.model
        _, drawn, learning, _ = spec.seeds()
        table = draw_table(
            model.sample(samples_of(spec), spec.context, np.random.default_rng(drawn)).tokens, model.letters, self.block
        )
        found = head.fit(table, np.random.default_rng(learning))
        population = _population(self, spec.context)
        truth = parameters_of(model)
        exact = masked_loss(truth, population, len(model.prior))[0]
        excess = masked_loss(found.parameters, population, head.values)[0] - exact
        numbers = {"excess": excess, "bayes_loss": exact, "train_loss": found.loss}
        fitted = True
        if head.values == len(model.prior):
            beside = minimise(lambda at: masked_loss(at, table, head.values), truth[None])
            likeliest = min(beside, found, key=lambda one: one.loss)
            numbers["likeliest_excess"] = excess_divergence(likeliest.parameters, model, population, head.values)
            numbers["train_gap"] = found.loss - likeliest.loss
            fitted = numbers["train_gap"] <= OPTIMISED
        blind = entropy_of_blocks(model, self.block) - exact
        share = 1 - excess / blind if blind > 0 else 1.0
        words = f"{len(model.prior)} latents, {model.letters} letters"
        return Outcome(share, numbers, found.steps, fitted, words)


@dataclass(frozen=True)
class SinkRecovery(PretrainingTask):
    """Train a head with a sink on masked tokens of a Pólya urn (`letters`) or a Gaussian location."""

    letters: bool
    parameters: tuple[float, ...]  # α; or τ², σ² of a location around 0
    width: int = 1  # coordinates of the location
    kind = "sink recovery"

    @property
    def name(self) -> str:
        """The name of the task."""
        return "sink:polya" if self.letters else "sink:gaussian"

    @property
    def model(self) -> Polya | GaussianLocation:
        """The latent model."""
        if self.letters:
            return Polya(np.array(self.parameters))
        prior, noise = self.parameters
        return GaussianLocation(np.zeros(self.width), prior, noise)

    @property
    def truth(self) -> float:
        """The exact logit: log α₀ of an urn, log σ²/τ² of a location."""
        return log(self.model.pooling.ridge)

    def measure(self, spec: RunSpec) -> Outcome:
        """Train on a drawn sample; the masked token is the last."""
        head, model, tokens = cast("SinkHead", spec.learner), self.model, spec.context - 1
        require_mask(spec.context, 1)
        _, drawn, learning, _ = spec.seeds()
        sample = model.sample(samples_of(spec), spec.context, np.random.default_rng(drawn)).tokens
        if isinstance(model, Polya):
            table = draw_table(sample, model.letters)
            sums, targets, weights = table.contexts, table.blocks, table.weights
        else:
            sums, targets, weights = sample[:, :-1].sum(axis=1), sample[:, -1], np.full(len(sample), 1 / len(sample))
        found = head.fit(sums, targets, weights, tokens, np.random.default_rng(learning), letters=self.letters)
        logit = float(found.parameters[0])
        numbers = {
            "logit": logit,
            "error": logit - self.truth,
            "standard_error": sink_standard_error(model, tokens) / samples_of(spec) ** 0.5,
        }
        pooling = model.pooling
        gap = pooling.gap(tokens, tokens / (tokens + float(np.exp(logit)))) or 0.0  # of the logit alone
        gain = pooling.signal - pooling.error(tokens, tokens / (tokens + pooling.ridge))
        return Outcome(1 - gap / gain, numbers, found.steps)


@dataclass(frozen=True)
class LeastSquares(Method):
    """Least squares on the mean of the tokens (tied), or on all of them side by side."""

    tied: bool
    packages = ("numpy",)

    @property
    def name(self) -> str:
        """The name of the task."""
        return "tied-least-squares" if self.tied else "untied-least-squares"


@dataclass(frozen=True)
class PooledLabels(PretrainingTask):
    """Predict a label of a Gaussian location from its tokens; a run is `repeats` training sets."""

    repeats: int = 50
    width: int = 4
    prior_variance: float = 1.0
    noise_variance: float = 1.0
    label_variance: float = 0.25
    kind = "supervised labels of a location"
    name = "pooled-labels"

    @property
    def model(self) -> PooledSquares:
        """The law of tokens and labels."""
        return PooledSquares(self.width, self.prior_variance, self.noise_variance, self.label_variance)

    def measure(self, spec: RunSpec) -> Outcome:
        """Fit every training set, and average the exact excess risks."""
        learner, model = cast("LeastSquares", spec.learner), self.model
        rng = np.random.default_rng(spec.seeds()[1])
        sets = (model.sample(samples_of(spec), spec.context, rng) for _ in range(self.repeats))
        found = np.array([model.learn(*each, tied=learner.tied) for each in sets])
        risk = pooled_risk(model, spec.context)
        numbers = {
            "excess": float(found.mean()),
            "expected": pooled_excess(model, samples_of(spec), spec.context, tied=learner.tied),
            "bayes_risk": risk,
        }
        share = 1 - numbers["excess"] / (self.prior_variance + self.label_variance - risk)
        return Outcome(share, numbers, words=learner.name)


@dataclass(frozen=True)
class TransferTask(FiniteTask):
    """Pretrain on masked letters, freeze, and fit a linear head on `labels` labels of a downstream task.

    With `corruption` ρ the masked letter that is to be predicted is replaced by a random one with probability ρ. The
    context stays as it is, so that the posterior, and with it every downstream Bayes risk, does not depend on ρ, while
    κ_T grows as 1/(1 − ρ). A head with values of its own learns it.
    """

    task: Rows
    labels: int = 200
    block: int = 1
    corruption: float = 0.0
    kind = "transfer"

    @property
    def name(self) -> str:
        """The name of the task."""
        return f"transfer:{self.block}"

    @property
    def corrupted(self) -> np.ndarray:
        """The law of the corrupted letter under each latent value, a row per letter."""
        emission = np.array(self.emission)
        return np.asarray((1 - self.corruption) * emission + self.corruption / len(emission))

    def measure(self, spec: RunSpec) -> Outcome:
        """Pretrain and transfer."""
        model, learner = self.model, spec.learner
        if not 0 <= self.corruption < 1 or (self.corruption and isinstance(learner, LatentHead)):
            raise ArgumentError(
                f"A corruption of {self.corruption} was asked for {learner.name}; use 0 to below 1, and a head with "
                "values of its own (PrototypeHead)."
            )
        if isinstance(learner, PrototypeHead) and self.block != 1:
            raise ArgumentError(
                f"A block of {self.block} was asked for {learner.name}, which predicts 1 token; mask 1."
            )
        _, drawn, learning, fresh = spec.seeds()
        stream, rng = np.random.default_rng(learning), np.random.default_rng(drawn)
        tokens = model.sample(samples_of(spec), spec.context, rng).tokens
        if isinstance(learner, LatentHead):
            found = learner.fit(draw_table(tokens, model.letters, self.block), stream)
            represent, steps = block_representation(learner.model(found, model.letters), self.block), found.steps
            pretext = block_law(model, self.block)
        else:
            head, pretext = cast("PrototypeHead", learner), self.corrupted
            replaced = rng.random(len(tokens)) < self.corruption
            masked = np.where(replaced, rng.integers(model.letters, size=len(tokens)), tokens[:, -1])
            table = draw_table(np.column_stack([tokens[:, :-1], masked]), model.letters)
            represent, steps = head.fit(table.contexts, table.blocks * table.weights[:, None], stream), 0
        found_there = transfer(
            model, pretext, represent, np.array(self.task), spec.context, self.labels, np.random.default_rng(fresh)
        )
        numbers = asdict(found_there)
        share = 1 - found_there.fitted_head / found_there.blind
        return Outcome(share, numbers, steps)


@cache
def _population(task: MaskedLetters, length: int) -> MaskedTable:
    return population_table(task.model, length, task.block)


def entropy_of_blocks(model: FiniteModel, block: int) -> float:
    """The log loss, in order, of the best law of a block that knows no context."""
    table = population_table(model, block + 1, block)
    scores = table.blocks @ np.maximum(np.log(model.emission), -1e4) + np.log(model.prior)
    return -float(table.weights @ np.logaddexp.reduce(scores, axis=1))


@dataclass(frozen=True)
class RiskParts(FiniteTask):
    """Predict the last `block` letters by log loss, and split the excess of each training set into its parts.

    approximation   what the best head of the class, minimised over the law itself, loses to the exact prediction
    generalization  what the head of least training loss loses to that best head
    optimisation    what training, stopped as it was, loses to the head of least training loss; it may be negative
    """

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
        return Outcome(share, numbers, trained.steps, fitted=trained.loss <= least.loss + OPTIMISED)


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
