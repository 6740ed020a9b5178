"""A proof as lines that a stranger checks: docs/certificate.md has the format, `keyhole_check` decides.

The writer walks through the proof with the checker's own arithmetic, and searches in floating point what the checker
only reads: slopes of lines, tangents, and for every functional the ratios t that make N − tZ ≥ 0 on a class of words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, frexp, log
from typing import Any

import numpy as np

from keyhole.attention import (
    AdditiveEmbedding,
    Affine,
    DenseScore,
    FactoredScore,
    Identity,
    LayerNorm,
    Model,
    OneHotPairs,
    RMSNorm,
    Softmax,
    Tabulated,
    Wiring,
    numbers_of,
    tabulate,
)
from keyhole.boolean import Junta, Levels
from keyhole.errors import AssumptionError, OutputError
from keyhole.languages import AutomatonClasses, CountClasses, WordClasses
from keyhole.prover.keyhole_check import HINT, Check, Head, Lines, Refused, Region, Vector
from keyhole.prover.proof.after_attention import tail_of
from keyhole.prover.proof.fractional_minimum import view
from keyhole.prover.proof.lower_bound import Bounds, bound
from keyhole.prover.proof.tables import MassRangeError, Parts, Tables, branched, split, tables_of
from keyhole.prover.proof.words import CutWords, region_of

BITS = 96
ITERATIONS = 40
MULTIPLES = (0.25, 0.5, 1.0, 2.0)  # of the multiple that makes a functional orthogonal to a half-space
MOST_CELLS = 2**12
MOST_NUMBERS = 2**22  # of one tensor: some 80 MB of text

SAYS = """\
# Proven: at every word with an answer, f of these weights, in real arithmetic, is on that side by the margin.
# Checked: every line below, in integer arithmetic, by keyhole_check.py.
# Trusted: keyhole_check.py, Python's integers, the rules of docs/certificate.md, and that f is the model meant."""


@dataclass(frozen=True)
class Claimed:
    """The lines of a claim."""

    kind: str
    positions: tuple[int, ...]
    answers: str
    lines: tuple[str, ...] = ()

    def text(self) -> list[str]:
        """Return the lines."""
        return [_line("claim", self.kind, *self.positions), *self.lines, f"answers {self.answers}"]


def certificate_of_function(
    model: Model | Tabulated,
    positions: Sequence[int],
    rule: Junta | Levels,
    *,
    threshold: float = 0.0,
    digest: str = "-",
) -> str:
    """Return a certificate that a model answers as a function of few positions; one leaf for each cell or count."""
    if isinstance(rule, Levels):
        counted = " ".join("10" if flip else "01" for flip in rule.negated)
        answers = "".join("01"[level] for level in rule.levels)
        claim = Claimed("counts", tuple(positions), answers, (f"counted {counted}",))
    else:
        if len(rule.table) > MOST_CELLS:
            raise OutputError(f"{len(rule.table):,} cells are too many for a certificate; at most {MOST_CELLS:,} are.")
        claim = Claimed("cells", tuple(positions), "".join("01"[answer] for answer in rule.table.tolist()))
    writer = _Writer(model, claim, positions, threshold, digest)
    if not isinstance(rule, Levels):
        writer.cells()
        return writer.finished()
    try:
        for count, answer in enumerate(claim.answers):
            writer.lines_out.append(f"class {count} {count}")
            words = CountClasses(len(positions), (False, True), *(np.array([count]),) * 2)
            writer.settle(writer.class_region(words), answer == "1")
    except OutputError:  # a count may be too coarse where positions are not alike
        if 2 ** len(positions) > MOST_CELLS:
            raise
        bits = np.arange(2 ** len(positions))[:, None] >> np.arange(len(positions)) & 1
        table = np.array(rule.levels)[(bits ^ np.array(rule.negated)).sum(axis=1)]
        junta = Junta(tuple(positions), 2, table)
        return certificate_of_function(model, positions, junta, threshold=threshold, digest=digest)
    return writer.finished()


