"""When the rounds at a context may end, and how much wider their interval is made because they end when it is narrow.

Runs that happen to look steeper than the learner is give a narrow interval, and end the rounds. So rounds that stop
early are a selection, and their intervals would cover m* less often than the confidence. How strong the selection is
depends on how well the width is known beforehand: `WidthPrior.spread` says it, where other contexts tell the width.
`SELECTED` is the least of 20, 30, 40 and 50 with which the third of the intervals that ends first covers in 90 %, by
`python bench/coverage.py --contexts 2 6 --thresholds 300 --seed 11`. `LEAST` is three rounds of the usual size.
"""

from keyhole.lab.thresholds.psychometric import USUAL, WidthPrior

MOST, LEAST = 60, 36  # runs before a narrow interval may end the rounds: where nothing tells the width, and at least
SELECTED = 30.0  # runs: the square of the spread times this, over all runs, is by how much an interval is widened


def enough_runs(prior: WidthPrior) -> int:
    """The runs before a narrow interval may end the rounds: the first few often look steeper than they are."""
    return MOST if prior == USUAL else round(min(max(MOST * prior.spread, LEAST), MOST))


def widening(prior: WidthPrior, runs: float) -> float:
    """The factor on the interval of ln m* after so many runs.

    Where other contexts tell the width it is 1 + 30·spread²/runs: at 60 runs about 1.07 of six contexts, 1.2 of two.
    Else it is 1 + (60/runs)², and 1 below 60 runs, which end for their budget alone.
    """
    if prior != USUAL:
        return 1 + SELECTED * prior.spread**2 / runs
    return 1 + (MOST / runs) ** 2 if runs >= MOST else 1.0
