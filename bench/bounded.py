"""How small can the path norm of a trained AND be made, and what does theory then promise of it?

The tuning: a rule written down before it was run, on a context and seeds that are never reported. Candidates: no norm,
no residual connection and no hidden units, a penalty of .001, .003, .01 or .03 on the path norm, a tolerance of three
times that and at least .01; all else as in `TransformerSettings`. m* of the default settings is measured at T = 70 with
and:3 on uniform bits, then each candidate is trained on twenty seeds with 2 m*. Rule: of the candidates that generalise
in at least half of the runs (so that they cost at most a factor 2), the one with the smallest median of P_∞ over the
least training margin; a run that diverges has neither. Seeds count from one million.

The answer: and:3 on uniform bits at T = 400. m* of the default settings and of `transformer:bounded`, P_∞ over the
margin of runs trained with 2 m* of the default settings, with 10⁴ and with 10⁵ samples, and what Theorem L promises of
the best of them at m = 10⁴, 10⁵ and 10⁶, beside the measured gap. The margin γ is chosen after training, so that ramp
loss and gap together are least; that costs nothing beyond peeling, since f/γ has the path norm P_∞/γ and the loss a
margin of 1. Each of the eight runs gets an eighth of δ, as the best of them is taken. The layers have no units, so that
the signs of the read-out cost nothing. At a size that a layer was not trained on the numbers are those of the same
layer, were it found with so many; each line says which it is.

    python bench/bounded.py             the answer: about two minutes on one core
    python bench/bounded.py --tune      the tuning: about one minute
"""

import argparse
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from keyhole.api.learn import learn
from keyhole.api.stored_run import read_run
from keyhole.attention import evaluate, profile, tabulate
from keyhole.bounds import layer_guarantee, margin_loss, tabulated_profile
from keyhole.bounds.finite import clopper_pearson
from keyhole.decimals import at_most
from keyhole.errors import AssumptionError
from keyhole.sweeps import Execution, Schedule
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.transformer import TransformerLearner, preset
from keyhole.training.task import SparseTask

FIRST_SEED = 1_000_000
TASK = SparseTask("and:3")
TUNED, TUNED_SEEDS = 70, 20
PENALTIES = (0.001, 0.003, 0.01, 0.03)
CONTEXT, SEEDS, FRESH, DELTA = 400, 8, 100_000, 0.01
LARGE = (10**4, 10**5)  # sizes trained, beside 2 m*
SIZES = (10**4, 10**5, 10**6)
TRIVIAL = 0.125


@dataclass(frozen=True)
class Layer:
    """What is measured of one trained run."""

    path_norm: float
    odd_units: bool
    train: np.ndarray  # margins on the training set
    fresh: np.ndarray  # margins on fresh inputs

    @property
    def ratio(self) -> float:
        """P_∞ over the least training margin; infinite if some sample is answered wrongly."""
        least = float(self.train.min())
        return self.path_norm / least if least > 0 else float("inf")

    def promise(self, samples: int, context: int) -> tuple[float, float]:
        """The smallest promise on the error, ramp loss and gap together, and the gap within it.

        It holds at level δ of the best of all runs, each of which has its share of δ. At a size that was not trained
        the ramp loss is that on fresh inputs, in place of a larger training set.
        """
        seen = self.train if samples == len(self.train) else self.fresh
        found = []
        for share in (0.0, 0.001, 0.003, 0.01, 0.03, 0.1):
            margin = float(np.quantile(seen, share))
            if margin > 0:
                norms = tabulated_profile(
                    path_inf=self.path_norm / margin, context=context, least_probability=0.5, odd_units=self.odd_units
                )
                gap = layer_guarantee(norms, samples, delta=DELTA / SEEDS, loss=margin_loss(1.0), two_sided=False).value
                found.append((ramp(seen, margin) + gap, gap))
        return min(found, default=(float("inf"), float("inf")))


def ramp(margins: np.ndarray, margin: float) -> float:
    """The mean of min(1, max(0, 1 − u/γ))."""
    return float(np.clip(1 - margins / margin, 0, 1).mean())


def candidates() -> tuple[TransformerSettings, ...]:
    """The settings among which the rule chooses."""
    plain = TransformerSettings(hidden=0, norm="none", residual=False)
    return tuple(replace(plain, path_penalty=one, tolerance=max(0.01, 3 * one)) for one in PENALTIES)


