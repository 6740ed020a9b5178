"""The proof: how far a plan's output can be from what is wanted, over all 2^T inputs.

The stored numbers are taken as they are and the model is evaluated on them in enclosing arithmetic, so the statement
is about these weights in exact arithmetic. Which inputs can differ is the construction's argument, and each premise
of it is checked on the stored numbers: that the logits of irrelevant positions do not depend on symbols holds by the
form of a plan; that their values do not, or that no value depends on the position, is compared entry by entry.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf, isfinite

import numpy as np

from keyhole.boolean import Levels, decide
from keyhole.compiler.constructions.plan import (
    HeadPlan,
    Plan,
    every_pattern,
    half_gap,
    pattern_per_count,
    remove_unread,
    wanted,
)
from keyhole.errors import CompileError
from keyhole.rigorous import Enclosure, exactly, exponentials, reading, relu, total, weighted_sum

CHUNK = 2**17  # entries of a matrix of patterns and units held at once: what a cache holds
MAX_PATTERNS = 16  # relevant positions whose patterns are gone through one by one


@dataclass(frozen=True)
class Proof:
    """A certificate of a plan, over all inputs."""

    error: float  # largest |output − wanted|, rounded up
    margin: float  # smallest distance of the output from the threshold on its right side, rounded down
    leak: float  # largest attention on all irrelevant tokens and [CLS], rounded up
    method: str


@dataclass(frozen=True, eq=False)
class Masses:
    """The attention of one head, as shares of its normaliser: each focus, all the others together, [CLS]."""

    focus: Enclosure  # (s,)
    rest: Enclosure  # ()
    cls: Enclosure  # ()


def prove(plan: Plan) -> Proof:
    """Enclose the output on every input, by whichever argument the numbers allow; what nothing reads is left out.

    Statement  The largest leak of a head is that of the input whose relevant tokens have their lower logits.
    Proof      The mass off the relevant positions, [CLS]'s included, is the same for every input, and its share falls
               with theirs.
    """
    plan = remove_unread(plan)
    heads = plan.heads
    if not heads:
        raise CompileError("Nothing reaches the output: every read-out weight or every value is 0.")
    fixed = not any(head.reads_symbols or head.own_values.any() for head in heads)
    alike = all(np.array_equal(head.values, np.broadcast_to(head.rest_values, head.values.shape)) for head in heads)
    if all(np.array_equal(head.rest_values[0], head.rest_values[1]) for head in heads):
        error, method = _by_patterns(plan)
    elif fixed and alike and len(heads) == 1:
        error, method = _by_gathered_mass(plan, shares(heads[0], plan)), "every level, the leak anywhere in its range"
    elif fixed and 1 < len(heads) <= plan.function.sparsity:
        if not (alike and np.array_equal(plan.readout[::2], -plan.readout[1::2])):
            raise CompileError(
                "The plan's units are not pairs of opposite ramps; the argument for steps does not apply."
            )
        masses = [shares(head, plan) for head in heads]
        error, method = _by_boxes(plan, masses), "every pattern, each head's leak anywhere in its range"
    else:
        raise CompileError("The plan fits none of the arguments that prove a construction; nothing was shown of it.")
    margin = float(np.nextafter(half_gap(plan.output) - error, -np.inf))
    lowest = (shares(replace(head, focus=head.symbol_focus.min(axis=1)), plan) for head in heads)
    return Proof(error, margin, max(float((masses.rest + masses.cls).high) for masses in lowest), method)


def shares(head: HeadPlan, plan: Plan) -> Masses:
    """Each token's exp(logit) over their sum: the same for every input where logits ignore symbols."""
    focus, cls = exponentials(head.symbol_focus[:, 0].tolist()), exactly(1.0)
    rest = _rest_mass(head, plan)
    normaliser = total(focus) + rest + cls
    return Masses(focus.over(normaliser), rest.over(normaliser), cls.over(normaliser))


def _rest_mass(head: HeadPlan, plan: Plan, shift: float = 0.0) -> Enclosure:
    """The sum of exp(logit − shift) over all irrelevant positions."""
    others = plan.context - plan.function.sparsity
    if isinstance(head.rest_logits, np.ndarray):
        return total(exponentials(head.rest_logits.tolist(), shift=shift)) if others else exactly(0.0)
    return exponentials([head.rest_logits], shift=shift)[0] * exactly(float(others))


def _by_patterns(plan: Plan) -> tuple[float, str]:
    """Irrelevant tokens add the same, whatever they show: the output is a function of the relevant bits.

    Each pattern of them is evaluated, or one for each count of true literals where all positions are alike.
    """
    s = plan.function.sparsity
    heads = [_reader(plan, head) for head in plan.heads]
    rule, counted = plan.function.rule, False
    if isinstance(rule, Levels):  # all relevant positions are alike once negated literals are turned round
        turned = [
            np.stack([rows[::-1] if flip else rows for rows, flip in zip(table, rule.negated, strict=True)])
            for head in plan.heads
            for table in (head.values, head.symbol_focus)
        ]
        counted = all(bool((table == table[0]).all()) for table in turned)
    patterns = pattern_per_count(rule) if isinstance(rule, Levels) and counted else _all_patterns(s)
    worst = 0.0
    for bits in _chunks(patterns, max(plan.width, 2 * s)):
        pairs = np.zeros((len(bits), s, 2))
        np.put_along_axis(pairs, bits[:, :, None].astype(np.int64), 1.0, axis=2)
        chosen = pairs.reshape(len(bits), 2 * s)
        before = heads[0](chosen)
        for head in heads[1:]:
            before += head(chosen)
        worst = max(worst, _largest_error(reading(relu(before), plan.readout), _wanted(plan, bits)))
    return worst, "every count of true literals" if counted else "every pattern of the relevant bits"


