"""Does a condition number decide what masked pretraining is worth downstream?

Three looks: an error of known size is put on the exact pretext prediction; heads are really pretrained, with a pretext
that is made harder while every Bayes risk downstream stays the same; and two latents of equal mean are told apart by
one loss and not by the other.
"""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.kept_runs import make_groups, seeds
from keyhole.apps.ledger.verdict import fitted_slope, mean_of, verdict_of
from keyhole.apps.pretrain.condition import condition_numbers, linear_head
from keyhole.apps.pretrain.latent_heads import LatentHead, PrototypeHead
from keyhole.apps.pretrain.tasks import TransferTask, numbers_of
from keyhole.figure import Axis, Row, line_figure
from keyhole.latent.models import FiniteModel
from keyhole.papers import ZHANG_2022

CLAIM = Claim(
    id="condition-number",
    title="Downstream excess rises with our version of the condition number, as the pretext is made noisier",
    statement=(
        "If pretraining predicts a target of mean Aπ(X) with squared error ε², a linear head solves the downstream task Tπ(X) up to κ_T² ε², κ_T = ‖TU(AU)⁺‖ with U the vectors of sum 0. "
        "Where A does not tell latent values apart, as squared error does not for two laws of equal mean, κ_T is infinite and nothing is learned, while log loss learns everything."
    ),
    formula=r"\mathbb E\|W\hat g+b-T\pi\|^2\le\kappa_T^2\,\mathbb E\|\hat g-A\pi\|^2",
    kind="measurement",
    source="keyhole's definition and proof, κ and the noise of the pretext being one knob here; that a condition number is pivotal for downstream tasks is claim (c) of Zhang et al. (2022, abstract), whose definition is not known to us",
    prediction=(
        "With an error of known size put on the exact prediction, the slope of the excess in κ_T is 2 ± 0.05. With real pretraining at one Bayes risk, the excess rises with κ_T at each step, for the theorem's head and for one fitted to labels, "
        "and never passes κ_T²ε². Equal means: squared error leaves the whole variance of the posterior, log loss less than 5 % of it."
    ),
    could_fail="Another slope, an excess that falls as κ_T grows, one above its bound, or a pair that the losses do not tell apart so.",
    papers=(ZHANG_2022,),
)

THREE = ((0.6, 0.3, 0.1), (0.2, 0.3, 0.1), (0.1, 0.2, 0.2), (0.1, 0.2, 0.6))
EVEN = (1 / 3, 1 / 3, 1 / 3)
FIRST = ((1.0, 0.0, 0.0),)
CORRUPTIONS = (0.0, 0.4, 0.65, 0.8)
LENGTH, N, LABELS = 16, 8000, 100
RUNS = {"quick": 10, "paper": 40}
APART = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)  # how far the columns of two latents are pulled apart
ERROR = 1e-4  # put on each coordinate
VALUES = np.array([[-2.0, -1.0, 0.0, 1.0, 2.0]])
PAIR = ((0.05, 0.3), (0.1, 0.15), (0.7, 0.1), (0.1, 0.15), (0.05, 0.3))  # two laws of mean 0 on −2, …, 2
PAIR_LENGTH, PAIR_N = 12, 4000
WITHIN = 0.05  # of the slope 2
LITTLE = 0.05  # of the variance of the posterior


@dataclass(frozen=True)
class Look:
    """The measurements: injected errors by κ_T, real pretraining by κ_T, and the pair of equal means."""

    injected: dict[float, tuple[float, ...]]  # κ_T → squared errors downstream, one a sequence
    exact_head: dict[float, tuple[float, ...]]  # κ_T → excess of the head W of the theorem, one a run
    fitted_head: dict[float, tuple[float, ...]]  # the same of a head fitted to labels
    bounds: dict[float, tuple[float, ...]]
    scratch: float
    oracle: float
    blind: float
    squared_excess: float  # of the pair: the best linear head on the exact pretext prediction of squared error
    log_excess: tuple[float, ...]  # of the pair, after pretraining by log loss
    pair_variance: float


