"""On how large a share of the inputs a model and a function differ: an interval, however rare that is.

A cell that is not proved as a whole is sorted by a linear statistic L that is small where the model fails most likely.
From the ordinary inputs downwards, slabs of L are proved free of failures, but for sets whose probability is counted;
what is left is a rare set {L < c}, whose probability convolution gives. Inputs drawn from inside it then say which part
of it fails: an exact binomial interval of a share that is not rare any more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from keyhole.arrays import Int
from keyhole.attention import Evaluator
from keyhole.boolean import Junta, SymbolLaw
from keyhole.bounds.finite import held_out_ceiling
from keyhole.decimals import at_least, at_most, chance
from keyhole.prover.proof.after_attention import Tail, tail_of, trace
from keyhole.prover.proof.fractional_minimum import view
from keyhole.prover.proof.lower_bound import bound
from keyhole.prover.proof.tables import Drift, MassRangeError, Parts, Tables, outputs, split, tables_of
from keyhole.prover.wrong_share.dominating_point import dominating_point
from keyhole.prover.wrong_share.linear_statistic import LinearStatistic
from keyhole.prover.wrong_share.slab_bounds import likely_view, slab_of

DRAWS = 40_000  # inputs drawn from inside the rare sets
BLOCK = 4096
MISSING = 1e-5  # a law's chances add up to 1 within 1e-9, and no product here has more than LONGEST of them
LONGEST = 2**12  # tokens that are sorted; the law of L takes so many times 4096 numbers
MOST_CELLS = 64
SLABS = 2.0  # standard deviations of L in a slab, at most
NARROWEST = 1 / 16
UNKNOWN = 1e-40  # sought where no input is known to fail
SPENT = 1e-3  # of the probability sought: so rare a set is not looked at
EVENTS = 1e5  # and so many sets that proofs leave out have as much together


@dataclass(frozen=True)
class WrongShare:
    """The share of inputs on which model and function differ, between two ends, at level δ; and without any level."""

    low: float
    high: float
    delta: float  # the chance, over the inputs drawn, that low or high is wrong
    certain_low: float  # the probability of the one input that is known to fail
    certain_high: float  # nothing was drawn for this end
    drawn: int
    failing: int  # of the inputs drawn from inside the rare set
    inside: float  # at most the probability of the set they were drawn from
    left_out: float  # at most the probability of all sets that proofs left out, part of both upper ends

    @property
    def words(self) -> list[str]:
        """The interval and what it rests on, then what holds whatever was drawn; a sentence each."""
        above = f"at most {at_most(self.certain_high, 2)}, proved"
        known = f"at least {at_least(self.certain_low, 2)}, the counterexample itself, and " if self.certain_low else ""
        certain = f"for certain, nothing drawn: {known}{above}"
        if not self.drawn:
            return [certain]
        where = "all inputs" if self.inside >= 1 else f"a set of probability at most {at_most(self.inside, 2)}"
        share = f"at most {at_most(self.high, 2)}"
        if self.low:
            share = f"{at_least(self.low, 2)} to {at_most(self.high, 2)}"
        counted = f"{self.failing:,} of {self.drawn:,} drawn from {where} differ"
        return [f"{share} of inputs ({counted}; fails with probability at most {chance(self.delta)})", certain]


@dataclass(frozen=True, eq=False)
class RareSet:
    """The unproved inputs of a cell: those with L < limit, and sets of a counted probability that proofs left out."""

    cell: int
    chance: float  # of the cell
    free: Int[np.ndarray, "n"]
    statistic: LinearStatistic
    limit: int
    left_out: float

    @property
    def ends(self) -> tuple[float, float]:
        """The probability of cell and L < limit, between two ends."""
        low, high = self.statistic.below(self.limit)
        return low * self.chance * (1 - MISSING), min(1.0, high * self.chance * (1 + MISSING))


@dataclass(frozen=True, eq=False)
class Compared:
    """A model and a function, to be compared under a law of the inputs."""

    evaluator: Evaluator
    tables: Tables
    tail: Tail
    junta: Junta
    law: SymbolLaw
    counterexample: Int[np.ndarray, "T"] | None = None


def wrong_share(
    evaluator: Evaluator,
    junta: Junta,
    law: SymbolLaw,
    *,
    delta: float,
    drifts: Sequence[Drift] | None = None,
    counterexample: Int[np.ndarray, "T"] | None = None,
    seed: int = 0,
    late: Callable[[], bool] = lambda: False,
) -> WrongShare | None:
    """An interval for the probability that model and function differ on an input of the law.

    Statement  With R the union of the rare sets and k of n independent draws from R failing, P(differ) lies between
               P(R) · lower and P(R) · upper + P(left out), with probability at least 1 − δ over the draws, where lower
               and upper are the exact binomial ends of k/n at δ/2 each. P(R) + P(left out) holds whatever was drawn.
    Assumes    Independent symbols of the law; inputs inside R are drawn as its law says, up to the rounding of doubles.
    Proof      Outside R and the sets left out the model is proved to agree. Of inputs in R, those whose sign is not
               certain beyond rounding count as failing above and as right below.
    Source     Ours; Textbook (Clopper and Pearson).
    """
    model = evaluator.model
    if model.tokens > LONGEST or len(junta.table) > MOST_CELLS:
        return None
    try:
        tables = tables_of(model, junta.positions, drifts)
    except MassRangeError:
        return None
    compared = Compared(evaluator, tables, tail_of(model), junta, law, counterexample)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        return _counted(compared, rare_sets(compared, late), delta, np.random.default_rng([seed, 3]))


def rare_sets(compared: Compared, late: Callable[[], bool]) -> list[RareSet]:
    """Return, for each cell that is not proved as a whole, a set outside of which it is."""
    evaluator, tables, junta, law = compared.evaluator, compared.tables, compared.junta, compared.law
    cells = junta.cells()
    parts = split(tables, cells, junta.positions)
    signs = np.where(junta.table, 1.0, -1.0)
    proved = bound(tables, compared.tail, view(tables, parts), signs).low > 0
    free = np.setdiff1d(np.arange(tables.tokens), junta.positions)
    table, own = evaluator.terms_by_position
    sorted_cells = []
    for index in np.flatnonzero(~proved).tolist():
        cell, witness = cells[index], compared.counterexample
        fixed = own + sum((table[place, shown] for place, shown in zip(junta.positions, cell, strict=True)), start=0.0)
        near = None
        if witness is not None and tuple(witness[list(junta.positions)].tolist()) == cell:
            near = witness[free]
        point = dominating_point(evaluator, law, free, fixed, float(signs[index]), near)
        statistic = LinearStatistic(point.weights(), law)
        failing = 0.0  # about the probability that the cell fails
        if point.chances is not None:
            failing = statistic.below(int((statistic.weights * point.chances).sum()) + 1)[1]
        sorted_cells.append((index, statistic, failing))
    # what proofs may leave out is a small part of the largest
    sought = max((failing for _, _, failing in sorted_cells), default=0.0) or UNKNOWN
    sets = []
    for index, statistic, _ in sorted_cells:
        part, sign = parts[index : index + 1], float(signs[index])
        limit, left_out = proved_limit(compared, part, sign, statistic, sought, late)
        share = prod(law.chances[symbol] for symbol in cells[index])
        sets.append(RareSet(index, share, free, statistic, limit, left_out * share))
    return sets


def proved_limit(
    compared: Compared,
    part: Parts,
    sign: float,
    statistic: LinearStatistic,
    sought: float,
    late: Callable[[], bool],
) -> tuple[int, float]:
    """The least limit such that L ≥ limit is proved free of failures, and the probability of all that was left out.

    Slabs are proved downwards from the largest L; one that is not proved is halved, until it is narrow.
    """
    chances, weights = np.asarray(statistic.law.chances), statistic.weights
    free = np.setdiff1d(np.arange(compared.tables.tokens), compared.junta.positions).tolist()
    spread = float(np.sqrt((chances * (weights - (chances * weights).sum(axis=1, keepdims=True)) ** 2).sum()))
    event = sought * SPENT / EVENTS
    width = max(1, round(SLABS * spread))
    from_on = np.cumsum(statistic.laws[-1][::-1])[::-1]
    high = int(np.count_nonzero(from_on > sought * SPENT))  # from there on L is so rare that it is left out whole
    left_out = statistic.from_on(high)[1]
    step = width
    while high > 0 and not late() and statistic.below(high)[1] > sought * SPENT:
        low = max(0, high - step)
        slab = likely_view(compared.tables, part, slab_of(statistic, low, high), free, event)
        least = float(bound(compared.tables, compared.tail, slab, np.array([sign])).low[0])
        if np.isfinite(least) and least > 0:
            left_out += slab.events * event * (1 + 2.0**-40)
            high = low
            step = min(width, 2 * step)
        elif step <= max(1, round(NARROWEST * spread)):
            break
        else:
            step = max(1, step // 2)
    return high, min(1.0, left_out)


def _counted(compared: Compared, sets: list[RareSet], delta: float, rng: np.random.Generator) -> WrongShare:
    """The interval, from inputs drawn from the rare sets, each set as often as its probability says."""
    tables, junta, law, counterexample = compared.tables, compared.junta, compared.law, compared.counterexample
    ends = np.array([rare.ends for rare in sets]).reshape(-1, 2)
    left_out = sum(rare.left_out for rare in sets)
    inside = min(1.0, float(ends[:, 1].sum()) * (1 + 2.0**-40))
    at_least_inside = float(ends[:, 0].sum()) * (1 - 2.0**-40)
    single = (
        0.0 if counterexample is None else prod(law.chances[int(symbol)] for symbol in counterexample) * (1 - MISSING)
    )
    certain_high = min(1.0, inside + left_out)
    surely = maybe = 0
    if not ends[:, 1].sum() > 0:
        return WrongShare(single, certain_high, delta, single, certain_high, 0, 0, inside, left_out)
    counts = rng.multinomial(DRAWS, ends.mean(axis=1) / ends.mean(axis=1).sum())
    parts = split(tables, junta.cells(), junta.positions)
    row_of = {place: row for row, places in enumerate(tables.places) for place in places}
    for rare, count in zip(sets, counts.tolist(), strict=True):
        rows = np.array([row_of[place] for place in rare.free.tolist()], dtype=np.int64)
        for start in range(0, count, BLOCK):
            some = min(BLOCK, count - start)
            symbols = rare.statistic.draw_below(rare.limit, some, rng)
            shown = np.repeat(parts.fixed[rare.cell : rare.cell + 1], some, axis=0)
            np.add.at(shown, (np.arange(some)[:, None], rows[None, :], symbols), 1)
            output = trace(compared.tail, outputs(tables, shown)).output
            if junta.table[rare.cell]:
                surely, maybe = surely + int((output.high < 0).sum()), maybe + int((~(output.low > 0)).sum())
            else:
                surely, maybe = surely + int((output.low > 0).sum()), maybe + int((~(output.high < 0)).sum())
    level = delta / 2 * (1 - 1e-6)  # the rest covers the rounding of the binomial tails, and of the draws
    high = inside * held_out_ceiling(maybe, DRAWS, level) * (1 + 1e-9) + left_out
    low = at_least_inside * max(0.0, 1 - held_out_ceiling(DRAWS - surely, DRAWS, level)) * (1 - 1e-9)
    return WrongShare(
        max(low, single), min(certain_high, high), delta, single, certain_high, DRAWS, maybe, inside, left_out
    )