def _reader(plan: Plan, head: HeadPlan) -> Callable[[np.ndarray], Enclosure]:
    """Return what one head adds to the units, as a function of rows of chosen pairs (one of two per relevant position).

    Where logits ignore symbols the normaliser is the same for every pattern, and is divided by once. Elsewhere it is a
    sum over the chosen pairs, as the numerators are.
    """
    if not head.reads_symbols:
        masses = shares(head, plan)
        flat = _flat(_upright(masses.focus) * exactly(head.values))
        if not (head.rest_values.any() or head.own_values.any()):
            return lambda chosen: weighted_sum(chosen, flat)
        fixed = _row(masses.rest * exactly(head.rest_values[0]) + masses.cls * exactly(head.own_values))
        return lambda chosen: weighted_sum(chosen, flat) + fixed
    top = max(float(head.focus.max()), float(np.max(head.rest_logits, initial=0.0)), 0.0)
    weights, rest = exponentials(np.ravel(head.focus).tolist(), shift=top), _rest_mass(head, plan, top)
    cls = exponentials([0.0], shift=top)[0]
    pairs = _upright(Enclosure(weights.low.reshape(-1, 2), weights.high.reshape(-1, 2)))
    flat = _flat(pairs * exactly(head.values))
    others = _row(rest * exactly(head.rest_values[0]) + cls * exactly(head.own_values))

    def read(chosen: np.ndarray) -> Enclosure:
        mass = weighted_sum(chosen, weights) + rest + cls
        return (weighted_sum(chosen, flat) + others).over(Enclosure(mass.low[:, None], mass.high[:, None]))

    return read


def _upright(x: Enclosure) -> Enclosure:
    """Numbers by position, or by pair, that multiply all units and, by position, both symbols."""
    return Enclosure(x.low.reshape(len(x.low), -1, 1), x.high.reshape(len(x.low), -1, 1))


def _flat(x: Enclosure) -> Enclosure:
    """A table by position, symbol and unit as one by pair and unit."""
    return Enclosure(x.low.reshape(2 * len(x.low), -1), x.high.reshape(2 * len(x.low), -1))


def _all_patterns(s: int) -> np.ndarray:
    if s > MAX_PATTERNS:
        raise CompileError(
            f"The numbers at the {s} relevant positions are not alike, so that 2^{s} patterns would have to be gone "
            f"through; at most 2^{MAX_PATTERNS} are. Nothing was shown of the plan."
        )
    return every_pattern(s)