@dataclass(frozen=True)
class SampleBound:
    """The errors of a function on independent draws, and what they promise with probability 1 − δ."""

    draws: int
    errors: int
    delta: float
    bound: float

    def line(self) -> str:
        """Return the line; the bound is rounded up to a multiple of 2^−20."""
        return _line(
            "sample", self.draws, self.errors, _dyadic(self.delta), f"{min(2**20, ceil(self.bound * 2**20))}:-20"
        )


def certificate_of_junta(
    model: Model | Tabulated, junta: Junta, *, sample: SampleBound | None = None, digest: str = "-"
) -> str:
    """Return the proof that a model equals a junta on every input, as `prove_equal` found it; and a sample's bound."""
    claim = Claimed("cells", junta.positions, "".join("01"[answer] for answer in junta.table.tolist()))
    writer = _Writer(model, claim, junta.positions, 0.0, digest)
    tabulated = tabulate(model) if isinstance(model, Model) else model
    tail, tables = tail_of(tabulated), _tables(tabulated, junta.positions)
    search = _Search(writer, tables, lambda parts, signs: bound(tables, tail, view(tables, parts), signs))
    for index, parts in enumerate(_each(split(tables, junta.cells(), junta.positions))):
        region = Region(writer.symbols, writer.free)
        for position, symbol in zip(junta.positions, junta.cells()[index], strict=True):
            region = region.fix(writer.row[position], symbol)
        with np.errstate(all="ignore"):
            search.cube(parts, region, bool(junta.table[index]))
    if sample is not None:
        writer.lines_out.append(sample.line())
    return writer.finished()


def certificate_of_words(
    model: Model | Tabulated,
    reads: tuple[int, ...],
    classes: Sequence[tuple[bool, WordClasses]],
    *,
    digest: str = "-",
) -> str:
    """Return the proof of a claim about words of one length, as `prove_on_words` found it."""
    claim, classes = _claimed(reads, classes)
    writer = _Writer(model, claim, reads, 0.0, digest)
    tabulated = tabulate(model) if isinstance(model, Model) else model
    tail, tables = tail_of(tabulated), _tables(tabulated, reads)
    rows = tuple(tables.row(position) for position in reads)
    search = _Search(writer, tables, lambda node, signs: bound(tables, tail, region_of(tables, rows, [node]), signs))
    with np.errstate(all="ignore"):
        for wanted, words in classes:
            for part in range(words.count):
                search.words(CutWords(words.take([part]), wanted))
    return writer.finished()


def certificate_of_wrong_word(
    model: Model | Tabulated,
    claim: Junta | tuple[tuple[int, ...], Sequence[tuple[bool, WordClasses]]],
    word: Sequence[int],
    *,
    digest: str = "-",
) -> str:
    """Return a word that a model answers otherwise than claimed, with the exact margin."""
    if isinstance(claim, Junta):
        reads: tuple[int, ...] = claim.positions
        claimed = Claimed("cells", reads, "".join("01"[answer] for answer in claim.table.tolist()))
    else:
        reads = claim[0]
        claimed = _claimed(*claim)[0]
    writer = _Writer(model, claimed, reads, 0.0, digest)
    writer.lines_out.append(_line("wrong", *word))
    writer.lines = Lines("\n".join(writer.lines_out[-1:]))
    writer.margins.append(writer.refute())
    return writer.finished()


