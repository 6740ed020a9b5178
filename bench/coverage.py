"""How often the 90 % interval of m* covers it, when the rounds of `keyhole learn` have stopped: a simulation.

Learners succeed by known curves: logistic in ln m, of widths from .05 to .7; of a width that grows fourfold over the
contexts of a sweep, or is another at the last of them; with a plateau, alike at all contexts or falling; and of another
form (Weibull). Apart from these stands a curve with a shelf at one half, which is covered about half as often as the
intervals say. Sweeps of one, two and six contexts, or as many as are asked for, have the default settings, and end
when their intervals are within ±20 % or their budget is spent. Printed for each curve: the mean number of runs at a
context, how many intervals cover, and how many of the third with the fewest runs; then the noise of the estimates and
the size their intervals state.

Run it with `python bench/coverage.py [--contexts 1 2 6] [--thresholds 60] [--seed 3]`: about a minute.
"""

import argparse
from collections.abc import Callable
from math import exp, inf, log, tanh
from typing import Any, NamedTuple

import numpy as np

from keyhole.sweeps.thresholds import Design, Threshold, estimate_threshold
from keyhole.sweeps.thresholds.design import Size, training_counts

Curve = Callable[[float], float]
Numbers = np.ndarray[Any, Any]
WIDTH = 1.6449  # standard errors in half of a 90 % interval


def logistic(middle: float, width: float, plateau: float = 1.0) -> Curve:
    """Success with probability ½ at `middle` samples."""
    shift = log(0.5 / (plateau - 0.5))
    return lambda m: plateau * (1 + tanh((log(m / middle) / width + shift) / 2)) / 2


def weibull(middle: float, steepness: float) -> Curve:
    """A curve that the estimate's own model does not contain."""
    scale = middle / log(2) ** (1 / steepness)
    return lambda m: 1 - exp(-((m / scale) ** steepness))


CURVES: dict[str, Callable[[float, int, int], Curve]] = {  # of m*, the context's place, and how many there are
    "width .05": lambda middle, _, __: logistic(middle, 0.05),
    "width .1": lambda middle, _, __: logistic(middle, 0.1),
    "width .25": lambda middle, _, __: logistic(middle, 0.25),
    "width .35": lambda middle, _, __: logistic(middle, 0.35),
    "width .5": lambda middle, _, __: logistic(middle, 0.5),
    "width .7": lambda middle, _, __: logistic(middle, 0.7),
    "width .15 to .6": lambda middle, place, count: logistic(middle, 0.15 * 4 ** (place / max(1, count - 1))),
    "width .25, the last .5": lambda middle, place, count: logistic(middle, 0.5 if place == count - 1 else 0.25),
    "width .3, plateau .9": lambda middle, _, __: logistic(middle, 0.3, 0.9),
    "plateau 1 to .75": lambda middle, place, count: logistic(middle, 0.25, 1 - 0.25 * place / max(1, count - 1)),
    "Weibull 3": lambda middle, _, __: weibull(middle, 3),
}


def shelf(middle: float) -> Curve:
    """Half of the runs succeed from half of `middle` on, the others from twice it, and between them nothing changes."""
    early, late = logistic(middle / 2, 0.15), logistic(2 * middle, 0.15)
    return lambda m: (early(m) + late(m)) / 2


def play(curves: list[Curve], rng: np.random.Generator, design: Design) -> list[Threshold]:
    """Rounds at every context until none wants more, and the thresholds that are reported."""
    tallies: list[dict[Size, tuple[int, int]]] = [{} for _ in curves]
    while any(chosen := [schedule.next_round(tally) for schedule, tally in told(design, tallies)]):
        for curve, tally, sizes in zip(curves, tallies, chosen, strict=True):
            for m, seeds in sizes.items():
                won, trials = tally.get(m, (0, 0))
                tally[m] = (won + int(rng.binomial(seeds, curve(m or 0))), trials + seeds)
    return [
        estimate_threshold(100, training_counts(tally), prior=schedule.prior, rounds=total(tally) < design.budget)
        for schedule, tally in told(design, tallies)
    ]


def total(tally: dict[Size, tuple[int, int]]) -> int:
    """The runs of a context."""
    return sum(trials for _, trials in tally.values())


def told(
    design: Design, tallies: list[dict[Size, tuple[int, int]]]
) -> list[tuple[Design, dict[Size, tuple[int, int]]]]:
    """The schedule of each context, which knows what was found at the others, and what was found at this one."""
    others = [tallies[:place] + tallies[place + 1 :] for place in range(len(tallies))]
    return [(design.beside(tally, each), tally) for each, tally in zip(others, tallies, strict=True)]


class Seen(NamedTuple):
    """What came of some thresholds with a known m*."""

    runs: Numbers
    covers: Numbers
    first: Numbers  # whether it is of the third with the fewest runs, of its curve
    off: Numbers  # of the estimate, in ln m
    stated: Numbers  # the standard error that the interval states


def seen(found: list[tuple[float, Threshold]]) -> Seen:
    """The thresholds of one curve."""
    runs = np.array([one.trials for _, one in found])
    covers = np.array([(one.low or 0.0) <= middle <= (one.high or inf) for middle, one in found])
    off = np.array([log(one.m / middle) for middle, one in found if one.m is not None])
    stated = np.array([log(one.high / one.low) / 2 / WIDTH for _, one in found if one.low and one.high])
    first = np.zeros(len(runs), dtype=bool)
    first[np.argsort(runs, kind="stable")[: len(runs) // 3]] = True
    return Seen(runs, covers, first, off, stated)


def line(name: str, found: Seen) -> str:
    """One curve, or all together: runs, coverage, coverage of the third that ended first, and noise."""
    early = found.covers[found.first]
    return (
        f"{name:22s}{found.runs.mean():6.0f}  {found.covers.sum():4d} of {len(found.covers):4d} = "
        f"{found.covers.mean():6.1%}  {early.sum():4d} of {len(early):4d} = {early.mean():6.1%}  "
        f"{np.std(found.off):6.1%}  {np.median(found.stated):6.1%}"
    )


def main() -> None:
    """Print a table for each number of contexts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contexts", type=int, nargs="+", default=[1, 2, 6], help="of a sweep; a table for each")
    parser.add_argument("--thresholds", type=int, default=60, help="of each curve, at least")
    parser.add_argument("--seed", type=int, default=3)
    asked = parser.parse_args()
    for contexts in asked.contexts:
        print(f"\nsweeps of {contexts} context{'s' * (contexts > 1)}")
        print(f"{'curve':22s}  runs  coverage              the third that ends first  noise  stated", flush=True)
        everything = []
        shelved: dict[str, Callable[[float, int, int], Curve]] = {
            "a shelf at one half": lambda middle, *_: shelf(middle)
        }
        for number, (name, make) in enumerate((CURVES | shelved).items()):
            rng = np.random.default_rng([asked.seed, number])
            found: list[tuple[float, Threshold]] = []
            while len(found) < asked.thresholds:
                middles = 40 * 8 ** rng.random(contexts)
                curves = [make(middle, place, contexts) for place, middle in enumerate(middles)]
                found += zip(middles, play(curves, rng, Design()), strict=True)
            everything.append(seen(found))
            print(line(name, everything[-1]), flush=True)
        everything.pop()  # the shelf
        print(line("all but the shelf", Seen(*map(np.concatenate, zip(*everything, strict=True)))), flush=True)


if __name__ == "__main__":
    main()
