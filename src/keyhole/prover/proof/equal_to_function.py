"""Model = junta on every input: a proof, a counterexample, or neither.

The statement is about the real-number function that the tables (scores and values, in double precision) and the
weights after them define: masses come from ball arithmetic, and every later operation carries a bound of its rounding.
Cells are the assignments of symbols to the junta's positions. Each is bounded over all its completions; a cell whose
bound does not settle it is attacked, then cut along the free copy that moves the bound most.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product
from time import perf_counter

import numpy as np

from keyhole.attention import Tabulated
from keyhole.boolean import Junta
from keyhole.decimals import at_least
from keyhole.errors import ShapeError
from keyhole.prover.proof.after_attention import Tail, tail_of, trace
from keyhole.prover.proof.fractional_minimum import view
from keyhole.prover.proof.lower_bound import Verification, bound, refuted_at
from keyhole.prover.proof.tables import (
    Drift,
    MassRangeError,
    Parts,
    Tables,
    branched,
    outputs,
    split,
    tables_of,
)

LEAF = 64  # completions that are gone through one by one
BATCH = 64  # cells bounded together


def prove_equal(
    model: Tabulated,
    junta: Junta,
    *,
    drifts: Sequence[Drift] | None = None,
    time_limit: float = 10.0,
    clock: Callable[[], float] = perf_counter,
) -> Verification:
    """Prove that the model's answer f > 0 is the junta's on all A^T inputs, or refute it.

    Statement  PROVED with margin μ: sign(junta)·f ≥ μ > 0 on every input, for every model whose tables are within
               the drifts of those given; without drifts, for the tables as given.
    Assumes    Softmax heads, one block, and units of identity, ReLU or GELU (either form).
    Proof      Each cell is a union of parts; on each, sign·f is bounded from below by a functional linear in the heads'
               outputs, whose least value over all completions is Lemma F's. Every bound is finite, positive and
               rounded downwards.
    Source     Ours.
    """
    started = clock()
    if junta.symbols != model.symbols:
        raise ShapeError(
            f"a junta over {junta.symbols} symbols was compared with a model over {model.symbols}; "
            "give both the same alphabet"
        )
    tail = tail_of(model)
    try:
        tables = tables_of(model, junta.positions, drifts)
    except MassRangeError as error:
        return Verification("UNDECIDED", reason=str(error), seconds=clock() - started)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite proves nothing
        search = _Search(tables, tail, junta, lambda: clock() - started > time_limit)
        verification = search.run()
    return replace(verification, parts=search.branches, seconds=clock() - started)


@dataclass
class _Search:
    """Best first: the part with the lowest bound is cut next."""

    tables: Tables
    tail: Tail
    junta: Junta
    late: Callable[[], bool]
    branches: int = 0
    margin: float = np.inf
    open: list[tuple[float, int, int, Parts, int]] = field(default_factory=list)
    order: count = field(default_factory=count)  # type: ignore[type-arg]

    def run(self) -> Verification:
        """Bound every cell, attack those not settled, then cut them until all are settled or time ends."""
        parts = split(self.tables, self.junta.cells(), self.junta.positions)
        for start in range(0, parts.count, BATCH):
            cells = list(range(start, min(start + BATCH, parts.count)))
            if start and self.late():
                return self._undecided(f"only {start} of {parts.count} cells were bounded", cells[0])
            verdict = self._settle(parts[start : start + BATCH], cells, attack=True)
            if verdict is not None:
                return verdict
        while self.open:
            low, _, cell, part, row = heapq.heappop(self.open)
            if self.late():
                parts_open = f"{len(self.open) + 1} parts are open" if self.open else "1 part is open"
                cause = f"{parts_open}, with the bound {at_least(low)} at the lowest"
                return self._undecided(cause, cell)
            self.branches += 1
            verdict = self._settle(branched(part, row), [cell] * self.tables.symbols, attack=False, floor=low)
            if verdict is not None:
                return verdict
        return Verification("PROVED", margin=float(self.margin))

    def _settle(self, parts: Parts, cells: list[int], *, attack: bool, floor: float = -np.inf) -> Verification | None:
        """Bound some parts; keep what is settled, open what is not, and stop at a counterexample."""
        if self.tables.symbols ** int(parts.free.sum()) <= LEAF:
            return self._enumerate(parts, cells)
        signs = np.where(self.junta.table[cells], 1.0, -1.0)
        bounds = bound(self.tables, self.tail, view(self.tables, parts), signs)
        for index, cell in enumerate(cells):
            wanted = bool(self.junta.table[cell])
            counterexample = refuted_at(self.tables, bounds.worst[index], bounds.output[index], wanted)
            if counterexample is not None:
                return counterexample
        for index, cell in enumerate(cells):
            low = max(float(np.fmax(bounds.low[index], -np.inf)), floor)
            if np.isfinite(low) and low > 0:
                self.margin = min(self.margin, low)
                continue
            if attack:
                from keyhole.prover.proof.attack import descend  # noqa: PLC0415  (only where a bound settles nothing)

                point = descend(self.tables, self.tail, bounds.worst[index], parts.fixed[index], signs[index])
                output = trace(self.tail, outputs(self.tables, point[None])).output[0]
                counterexample = refuted_at(self.tables, point, output, bool(self.junta.table[cell]))
                if counterexample is not None:
                    return counterexample
            spread = np.where(parts.free > 0, np.nan_to_num(bounds.spread[index]), -1.0)
            part = parts[index : index + 1]
            heapq.heappush(self.open, (low, next(self.order), cell, part, int(np.argmax(spread))))
        return None

    def _enumerate(self, parts: Parts, cells: list[int]) -> Verification | None:
        """Every completion of parts with few free copies."""
        rows = np.repeat(np.arange(len(parts.free)), parts.free)
        symbols = self.tables.symbols
        choices = np.array(list(product(range(symbols), repeat=len(rows))), dtype=np.int64).reshape(
            -1 if len(rows) else 1, len(rows)
        )
        extra = np.zeros((len(choices), len(parts.free), symbols), dtype=np.int64)
        for copy, row in enumerate(rows):
            extra[np.arange(len(choices)), row, choices[:, copy]] += 1
        for fixed, cell in zip(parts.fixed, cells, strict=True):
            shown = fixed + extra
            output = trace(self.tail, outputs(self.tables, shown)).output
            for index in range(len(shown)):
                counterexample = refuted_at(self.tables, shown[index], output[index], bool(self.junta.table[cell]))
                if counterexample is not None:
                    return counterexample
            low = float(np.min(output.low if self.junta.table[cell] else -output.high))
            if not (np.isfinite(low) and low > 0):
                cause = "within rounding of zero" if np.isfinite(low) else "not finite in double precision"
                return self._undecided(f"f is {cause} at an input", cell)
            self.margin = min(self.margin, low)
        return None

    def _undecided(self, cause: str, cell: int) -> Verification:
        digits = self.junta.cells()[cell]
        where = ", ".join(
            f"x{position} = {digit}" for position, digit in zip(self.junta.positions, digits, strict=True)
        )
        return Verification("UNDECIDED", reason=f"{cause}, in the cell {where or 'of all inputs'}")
