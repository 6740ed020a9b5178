"""The interface of a construction: what it makes of a function, what its theorem says of norms, how files name it.

A construction of one's own is a subclass with a `plans` of its own. What follows holds for it as for the library's: the
proof over all inputs, the measured norms beside the theorem's, number formats, files, exports and the check.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from keyhole.boolean import SparseFunction
from keyhole.compiler.constructions.plan import Layout, Output, Plan, require_shapes
from keyhole.errors import AssumptionError, CompileError

LEAST_LEAK = 1e-100  # the logits of a smaller one are beyond double precision


@dataclass(frozen=True)
class TheoremNorm:
    """A theorem's figure for one norm: equal to it, or not below it."""

    relation: Literal["=", "≤"]
    value: float

    def holds(self, measured: float, slack: float = 1e-9) -> bool:
        """Return True if the measured norm is as stated, up to rounding (sums of ≤ 2^14 doubles: far below 1e-9)."""
        close = abs(measured - self.value) <= slack * max(1.0, abs(self.value))
        return close or (self.relation == "≤" and measured < self.value)


class Construction(ABC):
    """A way to turn a sparse function into the logits, values and units of one attention layer."""

    name: ClassVar[str]  # what `construction` of keyhole.compile takes
    targets: ClassVar[tuple[str, ...]]  # the names its plans can have: what a file is found by
    layout: ClassVar[type[Layout]]  # how the tokens of its plans are vectors
    parameter: ClassVar[str] = "gamma"  # the parameter of its plans that holds the leak it was asked for
    rebuild_slack: ClassVar[float] = 1e-12  # relative, of a plan made anew: equal numbers, added up in another order
    competes: ClassVar[bool] = False  # whether it is tried where no construction is asked for

    @abstractmethod
    def plans(self, function: SparseFunction, context: int, leak: float, output: Output, seed: int = 0) -> list[Plan]:
        """Every way to build the function, at least one; CompileError with a reason where there is none."""

    def theorem_norms(self, plan: Plan) -> Mapping[str, TheoremNorm]:
        """The theorem's figure for each norm it speaks of, free of any matrix; the names are those of `named_norms`."""
        return {}

    def rebuild(self, plan: Plan) -> Plan:
        """The plan of the same target, made anew of the same function and parameters: what a check compares with.

        A file keeps the parameters, and a seed only where position codes are drawn from it.
        """
        seed = 0 if plan.codes_seed is None else plan.codes_seed
        leak = plan.parameters[self.parameter]
        for again in self.plans(plan.function, plan.context, leak, plan.output, seed):
            if again.construction == plan.target:
                return again
        raise CompileError(f"The construction {self.name!r} makes no {plan.target} of this function.")

    def read_parameters(self, plan: Plan) -> Mapping[str, float] | None:
        """The parameters as the plan's own numbers give them, where `rebuild` gives them only nearly; else None."""
        return None


def check_leak(leak: float) -> None:
    """Refuse a leak outside (0, 1), or too small for double precision."""
    if not 0 < leak < 1:
        raise AssumptionError(f"The leak is the attention off the relevant positions, so 0 < leak < 1; got {leak}.")
    if leak < LEAST_LEAK:
        raise AssumptionError(f"A leak of {leak:g} was given; double precision carries {LEAST_LEAK:g} or more.")


def check_plan(plan: Plan, maker: Construction) -> None:
    """Refuse a plan that its construction does not announce, whose tables do not fit, or that no matrices have."""
    if plan.construction not in maker.targets or not isinstance(plan.layout, maker.layout):
        raise CompileError(
            f"The construction {maker.name!r} made a plan {plan.construction!r} of {type(plan.layout).__name__}, and "
            f"announces {', '.join(map(repr, maker.targets))} of {maker.layout.__name__}; let them agree."
        )
    if maker.parameter not in plan.parameters:
        raise CompileError(
            f"The construction {maker.name!r} made a plan without the parameter {maker.parameter!r}, from which it is "
            "to be made again; add it."
        )
    require_shapes(plan)
    for head in plan.heads:
        if head.focus.ndim == 2 and not plan.layout.names_position:
            raise CompileError(
                "The logits of a head are given by position and symbol, and tokens of a symbol plus a position have "
                "no coordinate for each pair; use pairs of position and symbol."
            )
        plan.layout.check_head(plan.function.positions, head)
