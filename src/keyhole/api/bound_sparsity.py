"""How do norms and bounds grow with the number of positions that a function reads?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from keyhole.api.bound import bound
from keyhole.api.norm_sources import function_norms
from keyhole.api.result import Result
from keyhole.bounds import Real
from keyhole.decimals import at_most, brief, surely
from keyhole.errors import ArgumentError
from keyhole.figure import Axis, Figure
from keyhole.show.answer import Show

FAMILY = "s"  # stands for the sparsity in the name of a family


@dataclass(frozen=True)
class SparsityBound:
    """The norms of one function, and the smallest bound on the gap of its class."""

    sparsity: int
    function: str
    path_inf: float
    theorem: str
    gap: float
    vacuous: bool
    occam: float  # error of a function of as many positions that fits all samples


@dataclass(frozen=True, repr=False)
class SparsityBounds(Result):
    """A row for each number of positions."""

    schema: ClassVar[str] = "bound-sparsity/1"

    family: str
    samples: float
    context: int
    delta: float
    rows: tuple[SparsityBound, ...]

    def lines(self, show: Show) -> None:
        """Set a row per sparsity: the path norm, the smallest gap and the error by counting."""
        where = f"T = {self.context:,}, m = {brief(self.samples)}, with probability ≥ {surely(self.delta)}"
        show.line(f"{self.family}: an exact head and the smallest bound, {where}")
        rows = [
            (row.sparsity, f"{row.path_inf:.6g}", at_most(row.gap), row.theorem.partition(":")[0].split()[-1],
             "vacuous" if row.vacuous else "", at_most(row.occam))
            for row in self.rows
        ]  # fmt: skip
        heads = {"s": ">", "P_∞": ">", "gap ≤": ">", "by": "<", "": "<", "error by counting ≤": ">"}
        show.table(heads, rows)

    def figure(self) -> Figure:
        """Draw the path norm against the sparsity."""
        return Figure(
            title="Path norm of an exact head",
            subtitle=f"{self.family}, T = {self.context:,}",
            kind="points",
            rows=tuple({"s": row.sparsity, "P_inf": row.path_inf} for row in self.rows),
            x=Axis("s", "positions that matter, s"),
            y=Axis("P_inf", "path norm P_∞", "log"),
        )


def bound_sparsities(
    family: str,
    sparsities: Sequence[int],
    samples: Real,
    context: int,
    *,
    delta: Real = 0.01,
    law: str | Real | None = None,
) -> SparsityBounds:
    """Bound the gap of a family at each sparsity: and:s, or:s, parity:s, majority:s or random:s.

    >>> [row.path_inf for row in bound_sparsities("parity:s", [2, 3], 1e6, 100).rows]
    [18.0, 46.0]
    """
    name, _, size = family.partition(":")
    if size != FAMILY:
        raise ArgumentError(f"Sparsities were given beside {family!r}; name a family, such as and:{FAMILY}.")
    rows = []
    for sparsity in sparsities:
        function = f"{name}:{sparsity}"
        norms = function_norms(function, context)
        answer = bound(norms, samples, context, delta=delta, law=law)
        best, path = answer.smallest, norms.profile.path_inf
        if path is None:
            raise ArgumentError(f"{function} has no path norm P_∞; choose and, or, parity, majority or random.")
        counting = answer.finite_classes[0].value
        rows.append(SparsityBound(sparsity, function, path, best.title, best.value, best.vacuous, counting))
    return SparsityBounds(family, float(samples), context, float(delta), tuple(rows))
