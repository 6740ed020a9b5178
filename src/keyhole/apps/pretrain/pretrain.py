"""Masked pretraining on a latent model: what it learns, and what it is worth to a downstream task."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import inf

import numpy as np

from keyhole.apps.pretrain.condition import (
    block_law,
    canonical_correlations,
    condition_numbers,
    estimate_least_correlation,
    require_downstream,
)
from keyhole.apps.pretrain.latent_heads import LatentHead, SinkHead
from keyhole.apps.pretrain.masked import fisher_spectrum, require_few_counts, require_few_pairs, require_mask
from keyhole.apps.pretrain.pretraining import Conditioning, Learned, Pretraining, RecoveredSink
from keyhole.apps.pretrain.tasks import (
    Cell,
    MaskedLetters,
    SinkRecovery,
    TransferTask,
    numbers_of,
    run_groups,
)
from keyhole.errors import ArgumentError
from keyhole.estimate import Estimate
from keyhole.latent.inference import require_problem
from keyhole.latent.models import BetaBernoulli, FiniteModel, GaussianLocation, GaussianMixture, Polya, find_model
from keyhole.progress import Watch, ignore
from keyhole.sweeps import Execution
from keyhole.sweeps.runs import RunResult

REACH = 1.959964  # standard errors of a 95 % interval
MOST_REPEATS = 10_000
MOST_TOKENS = 10**8  # drawn for one training set


@dataclass(frozen=True)
class Design:
    """The amount of data that heads are trained on, and the number of training sets; `repeats=0` trains nothing."""

    samples: int = 2000  # training sequences
    labels: int = 200  # of the downstream task
    repeats: int = 8  # training sets at each length and mask
    seed: int = 0  # the first; the others follow it

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ArgumentError(f"{self.samples} training sequences were asked for; use at least 1.")
        if self.labels < 2:
            raise ArgumentError(f"{self.labels} downstream labels were asked for; use at least 2.")
        if not (self.repeats == 0 or 2 <= self.repeats <= MOST_REPEATS) or self.seed < 0:
            raise ArgumentError(
                f"{self.repeats} repeats from seed {self.seed} were asked for; use 0, or 2 to {MOST_REPEATS:,}, and a "
                "seed from 0."
            )

    @property
    def seeds(self) -> range:
        """The seed of every training set."""
        return range(self.seed, self.seed + self.repeats)


def pretrain(
    model: str | object,
    sizes: Sequence[int],
    *,
    masks: Sequence[int] = (1,),
    downstream: str | Sequence[Sequence[float]] = "latent",
    design: Design = Design(),  # noqa: B008  (a frozen value)
    execution: Execution = Execution(),  # noqa: B008  (a frozen value)
    watch: Watch = ignore,
) -> Pretraining:
    """Pretrain heads on masked tokens of a latent model, and say what condition their masks are in for a task.

    The model is the name of a registered one, or a value of its kind. For a finite latent over letters, condition
    numbers are exact; heads are trained from random starts on sequences of each size, the last `mask` tokens masked,
    then frozen, and a linear head is fitted to labels of the downstream task. That is "latent" (tell
    all latent values), "latent:K" (tell value K from the others), or rows of numbers, one for each latent value. For a
    Pólya urn, a coin and a Gaussian location a head with a sink is trained, and its logit set beside the exact one. For
    real tokens with a finite latent, condition numbers are estimated, with intervals. Every run is kept in the store.

    >>> answer = pretrain("finite", [4], masks=[1, 2], design=Design(repeats=0))
    >>> [round(row.spectral.value, 3) for row in answer.conditions]
    [2.789, 2.089]
    """
    named = model if isinstance(model, str) else type(model).__name__
    problem = find_model(model) if isinstance(model, str) else model
    lengths, blocks = _sizes(sizes, masks)
    if design.repeats and design.samples * max(lengths) > MOST_TOKENS:
        raise ArgumentError(
            f"{design.samples:,} sequences of {max(lengths):,} tokens were asked for, too many for memory; use at most "
            f"{MOST_TOKENS // max(lengths):,} sequences."
        )

    run = partial(run_groups, seeds=design.seeds, execution=execution, watch=watch)
    words = ""
    conditions: tuple[Conditioning, ...] = ()
    learned: tuple[Learned, ...] = ()
    sinks: tuple[RecoveredSink, ...] = ()
    if isinstance(problem, FiniteModel):
        task, words = _task(downstream, len(problem.prior))
        conditions, unknown = _conditions(problem, blocks, task, design.seed)
        learned = _learned(problem, task, lengths, blocks, design, run) if design.repeats else ()
        remarks = (*OF_LETTERS, *unknown)
    elif isinstance(problem, Polya | BetaBernoulli | GaussianLocation):
        sinks, remarks = _sinks(problem, lengths, blocks, design, run), OF_SINKS
    elif isinstance(problem, GaussianMixture):
        task, words = _task(downstream, len(problem.prior))
        conditions, unknown = _conditions(problem, blocks, task, design.seed)
        remarks, design = (*OF_MIXTURES, *unknown), replace(design, repeats=0)
    else:
        require_problem(named, problem)
        raise ArgumentError(
            f"Pretraining on {named} is not covered: it has keys, or its latent is of another kind. Use a finite "
            "latent model, a Pólya urn, a coin, a Gaussian location or a mixture: finite, polya, beta, gaussian, "
            "mixture."
        )
    return Pretraining(
        named,
        design.samples,
        design.labels,
        design.repeats,
        design.seed,
        words,
        conditions,
        learned,
        sinks,
        remarks,
    )


OF_LETTERS = (
    "κ_T is keyhole's own definition. Its unit is a probability of the masked tokens, which shrinks as masks grow.",
    "To compare masks take κ_T²ε², or 1/s_m, which does not depend on coordinates.",
    "The transfer bound κ_T²ε² is about a linear head of its own; a head fitted to labels adds an error.",
)
OF_SINKS = (
    "The latent has infinitely many values, so that there are no condition numbers of finite ones.",
    "At small n the least training loss may lie at a logit of −∞: no sink.",
)
OF_MIXTURES = (
    "κ_T, κ and cond are of the mean of a token (squared error), exact.",
    "1/s_m is estimated from 20,000 drawn blocks, with a 95 % interval.",
    "Training on real tokens of a mixture is not covered.",
)
Runner = Callable[[Sequence[Cell]], list[list[RunResult]]]


def _conditions(
    model: FiniteModel | GaussianMixture, blocks: Sequence[int], task: np.ndarray, seed: int
) -> tuple[tuple[Conditioning, ...], tuple[str, ...]]:
    """Return the condition numbers of every mask, and from where on double precision cannot tell them from infinity.

    Of letters, by log loss, they are exact. Of real tokens, by squared error, the map is exact, and the spectrum is
    estimated from draws.
    """
    conditions: list[Conditioning] = []
    limits: list[float] = []
    for block in blocks:
        if isinstance(model, FiniteModel):
            loss, numbers = "log loss", condition_numbers(block_law(model, block), task)
            least = canonical_correlations(model, block)[-1]
            correlation = Estimate(least, least, least)
        else:
            loss, numbers = "squared error", condition_numbers(model.latent_means.T, task)
            correlation = estimate_least_correlation(model, block, rng=seed)
        spectral = Estimate(
            *(1 / part if part else inf for part in (correlation.value, correlation.high, correlation.low))
        )
        conditions.append(Conditioning(block, loss, numbers.downstream, numbers.least, numbers.ratio, spectral))
        if inf in (numbers.least, numbers.downstream) and numbers.rounding:
            limits.append(1 / numbers.rounding)
    if not limits:
        return tuple(conditions), ()
    unknown = f"Infinite stands for all above about {min(limits):.1g}, too: double precision cannot tell them apart."
    return tuple(conditions), (unknown,)


def _learned(
    model: FiniteModel, task: np.ndarray, lengths: Sequence[int], blocks: Sequence[int], design: Design, run: Runner
) -> tuple[Learned, ...]:
    """Train heads with every mask at every length, and fit a linear head to labels."""
    emission, prior = tuple(map(tuple, model.emission.tolist())), tuple(model.prior.tolist())
    rows = tuple(map(tuple, task.tolist()))
    cells = list(product(lengths, blocks))
    for length, block in cells:
        require_few_counts(model.letters, length)
        require_few_pairs(model.letters, length, block)
    groups = run(
        [
            (pretext, LatentHead(len(prior)), length, design.samples)
            for length, block in cells
            for pretext in (
                MaskedLetters(emission, prior, block),
                TransferTask(emission, prior, rows, design.labels, block),
            )
        ]
    )
    learned = []
    for (length, block), masked, moved in zip(cells, groups[::2], groups[1::2], strict=True):
        rank = sum(value > 0 for value in fisher_spectrum(model, length, block))
        learned.append(
            Learned(
                length,
                block,
                masked[0].numbers["bayes_loss"],
                _estimate(numbers_of(masked, "excess")),
                float(np.mean(numbers_of(masked, "likeliest_excess"))),
                rank / (2 * design.samples),
                sum(not result.fitted for result in masked),
                _estimate(numbers_of(moved, "fitted_head")),
                *(
                    float(np.mean(numbers_of(moved, name)))
                    for name in ("exact_head", "bound", "scratch", "oracle", "blind")
                ),
            )
        )
    return tuple(learned)


def _sinks(
    model: Polya | BetaBernoulli | GaussianLocation,
    lengths: Sequence[int],
    blocks: Sequence[int],
    design: Design,
    run: Runner,
) -> tuple[RecoveredSink, ...]:
    """Train a head with a sink on one masked token."""
    if tuple(blocks) != (1,):
        raise ArgumentError(
            f"Masks of {', '.join(map(str, blocks))} tokens were asked for; a head with a sink predicts one "
            "token. Mask 1."
        )
    if isinstance(model, GaussianLocation):
        if model.prior_mean.any():
            raise ArgumentError(
                "The Gaussian location has a prior mean other than 0; sinks are trained around 0. Subtract it."
            )
        task = SinkRecovery(letters=False, parameters=(model.prior_variance, model.noise_variance), width=model.width)
    else:
        weights = model.concentration.tolist() if isinstance(model, Polya) else [model.tails, model.heads]
        task = SinkRecovery(letters=True, parameters=tuple(weights))
    if not design.seeds:
        return ()
    groups = run([(task, SinkHead(), length, design.samples) for length in lengths])
    return tuple(
        RecoveredSink(length, task.truth, _median(numbers_of(some, "logit")), some[0].numbers["standard_error"])
        for length, some in zip(lengths, groups, strict=True)
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
    for length, block in product(lengths, blocks):
        require_mask(length, block)
    return lengths, blocks


def _estimate(values: Sequence[float]) -> Estimate:
    from scipy.special import stdtrit  # imported when something is trained

    middle, spread = float(np.mean(values)), float(np.std(values, ddof=1)) / len(values) ** 0.5
    reach = float(stdtrit(len(values) - 1, 0.975)) * spread
    return Estimate(middle, middle - reach, middle + reach)


def _median(values: Sequence[float]) -> Estimate:
    """The median with the order statistics that hold it with 95 %, or the extremes where there are few."""
    ordered, count = sorted(values), len(values)
    out = int(max(0, np.floor(count / 2 - REACH * count**0.5 / 2)))
    return Estimate(float(np.median(ordered)), ordered[out], ordered[count - 1 - out])