def layers(
    settings: TransformerSettings, context: int, samples: int, first: int, seeds: int, folder: Path
) -> list[Layer]:
    """Trained layers with their margins, on fresh inputs too."""
    schedule = Schedule(samples=(samples,), seeds=seeds, first_seed=first)
    execution = Execution(folder, workers=1, keep_weights=True)
    learned = learn(TASK, (context,), TransformerLearner(settings), schedule=schedule, execution=execution)
    found = []
    for row in learned.sweep.rows:
        try:
            run = read_run(row.identity, folder)
        except AssumptionError:  # it diverged: nothing is left to be measured
            found.append(Layer(float("inf"), odd_units=False, train=np.array([-1.0]), fresh=np.array([-1.0])))
            continue
        tabulated, rng = tabulate(run.model), np.random.default_rng(row.seed)
        assert run.sample is not None
        inputs, labels = run.sample
        drawn = [run.instance.inputs(FRESH // 10, rng) for _ in range(10)]
        fresh = np.concatenate([_margins(tabulated, part, run.instance.truth(part)) for part in drawn])
        norms = profile(run.model, trained=True)
        assert norms.path_inf is not None
        found.append(Layer(norms.path_inf, norms.odd_units, _margins(tabulated, inputs, labels), fresh))
    return found


def _margins(tabulated: object, inputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    signs = 2.0 * np.asarray(labels) - 1
    margins: np.ndarray = signs * np.asarray(evaluate(tabulated, inputs))  # type: ignore[arg-type]
    return margins


def threshold(settings: TransformerSettings, context: int, first: int, folder: Path) -> float:
    """m* of these settings, of about ninety runs."""
    learner = TransformerLearner(settings)
    schedule = Schedule(budget=90, precision=0.15, first_seed=first)
    sought = learn(TASK, (context,), learner, schedule=schedule, execution=Execution(folder, workers=1))
    found = sought.thresholds[0]
    ends = f"{found.low:.0f} to {found.high:.0f}" if found.low and found.high else "open"
    print(
        f"  m*({context}) = {found.m:.0f} (90 % interval {ends})" if found.m else f"  m*({context}) not found",
        flush=True,
    )
    return float(found.m or np.nan)


def tune(folder: Path) -> None:
    """Run the rule and print what it saw and chose."""
    print("default settings:")
    doubled = round(2 * threshold(preset("default"), TUNED, FIRST_SEED, folder))
    scores = []
    for one in candidates():
        found = layers(one, TUNED, doubled, FIRST_SEED, TUNED_SEEDS, folder)
        wins = sum((layer.fresh > 0).mean() >= 0.99 for layer in found)
        ratio = median(layer.ratio for layer in found)
        print(
            f"penalty {one.path_penalty:<6} m = {doubled}: {wins} of {TUNED_SEEDS} generalise, P/margin {ratio:.3f}",
            flush=True,
        )
        if 2 * wins >= TUNED_SEEDS:
            scores.append((ratio, one.path_penalty, one))
    print("bounded:", min(scores)[2] if scores else "no candidate")


def answer(folder: Path) -> None:
    """Print m* of both settings, the path norm over the margin, and the promises beside the measured gap."""
    settings = preset("bounded")
    print("default settings:")
    plain = threshold(preset("default"), CONTEXT, 0, folder)
    print("bounded:")
    own = threshold(settings, CONTEXT, 0, folder)
    print(f"  {own / plain:.2f} times the samples of the default settings")
    doubled = round(2 * plain)
    for samples in (doubled, *LARGE):
        found = layers(settings, CONTEXT, samples, 0, SEEDS, folder)
        wins = [layer for layer in found if (layer.fresh > 0).mean() >= 0.99]
        ratios = sorted(layer.ratio for layer in wins)
        print(f"trained on m = {samples}: {len(wins)} of {SEEDS} generalise", flush=True)
        if not wins:
            continue
        print(f"  P_∞ over the least training margin: least {ratios[0]:.3f}, median {median(ratios):.3f}")
        best = min(wins, key=lambda layer: layer.ratio)
        errors = int((best.fresh <= 0).sum())
        low, high = clopper_pearson(errors, FRESH, 0.05)
        least = float(best.train.min())
        gap = ramp(best.fresh, least) - ramp(best.train, least)
        print(
            f"  of the least: error {errors / FRESH:.5f} (95 % {low:.5f} to {high:.5f}), gap of the ramp loss {gap:.5f}"
        )
        for size in SIZES:
            promised, within = best.promise(size, CONTEXT)
            said = "vacuous" if promised >= 1 else f"below 1{', below .125' if promised < TRIVIAL else ', above .125'}"
            trained = "trained" if size == samples else "not trained, same layer"
            ends = f"error at most {at_most(promised)} (gap at most {at_most(within)})"
            print(f"  m = {size:>8} ({trained}): {ends}: {said}")


def main() -> None:
    """Tune or answer."""
    asked = argparse.ArgumentParser(description="The path norm of trained ANDs, and what theory promises of them.")
    asked.add_argument("--tune", action="store_true", help="run the rule that chose the preset")
    asked.add_argument("--store", type=Path, help="where runs are kept; a folder that is removed, if not given")
    options = asked.parse_args()
    with tempfile.TemporaryDirectory() as name:
        (tune if options.tune else answer)(options.store or Path(name))


if __name__ == "__main__":
    main()
