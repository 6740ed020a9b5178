"""A plan run as a machine would: rounded storage, and every sum a running one, rounded at each step."""

from itertools import pairwise

import numpy as np

from keyhole.arrays import Bool, Float
from keyhole.compiler.constructions.plan import HeadPlan, Plan
from keyhole.compiler.precision.formats import NumberFormat, repeated_sum

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
