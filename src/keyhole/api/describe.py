"""What is a sparse function, and what does the theory say of learning it?"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from keyhole.api.decision_lists import say_lists
from keyhole.api.result import Result
from keyhole.boolean import (
    Levels,
    SparseFunction,
    Threshold,
    check_context,
    counts_literals,
    degree,
    fourier_weight,
    influences,
    is_monotone,
    is_symmetric,
    largest_sensitivity,
    leap,
    probability,
    read_function,
    table_bits,
    table_digits,
    threshold_certificate,
    uniform_law,
)
from keyhole.bounds.finite import information_floor
from keyhole.compiler import load_checked, to_tabulated
from keyhole.decimals import at_least
from keyhole.errors import require_whole
from keyhole.figure import Axis, Figure
from keyhole.files.model import read_model
from keyhole.files.record import hidden
from keyhole.papers import ABBE_2023, EDELMAN_2022, Source
from keyhole.prover.extraction import SHOWN, HeadReading, read_lists
from keyhole.show.answer import Show, shorten

MANY = 12  # bars of a long list
ROUNDING = 1e-12  # Fourier weight below it is 0
VERDICTS = {"proved": "yes", "refuted": "no", "undecided": "undecided"}


@dataclass(frozen=True)
class Statement:
    """A sentence of the theory about this function, and where it comes from."""

    says: str
    source: str


@dataclass(frozen=True, repr=False)
class Description(Result):
    """Exact facts about a function, and what the theory says of it."""

    schema: ClassVar[str] = "describe/1"

    formula: str
    positions: tuple[int, ...]
    sparsity: int
    rule: str  # "levels": decided by how many literals are true; "table": by the pattern
    levels: str | None  # one digit per number of true literals
    literals: tuple[str, ...] | None  # what the levels count
    table: str | None  # one entry per pattern, first position least significant
    degree: int
    fourier_weight: tuple[float, ...]  # of (−1)^f by degree, uniform bits; sums to 1
    influences: Mapping[str, float]  # by position
    sensitivity: float  # average over uniform inputs: the sum of the influences
    largest_sensitivity: int
    leap: int
    symmetric: bool
    symmetric_up_to_negation: bool
    monotone: bool
    threshold: Threshold
    probability: float  # of a 1, under uniform bits
    trivial_error: float  # of the better constant answer
    representation: Statement
    training: Statement
    context: int | None
    sensitivity_per_position: float | None  # sensitivity / T
    information_floor: float | None  # log₂ C(T, s) samples
    function: SparseFunction = hidden(compare=False)
    lists: tuple[HeadReading, ...] | None = field(default=None, compare=False)  # of a compiled file

    def lines(self, show: Show) -> None:
        """List the facts; then the Fourier weight by degree."""
        show.line(shorten(self.formula, 120))
        positions = shorten(", ".join(map(str, self.positions)) or "none: the function is constant", 120)
        symmetric = "up to negated bits" if not self.symmetric and self.symmetric_up_to_negation else None
        shape = {
            "symmetric": symmetric or _yes(self.symmetric),
            "monotone": _yes(self.monotone),
            "threshold": VERDICTS[self.threshold.verdict],
        }
        rows = [
            ("positions", f"{positions} (s = {self.sparsity})"),
            ("Fourier degree", f"{self.degree}, leap {self.leap}"),
            ("sensitivity", f"{self.sensitivity:.6g} on average, at most {self.largest_sensitivity}"),
            ("shape", "; ".join(f"{name}: {answer}" for name, answer in shape.items())),
            ("P(1)", f"{self.probability:.6g}; the better constant errs on {self.trivial_error:.6g}"),
            ("representation", self.representation.says),
            ("training", self.training.says),
        ]
        if self.information_floor is not None:
            floor = at_least(self.information_floor, 4)
            rows.append(("samples", f"at least {floor} to tell the positions apart (T = {self.context})"))
        show.facts([*rows, *(self._more() if show.verbose else ())])
        _bars(show, "Fourier weight by degree", {str(k): w for k, w in enumerate(self.fourier_weight) if w > ROUNDING})
        if show.verbose:
            _bars(show, "influence by position", {f"x{place}": value for place, value in self.influences.items()})
        if self.lists is not None:
            say_lists(show, self.lists, "uniform bits")

    def _more(self) -> list[tuple[str, str]]:
        """The rule, the proof about thresholds, and the sources."""
        if self.levels is None:
            ends = f"; x{self.positions[0]} is the lowest bit, x{self.positions[-1]} the highest"
            rule = f"{self.table} (answers for 0, 1, 2, … in binary{ends})"
        else:
            counted = ", ".join(self.literals or ())
            rule = f"{self.levels}: the answers where 0 to {self.sparsity} of {counted} are true, in this order"
        rows = [
            (self.rule, shorten(rule)),
            ("threshold", self.threshold.method),
            ("sources", f"representation: {self.representation.source}; training: {self.training.source}"),
            ("leap", "some order of the Fourier terms never brings in more new positions than that at once"),
        ]
        if self.sensitivity_per_position is not None:
            chance = f"{self.sensitivity_per_position:.4g}"
            rows.append(("sensitivity / T", f"{chance}: the chance that flipping one random bit changes the answer"))
        return rows

    def figure(self) -> Figure:
        """Draw the Fourier weight by degree."""
        shown = self.formula if len(self.formula) <= 60 else f"a function of {self.sparsity} positions"
        return Figure(
            title="Fourier weight by degree",
            subtitle=f"{shown}; uniform bits, the weights of (−1)^f sum to 1",
            kind="bars",
            rows=tuple({"degree": k, "weight": weight} for k, weight in enumerate(self.fourier_weight)),
            x=Axis("degree", "degree k", "category" if self.sparsity <= 64 else "linear"),
            y=Axis("weight", "weight at degree k"),
        )


def _yes(holds: bool) -> str:  # noqa: FBT001  (an answer)
    return "yes" if holds else "no"


def _bars(show: Show, title: str, values: Mapping[str, float]) -> None:
    """A bar for each value; of a long list, the largest."""
    if not values:
        return
    largest = sorted(values, key=lambda name: -values[name])[:MANY]
    show.line()
    show.line(f"{title} (the {MANY} largest of {len(values)})" if len(values) > MANY else title)
    top = max(values.values()) or 1
    show.bars((name, f"{value:.4g}", value / top) for name, value in values.items() if name in largest)


def describe(function: str | SparseFunction, *, context: int | None = None, seed: int = 0) -> Description:
    """Return the spectrum, influences, leap and shape of a function, and what the theory says of it.

    `seed` draws the table of random:s.

    >>> describe("x3 & ~x17 | maj(x1, x2, x5)").positions
    (1, 2, 3, 5, 17)
    """
    if isinstance(function, str):
        function = read_function(function, seed)
    if context is not None:
        require_whole(context=context)
        check_context(function, context)
    counting = function.rule if isinstance(function.rule, Levels) else None
    chance, steps, by_position = probability(function), leap(function), influences(function)
    sensitivity = float(by_position.sum())
    return Description(
        formula=str(function),
        positions=function.positions,
        sparsity=function.sparsity,
        rule="levels" if counting else "table",
        levels=table_bits(counting.levels) if counting else None,
        literals=_literals(function.positions, counting) if counting else None,
        table=None if counting else table_digits(function.table),
        degree=degree(function),
        fourier_weight=tuple(float(weight) for weight in fourier_weight(function)),
        influences={str(place): value for place, value in zip(function.positions, by_position.tolist(), strict=True)},
        sensitivity=sensitivity,
        largest_sensitivity=largest_sensitivity(function),
        leap=steps,
        symmetric=is_symmetric(function),
        symmetric_up_to_negation=counts_literals(function),
        monotone=is_monotone(function),
        threshold=threshold_certificate(function),
        probability=chance,
        trivial_error=min(chance, 1 - chance),
        representation=representation(function),
        training=training(steps),
        context=context,
        sensitivity_per_position=None if context is None else sensitivity / context,
        information_floor=None if context is None else information_floor(context, function.sparsity),
        function=function,
    )


def describe_file(path: str | Path, *, lists: int | None = None) -> Description:
    """Describe the function of a file that `compile` wrote, and read each of its heads as decision lists.

    `lists` is the number of pairs of position and symbol shown of each head, 8 if not given.
    """
    path = Path(path)
    plan = load_checked(read_model(path), path)
    heads = read_lists(to_tabulated(plan), uniform_law(2), SHOWN if lists is None else lists)
    return replace(describe(plan.function, context=plan.context), lists=heads)


def representation(function: SparseFunction) -> Statement:
    """Return the regime of the representation theorem that the function falls in."""
    source = str(Source("read", EDELMAN_2022))
    if not function.positions:
        return Statement("constant: no attention is needed", str(Source("ours")))
    if is_symmetric(function):
        return Statement("symmetric: one head represents it exactly, with weight norms poly(s)", source)
    if counts_literals(function):
        says = "symmetric once some bits are negated, which only swaps two rows of the weights: norms poly(s)"
        return Statement(says, str(Source("ours")))
    return Statement("any function of s bits: one head represents it exactly, with weight norms 2^O(s)", source)


def training(steps: int) -> Statement:
    """Return what the leap suggests for gradient descent: a conjecture up to logarithms, proved in special cases."""
    source = str(Source("read", ABBE_2023, "abstract"))
    if steps == 0:
        return Statement("constant: nothing to learn", str(Source("ours")))
    ease = "easy" if steps == 1 else "moderate" if steps == 2 else "hard"
    says = (
        f"{ease} for fully connected networks (leap {steps}): SGD is conjectured to take about T^{max(steps, 2)} "
        "steps, T the context length"
    )
    return Statement(says, source)


def _literals(positions: tuple[int, ...], rule: Levels) -> tuple[str, ...]:
    return tuple(f"{'~' * flip}x{place}" for place, flip in zip(positions, rule.negated, strict=True))
