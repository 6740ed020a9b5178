"""Does training find the desired parameter: a sink's logit, the bandwidth and the ridge of conditional-mean attention?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.kept_runs import make_groups, seeds
from keyhole.apps.ledger.verdict import fitted_slope, mean_of
from keyhole.apps.pretrain.kernel_recovery import KernelHead, KernelRecovery
from keyhole.apps.pretrain.latent_heads import SinkHead
from keyhole.apps.pretrain.tasks import SinkRecovery, numbers_of
from keyhole.estimate import Estimate
from keyhole.figure import Axis, line_figure
from keyhole.papers import ZHANG_2022
from keyhole.sweeps.runs import RunResult

CLAIM = Claim(
    id="sink-recovery",
    title="Training finds the desired parameter: the sink's logit, the bandwidth and the ridge",
    statement=(
        "Softmax attention with a sink is the exact posterior mean of a Pólya urn if the sink's logit is log α₀, and of a Gaussian location if it is log σ²/τ². "
        "Conditional-mean attention is the posterior mean of a Gaussian process if its bandwidth is the process's and its ridge σ²/τ². "
        "Trained on masked tokens from a random start, each parameter tends to that value at the rate n^(−1/2), with the standard error of textbook asymptotics."
    ),
    formula=r"\hat\theta\to\log\alpha_0,\qquad \hat\theta\to\log\frac{\sigma^2}{\tau^2}",
    kind="measurement",
    source="keyhole; that training finds the desired parameter is claim (c) of Zhang et al. (2022, abstract)",
    prediction=(
        "α = (1, 2, 1) after 8 letters, and τ² = 2, σ² = ½ after 2 numbers; n = 1000, 4000, 16,000, 64,000: the slope of the error in log n has −½ in its 99.9 % interval; "
        "at the largest n the mean error has 0 in its 99.9 % interval, and the size of the error is within 35 % of the asymptotic standard error. "
        "The same for log γ and log σ²/τ² of a process on the sphere (γ = ½, σ² = 0.09, 8 pairs), n = 250, 1000, 4000."
    ),
    could_fail="A slope, a mean error or a size of the error outside these, in one of the models.",
    papers=(ZHANG_2022,),
)

TASKS = {
    "Pólya urn, log α₀": (SinkRecovery(letters=True, parameters=(1.0, 2.0, 1.0)), 9),
    "Gaussian location, log σ²/τ²": (SinkRecovery(letters=False, parameters=(2.0, 0.5)), 3),
}
SIZES = (1000, 4000, 16_000, 64_000)
RUNS = {"quick": 40, "paper": 200}
KERNEL_SIZES = (250, 1000, 4000)
KERNEL_RUNS = {"quick": 24, "paper": 100}
KERNEL_LENGTH = 9
KERNEL = {"bandwidth, log γ": "log_bandwidth", "ridge, log σ²/τ²": "log_ridge"}
WITHIN = 0.35  # of the ratio of the error's size to the asymptotic standard error, at the largest n


@dataclass(frozen=True)
class Recovery:
    """The errors of the logit of one model, for each n, and the asymptotic standard error there."""

    truth: float
    errors: Mapping[int, Sequence[float]]
    standard_errors: Mapping[int, float]

    @property
    def slope(self) -> Estimate:
        """Slope of the log of the error in log n."""
        return fitted_slope(list(self.errors), list(self.errors.values()), squared=True, level=0.999)

    @property
    def ratio(self) -> float:
        """The size of the error at the largest n over the asymptotic standard error."""
        largest = max(self.errors)
        return float(np.sqrt(np.mean(np.square(self.errors[largest])))) / self.standard_errors[largest]

    @property
    def bias(self) -> Estimate:
        """The mean error at the largest n."""
        return mean_of(self.errors[max(self.errors)])


@partial(Experiment, CLAIM)
def experiment(scale: Scale, seed: int) -> Outcome:
    """Train heads with a sink, and conditional-mean attention, at every size."""
    recoveries = {}
    for name, (task, tokens) in TASKS.items():
        groups = make_groups([(task, SinkHead(), tokens, n) for n in SIZES], seeds(seed, RUNS[scale]))
        recoveries[name] = recovery(task.truth, dict(zip(SIZES, groups, strict=True)))
    kernel = KernelRecovery()
    groups = make_groups(
        [(kernel, KernelHead(), KERNEL_LENGTH, n) for n in KERNEL_SIZES], seeds(seed, KERNEL_RUNS[scale])
    )
    by_size = dict(zip(KERNEL_SIZES, groups, strict=True))
    for (words, name), truth in zip(KERNEL.items(), kernel.truth, strict=True):
        recoveries[words] = recovery(float(truth), by_size, f"{name}_")
    return conclude(recoveries)


def recovery(truth: float, runs: Mapping[int, Sequence[RunResult]], prefix: str = "") -> Recovery:
    """Read the errors of one parameter from the runs of each size."""
    return Recovery(
        truth,
        {n: numbers_of(some, f"{prefix}error") for n, some in runs.items()},
        {n: some[0].numbers[f"{prefix}standard_error"] for n, some in runs.items()},
    )


def conclude(found: Mapping[str, Recovery]) -> Outcome:
    """The verdict: slopes that hold −½, no bias, and errors of the size that theory says."""
    good = {
        name: recovery.slope.contains(-0.5) and recovery.bias.contains(0.0) and abs(recovery.ratio - 1) <= WITHIN
        for name, recovery in found.items()
    }
    rows: list[dict[str, Any]] = []
    for name, recovery in found.items():
        for n, errors in recovery.errors.items():
            rows.append({"n": n, "error": float(np.sqrt(np.mean(np.square(errors)))), "curve": name})
            rows.append({"n": n, "error": recovery.standard_errors[n], "curve": f"{name}: theory"})
    parts = [
        f"{name}: exact {recovery.truth:.4f}, trained at n = {max(recovery.errors):,} {recovery.truth + recovery.bias.value:.4f} "
        f"(mean error {recovery.bias:.4f}); slope of the error in log n {recovery.slope:.3f}; error over its asymptotic standard error {recovery.ratio:.2f}"
        for name, recovery in found.items()
    ]
    return Outcome(
        verdict="holds" if all(good.values()) else "fails here",
        measurement="\n".join(
            [
                "Each parameter: its exact value, the trained one, and how its error falls.",
                *(f"{part}." for part in parts),
            ]
        ),
        numbers={
            **{f"slope, {name}": recovery.slope.value for name, recovery in found.items()},
            **{f"mean error, {name}": recovery.bias.value for name, recovery in found.items()},
            **{f"ratio, {name}": recovery.ratio for name, recovery in found.items()},
        },
        interval="99.9 %: of slopes, by resampled runs; of mean errors, by their standard errors.",
        figures=(
            line_figure(
                "Errors of trained parameters",
                rows,
                Axis("n", "training sequences n", "log"),
                Axis("error", "root of the mean squared error", "log"),
                Axis("curve", "", "category"),
                subtitle="one masked token per sequence, after 8 letters of the urn, 2 numbers of the location, 8 pairs of the process; theory: asymptotic standard error",
            ),
        ),
        caveats=(
            "At small n the least training loss may lie at a logit of −∞ (no sink); the sizes here are above that.",
        ),
    )
