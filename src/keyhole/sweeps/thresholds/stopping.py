"""When the rounds at a context may end, and how much wider their interval is made because they end when it is narrow.

Runs that happen to look steeper than the learner is give a narrow interval, and end the rounds. So rounds that stop
early are a selection, and their intervals would cover m* less often than the confidence. How strong the selection is
depends on how well the width is known beforehand: `WidthPrior.spread` says it, where other contexts tell the width.
The numbers were chosen by simulation, so that over several kinds of curves together about 90 % of the third that stops
first cover; of single kinds more or fewer do (`bench/coverage.py`).
"""

from keyhole.sweeps.thresholds.psychometric import USUAL, WidthPrior

MOST, LEAST = 60, 36  # runs before a narrow interval may end the rounds: where nothing tells the width, and at least
SELECTED = 30.0  # runs: the square of the spread times this, over all runs, is by how much an interval is widened


def enough_runs(prior: WidthPrior) -> int:
    """The runs before a narrow interval may end the rounds: the first few often look steeper than they are."""
    return MOST if prior == USUAL else round(min(max(MOST * prior.spread, LEAST), MOST))


def widening(prior: WidthPrior, runs: float) -> float:
    """The factor on the interval of ln m* after so many runs.

    Where other contexts tell the width it is 1 + 30·spread²/runs.
    Else it is 1 + (60/runs)², and 1 below 60 runs, which end for their budget alone.
    """
    if prior != USUAL:
        return 1 + SELECTED * prior.spread**2 / runs
    return 1 + (MOST / runs) ** 2 if runs >= MOST else 1.0