class _Writer(Check):
    """A checker that searches for what it would read, and keeps the lines."""

    def __init__(
        self, model: Model | Tabulated, claim: Claimed, alone: Sequence[int], threshold: float, digest: str
    ) -> None:
        bits = BITS
        self.given: Bounds | None = None
        self.words: dict[int, WordClasses] = {}
        self.floats: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.margins: list[int] = []
        tabulated = tabulate(model) if isinstance(model, Model) else model
        spread = max(
            float(np.ptp(np.append(numbers_of(head.scores), numbers_of(head.cls_score))))
            / (head.normaliser.temperature if isinstance(head.normaliser, Softmax) else 1.0)
            for head in tabulated.heads
        )
        bits += 64 * ceil(min(spread, 5000.0) / log(2) / 64)
        described = _Described(tabulated.tokens, tabulated.symbols)
        places = described.model(model, alone)
        self.lines_out = [
            "keyhole-certificate 1", SAYS, f"weights {digest}", "arithmetic real", "tolerance 0", f"bits {bits}",
            f"words {tabulated.tokens} {tabulated.symbols}", _line("rows", *places),
            *described.tensors, *described.stages, f"threshold {_dyadic(threshold)}", *claim.text(),
        ]  # fmt: skip
        super().__init__(Lines("\n".join(self.lines_out)))
        self.header()
        self.heads()
        self.stages()
        self.claim()
        both = [[outside[0], inside[0]] for inside, outside in self.literals] if claim.kind == "counts" else []
        self.pairs = np.array(both, dtype=np.int64)  # of each position that is read, over two symbols

    def finished(self) -> str:
        """Return the certificate; its margin is rounded down to a double."""
        shown = min(self.margins)
        extra = max(0, shown.bit_length() - 53)
        return "\n".join([*self.lines_out, f"margin {shown >> extra}:{extra - self.a.bits}", ""])

    def cells(self) -> None:
        """Settle every cell of the claim by itself."""
        for number, answer in enumerate(self.answers):
            region, rest = Region(self.symbols, self.free), number
            for place in self.asked:
                region = region.fix(self.row[place], rest % self.symbols)
                rest //= self.symbols
            self.settle(region, answer == "1")

    def class_region(self, words: WordClasses) -> Region:
        """Return the only part of a class as the checker's region."""
        region = Region(self.symbols, self.free)
        if isinstance(words, CountClasses):
            region.counted = self.literals, int(words.low[0]), int(words.high[0])
        elif isinstance(words, AutomatonClasses):
            rows = [self.row[place] for place in self.asked]
            region.states = rows, self.moves, 0, np.flatnonzero(words.final[0]).tolist()
        self.words[id(region.counted or region.states)] = words
        return region

    def settle(self, region: Region, wanted: bool, given: Bounds | None = None) -> None:  # noqa: FBT001
        """Write a leaf, or raise."""
        self.given = given
        mark = len(self.lines_out)
        self.lines_out.append("leaf")
        margin = self.bounded(region, 1 if wanted else -1)
        if margin <= 0:
            del self.lines_out[mark:]
            raise OutputError(f"No certificate: in exact arithmetic a class has the bound {margin / self.a.one:.3g}.")
        self.margins.append(margin)

    def bounded(self, region: Region, sign: int) -> int:
        """Return the checker's bound of a leaf."""
        self.lines = Lines("leaf")
        try:
            return self.leaf(region, sign)
        except Refused as error:
            raise OutputError(f"No certificate: {error}.") from error

    def hints(self, word: str, count: int) -> list[int]:  # noqa: ARG002  (all of them)
        """Keep what a search found: the outputs of the heads where tangents are laid."""
        assert self.given is not None  # noqa: S101  (norms are only asked about with bounds)
        return self._kept(word, self.given.at[0])

    def _kept(self, word: str, numbers: Sequence[float] | np.ndarray) -> list[int]:
        whole = [int(np.floor(number * 2.0**HINT)) if abs(number) < 2**62 else 0 for number in numbers]
        self.lines_out.append(_line(word, *whole))
        return [number << self.a.bits - HINT for number in whole]

    def slopes(self, ends: list[tuple[int, int]], sign: int, seen: dict[str, Any]) -> list[int]:  # noqa: ARG002
        """Return the searched slopes; of a unit that does not bend the only right one, of any other its chord."""
        slopes = []
        for j, (low, high) in enumerate(ends):
            if self.name == "relu" and (low >= 0 or high <= 0):
                slopes.append(float(low >= 0))
            elif self.given is not None and np.isfinite(self.given.slopes[0, j]):
                slopes.append(float(self.given.slopes[0, j]))
            else:
                rise = self.a.curve(self.name, high)[0] - self.a.curve(self.name, low)[0]
                slopes.append(rise / (high - low) if high > low else 0.0)
        return self._kept("slopes", slopes)

    def duals(self, region: Region, direction: Vector) -> list[int]:
        """Search the ratios by Dinkelbach's method, and a multiple for each half-space, one after another."""
        d = np.array([x / self.a.one for x in direction[0]])
        ratios, multiples = self._ratios(region, d), []
        for normal, level in region.cuts:
            w, tau = np.array([x / self.a.one for x in normal]), level / self.a.one
            square, best = float(w @ w), 0.0
            for scale in MULTIPLES if square > 0 and d @ w > 0 else ():
                multiple = scale * float(d @ w) / square
                tried = self._ratios(region, d - multiple * w)
                if sum(tried) + multiple * tau > sum(ratios) + best * tau:
                    ratios, best = tried, multiple
            d = d - best * w
            multiples.append(best)
        return self._kept("d", [*ratios, *multiples])

    def _ratios(self, region: Region, direction: np.ndarray) -> list[float]:
        ratios, at = [], 0
        for index, head in enumerate(self.tables):
            mass, values = self._float(index, head)
            along = values @ direction[at : at + head.width]
            at += head.width
            ratios.append(self._ratio(region, mass, along))
        return ratios

    def _float(self, index: int, head: Head) -> tuple[np.ndarray, np.ndarray]:
        if index not in self.floats:
            one = self.a.one
            mass = np.array([e / one for e in head.mass])
            self.floats[index] = mass, np.array([[x / one for x in value] for value in head.values])
        return self.floats[index]

    def _ratio(self, region: Region, mass: np.ndarray, along: np.ndarray) -> float:
        """Return a number just below the least ratio, in floating point."""
        ratio, reach = float(along @ mass / mass.sum()), float(np.abs(along).max())
        for index in range(ITERATIONS):
            value, weight = self._cheapest(region, mass * (along - ratio), mass)
            step = value / weight
            ratio += min(step, 0.0) if index else step
            if not abs(step) > 2.0**-50 * reach:
                break
        return ratio - 2.0**-46 * (reach + abs(ratio))

    def _cheapest(self, region: Region, cost: np.ndarray, mass: np.ndarray) -> tuple[float, float]:
        """Return the least sum of costs, and the mass of a word that has it."""
        table, weights = cost[:-1].reshape(-1, self.symbols), mass[:-1].reshape(-1, self.symbols)
        at, rows, free = table.argmin(axis=1), np.arange(len(table)), np.array(region.free)
        value = float(table[rows, at] @ free) + float(cost[region.fixed].sum()) + float(cost[-1])
        weight = float(weights[rows, at] @ free) + float(mass[region.fixed].sum()) + float(mass[-1])
        if region.counted is not None or region.states is not None:
            words = self.words[id(region.counted or region.states)]
            if region.counted is not None:
                literals = region.counted[0]
                if self.symbols == 2:
                    pairs = self.pairs
                else:
                    pairs = np.array([[min(part, key=cost.__getitem__) for part in each[::-1]] for each in literals])
                read, held = cost[pairs], mass[pairs]
                if isinstance(words, CountClasses) and len(words.kind) != 2:
                    words = replace(words, kind=(False, True))
            else:
                rows_read = [self.row[place] for place in self.asked]
                read, held = table[rows_read], weights[rows_read]
            some, carried = words.best(read[None, None], held)
            value, weight = value + float(some[0, 0]), weight + float(carried[0, 0])
        return value, weight


