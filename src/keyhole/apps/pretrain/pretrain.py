"""What does masked pretraining on a latent model learn, and what is it worth to a downstream task?"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.apps.pretrain.latent_heads import LatentHead, SinkHead
from keyhole.apps.pretrain.pretraining import Conditioning, Learned, Pretraining, RecoveredSink
from keyhole.apps.pretrain.tasks import MaskedLetters, SinkRecovery, TransferTask
from keyhole.errors import ArgumentError
from keyhole.estimate import Estimate
from keyhole.files.paths import home
from keyhole.latent.inference import require_problem
from keyhole.latent.masking import (
    ConditionNumbers,
    block_law,
    canonical_correlations,
    condition_numbers,
    estimate_least_correlation,
    fisher_spectrum,
    require_downstream,
    require_few_counts,
    require_few_pairs,
    require_mask,
)
from keyhole.latent.models import BetaBernoulli, FiniteModel, GaussianLocation, GaussianMixture, Polya, find_model
from keyhole.progress import Watch, ignore
from keyhole.sweeps.runs import RunResult, RunSpec, Store, core_count, gather_runs, require_cores

REACH = 1.959964  # standard errors of a 95 % interval
MOST_REPEATS = 10_000
MOST_TOKENS = 10**8  # drawn for one training set


def pretrain(
    model: str | object,
    sizes: Sequence[int],
    *,
    masks: Sequence[int] = (1,),
    samples: int = 2000,
    downstream: str | Sequence[Sequence[float]] = "latent",
    labels: int = 200,
    repeats: int = 8,
    seed: int = 0,
    workers: int | None = None,
    store: str | Path | None = None,
    watch: Watch = ignore,
) -> Pretraining:
    """Pretrain heads on masked tokens of a latent model, and say what condition their masks are in for a task.

    The model is the name of a registered one, or a value of its kind. For a finite latent over letters, condition
    numbers are exact; heads are trained from random starts on `samples` sequences of each size, the last `mask` tokens
    masked, then frozen, and a linear head is fitted to `labels` labels of the downstream task. That is "latent" (tell
    all latent values), "latent:K" (tell value K from the others), or rows of numbers, one for each latent value. For a
    Pólya urn, a coin and a Gaussian location a head with a sink is trained, and its logit set beside the exact one. For
    real tokens with a finite latent, condition numbers are estimated, with intervals. Every run is kept in the store.

    >>> answer = pretrain("finite", [4], masks=[1, 2], repeats=0)
    >>> [round(one.spectral.value, 3) for one in answer.conditions]
    [2.789, 2.089]
    """
    named = model if isinstance(model, str) else type(model).__name__
    problem = find_model(model) if isinstance(model, str) else model
    lengths, blocks = _sizes(sizes, masks)
    if samples < 1:
        raise ArgumentError(f"{samples} training sequences were asked for; use at least 1.")
    if repeats and samples * max(lengths) > MOST_TOKENS:
        raise ArgumentError(
            f"{samples:,} sequences of {max(lengths):,} tokens were asked for, more than memory is trusted with; "
            f"use at most {MOST_TOKENS // max(lengths):,} sequences."
        )
    if labels < 2:
        raise ArgumentError(f"{labels} downstream labels were asked for; use at least 2.")
    if not (repeats == 0 or 2 <= repeats <= MOST_REPEATS) or seed < 0:
        raise ArgumentError(
            f"{repeats} repeats from seed {seed} were asked for; use 0, or 2 to {MOST_REPEATS:,}, and a seed from 0."
        )
    count = core_count() if workers is None else require_cores(workers)

    def made(specs: Sequence[RunSpec]) -> list[RunResult]:
        with Store(home(store)) as kept:
            return gather_runs(specs, kept, workers=count, watch=watch)

    asked_for = _Question(named, lengths, blocks, samples, labels, repeats, seed)
    if isinstance(problem, FiniteModel):
        task, words = _task(downstream, len(problem.prior))
        return _letters(asked_for, problem, task, words, made)
    if isinstance(problem, Polya | BetaBernoulli | GaussianLocation):
        return _sinks(asked_for, problem, made)
    if isinstance(problem, GaussianMixture):
        task, words = _task(downstream, len(problem.prior))
        return _mixture(asked_for, problem, task, words)
    require_problem(named, problem)
    raise ArgumentError(
        f"Pretraining on {named} is not covered: it has keys, or its latent is of another kind. Use a finite latent "
        "model, a Pólya urn, a coin, a Gaussian location or a mixture: finite, polya, beta, gaussian, mixture."
    )


@dataclass(frozen=True)
class _Question:
    """What was asked, as numbers."""

    model: str
    lengths: tuple[int, ...]
    blocks: tuple[int, ...]
    samples: int
    labels: int
    repeats: int
    seed: int

    @property
    def seeds(self) -> range:
        return range(self.seed, self.seed + self.repeats)


def _letters(asked_for: _Question, model: FiniteModel, task: np.ndarray, words: str, made: Any) -> Pretraining:
    """Letters with a finite latent: exact condition numbers, and trained heads."""
    m = len(model.prior)
    conditions, found = [], []
    for block in asked_for.blocks:
        numbers, least = condition_numbers(block_law(model, block), task), canonical_correlations(model, block)[-1]
        found.append(numbers)
        spectral = 1 / least if least else inf
        conditions.append(
            Conditioning(
                block,
                "log loss",
                numbers.downstream,
                numbers.least,
                numbers.ratio,
                Estimate(spectral, spectral, spectral),
            )
        )
    emission, prior = tuple(map(tuple, model.emission.tolist())), tuple(model.prior.tolist())
    rows = tuple(map(tuple, task.tolist()))
    cells = [(length, block) for length in asked_for.lengths for block in asked_for.blocks]
    for length, block in cells if asked_for.repeats else ():
        require_few_counts(model.letters, length)
        require_few_pairs(model.letters, length, block)
    specs = [
        RunSpec(task_of, LatentHead(m), length, asked_for.samples, seed)
        for length, block in cells
        for task_of in (
            MaskedLetters(emission, prior, block),
            TransferTask(emission, prior, rows, asked_for.labels, block),
        )
        for seed in asked_for.seeds
    ]
    learned = []
    if asked_for.repeats:
        results, k = made(specs), asked_for.repeats
        for place, (length, block) in enumerate(cells):
            masked, moved = results[2 * k * place : 2 * k * place + k], results[2 * k * place + k : 2 * k * (place + 1)]
            rank = sum(value > 0 for value in fisher_spectrum(model, length, block))
            learned.append(_learned(length, block, masked, moved, rank / (2 * asked_for.samples)))
    remarks = (
        "κ_T is keyhole's own definition. Its unit is a probability of the masked tokens, which shrinks as masks grow.",
        "To compare masks take κ_T²ε², or 1/s_m, which does not depend on coordinates.",
        "The transfer bound κ_T²ε² is about a linear head of its own; a head fitted to labels adds an error.",
        *_untold(found),
    )
    return Pretraining(
        asked_for.model,
        asked_for.samples,
        asked_for.labels,
        asked_for.repeats,
        asked_for.seed,
        words,
        tuple(conditions),
        tuple(learned),
        (),
        remarks,
    )


def _untold(found: Sequence[ConditionNumbers]) -> tuple[str, ...]:
    """What "infinite" stands for, where a condition number is: from where on double precision cannot tell."""
    limits = [1 / one.rounding for one in found if inf in (one.least, one.downstream) and one.rounding]
    if not limits:
        return ()
    return (f"Infinite stands for all above about {min(limits):.1g}, too: double precision cannot tell them apart.",)


def _learned(length: int, block: int, masked: Sequence[RunResult], moved: Sequence[RunResult], limit: float) -> Learned:
    def mean(runs: Sequence[RunResult], name: str) -> float:
        return float(np.mean([run.numbers[name] for run in runs]))

    return Learned(
        length,
        block,
        masked[0].numbers["bayes_loss"],
        _estimate([run.numbers["excess"] for run in masked]),
        mean(masked, "likeliest_excess"),
        limit,
        sum(not run.fitted for run in masked),
        _estimate([run.numbers["fitted_head"] for run in moved]),
        *(mean(moved, name) for name in ("exact_head", "bound", "scratch", "oracle", "blind")),
    )


def _sinks(asked_for: _Question, model: Polya | BetaBernoulli | GaussianLocation, made: Any) -> Pretraining:
    """A head with a sink, trained on one masked token."""
    if asked_for.blocks != (1,):
        raise ArgumentError(
            f"Masks of {', '.join(map(str, asked_for.blocks))} tokens were asked for; a head with a sink predicts one "
            "token. Mask 1."
        )
    for length in asked_for.lengths:
        require_mask(length, 1)
    if isinstance(model, GaussianLocation):
        if model.prior_mean.any():
            raise ArgumentError(
                "The Gaussian location has a prior mean other than 0; sinks are trained around 0. Subtract it."
            )
        task = SinkRecovery(letters=False, parameters=(model.prior_variance, model.noise_variance), width=model.width)
    else:
        weights = model.concentration.tolist() if isinstance(model, Polya) else [model.tails, model.heads]
        task = SinkRecovery(letters=True, parameters=tuple(weights))
    sinks = []
    if asked_for.repeats:
        specs = [
            RunSpec(task, SinkHead(), length, asked_for.samples, seed)
            for length in asked_for.lengths
            for seed in asked_for.seeds
        ]
        results, k = made(specs), asked_for.repeats
        for place, length in enumerate(asked_for.lengths):
            some = results[k * place : k * (place + 1)]
            logits = sorted(result.numbers["logit"] for result in some)
            sinks.append(RecoveredSink(length, task.truth, _median(logits), some[0].numbers["standard_error"]))
    remarks = (
        "The latent has infinitely many values, so that there are no condition numbers of finite ones.",
        "At small n the least training loss may lie at a logit of −∞: no sink.",
    )
    return Pretraining(
        asked_for.model,
        asked_for.samples,
        asked_for.labels,
        asked_for.repeats,
        asked_for.seed,
        "",
        (),
        (),
        tuple(sinks),
        remarks,
    )


def _mixture(asked_for: _Question, model: GaussianMixture, task: np.ndarray, words: str) -> Pretraining:
    """Real tokens with a finite latent: the squared-error map is exact, the spectrum estimated from draws."""
    numbers = condition_numbers(model.latent_means.T, task)
    conditions = []
    for block in asked_for.blocks:
        least = estimate_least_correlation(model, block, rng=asked_for.seed)
        ends = Estimate(1 / least.value, 1 / least.high, 1 / least.low if least.low else inf)
        conditions.append(Conditioning(block, "squared error", numbers.downstream, numbers.least, numbers.ratio, ends))
    remarks = (
        "κ_T, κ and cond are of the mean of a token (squared error), exact.",
        "1/s_m is estimated from 20,000 drawn blocks, with a 95 % interval.",
        "Training on real tokens of a mixture is not covered.",
        *_untold([numbers]),
    )
    return Pretraining(
        asked_for.model,
        asked_for.samples,
        asked_for.labels,
        0,
        asked_for.seed,
        words,
        tuple(conditions),
        (),
        (),
        remarks,
    )


def _task(downstream: str | Sequence[Sequence[float]], m: int) -> tuple[np.ndarray, str]:
    """The matrix T of a downstream task, and its words."""
    if not isinstance(downstream, str):
        rows = [list(map(float, row)) for row in downstream]
        if len({len(row) for row in rows}) != 1:
            raise ArgumentError(
                "The rows of a downstream task have different lengths; give one number for each latent value."
            )
        task = np.array(rows)
        require_downstream(task, m)
        return task, f"{len(rows)} combination{'s' * (len(rows) != 1)} of the {m} latent values"
    name, _, value = downstream.partition(":")
    if name != "latent" or (value and not value.isdecimal()):
        raise ArgumentError(
            f"The downstream task {downstream!r} is not known; use latent, latent:K with K from 0 to {m - 1}, or rows "
            "of numbers."
        )
    if not value:
        return np.eye(m), f"tell which of its {m} values the latent has"
    if int(value) >= m:
        raise ArgumentError(f"Latent value {value} was asked for, and there are {m}, from 0 to {m - 1}.")
    return np.eye(m)[[int(value)]], f"tell latent value {value} from the others"


def _sizes(sizes: Sequence[int], masks: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    lengths, blocks = tuple(sorted(set(map(int, sizes)))), tuple(sorted(set(map(int, masks))))
    if not lengths or not blocks:
        raise ArgumentError("Pretraining was asked for at no size or with no mask; give at least one of each.")
    for length in lengths:
        for block in blocks:
            require_mask(length, block)
    return lengths, blocks


def _estimate(values: Sequence[float]) -> Estimate:
    from scipy.special import stdtrit  # imported when something is trained

    middle, spread = float(np.mean(values)), float(np.std(values, ddof=1)) / len(values) ** 0.5
    reach = float(stdtrit(len(values) - 1, 0.975)) * spread
    return Estimate(middle, middle - reach, middle + reach)


def _median(ordered: Sequence[float]) -> Estimate:
    """The median with the order statistics that hold it with 95 %, or the extremes where there are few."""
    count = len(ordered)
    out = int(max(0, np.floor(count / 2 - REACH * count**0.5 / 2)))
    return Estimate(float(np.median(ordered)), ordered[out], ordered[count - 1 - out])
