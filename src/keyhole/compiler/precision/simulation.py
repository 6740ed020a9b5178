"""A plan run as a machine would: rounded storage, and every sum a running one, rounded at each step."""

from itertools import pairwise

import numpy as np

from keyhole.arrays import Bool, Float
from keyhole.compiler.constructions.plan import HeadPlan, Plan
from keyhole.compiler.precision.rounding import NumberFormat

Runs = list[tuple[int, int | None]]  # how many other positions come first, and then which relevant one


def simulate(
    plan: Plan,
    relevant: Bool[np.ndarray, "n s"],
    others: Bool[np.ndarray, "n"],
    storage: NumberFormat,
    accumulation: NumberFormat,
) -> Float[np.ndarray, "n"]:
    """The output on inputs whose relevant bits are given and whose other bits are all alike.

    Logits, values and read-out are rounded to the storage format. Then, rounding each result to the accumulation
    format: the largest logit is subtracted, exp taken, numerators and normaliser added up in the order of positions
    with [CLS] last, divided, heads added, ReLU, and the read-out added up in the order of units.
    """
    keep = accumulation.round
    hidden = np.zeros((len(relevant), plan.width))
    for head in plan.heads:
        sums = _running_sums(plan, head, relevant, others, storage, accumulation)
        hidden = keep(hidden + keep(sums[:, :-1] / sums[:, -1:]))
    hidden = np.maximum(hidden, 0.0)
    output = np.zeros(len(relevant))
    for weight, column in zip(storage.round(plan.readout), hidden.T, strict=True):
        output = keep(output + keep(weight * column))
    return np.asarray(output)


def _running_sums(
    plan: Plan,
    head: HeadPlan,
    relevant: np.ndarray,
    others: np.ndarray,
    storage: NumberFormat,
    accumulation: NumberFormat,
) -> np.ndarray:
    """Numerators and, last, the normaliser: shape (n, k + 1)."""
    keep = accumulation.round
    symbols = relevant.astype(int)
    focus = storage.round(head.symbol_focus)[np.arange(symbols.shape[1]), symbols]  # (n, s): what each input shows
    rest = storage.round(np.ravel(np.asarray(head.rest_logits)))
    fixed = rest if plan.context > plan.function.sparsity else rest[:0]  # one logit may be stored for no position
    top = np.maximum(focus.max(axis=1, initial=0.0), fixed.max(initial=0.0))[:, None]
    focus, rest, cls = (keep(np.exp(keep(logit - top))) for logit in (focus, rest[None], np.zeros((1, 1))))
    table = np.concatenate([storage.round(head.values), np.ones((symbols.shape[1], 2, 1))], axis=2)
    shared = np.concatenate([storage.round(head.rest_values), np.ones((2, 1))], axis=1)[others.astype(int)]
    own = np.append(storage.round(head.own_values), 1.0)
    each = isinstance(head.rest_logits, np.ndarray)
    sums, seen = np.zeros((len(relevant), plan.width + 1)), 0
    for before, index in position_runs(plan):
        if not each:
            sums = repeated_sum(sums, keep(rest[:, :1] * shared), before, accumulation)
        else:
            for mass in rest[:, seen : seen + before].T:
                sums = keep(sums + keep(mass[:, None] * shared))
        seen += before
        if index is not None:
            sums = keep(sums + keep(focus[:, index, None] * table[index][symbols[:, index]]))
    return keep(sums + keep(cls * own))


def position_runs(plan: Plan) -> Runs:
    """The order of positions: stretches of others, each up to a relevant position, and the last stretch."""
    places = (-1, *plan.function.positions, plan.context)
    gaps = [later - sooner - 1 for sooner, later in pairwise(places)]
    return [(gap, index if index < plan.function.sparsity else None) for index, gap in enumerate(gaps)]


def repeated_sum(start: np.ndarray, term: np.ndarray, times: int, kind: NumberFormat) -> np.ndarray:
    """`start` after adding `term` to it `times` times, rounding after every addition; entry by entry.

    Statement  Between two powers of two the rounded steps are all equal after the first, so that whole stretches are
               one step.
    Proof      There the spacing U of the format is constant. Unless the term is an odd multiple of U/2 a step does not
               depend on the sum; in that case it leads to an even multiple of U and from there repeats itself.

    >>> from keyhole.compiler.precision.rounding import FLOAT16
    >>> repeated_sum(np.zeros(1), np.ones(1), 10**6, FLOAT16).item(), 2.0**11
    (2048.0, 2048.0)
    """
    total, term = np.broadcast_arrays(np.asarray(start, dtype=np.float64), np.asarray(term, dtype=np.float64))
    total, left = total.copy(), np.full(total.shape, times, dtype=np.int64)
    while (active := (left > 0) & np.isfinite(total)).any():
        moved = np.where(active, kind.round(total + term), total)  # one plain step
        left -= active
        step = np.where(np.isfinite(moved), kind.round(moved + term) - np.where(np.isfinite(moved), moved, 0.0), 0.0)
        left[active & (step == 0)] = 0
        step = np.where(np.isfinite(step), step, 0.0)  # the next step leaves the format's range
        inside = active & (step != 0) & (np.frexp(moved)[1] == np.frexp(total)[1])  # the plain step crossed no power
        room = np.where(inside, _steps_inside(moved, np.where(inside, step, 1.0)), 0)
        jump = np.minimum(left, room)
        total = moved + jump * step  # exact: all of it lies on one grid
        left -= jump
    return total


def _steps_inside(start: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Count the steps that surely stay between the powers of two around the start, ends left out."""
    _, exponent = np.frexp(start)
    outer, inner = np.ldexp(1.0, exponent), np.ldexp(0.5, exponent)
    away = np.sign(start) == np.sign(step)
    room = np.where(away, outer - np.abs(start), np.abs(start) - inner)
    steps = np.floor(np.where(start == 0, 0.0, room / np.abs(step))) - 2
    return np.asarray(np.clip(steps, 0, 2**62).astype(np.int64))