@dataclass(frozen=True)
class _Search:
    """The cuts of a proof, made again: what `bound` settles is a leaf."""

    writer: _Writer
    tables: Tables
    bound: Callable[[Any, np.ndarray], Bounds]

    def _is_leaf(self, node: Any, region: Region, wanted: bool) -> Bounds | None:  # noqa: FBT001
        """Write a leaf where the bound allows; else return where to cut."""
        found = self.bound(node, np.array([1.0 if wanted else -1.0]))
        if found.low[0] > 0:
            try:
                self.writer.settle(region, wanted, found)
            except OutputError:
                return found
            return None
        return found

    def cube(self, parts: Parts, region: Region, wanted: bool) -> None:  # noqa: FBT001
        """Settle a part of the cube, cut along the free copies that move the bound most."""
        found = self._is_leaf(parts, region, wanted)
        if found is None:
            return
        spread = np.where(parts.free > 0, np.nan_to_num(found.spread[0]), -1.0)
        row = int(np.argmax(spread))
        if not parts.free.any():
            raise OutputError(
                "The proof does not survive exact arithmetic: an input is within rounding of the threshold."
            )
        here = self.tables.places[row]
        place = here[len(here) - int(parts.free[row])] if len(here) > 1 else here[0]
        shared = self.writer.row.get(place, len(self.writer.counts) - 1)
        self.writer.lines_out.append(f"split {shared}")
        for symbol, part in enumerate(_each(branched(parts, row))):
            self.cube(part, region.fix(shared, symbol), wanted)

    def words(self, node: CutWords) -> None:
        """Settle a class of words, or its halves."""
        mark = len(self.writer.lines_out)
        region = self.writer.class_region(node.words)
        counted = region.counted
        shown = (counted[1], counted[2]) if counted else tuple(region.states[3] if region.states else ())
        self.writer.lines_out.append(_line("class", *shown))
        found = self._is_leaf(node, region, node.wanted)
        if found is None:
            return
        halves = node.words.halves(0)
        if halves is None:
            self._cut(node, region, found)
            return
        del self.writer.lines_out[mark:]
        for part in range(halves.count):
            self.words(replace(node, words=halves.take([part])))

    def _cut(self, node: CutWords, region: Region, found: Bounds) -> None:
        at = self.writer._kept("cut", [*found.normal[0], found.level[0]])  # noqa: SLF001
        *normal, level = at
        cut = replace(node, at=(np.array([x / self.writer.a.one for x in normal]), level / self.writer.a.one))
        for turn, half in zip((1, -1), cut.halves(), strict=True):
            part = region.copy()
            part.cuts.append(([turn * x for x in normal], turn * level))
            again = self._is_leaf(half, part, node.wanted)
            if again is not None:
                self._cut(half, part, again)


