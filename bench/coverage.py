"""How often the 90 % interval of m* covers it, when the rounds of `keyhole learn` have stopped: a simulation.

Learners succeed by a known curve: logistic in ln m with widths .1, .25, .5 and .7, one with a plateau of .9, and one of
another form (Weibull). Each sweep has the default settings, and ends when its interval is within ±20 % or its budget is
spent. Printed for each curve: the mean number of runs, the coverage of all sweeps, and that of the third that ended
first; then the noise of the estimates and the size their intervals state.

Run it with `python bench/coverage.py [--sweeps 40] [--seed 3]`: about half a minute.
"""

import argparse
from collections.abc import Callable
from math import exp, inf, log, tanh

import numpy as np

from keyhole.lab.thresholds import Design
from keyhole.lab.thresholds.threshold import Threshold, estimate_threshold

Curve = Callable[[float], float]
WIDTH = 1.6449  # standard errors in half of a 90 % interval


def logistic(middle: float, width: float, plateau: float = 1.0) -> Curve:
    """Success with probability ½ at `middle` samples."""
    shift = log(0.5 / (plateau - 0.5))
    return lambda m: plateau * (1 + tanh((log(m / middle) / width + shift) / 2)) / 2


def weibull(middle: float, steepness: float) -> Curve:
    """A curve that the estimate's own model does not contain."""
    scale = middle / log(2) ** (1 / steepness)
    return lambda m: 1 - exp(-((m / scale) ** steepness))


CURVES: dict[str, Callable[[float], Curve]] = {
    "width .1": lambda middle: logistic(middle, 0.1),
    "width .25": lambda middle: logistic(middle, 0.25),
    "width .5": lambda middle: logistic(middle, 0.5),
    "width .7": lambda middle: logistic(middle, 0.7),
    "width .3, plateau .9": lambda middle: logistic(middle, 0.3, 0.9),
    "Weibull 3": lambda middle: weibull(middle, 3),
}


def play(curve: Curve, rng: np.random.Generator, design: Design) -> Threshold:
    """Rounds until they end, and the threshold that is reported."""
    counts: dict[int, tuple[int, int]] = {}
    while chosen := design.next_round(counts):
        for m, seeds in chosen.items():
            won, trials = counts.get(m, (0, 0))
            counts[m] = (won + int(rng.binomial(seeds, curve(m))), trials + seeds)
    return estimate_threshold(100, counts, rounds=True)


def line(name: str, found: list[tuple[float, Threshold]]) -> str:
    """One curve, or all together: runs, coverage, coverage of the third that ended first, and noise."""
    runs = np.array([one.trials for _, one in found])
    covers = np.array([(one.low or 0.0) <= middle <= (one.high or inf) for middle, one in found])
    first = runs <= np.quantile(runs, 1 / 3)
    off = [log(one.m / middle) for middle, one in found if one.m is not None]
    stated = [log(one.high / one.low) / 2 / WIDTH for _, one in found if one.low and one.high]
    return (
        f"{name:22s}{runs.mean():6.0f}  {covers.mean():8.1%}  {covers[first].sum():5d} of {first.sum():3d} = "
        f"{covers[first].mean():5.1%}  {np.std(off):6.1%}  {np.median(stated):6.1%}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", type=int, default=40, help="of each curve")
    parser.add_argument("--seed", type=int, default=3)
    asked = parser.parse_args()
    print(f"{'curve':22s}  runs  coverage  the third that ends first  noise  stated", flush=True)
    everything = []
    for place, (name, make) in enumerate(CURVES.items()):
        rng = np.random.default_rng([asked.seed, place])
        found = []
        for _ in range(asked.sweeps):
            middle = 40 * 8 ** float(rng.random())
            found.append((middle, play(make(middle), rng, Design())))
        print(line(name, found), flush=True)
        everything += found
    print(line("all", everything))


if __name__ == "__main__":
    main()
