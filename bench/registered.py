"""The registered experiment on growth laws: its power by simulation, and an outside fit of the counts it gave.

Each plan, such as `data/registered/plan.toml`, was fixed before its first run. Its power is that of its contexts and
precision: data sets about a true curve, with the error that the precision allows at most (a 90 % interval that ends
at the relative precision), judged by the plan's rule. The outside fit takes the released rows of the contexts that are
finished by the plan's stopping rule, and estimates m* there by psignifit, the psychometric fit of experimental
psychology, where it is installed (`pip install psignifit`), or else by a logistic regression of success on ln m
(statsmodels); neither knows anything of this package's curves. Contexts that are under way are named, and not read.

    python bench/registered.py                                  the power of data/registered
    python bench/registered.py data/registered-3200             that of another plan
    python bench/registered.py data/registered-3200 --outside   m* of its released rows, by another package beside ours
"""

import argparse
import csv
import warnings
from collections.abc import Callable
from math import exp, log, log1p
from pathlib import Path
from statistics import NormalDist
from tempfile import TemporaryDirectory

import numpy as np

import keyhole
from keyhole.sweeps import Execution
from keyhole.sweeps.laws import Array, naming_rates
from keyhole.sweeps.plans import read_plan
from keyhole.sweeps.plans.rows import rows_path
from keyhole.sweeps.thresholds import Design

FOLDER = Path(__file__).parents[1] / "data" / "registered"
LOW, RISE = 45.0, 6.0  # m* at the shortest context, and its rise to the longest; only the rise matters
TRUTHS: dict[str, Callable[[Array], Array]] = {
    "a + b ln T": np.log,
    "a + b (ln T)²": lambda T: np.log(T) ** 2,
    "a + b √T": np.sqrt,
    "a + b T": lambda T: T,
}


def curves(contexts: Array) -> dict[str, Array]:
    """m* at the contexts for each truth: sixfold rises, powers, and a constant."""
    found = {}
    for name, f in TRUTHS.items():
        along = (f(contexts) - f(contexts[0])) / (f(contexts[-1]) - f(contexts[0]))
        found[f"{name}, sixfold"] = LOW * (1 + (RISE - 1) * along)
    for p in (0.3, 0.4):
        found[f"a T^{p}"] = LOW * (contexts / contexts[0]) ** p
    return {**found, "constant": np.full(len(contexts), LOW)}


def print_power(folder: Path, draws: int, seed: int) -> None:
    """How often each law would be named, sweep by sweep of the plan."""
    plan = read_plan(folder / "plan.toml")
    for name, one in plan.sweeps.items():
        assert isinstance(one.schedule, Design)
        error = log1p(one.schedule.precision) / NormalDist().inv_cdf((1 + one.confidence) / 2)
        contexts = np.array(one.contexts, dtype=float)
        print(f"\n{name}: T = {contexts[0]:.0f} … {contexts[-1]:.0f}, error {error:.1%} a point, {draws} data sets")
        for truth, values in curves(contexts).items():
            rates = naming_rates(values, contexts, error, draws=draws, seed=seed, smooth=False)
            print(f"  {truth:24s}" + ", ".join(f"{law} {rate:.1%}" for law, rate in rates.items() if rate >= 5e-4))


def psychometric(successes: list[bool], sizes: list[int]) -> tuple[float, float, float]:
    """m* and its 90 % interval by psignifit: a logistic curve in ln m with a free lapse rate, at one half."""
    import psignifit

    tallies = {m: (sum(w for w, s in zip(successes, sizes, strict=True) if s == m), sizes.count(m)) for m in set(sizes)}
    table = np.array([[log(m), won, runs] for m, (won, runs) in sorted(tallies.items())])
    options = {"experiment_type": "yes/no", "sigmoid": "logistic", "fixed_parameters": {"gamma": 0.0}}
    fit = psignifit.psignifit(table, **options, confP=(0.9,), verbose=False)
    ((low, high),) = fit.confidence_intervals["threshold"].values()  # of half the plateau, which is near one half
    return exp(float(fit.threshold(0.5, return_ci=False))), exp(low), exp(high)


def outside() -> tuple[str, Callable[[list[bool], list[int]], tuple[float, float, float]]]:
    """The name of the package that fits, and how."""
    try:
        import psignifit
    except ImportError:
        return "statsmodels", regression
    return f"psignifit {getattr(psignifit, '__version__', '')}".strip(), psychometric


def regression(successes: list[bool], sizes: list[int]) -> tuple[float, float, float]:
    """m* and its 90 % interval by a logistic regression on ln m: −a/b, with the delta method."""
    import statsmodels.api as sm

    design = sm.add_constant(np.log(sizes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = sm.GLM(np.array(successes, dtype=float), design, family=sm.families.Binomial()).fit()
    a, b = fit.params
    slope = np.array([-1 / b, a / b**2])
    error = float(np.sqrt(slope @ fit.cov_params() @ slope))
    reach = NormalDist().inv_cdf(0.95) * error
    return exp(-a / b), exp(-a / b - reach), exp(-a / b + reach)


def print_outside(folder: Path = FOLDER) -> None:
    """Both estimates of m* at every finished context of every sweep; the others are named, and not read."""
    name, fit = outside()
    with TemporaryDirectory() as store:
        found = keyhole.run_plan(folder / "plan.toml", data=folder, make=False, execution=Execution(store))
    for swept, answer in found.answers.items():
        print(f"\n{swept}\n{'T':>7} {'runs':>5}   {'ours':23s} {name:23s} apart")
        for ours in answer.thresholds:
            rows = [row for row in answer.sweep.rows if row.context == ours.context]
            if ours.m is None:
                print(f"{ours.context:>7} {len(rows):>5}   beyond the sizes tried")
                continue
            theirs = fit([row.success for row in rows], [row.samples or 0 for row in rows])
            own = f"{ours.m:.0f} ({ours.low or 0:.0f} to {ours.high or 0:.0f})"
            other = f"{theirs[0]:.0f} ({theirs[1]:.0f} to {theirs[2]:.0f})"
            print(f"{ours.context:>7} {len(rows):>5}   {own:23s} {other:23s} {log(theirs[0] / ours.m):+.1%}")
        print_unread(found.unfinished[swept], rows_path(folder, swept))


def print_unread(unfinished: list[int], path: Path) -> None:
    """Which contexts are under way, with how many rows, and which are not begun."""
    rows = csv.DictReader(path.read_text("utf8").splitlines()) if path.exists() else ()
    found = [int(row["context"]) for row in rows]
    counts = {context: found.count(context) for context in unfinished}
    begun = [f"T = {context} ({count} rows)" for context, count in counts.items() if count]
    if begun:
        print(f"  under way, not read: {', '.join(begun)}")
    if len(begun) < len(unfinished):
        print(f"  not begun: T = {', '.join(str(context) for context, count in counts.items() if not count)}")


def main() -> None:
    """Print the power, or the outside fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="of the plan and its rows")
    parser.add_argument("--outside", action="store_true", help="m* of the released rows by another package")
    parser.add_argument("--draws", type=int, default=2000, help="data sets for each truth")
    parser.add_argument("--seed", type=int, default=11)
    asked = parser.parse_args()
    print_outside(asked.folder) if asked.outside else print_power(asked.folder, asked.draws, asked.seed)


if __name__ == "__main__":
    main()