@partial(Experiment, CLAIM)
def experiment(scale: Scale, seed: int) -> Outcome:
    """Inject, pretrain, and compare."""
    runs = seeds(seed, RUNS[scale])
    tasks = [TransferTask(THREE, EVEN, FIRST, LABELS, corruption=rho) for rho in CORRUPTIONS]
    pair = TransferTask(PAIR, (0.5, 0.5), ((1.0, 0.0),), LABELS)
    cells = [(task, PrototypeHead(3), LENGTH, N) for task in tasks]
    *transferred, paired = make_groups([*cells, (pair, LatentHead(2), PAIR_LENGTH, PAIR_N)], runs)
    by_condition = {some[0].numbers["condition"]: some for some in transferred}
    everything = [each for some in transferred for each in some]
    squared, variance = blind_pair(PAIR)

    def column(name: str) -> dict[float, tuple[float, ...]]:
        return {condition: numbers_of(some, name) for condition, some in by_condition.items()}

    return conclude(
        Look(
            injected=inject(np.random.default_rng([seed, 7])),
            exact_head=column("exact_head"),
            fitted_head=column("fitted_head"),
            bounds=column("bound"),
            scratch=float(np.mean(numbers_of(everything, "scratch"))),
            oracle=float(np.mean(numbers_of(everything, "oracle"))),
            blind=everything[0].numbers["blind"],
            squared_excess=squared,
            log_excess=numbers_of(paired, "fitted_head"),
            pair_variance=variance,
        )
    )


def inject(rng: np.random.Generator) -> dict[float, tuple[float, ...]]:
    """Squared errors downstream of a known error on the exact prediction, as two latents become harder to tell apart."""
    task = np.array(FIRST)
    excesses = {}
    for apart in APART:
        middle, pulled = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1]), apart * np.array([0.5, -0.5, 0.5, -0.5, 0, 0])
        emission = np.stack([middle + pulled, middle - pulled, np.array([0.1, 0.1, 0.1, 0.2, 0.2, 0.3])], axis=1)
        model = FiniteModel(emission, np.array(EVEN))
        posterior = model.posterior(model.sample(2000, 10, rng).tokens)
        wrong = posterior @ emission.T + ERROR * rng.normal(size=(len(posterior), len(emission)))
        missed = np.square(linear_head(emission, task)(wrong) - posterior @ task.T).sum(axis=1)
        excesses[condition_numbers(emission, task).downstream] = tuple(missed.tolist())
    return excesses


def blind_pair(pair: tuple[tuple[float, float], ...]) -> tuple[float, float]:
    """The excess of the best linear head on the exact mean of a masked token, for two latents; and Var π.

    The head is that of least squares with an intercept, over all contexts by their law. Predictions that are constant
    but for rounding count as constant: `lstsq` cuts singular values below 1e-12 of the largest.
    """
    model = FiniteModel(np.array(pair), np.array([0.5, 0.5]))
    joint = np.concatenate(list(model.joint_counts(PAIR_LENGTH)))
    law = joint.sum(axis=1)
    posteriors = joint / law[:, None]
    prediction = VALUES[0] @ np.array(pair) @ posteriors.T
    seen, weights = np.stack([np.ones_like(prediction), prediction], axis=1), np.sqrt(law)
    head = np.linalg.lstsq(weights[:, None] * seen, weights * posteriors[:, 0], rcond=1e-12)[0]
    left = float(law @ np.square(posteriors[:, 0] - seen @ head))
    return left, float(law @ np.square(posteriors[:, 0] - law @ posteriors[:, 0]))


def falls(table: dict[float, tuple[float, ...]]) -> bool:
    """Return whether the mean falls from one κ_T to the next with the whole 99.9 % interval, or over all with that of 95 %."""
    steps = (fitted_slope((low, high), (table[low], table[high]), level=0.999) for low, high in pairwise(sorted(table)))
    return any(step.high < 0 for step in steps) or fitted_slope(list(table), list(table.values())).high < 0


