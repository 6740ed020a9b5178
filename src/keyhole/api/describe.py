"""Describe: what a sparse function is, and what the theory says of learning it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.decision_lists import lists_figure, lists_record
from keyhole.api.old_result import OldResult as Result
from keyhole.boolean import (
    Certificate,
    Levels,
    SparseFunction,
    average_sensitivity,
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
from keyhole.errors import ArgumentError
from keyhole.figure import Axis, Figure
from keyhole.files.model import read_model
from keyhole.papers import ABBE_2023, EDELMAN_2022, Source
from keyhole.prover.extraction import SHOWN, HeadReading, read_lists
from keyhole.show.decision_lists import lists_document
from keyhole.show.description import description_document
from keyhole.show.document import Document
from keyhole.show.folding import abbreviate

MODEL = ".safetensors"  # how the name of a compiled file ends


@dataclass(frozen=True)
class Statement:
    """A sentence of the theory about this function, and where it comes from."""

    says: str
    source: str


@dataclass(frozen=True, repr=False)
class Description(Result):
    """What a function is: exact facts first, then what the theory says of them."""

    schema: ClassVar[str] = "describe/1"
    has_figure: ClassVar[bool] = True

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
    threshold: Certificate
    probability: float  # of a 1, under uniform bits
    trivial_error: float  # of the better constant answer
    representation: Statement
    training: Statement
    context: int | None
    sensitivity_per_position: float | None  # sensitivity / T
    information_floor: float | None  # log₂ C(T, s) samples
    function: SparseFunction = field(repr=False, compare=False)
    lists: tuple[HeadReading, ...] | None = field(default=None, repr=False, compare=False)  # of a compiled file

    @property
    def summary(self) -> str:
        """Formula, sparsity, degree and leap."""
        at = "" if self.context is None else f", T = {self.context}"
        return f"{abbreviate(self.formula, 80)}; s = {self.sparsity}, degree {self.degree}, leap {self.leap}{at}"

    def document(self) -> Document:
        """Facts, then weights and influences, then the heads of a file as decision lists."""
        record = self.record()
        lists = () if record["lists"] is None else lists_document(record["lists"], "uniform bits")
        return (*description_document(record), *lists)

    def record(self) -> dict[str, Any]:
        """The facts as plain values, for JSON."""
        plain = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "function"}
        plain["threshold"] = {
            "verdict": self.threshold.verdict,
            "method": self.threshold.method,
            **self.threshold.evidence,
        }
        plain["representation"] = vars(self.representation)
        plain["training"] = vars(self.training)
        plain["lists"] = lists_record(self.lists)
        return plain

    def lists_figure(self) -> Figure:
        """What each head of a compiled file looks at, in the order in which it looks."""
        return lists_figure(self.lists, f"{abbreviate(self.formula, 60)}, T = {self.context}; uniform bits")

    def figure(self) -> Figure:
        """The Fourier weight by degree."""
        rows = tuple({"degree": k, "weight": weight} for k, weight in enumerate(self.fourier_weight))
        shown = self.formula if len(self.formula) <= 60 else f"a function of {self.sparsity} positions"
        return Figure(
            title="Fourier weight by degree",
            subtitle=f"{shown}; uniform bits, the weights of (−1)^f sum to 1",
            kind="bars",
            rows=rows,
            x=Axis("degree", "degree k", "category" if self.sparsity <= 64 else "linear"),
            y=Axis("weight", "weight at degree k"),
        )


def describe(
    function: str | Path | SparseFunction, *, context: int | None = None, seed: int = 0, lists: int | None = None
) -> Description:
    """What this function is: positions, spectrum, influences, leap, shape, and what the theory says of it.

    The function is a formula, a value, or a file that `compile` wrote. Of a file each head is read as decision lists
    too, and `lists` says how many pairs of position and symbol are shown of each.

    >>> describe("x3 & ~x17 | maj(x1, x2, x5)").positions
    (1, 2, 3, 5, 17)
    """
    if isinstance(function, Path) or (isinstance(function, str) and function.lower().endswith(MODEL)):
        return _describe_file(Path(function), context, SHOWN if lists is None else lists)
    if lists is not None:
        raise ArgumentError(
            "Decision lists were asked for, and a formula has no heads; give a file of a compiled model."
        )
    if isinstance(function, str):
        function = read_function(function, seed)
    if context is not None:
        check_context(function, context)
    counting = function.rule if isinstance(function.rule, Levels) else None
    chance, sensitivity = probability(function), average_sensitivity(function)
    steps = leap(function)
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
        influences={
            str(place): float(value) for place, value in zip(function.positions, influences(function), strict=True)
        },
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


def _describe_file(path: Path, context: int | None, shown: int) -> Description:
    """The function of a compiled file, which must be as it was written, and its heads."""
    from keyhole.compiler import load_checked, to_tabulated

    plan = load_checked(read_model(path), path)
    if context not in (None, plan.context):
        raise ArgumentError(f"A context of {context} was asked for, and {path} has {plan.context}; leave it out.")
    heads = read_lists(to_tabulated(plan), uniform_law(2), shown)
    return replace(describe(plan.function, context=plan.context), lists=heads)


def representation(function: SparseFunction) -> Statement:
    """Which regime of the representation theorem the function falls in."""
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
    """What the leap suggests for gradient descent: a conjecture up to logarithms, proved in special cases."""
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