def _chunks(patterns: np.ndarray, width: int) -> Iterator[np.ndarray]:
    step = max(1, CHUNK // max(1, width))
    yield from (patterns[start : start + step] for start in range(0, len(patterns), step))


def _wanted(plan: Plan, bits: np.ndarray) -> np.ndarray:
    """The wanted output of each pattern of relevant bits."""
    return np.where(decide(plan.function.rule, bits), 1.0, wanted(truth=False, output=plan.output))


def _largest_error(output: Enclosure, target: np.ndarray) -> float:
    """The largest distance of an enclosed output from its target, rounded up; infinite where a number was lost."""
    worst = float((output - exactly(target)).size.max())
    return worst if isfinite(worst) else inf  # NaN would be smaller than nothing


def _by_gathered_mass(plan: Plan, masses: Masses) -> float:
    """Values depend on the symbol alone, so the output is a function of one number: the attention x on ones.

    Statement  The pre-activations are x v_1 + (ω − x) v_0, ω = 1 − [CLS]'s share, so the output is piecewise linear in
               x, and on an interval its extremes are at the ends or at bends inside.
    Proof      Attention on tokens that show 0 is ω − x.
    """
    everything = total(masses.focus) + masses.rest
    lows, highs, targets = _level_ranges(plan, masses)
    one, zero = plan.heads[0].rest_values[1], plan.heads[0].rest_values[0]
    slope = exactly(one) - exactly(zero)
    # each unit whose slope has a sign passes zero at x = −ω v_0/(v_1 − v_0)
    turned = Enclosure(np.where(slope.low > 0, slope.low, -slope.high), np.where(slope.low > 0, slope.high, -slope.low))
    crossing = np.flatnonzero(turned.low > 0)
    sign = np.where(slope.low > 0, -1.0, 1.0)[crossing]
    bends = (everything * exactly(sign * zero[crossing])).over(turned[crossing])
    inside = Enclosure(*(np.clip(end, 0.0, float(everything.high)) for end in (bends.low, bends.high)))
    points = Enclosure(
        np.concatenate([lows.low, highs.low, inside.low]), np.concatenate([lows.high, highs.high, inside.high])
    )
    outputs, step = [], max(1, CHUNK // max(1, plan.width))
    for start in range(0, len(points.low), step):
        x = Enclosure(points.low[start : start + step, None], points.high[start : start + step, None])
        pre = x * exactly(one[None, :]) + (everything - x) * exactly(zero[None, :])
        outputs.append(reading(relu(pre), plan.readout))
    low, high = (np.concatenate([getattr(output, end) for output in outputs]) for end in ("low", "high"))
    count = len(targets)
    worst = 0.0
    for part in (slice(0, count), slice(count, 2 * count)):
        worst = max(worst, _largest_error(Enclosure(low[part], high[part]), targets))
    order = np.argsort(lows.low)
    for x_low, x_high, f_low, f_high in zip(inside.low, inside.high, low[2 * count :], high[2 * count :], strict=True):
        # a bend matters to every level whose range it may touch
        touched = order[: np.searchsorted(lows.low[order], x_high, side="right")]
        touched = touched[highs.high[touched] >= x_low]
        if len(touched):
            worst = max(worst, _largest_error(exactly([[f_low], [f_high]]), targets[touched][None, :]))
    return worst


def _level_ranges(plan: Plan, masses: Masses) -> tuple[Enclosure, Enclosure, np.ndarray]:
    """The least and the largest attention on ones for each level, and the wanted output."""
    rule, s = plan.function.rule, plan.function.sparsity
    if isinstance(rule, Levels) and not any(rule.negated):
        counts = np.tri(s + 1, s, -1)
        rising, falling = np.sort(masses.focus.low), np.sort(masses.focus.high)[::-1]
        # j ones gather at least the j smallest shares and at most the j largest
        low = weighted_sum(counts, exactly(rising))
        high = weighted_sum(counts, exactly(np.ascontiguousarray(falling)))
        gathered = Enclosure(low.low, high.high)
        targets = np.array([wanted(level, plan.output) for level in rule.levels])
    else:
        bits = _all_patterns(s)
        gathered = weighted_sum(bits.astype(np.float64), masses.focus)
        targets = _wanted(plan, bits)
    least = Enclosure(gathered.low, gathered.low)
    most = exactly(gathered.high) + Enclosure(masses.rest.low, masses.rest.high)
    return least, most, targets


def _by_boxes(plan: Plan, masses: list[Masses]) -> float:
    """One head per position: each head's attention on ones lies in its own range, and steps are pairs of units.

    Statement  ReLU(U) − ReLU(U + D) falls with D, and for a fixed D is monotone in U: over a box its extremes are at
               corners.
    Proof      Its slope in U is 0 or 1 where D ≤ 0, and 0 or −1 where D ≥ 0.
    """
    s = plan.function.sparsity
    bits = _all_patterns(s)
    worst = 0.0
    pair = np.arange(0, plan.width, 2)
    for block in _chunks(bits, plan.width * s):
        rising: Enclosure = exactly(np.zeros((len(block), len(pair))))
        gap: Enclosure = exactly(np.zeros((len(block), len(pair))))
        for i, (head, mass) in enumerate(zip(plan.heads, masses, strict=True)):
            # its own position by its bit, and anything up to all of the others' share
            leak = total(exactly(np.append(np.delete(mass.focus.high, i), float(mass.rest.high))))
            own = [np.where(block[:, i], end[i], 0.0)[:, None] for end in (mass.focus.low, mass.focus.high)]
            x = Enclosure(own[0], np.nextafter(own[1] + leak.high, np.inf))
            everything = total(mass.focus) + mass.rest
            one, zero = head.rest_values[1], head.rest_values[0]
            rising += _affine(x, everything, exactly(one[pair]), exactly(zero[pair]))
            gaps = (exactly(values[pair + 1]) - exactly(values[pair]) for values in (one, zero))
            gap += _affine(x, everything, *gaps)
        step = _step(rising, gap)
        worst = max(worst, _largest_error(reading(step, plan.readout[pair]), _wanted(plan, block)))
    return worst


def _step(rising: Enclosure, gap: Enclosure) -> Enclosure:
    """The range of ReLU(U) − ReLU(U + D) over a box of U and D."""
    ends = [exactly(rising.low), exactly(rising.high)]
    least = [relu(end) - relu(end + exactly(gap.high)) for end in ends]
    most = [relu(end) - relu(end + exactly(gap.low)) for end in ends]
    return Enclosure(np.minimum(least[0].low, least[1].low), np.maximum(most[0].high, most[1].high))


def _affine(x: Enclosure, everything: Enclosure, one: Enclosure, zero: Enclosure) -> Enclosure:
    """The range of x v_1 + (ω − x) v_0 = ω v_0 + x (v_1 − v_0) while x runs through its range."""
    return _row(everything * zero) + x * _row(one - zero)


def _row(x: Enclosure) -> Enclosure:
    return Enclosure(x.low[None, :], x.high[None, :])