def conclude(look: Look) -> Outcome:
    """The verdict."""
    injected = fitted_slope(list(look.injected), list(look.injected.values()))
    real = fitted_slope(list(look.exact_head), list(look.exact_head.values()))
    fitted = fitted_slope(list(look.fitted_head), list(look.fitted_head.values()))
    means = {
        name: [float(np.mean(values)) for values in table.values()]
        for name, table in (("exact", look.exact_head), ("fitted", look.fitted_head))
    }
    pairs = [
        (excess, bound)
        for table, bounds in zip(look.exact_head.values(), look.bounds.values(), strict=True)
        for excess, bound in zip(table, bounds, strict=True)
    ]
    broken = sum(excess > bound * (1 + 1e-9) for excess, bound in pairs)
    slack = float(np.median([bound / excess for excess, bound in pairs]))
    learned = mean_of(look.log_excess)
    contradicted = (
        broken
        or injected.low > 2 + WITHIN
        or injected.high < 2 - WITHIN
        or falls(look.exact_head)
        or falls(look.fitted_head)
        or look.squared_excess < 0.99 * look.pair_variance
        or learned.low > LITTLE * look.pair_variance
    )
    decided = (
        injected.low >= 2 - WITHIN
        and injected.high <= 2 + WITHIN
        and real.low > 0
        and fitted.low > 0
        and all(np.all(np.diff(column) > 0) for column in means.values())
        and learned.high < LITTLE * look.pair_variance
    )
    curves: dict[str, dict[float, tuple[float, ...]]] = {
        "the theorem’s head": look.exact_head,
        f"a head fitted to {LABELS} labels": look.fitted_head,
        "bound κ_T²ε²": look.bounds,
        **{
            name: dict.fromkeys(look.exact_head, (level,))
            for name, level in (
                ("from scratch", look.scratch),
                ("exact posterior", look.oracle),
                ("knowing nothing", look.blind),
            )
        },
    }
    rows: list[Row] = [
        {"kappa": kappa, "excess": float(np.mean(values)), "curve": name}
        for name, table in curves.items()
        for kappa, values in table.items()
    ]
    return Outcome(
        verdict=verdict_of(holds=decided, fails=bool(contradicted)),
        measurement=(
            f"Injected error: slope of the downstream excess in κ_T {injected:.3f} for κ_T from {min(look.injected):.3g} to {max(look.injected):.3g}.\n"
            f"Real pretraining at one Bayes risk, κ_T = {', '.join(f'{kappa:.3g}' for kappa in look.exact_head)}: excess of the theorem's head {', '.join(f'{mean:.4f}' for mean in means['exact'])}, "
            f"of a head fitted to {LABELS} labels {', '.join(f'{mean:.4f}' for mean in means['fitted'])} (slopes {real:.2f} and {fitted:.2f}); from scratch {look.scratch:.4f}, on the exact posterior "
            f"{look.oracle:.5f}, knowing nothing {look.blind:.4f}.\nκ_T²ε² was passed {broken} times in {len(pairs)}; its median is {slack:.2g} times the excess.\n"
            f"Equal means: squared error leaves {look.squared_excess:.5f} of {look.pair_variance:.5f}, log loss {learned.value:.5f}."
        ),
        numbers={
            "slope, injected": injected.value,
            "slope, exact head": real.value,
            "slope, fitted head": fitted.value,
            "bounds passed": float(broken),
            "median slack": slack,
            "equal means, squared error": look.squared_excess,
            "equal means, log loss": learned.value,
        },
        interval="Slopes: 95 %, sequences or runs resampled at each κ_T. One step of κ_T, and the pair's log loss: 99.9 %.",
        figures=(
            line_figure(
                "Downstream excess under an injected error",
                [{"kappa": kappa, "excess": float(np.mean(values))} for kappa, values in look.injected.items()],
                Axis("kappa", "κ_T", "log"),
                Axis("excess", "downstream excess", "log"),
                subtitle="error 1e-4 on each coordinate of the exact pretext prediction",
            ),
            line_figure(
                "Downstream excess after pretraining",
                rows,
                Axis("kappa", "κ_T", "log"),
                Axis("excess", "downstream excess", "log"),
                Axis("curve", "", "category"),
                subtitle=f"three latents, {LENGTH} tokens, {N} sequences; every Bayes risk downstream is the same",
            ),
        ),
        caveats=(
            "κ_T is keyhole's definition; the work's own is not known to us. It reads the pretext prediction; a hidden layer may carry more.",
            f"The pretext is made harder by replacing the letter that is to be predicted by a random one, with probability {', '.join(map(str, CORRUPTIONS))}: contexts, and so all posteriors, stay as they are.",
            "A linear head can blow up a tiny error of a trained squared-error prediction; the pair is judged on the best head for the exact one. That this head leaves the whole variance is an identity, once the means are equal: its figure checks the pair and the computation, and no training.",
        ),
    )
