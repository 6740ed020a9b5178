"""Norms: how small a path norm can represent a function, beside what the constructions have."""

from dataclasses import dataclass
from itertools import permutations, product
from typing import ClassVar, Literal, get_args

import numpy as np

from keyhole.api.result import Result
from keyhole.boolean import SparseFunction, from_table, read_function
from keyhole.compiler import choose, least_norm
from keyhole.decimals import at_least, at_most
from keyhole.errors import ArgumentError, CompileError
from keyhole.show.answer import Show, shorten

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
    def closed(self) -> int:
        """The number of functions for which one head reaches the least norm of every layer with R = 0."""
        return sum(row.least is not None and row.least <= row.any_bound * (1 + 1e-9) for row in self.functions)

    def lines(self, show: Show) -> None:
        """Set a row per function; name the columns."""
        signs = self.output == "signs"
        count = len(self.functions)
        closed = f"for {self.closed} of {count} one head reaches the least of all layers with equal scores (R = 0)"
        show.line(f"Path norms P_∞ of {count} function{'s' * (count != 1)}; {closed}. -v explains the columns.")
        names = ("function", "built", "least", "bound", "layer", *(("sign",) if signs else ()), "veto")
        rows = []
        for row in self.functions:
            below = (row.least_bound, row.any_bound, *((row.margin_bound,) if signs else ()))
            built, least, veto = (None if n is None else at_most(n, 6) for n in (row.built, row.least, row.veto))
            named = f"{built} {row.construction}" if built else None
            bounds = (None if norm is None else at_least(norm, 6) for norm in below)
            rows.append((shorten(row.function, 40), named, least, *bounds, veto))
        show.table(dict.fromkeys(names, "<"), rows)
        if show.verbose:
            show.line(ABOUT)
            show.facts((name, COLUMNS[name]) for name in names[1:])
            priced = max(row.priced for row in self.functions)
            show.line(f"The bounds are proved by checking every hidden unit that can matter, at most {priced} here.")


ABOUT = (
    "P_∞ is the sum over hidden units of |read-out weight| times the unit's largest |value| of a token. The leak γ is "
    "the share of attention off the relevant bits: built, least and bound are times 1 − γ, so that they hold for every "
    "leak. R is the largest difference between the scores of two symbols at one position."
)
COLUMNS = {
    "built": "the cheapest construction with R = 0, and its name",
    "least": "the least for one head with R = 0 and equal attention; the construction `least` reaches it",
    "bound": "a proved lower bound for such heads",
    "layer": "a proved lower bound for every ReLU layer with R = 0, any heads and any attention",
    "sign": "the same, where the output needs only the right sign and a size of at least 1",
    "veto": "the veto, whose scores read the symbol (R > 0), so that the bounds do not apply to it",
}


def norms(function: str | SparseFunction | None = None, *, output: str = "signs", seed: int = 0) -> Norms:
    """Path norms of a function of at most four bits, or, without one, of all classes of functions of three bits.

    Functions that differ by the order of their bits, by negated bits or, in signs, by a negated output need the same
    norm: of the 256 functions of three bits 14 are left in signs, and 22 in bits.

    >>> row = norms("parity:4").functions[0]
    >>> round(row.least, 6), row.any_bound
    (16.0, 16.0)
    """
    if output not in get_args(Output):
        raise ArgumentError(f"{output!r} is not an output; choose signs (1 and −1) or bits (1 and 0).")
    kind: Output = "bits" if output == "bits" else "signs"
    if function is None:
        return Norms(kind, tuple(_row(each, kind) for each in classes(BITS, negations=kind == "signs")))
    return Norms(kind, (_row(read_function(function, seed) if isinstance(function, str) else function, kind),))


def classes(bits: int, *, negations: bool) -> list[SparseFunction]:
    """A function of each class, up to the order and the negation of bits, and of the output too if asked.

    >>> len(classes(3, negations=True)), len(classes(3, negations=False))
    (14, 22)
    """
    equivalent: set[bytes] = set()
    functions = []
    patterns = (np.arange(1 << bits)[:, None] >> np.arange(bits)) & 1
    moves = [
        (patterns[:, list(order)] ^ np.array(flips)) @ (1 << np.arange(bits))
        for order in permutations(range(bits))
        for flips in product((0, 1), repeat=bits)
    ]
    for code in range(1 << (1 << bits)):
        table = ((code >> np.arange(1 << bits)) & 1).astype(bool)
        if table.tobytes() not in equivalent:
            turns = (False, True) if negations else (False,)
            equivalent |= {(table[move] ^ turn).tobytes() for move in moves for turn in turns}
            functions.append(from_table(tuple(range(bits)), table))
    return sorted(functions, key=lambda function: function.sparsity)


def _row(function: SparseFunction, output: Output) -> FunctionNorms:
    """The norms of one function; a constant is a unit that reads a constant."""
    if not function.sparsity:
        value = 1.0 if output == "signs" or bool(function.table[0]) else 0.0
        return FunctionNorms(str(function), 0, None, None, None, None, value, value, None, 0)
    plan = choose(function, function.positions[-1] + 1, "pair", output=output, leak=GAMMA).plan
    try:
        veto = choose(function, function.positions[-1] + 1, "veto", output=output, leak=GAMMA).plan.path_inf
    except CompileError:  # neither a conjunction nor a disjunction
        veto = None
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
        veto=veto,
        priced=equal.priced + every.priced,
    )
