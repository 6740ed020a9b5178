"""Networks trained on latent models: how near they come to the exact answer, at lengths they saw and beyond.

The question is the latent itself, asked at [CLS] (supervised), or a masked token (self-supervised). Letters are learned
by log loss, numbers by squared error. Excess risks are distances from the Bayes answer, never from a noisy label: over
every vector of counts where those are few, else over drawn sequences.
"""

from dataclasses import dataclass
from math import comb
from typing import Any, Literal, cast

import numpy as np

from keyhole.apps.pretrain.probe import linear_probe
from keyhole.apps.pretrain.tasks import Outcome, PretrainingTask, Rows
from keyhole.errors import ArgumentError
from keyhole.latent.models import FiniteModel, GaussianLocation, count_vectors
from keyhole.sweeps.runs import RunSpec
from keyhole.training.learners import SetSettings

EXACT = 1200  # count vectors that are judged one by one; where there are more, sequences are drawn
DRAWN, TOKENS = 2000, 1 << 17  # sequences on which a network is judged otherwise, and their tokens, at most
PROBED = 1200  # sequences on which probes are fitted and read
TINY = 1e-12

Question = Literal["latent", "masked"]


@dataclass(frozen=True)
class NetworkModel:
    """A finite latent model (emission and prior), or a Gaussian location around 0 (prior and noise variance)."""

    emission: Rows = ()
    prior: tuple[float, ...] = ()
    variances: tuple[float, ...] = ()

    @property
    def is_finite(self) -> bool:
        """Return whether the latent has finitely many values, and tokens are letters."""
        return bool(self.emission)

    def make(self) -> FiniteModel | GaussianLocation:
        """The latent model."""
        if self.is_finite:
            return FiniteModel(np.array(self.emission), np.array(self.prior))
        return GaussianLocation(np.zeros(1), *self.variances)

    @classmethod
    def of(cls, model: object) -> "NetworkModel":
        """The plain numbers of a model; refused where networks are not trained on its kind."""
        if isinstance(model, FiniteModel):
            return cls(tuple(map(tuple, model.emission.tolist())), tuple(model.prior.tolist()))
        if isinstance(model, GaussianLocation) and model.width == 1 and not model.prior_mean.any():
            return cls(variances=(model.prior_variance, model.noise_variance))
        raise ArgumentError(
            f"Networks are trained on finite latent models and on a Gaussian location of one coordinate around 0; "
            f"{type(model).__name__} is neither."
        )


