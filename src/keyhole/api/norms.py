"""Norms: how small a path norm can represent a function, beside what the constructions have."""

from dataclasses import asdict, dataclass
from itertools import permutations, product
from typing import Any, ClassVar, Literal

import numpy as np

from keyhole.api.old_result import OldResult as Result
from keyhole.boolean import SparseFunction, from_table, read_function
from keyhole.compiler import choose, least_norm
from keyhole.errors import ArgumentError, CompileError
from keyhole.show.document import Document
from keyhole.show.norms import norms_document

BITS = 3  # of the functions that are all listed
GAMMA = 0.5  # at which constructions are measured; a power of two, so that 1 − γ divides out exactly
Output = Literal["signs", "bits"]


@dataclass(frozen=True)
class FunctionNorms:
    """One function: P_∞ times 1 − γ as built, the least, and the least possible."""

    function: str
    sparsity: int
    construction: str | None  # the cheapest with R = 0; None for a constant, which no head is needed for
    built: float | None  # its P_∞ (1 − γ)
    least: float | None  # the least with one head, R = 0 and equal attention, reached
    least_bound: float | None  # the lower bound for that class
    any_bound: float  # the lower bound for every layer with R = 0, any heads, attention and context
    margin_bound: float  # the same where only a margin of 1 is asked
    veto: float | None  # P_∞ of the veto, whose scores read the symbol; None where it does not apply
    priced: int  # units of the two classes, all of them priced


@dataclass(frozen=True, repr=False)
class Norms(Result):
    """Path norms of one function, or of every class of functions of at most three bits."""

    schema: ClassVar[str] = "norms/1"

    output: Output
    functions: tuple[FunctionNorms, ...]

    @property
    def summary(self) -> str:
        """How many functions, and of how many the least norm is reached and proved least of all."""
        closed = sum(row.least is not None and row.least <= row.any_bound * (1 + 1e-9) for row in self.functions)
        return f"{len(self.functions)} functions; of {closed} one head reaches the least P_∞ of every layer with R = 0"

    def document(self) -> Document:
        """A line per function."""
        return norms_document(self.record())

    def record(self) -> dict[str, Any]:
        """The norms as plain values, for JSON."""
        return {"output": self.output, "functions": [asdict(row) for row in self.functions]}


def norms(function: str | SparseFunction | None = None, *, output: str = "signs", seed: int = 0) -> Norms:
    """Path norms of a function of at most four bits, or, without one, of all classes of functions of three bits.

    Functions that differ by the order of their bits, by negated bits or, in signs, by a negated output need the same
    norm: of the 256 functions of three bits 14 are left in signs, and 22 in bits.

    >>> row = norms("parity:4").functions[0]
    >>> round(row.least, 6), row.any_bound
    (16.0, 16.0)
    """
    if output not in ("signs", "bits"):
        raise ArgumentError(f"There is no output {output!r}; choose signs (1 and −1) or bits (1 and 0).")
    kind: Output = "bits" if output == "bits" else "signs"
    if function is None:
        return Norms(kind, tuple(_row(each, kind) for each in classes(BITS, negations=kind == "signs")))
    return Norms(kind, (_row(read_function(function, seed) if isinstance(function, str) else function, kind),))


def classes(bits: int, *, negations: bool) -> list[SparseFunction]:
    """A function of each class, up to the order and the negation of bits, and of the output too if asked.

    >>> len(classes(3, negations=True)), len(classes(3, negations=False))
    (14, 22)
    """
    seen: set[bytes] = set()
    classes_seen = []
    patterns = (np.arange(1 << bits)[:, None] >> np.arange(bits)) & 1
    moves = [
        (patterns[:, list(order)] ^ np.array(flips)) @ (1 << np.arange(bits))
        for order in permutations(range(bits))
        for flips in product((0, 1), repeat=bits)
    ]
    for code in range(1 << (1 << bits)):
        table = ((code >> np.arange(1 << bits)) & 1).astype(bool)
        if table.tobytes() in seen:
            continue
        seen |= {
            (table[move] ^ turn).tobytes() for move in moves for turn in ((False, True) if negations else (False,))
        }
        classes_seen.append(from_table(tuple(range(bits)), table))
    return sorted(classes_seen, key=lambda function: function.sparsity)


def _row(function: SparseFunction, output: Output) -> FunctionNorms:
    """The norms of one function; a constant is a unit that reads a constant."""
    if not function.sparsity:
        value = 1.0 if output == "signs" or bool(function.table[0]) else 0.0
        return FunctionNorms(str(function), 0, None, None, None, None, value, value, None, 0)
    plan = choose(function, function.positions[-1] + 1, "pair", output=output, gamma=GAMMA).plan
    equal, every = least_norm(function.table, "equal", output), least_norm(function.table, "any", output)
    margin = least_norm(function.table, "any", "margin") if output == "signs" else every
    return FunctionNorms(
        function=str(function),
        sparsity=function.sparsity,
        construction=plan.construction,
        built=plan.path_inf * (1 - GAMMA),
        least=equal.norm,
        least_bound=equal.lower,
        any_bound=every.lower,
        margin_bound=margin.lower,
        veto=_veto(function, output),
        priced=equal.priced + every.priced,
    )


def _veto(function: SparseFunction, output: Output) -> float | None:
    """P_∞ of the veto; None where the function is neither a conjunction nor a disjunction."""
    try:
        return choose(function, function.positions[-1] + 1, "veto", output=output, gamma=GAMMA).plan.path_inf
    except CompileError:
        return None