class _Described:
    """The tensors and stages of a model as lines."""

    def __init__(self, tokens: int, symbols: int) -> None:
        self.tokens, self.symbols = tokens, symbols
        self.tensors: list[str] = []
        self.stages: list[str] = []

    def model(self, model: Model | Tabulated, alone: Sequence[int]) -> list[int | str]:
        """Write a model, and return the position of each row."""
        places: list[int | str] = list(range(self.tokens))
        if isinstance(model, Model) and not isinstance(model.embedding, OneHotPairs):
            self._embedding(model)
            wiring, readout = model.blocks[0].wiring, model.readout
            kinds = [type(head.activation) for head in model.blocks[0].heads]
            stream, activation = model.embedding.cls, model.blocks[0].heads[0].activation
        else:
            tables = tabulate(model) if isinstance(model, Model) else model
            if isinstance(model, Model):
                _require_copied(model)
            if tables.positions is not None:
                places = self._tables(tables, alone)
            else:
                self._tables(tables, places)  # type: ignore[arg-type]
            wiring, readout, stream = tables.wiring, tables.readout, tables.stream
            kinds = [type(head.activation) for head in tables.heads]
            activation = tables.heads[0].activation
        if set(kinds) != {Identity} and (len(kinds) > 1 or wiring.feedforward is not None):
            raise OutputError("Several heads with activations of their own are not covered by certificates yet.")
        self._wired(wiring, stream, activation)
        if readout.norm is not None:
            self._norm("norm", readout.norm, "final")
        self.stages.append(
            _line("read", self.tensor("readout.weight", readout.weight), self.tensor("readout.bias", readout.bias))
        )
        return places

    def tensor(self, name: str, array: Any) -> str:
        """Write a tensor and return its name; - for None."""
        if array is None:
            return "-"
        numbers = np.asarray(numbers_of(array), dtype=np.float64)
        if numbers.size > MOST_NUMBERS:
            raise OutputError(f"{name} has {numbers.size:,} numbers, too many for a certificate ({MOST_NUMBERS:,}).")
        parts = [_whole(number) for number in numbers.ravel().tolist()]
        power = min((e for m, e in parts if m), default=0)
        shape = "x".join(map(str, numbers.shape)) or "1"
        self.tensors.append(_line("tensor", name, power, shape, *(m << e - power if m else 0 for m, e in parts)))
        return name

    def _embedding(self, model: Model) -> None:
        embedding, block = model.embedding, model.blocks[0]
        if isinstance(embedding, AdditiveEmbedding):
            codes = embedding.positions.rows(0, self.tokens, embedding.table)
            parts = [self.tensor("positions", codes), self.tensor("symbols", embedding.table)]
        else:
            parts = [self.tensor("tokens", embedding.rows(0, self.tokens))]
        self.stages.append(_line("embed", *parts, self.tensor("cls", embedding.cls)))
        if block.wiring.attention_norm is not None and block.wiring.placement == "pre":
            self._norm("enter", block.wiring.attention_norm, "attention_norm")
        for index, head in enumerate(block.heads):
            over = _temperature(head.normaliser)
            score, value, name = head.score, head.value, f"heads.{index}."
            if not isinstance(value, Affine) or not isinstance(score, FactoredScore | DenseScore):
                raise OutputError("A head whose score is not bilinear, or values not affine, has no certificate.")
            maps = [self.tensor(f"{name}value", value.weight), self.tensor(f"{name}value_bias", value.bias)]
            if isinstance(score, DenseScore):
                self.stages.append(_line("head dense", self.tensor(f"{name}score", score.matrix), *maps, *over))
                continue
            named = ((part, getattr(score, part)) for part in ("query", "query_bias", "key", "key_bias"))
            self.stages.append(
                _line("head factored", *(self.tensor(name + part, array) for part, array in named), *maps, *over)
            )

    def _tables(self, tables: Tabulated, alone: Sequence[int]) -> list[int | str]:
        """Write tables as they are; positions that a claim reads get rows of their own."""
        listed = tuple(range(self.tokens)) if tables.positions is None else tables.positions
        places = sorted({*listed, *alone})
        stored = {position: row for row, position in enumerate(listed)}
        rest = ["*"] if len(places) < self.tokens else []
        rows = [stored.get(place, len(listed)) for place in places] + [len(listed)] * len(rest)
        for index, head in enumerate(tables.heads):
            over = _temperature(head.normaliser)
            parts = (numbers_of(head.scores)[rows], numbers_of(head.values)[rows], head.cls_score, head.cls_value)
            names = ("scores", "values", "cls_score", "cls_value")
            self.stages.append(
                _line("head table", *map(self.tensor, (f"heads.{index}.{name}" for name in names), parts), *over)
            )
        return [*places, *rest]

    def _wired(self, wiring: Wiring, stream: Any, activation: Any) -> None:  # noqa: C901  (a part, a question)
        if wiring.projected:
            raise AssumptionError("a model that projects its rows into the unit ball has no certificate")
        self.stages.append(f"join {wiring.join}")
        pre, each, feed = wiring.placement == "pre", wiring.residual == "each", wiring.feedforward
        out = wiring.output
        maps = (
            ["-", "-"]
            if out is None
            else [self.tensor("output.weight", out.weight), self.tensor("output.bias", out.bias)]
        )
        added = f"add {self.tensor('stream', stream)}" if wiring.residual != "none" else ""
        active = not isinstance(activation, Identity)
        if active:
            self.stages.append(_line("feed", activation.name, "- -", *maps, "plain"))
        elif out is not None:
            self.stages.append(_line("affine", *maps))
        if each:
            self.stages.append(added)
        if wiring.attention_norm is not None and not pre:
            self._norm("norm", wiring.attention_norm, "attention_norm")
        if feed is not None:
            norm = wiring.feedforward_norm
            words = [feed.activation.name]
            for name, affine in (("inner", feed.inner), ("outer", feed.outer)):
                words += ["-", "-"] if affine is None else [
                    self.tensor(f"{name}.weight", affine.weight), self.tensor(f"{name}.bias", affine.bias)
                ]  # fmt: skip
            words.append("skip" if each else "plain")
            if norm is not None and pre:
                self._norm(_line("feed", *words), norm, "feedforward_norm")
            else:
                self.stages.append(_line("feed", *words))
            if norm is not None and not pre:
                self._norm("norm", norm, "feedforward_norm")
        if wiring.residual == "block":
            if feed is None and not active:
                self.stages.append("feed identity - - - - plain")
            self.stages.append(added)

    def _norm(self, word: str, norm: LayerNorm, name: str) -> None:
        kind = "rms" if isinstance(norm, RMSNorm) else "centre"
        parts = self.tensor(f"{name}.gain", norm.gain), self.tensor(f"{name}.bias", norm.bias)
        self.stages.append(_line(word, *parts, _dyadic(norm.eps), kind))


