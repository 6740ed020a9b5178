"""Accuracy of the best constant answer, and the information-theoretic lower bound on m*."""

from math import sqrt

from keyhole.boolean import influences, probability
from keyhole.bounds import information_floor
from keyhole.sweeps.runs.run import FRESH, SUCCESS
from keyhole.training import SparseTask, Task

# A predictor with this error passes for a success with probability below 1e-6: five standard errors beyond the line.
TOLERATED = 1 - SUCCESS + 5 * sqrt(SUCCESS * (1 - SUCCESS) / FRESH)


def task_floor(task: Task, context: int, quantile: float = 0.5) -> float | None:
    """Fewest labels with which any learner succeeds this often; None where success does not need the positions.

    Statement  Bits are 1 with probability p, and every relevant position has influence above 2ε / min(p, 1−p). Then
               success (error ≤ ε) with probability ≥ q takes m ≥ log₂ C(T, s) + log₂ q samples.
    Assumes    Inputs are drawn without regard to the hidden set: only labels tell of it. Training sets redrawn until
               they are balanced tell by their inputs too, and have no such floor: None.
    Proof      Let S ≠ S′ be two places of the function and i ∈ S∖S′. Flipping bit i changes f_S with probability
               Inf_i and never f_S′, so of two inputs that differ there the functions disagree on one:
               P(f_S ≠ f_S′) ≥ Inf_i · min(p, 1−p) > 2ε. No predictor is within ε of both: success names the set,
               and `information_floor` applies with δ = 1 − q. Noise only makes it harder.
    Source     Ours; proved above, with the counting of `information_floor`.

    >>> round(task_floor(SparseTask("and:3"), 100), 2)
    16.3
    >>> task_floor(SparseTask("and:8"), 100)  # always answering 0 succeeds
    """
    if not isinstance(task, SparseTask) or task.balanced_sets:
        return None
    function, p = task.parsed, task.bits_law().p
    rarer = min(p, 1 - p)
    # a position that matters to a random table does so on two patterns at least
    least = rarer ** (function.sparsity - 1) if task.is_random else float(influences(function, p).min(initial=1.0))
    if least * rarer <= 2 * TOLERATED:
        return None
    return information_floor(context, function.sparsity, 1 - quantile)


def trivial_accuracy(task: Task) -> float | None:
    """The share of fresh inputs that always answering the same gets right: the larger of P(f = 0) and P(f = 1).

    None where it is not known from the task: a random table is drawn anew for every run, and other tasks tell no law.

    >>> trivial_accuracy(SparseTask("and:3"))
    0.875
    """
    if not isinstance(task, SparseTask) or task.is_random:
        return None
    ones = probability(task.parsed, task.bits_law().p)
    return max(ones, 1 - ones)
