"""A model's answer against a language on every word of one length: a proof, a wrong word, or neither.

Each class of words (those with one answer) is bounded whole. Where the bound does not settle it, the class is attacked,
then cut: first in what the language counts (a count, a final state), then in what the network computes (the
pre-activation of the unit whose line loses most). No cut is on a single symbol. A part of few words is not cut but
enumerated.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from time import perf_counter

import numpy as np

from keyhole.attention import Tabulated
from keyhole.decimals import at_least
from keyhole.errors import ShapeError
from keyhole.languages import WordClasses
from keyhole.prover.proof.after_attention import Tail, tail_of, trace
from keyhole.prover.proof.attack import exchange
from keyhole.prover.proof.enumeration import ExactOutput, enumerated, is_small
from keyhole.prover.proof.lower_bound import Verification, bound, refuted_at
from keyhole.prover.proof.tables import Drift, MassRangeError, Tables, outputs, tables_of
from keyhole.prover.proof.words import CutWords, region_of
from keyhole.rigorous import Ball

BATCH = 32  # parts bounded together
MOST_CUTS = 24  # half-spaces of one part


def prove_on_words(
    model: Tabulated,
    reads: tuple[int, ...],
    classes: Sequence[tuple[bool, WordClasses]],
    *,
    drifts: Sequence[Drift] | None = None,
    exact: ExactOutput | None = None,
    above: float = 0.0,
    time_limit: float = 10.0,
    clock: Callable[[], float] = perf_counter,
) -> Verification:
    """Prove that f > `above` on the classes whose answer is true, and f < −`above` on the others; or refute it.

    Near ties that doubles leave open are decided by `exact`, the f of which the tables are.

    Statement  PROVED with margin μ > above: sign·f ≥ μ on every input whose symbols at `reads` are a word of a class,
               sign the class's answer, for every model whose tables are within the drifts of those given.
    Assumes    Softmax heads, one block, and units of identity, ReLU or GELU (either form).
    Proof      Classes are unions of parts; on each, sign·f is bounded from below by a functional linear in the heads'
               outputs, whose least value over the part is Lemma F's. Every bound is finite, positive and rounded down.
               A part of few words is enumerated (`enumerated`).
    Source     Ours.
    """
    started = clock()
    for _, words in classes:
        if words.length != len(reads):
            raise ShapeError(f"words of length {words.length} were given for {len(reads)} positions")
    tail = tail_of(model)
    try:
        tables = tables_of(model, reads, drifts)
    except MassRangeError as error:
        return Verification("UNDECIDED", reason=str(error), seconds=clock() - started)
    rows = tuple(tables.row(position) for position in reads)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite proves nothing
        search = _Search(tables, tail, rows, lambda: clock() - started > time_limit, above, exact)
        verdict = search.run(classes)
    return replace(verdict, parts=search.parts, seconds=clock() - started)


@dataclass
class _Search:
    """Best first: the part with the lowest bound is cut next."""

    tables: Tables
    tail: Tail
    reads: tuple[int, ...]
    late: Callable[[], bool]
    above: float = 0.0
    exact: ExactOutput | None = None
    parts: int = 0
    margin: float = np.inf
    open: list[tuple[float, int, CutWords]] = field(default_factory=list)
    order: count = field(default_factory=count)  # type: ignore[type-arg]

    def run(self, classes: Sequence[tuple[bool, WordClasses]]) -> Verification:
        """Bound every class, attack those not settled, then cut them until all are settled or time ends."""
        waiting = [
            CutWords(words.take([part]), wanted, -np.inf) for wanted, words in classes for part in range(words.count)
        ]
        attack = True
        while waiting or self.open:
            for start in range(0, len(waiting), BATCH):
                verdict = self._settle(waiting[start : start + BATCH], waiting[start + BATCH :], attack=attack)
                if verdict is not None:
                    return verdict
                left = waiting[start + BATCH :]
                if self.late() and (self.open or left):
                    return self._undecided("time ended", left)
            attack, waiting = False, []
            for _ in range(min(BATCH // 2, len(self.open))):
                _, _, node = heapq.heappop(self.open)  # the lowest bound is cut
                if is_small(self.tables, self.reads, node):
                    verdict = self._enumerate(node)
                    if verdict is not None:
                        return verdict
                    continue
                halves = node.words.halves(0)
                if halves is None:
                    waiting += node.halves()
                else:
                    waiting += [replace(node, words=halves.take([part])) for part in range(halves.count)]
        return Verification("PROVED", margin=float(self.margin))

    def _settle(self, nodes: list[CutWords], left: list[CutWords], *, attack: bool) -> Verification | None:
        """Bound some parts; keep what is settled, open what is not, and stop at a wrong word."""
        self.parts += len(nodes)
        signs = np.array([1.0 if node.wanted else -1.0 for node in nodes])
        bounds = bound(self.tables, self.tail, region_of(self.tables, self.reads, nodes), signs, target=self.above)
        for index, node in enumerate(nodes):
            counterexample = self._wrong(bounds.worst[index], bounds.output[index], node)
            if counterexample is not None:
                return counterexample
        for index, node in enumerate(nodes):
            low = float(np.fmax(bounds.low[index], node.bound))
            if np.isfinite(low) and low > self.above:
                self.margin = min(self.margin, low)
                continue
            if attack:
                point = exchange(self.tables, self.tail, self.reads, node.words, bounds.worst[index], signs[index])
                counterexample = self._wrong(point, trace(self.tail, outputs(self.tables, point[None])).output[0], node)
                if counterexample is not None:
                    return counterexample
            opened = replace(node, at=(bounds.normal[index], float(bounds.level[index])), bound=low)
            heapq.heappush(self.open, (low, next(self.order), opened))
            stuck = len(node.cuts) >= MOST_CUTS or not np.abs(bounds.normal[index]).max(initial=0.0) > 0
            if stuck and node.words.halves(0) is None and not is_small(self.tables, self.reads, node):
                return self._undecided("a part could not be cut further", [*nodes[index + 1 :], *left])
        return None

    def _enumerate(self, node: CutWords) -> Verification | None:
        """Settle a small part word by word; a verdict where that ends the search."""
        verdict = enumerated(
            self.tables, self.tail, self.reads, node, above=self.above, exact=self.exact, late=self.late
        )
        if verdict.margin is not None:
            self.margin = min(self.margin, verdict.margin)
            return None
        if verdict.bound is None:
            return verdict
        return self._undecided(verdict.reason, [replace(node, bound=verdict.bound)])

    def _wrong(self, point: np.ndarray, output: Ball, node: CutWords) -> Verification | None:
        """A wrong word, if f's sign at the point is certain and not the one wanted, and the part has the word."""
        found = refuted_at(self.tables, point, output, node.wanted)
        inside = found is not None and node.words.contains(point[list(self.reads)].argmax(axis=1)[None])[0, 0]
        return found if inside else None

    def _undecided(self, why: str, left: list[CutWords]) -> Verification:
        """Return the least bound of the parts that are open, and of those not bounded yet."""
        low = min([least for least, _, _ in self.open] + [node.bound for node in left])
        if not np.isfinite(low):
            return Verification("UNDECIDED", reason=f"{why}; some words have no bound")
        count = len(self.open) + len(left)
        parts = f"{count} parts are" if count > 1 else "1 part is"
        return Verification(
            "UNDECIDED", bound=low, reason=f"{why}; {parts} open, with the bound {at_least(low)} at the lowest"
        )