def _temperature(normaliser: object) -> tuple[str, ...]:
    """Return the words for a temperature, none for 1."""
    if not isinstance(normaliser, Softmax):
        raise OutputError("A head without softmax has no certificate.")
    return () if normaliser.temperature == 1 else ("over", _dyadic(normaliser.temperature))


def _require_copied(model: Model) -> None:
    """Refuse one-hot tokens whose scores or values are more than copies of weights."""
    for head in model.blocks[0].heads:
        if not isinstance(head.score, DenseScore) or not isinstance(head.value, Affine) or head.value.bias is not None:
            raise OutputError("One-hot tokens have certificates where scores are dense and values have no bias.")


def _claimed(
    reads: tuple[int, ...], classes: Sequence[tuple[bool, WordClasses]]
) -> tuple[Claimed, list[tuple[bool, WordClasses]]]:
    """Return a claim about classes of words, and the classes with the start of an automaton as state 0."""
    if all(isinstance(words, CountClasses) for _, words in classes):
        answers = ["-"] * (len(reads) + 1)
        kind: tuple[bool, ...] = ()
        for wanted, words in classes:
            assert isinstance(words, CountClasses)  # noqa: S101
            kind = words.kind
            for low, high in zip(words.low.tolist(), words.high.tolist(), strict=True):
                answers[low : high + 1] = ["01"[wanted]] * (high + 1 - low)
        counted = " ".join(["".join("01"[inside] for inside in kind)] * len(reads))
        return Claimed("counts", reads, "".join(answers), (_line("counted", counted),)), list(classes)
    automata = [words for _, words in classes if isinstance(words, AutomatonClasses)]
    if len(automata) < len(classes):
        raise OutputError("Classes of this kind are not covered by certificates yet.")
    automaton = automata[0].automaton
    order = np.arange(len(automaton.moves))
    order[[0, automaton.start]] = [automaton.start, 0]  # state 0 and the start change places
    moves = order[automaton.moves[order]]
    answers = ["-"] * len(order)
    turned: list[tuple[bool, WordClasses]] = []
    for (wanted, _), words in zip(classes, automata, strict=True):
        if words.automaton is not automaton:
            raise OutputError("Classes of several automata are not covered by certificates yet.")
        final = words.final[:, order]
        for state in np.flatnonzero(final.any(axis=0)):
            answers[state] = "01"[wanted]
        turned.append((wanted, replace(words, final=final, automaton=replace(
            automaton, moves=moves, start=0, accepting=automaton.accepting[order]))))  # fmt: skip
    lines = (f"automaton {len(order)}", *(_line("move", *row) for row in moves.tolist()))
    return Claimed("states", reads, "".join(answers), lines), turned


def _tables(model: Tabulated, alone: tuple[int, ...]) -> Tables:
    """Return the tables that the search for a certificate looks at; what it finds is checked on the weights."""
    try:
        return tables_of(model, alone)
    except MassRangeError as error:
        raise OutputError(f"No certificate is written: {error}.") from error


def _each(parts: Parts) -> list[Parts]:
    return [parts[index : index + 1] for index in range(parts.count)]


def _line(*words: object) -> str:
    return " ".join(map(str, words))


def _whole(number: float) -> tuple[int, int]:
    """Return integers m, e with m · 2^e the number, m odd or 0."""
    if not np.isfinite(number):
        raise OutputError("A weight is NaN or infinite; a certificate needs finite weights.")
    if number == 0:
        return 0, 0
    mantissa, power = frexp(number)
    whole = int(mantissa * 2.0**53)
    zeros = (whole & -whole).bit_length() - 1
    return whole >> zeros, power - 53 + zeros


def _dyadic(number: float) -> str:
    return ":".join(map(str, _whole(number)))