@dataclass(frozen=True)
class NetworkTask(PretrainingTask):
    """Train a network on sequences of mixed lengths, and judge it at lengths it saw and at others."""

    model: NetworkModel
    lengths: tuple[int, ...]  # tokens read, one of these for each training sequence
    judged: tuple[int, ...]
    question: Question = "latent"
    probe: int = 0  # tokens at which the posterior is looked for in the network; 0: at lengths as trained on
    kind = "network"

    @property
    def name(self) -> str:
        """The name of the task."""
        return f"network:{self.question}"

    def measure(self, spec: RunSpec) -> Outcome:
        """Train from a random start, probing the network before, half way and after, and judge it."""
        from keyhole.training.network.sets import Batches, train_set

        settings, model = cast("SetSettings", spec.learner), self.model.make()
        _, drawn, learning, fresh = spec.seeds()
        rng = np.random.default_rng(drawn)
        longest = max(self.lengths)
        kept = None if spec.samples is None else self.sample(spec.samples, longest, rng)

        def draw(n: int) -> Any:
            tokens, targets = self.sample(n, longest, rng) if kept is None else _among(kept, n, rng)
            return Batches(tokens, rng.choice(self.lengths, size=n), targets)

        tokens, targets = self.sample(2, longest, rng)
        course = list(
            train_set(
                settings,
                draw,
                tokens.shape[2],
                targets.shape[1],
                longest,
                int(learning.generate_state(1)[0]),
                pause=max(1, settings.steps // 2),
            )
        )
        numbers: dict[str, float] = {"train_loss": course[-1].losses[-1]}
        for length in self.judged:
            found = self.judge(course[-1], length, np.random.default_rng([length, *fresh.generate_state(2)]))
            numbers |= {f"{name}@{length}": value for name, value in found.items()}
        if isinstance(model, FiniteModel):
            names = ("untrained", *(f"step{number}" for number in range(1, len(course) - 1)), "trained")
            for name, network in zip(names, course, strict=True):
                numbers |= {
                    f"{name}_{key}": value for key, value in self.look(network, np.random.default_rng(fresh)).items()
                }
        seen = [
            numbers[f"excess@{length}"] / numbers[f"gain@{length}"] for length in self.judged if length in self.lengths
        ]
        share = 1 - max(seen, default=0.0)
        return Outcome(share, numbers, settings.steps, weights=course[-1].parameters)

    def sample(self, n: int, longest: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Sequences as vectors, and their targets."""
        model = self.model.make()
        drawn = model.sample(n, longest + 1, rng)
        masked = self.question == "masked"
        if isinstance(model, FiniteModel):
            vectors = np.eye(model.letters, dtype=np.float32)[drawn.tokens]
            latents = np.eye(len(model.prior), dtype=np.float32)[drawn.latents]
            return vectors[:, :longest], vectors[:, longest] if masked else latents
        vectors = drawn.tokens.astype(np.float32)
        return vectors[:, :longest], vectors[:, longest] if masked else drawn.latents.astype(np.float32)

    def judge(self, network: Any, length: int, rng: np.random.Generator) -> dict[str, float]:
        """The excess risk at a length, the Bayes risk, and what the Bayes answer saves over knowing nothing."""
        model = self.model.make()
        masked = self.question == "masked"
        if isinstance(model, FiniteModel):
            tokens, weights = _sequences(model, length, rng, ordered=network.settings.network == "positions")
            answers = model.posterior(tokens) @ (model.emission.T if masked else np.eye(len(model.prior)))
            predicted = network.predict(np.eye(model.letters, dtype=np.float32)[tokens])
            logs = np.log(np.maximum(answers, TINY))
            excess = float(weights @ (answers * (logs - np.log(np.maximum(predicted, TINY)))).sum(axis=1))
            risk = -float(weights @ (answers * logs).sum(axis=1))
            blind = model.emission @ model.prior if masked else model.prior
            gain = -float((blind * np.log(np.maximum(blind, TINY))).sum()) - risk
            return {"excess": excess, "risk": risk, "gain": gain}
        tokens = model.sample(drawn_at(length), length, rng).tokens
        excess = float(
            np.square(network.predict(tokens.astype(np.float32)) - model.posterior_mean(tokens)).sum(axis=1).mean()
        )
        variance = model.bayes_risk(length)
        noise = model.noise_variance * model.width if masked else 0.0
        return {"excess": excess, "risk": noise + variance, "gain": model.prior_variance * model.width - variance}

    def look(self, network: Any, rng: np.random.Generator) -> dict[str, float]:
        """Linear probes of the exact posterior behind each layer: held-out divergence, and shuffled targets beside."""
        model = cast("FiniteModel", self.model.make())
        lengths = np.full(PROBED, self.probe) if self.probe else rng.choice(self.lengths, size=PROBED)
        tokens = model.sample(PROBED, int(lengths.max()), rng).tokens
        there = np.arange(tokens.shape[1])[None, :] < lengths[:, None]
        logs = (model.log_likelihood(tokens) * there[:, :, None]).sum(axis=1) + np.log(model.prior)
        posterior = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
        distances: dict[str, float] = {}
        for layer, state in enumerate(network.states(np.eye(model.letters, dtype=np.float32)[tokens], lengths), 1):
            reading = linear_probe(state.astype(float), posterior / posterior.sum(axis=1, keepdims=True), rng=rng)
            distances |= {
                f"probe{layer}": reading.divergence,
                f"probe{layer}_error": reading.standard_error,
                f"shuffled{layer}": reading.shuffled,
                "ignorant": reading.ignorant,
            }
        return distances


def drawn_at(length: int) -> int:
    """The number of sequences of a length that are drawn to judge a network.

    >>> drawn_at(32), drawn_at(512)
    (2000, 256)
    """
    return max(1, min(DRAWN, TOKENS // length))


def _sequences(
    model: FiniteModel, length: int, rng: np.random.Generator, *, ordered: bool
) -> tuple[np.ndarray, np.ndarray]:
    """One order of every vector of counts with its probability, where those are few; else drawn sequences.

    For a network that sees the order (`ordered`), sequences are drawn in any case.
    """
    if ordered or comb(length + model.letters - 1, length) > EXACT:
        several = drawn_at(length)
        return model.sample(several, length, rng).tokens, np.full(several, 1 / several)
    counts = np.concatenate(list(count_vectors(model.letters, length)))
    tokens = np.stack([np.repeat(np.arange(model.letters), row) for row in counts])
    return tokens, np.concatenate(list(model.joint_counts(length))).sum(axis=1)


def _among(kept: tuple[np.ndarray, np.ndarray], n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of a training set, drawn with replacement."""
    places = rng.integers(len(kept[0]), size=n)
    return kept[0][places], kept[1][places]
