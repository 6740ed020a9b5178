"""A compiled function: its plan, and all that was shown of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from keyhole.attention import Model, Tabulated
from keyhole.bounds.finite import logit_range_floor
from keyhole.compiler.assembly import to_model, to_tabulated
from keyhole.compiler.choice import Choice
from keyhole.compiler.constructions.base import Construction, TheoremNorm
from keyhole.compiler.constructions.plan import Plan, half_gap
from keyhole.compiler.constructions.registry import construction_of
from keyhole.compiler.norms import logit_range, named_norms, plan_profile, theorem_norms, value_radius
from keyhole.compiler.precision.verdicts import ASSUMED, ORDER, FormatVerdict, judge_formats, short_name
from keyhole.compiler.proof import Proof, prove
from keyhole.decimals import at_least, at_most
from keyhole.errors import CompileError
from keyhole.norm_profile import NormProfile


@dataclass(frozen=True, eq=False, repr=False)
class Compiled:
    """Weights that compute a function, with their certificate."""

    plan: Plan
    proof: Proof
    profile: NormProfile
    theorem: Mapping[str, TheoremNorm]  # the construction's own figure for each norm it speaks of
    why: str  # this construction was taken

    @property
    def exact(self) -> bool:
        """Whether every one of the 2^T inputs is proved to come out on its right side."""
        return self.proof.margin > 0

    @cached_property
    def formats(self) -> Mapping[str, FormatVerdict]:
        """Each number format's verdict, found when it is first asked for: it takes longer than all the rest."""
        return judge_formats(self.plan, self.proof.margin)

    @cached_property
    def norms(self) -> dict[str, float]:
        """The norms that the theorems speak of, by name."""
        return named_norms(self.profile)

    @cached_property
    def logit_scale(self) -> float:
        """The length of the interval that holds the logits."""
        return logit_range(self.plan)

    @cached_property
    def logit_floor(self) -> float:
        """The least logit scale that these output norms allow (`logit_range_floor`); 0 where it says nothing."""
        change = 2 * self.proof.margin  # some flip carries the output from one side to the other
        radius = value_radius(self.plan)
        return logit_range_floor(change, self.plan.context, float(np.linalg.norm(self.plan.readout)), radius)

    @property
    def model(self) -> Model:
        """The weights as matrices of the plan's dimension."""
        return to_model(self.plan)

    @property
    def tabulated(self) -> Tabulated:
        """The weights as tables: relevant rows and one for all others."""
        return to_tabulated(self.plan)

    def record(self) -> dict[str, Any]:
        """What was made and shown, as plain values, for JSON."""
        plan = self.plan
        return {
            "function": str(plan.function),
            "context": plan.context,
            "construction": plan.construction,
            "exact": self.exact,
            "margin": self.proof.margin,
            "error": self.proof.error,
            "leak": self.proof.leak,
            "logit_scale": self.logit_scale,
            "logit_floor": self.logit_floor,
            "width": plan.width,
            "heads": len(plan.heads),
            "dimension": plan.dimension,
            "norms": self.norms,
            "theorem": {name: {"relation": fig.relation, "value": fig.value} for name, fig in self.theorem.items()},
            "formats": {name: verdict.outcome for name, verdict in self.formats.items()},
            "rounding": {name: vars(verdict) for name, verdict in self.formats.items()},
            "summation": ORDER,
            "inputs_covered": f"2^{plan.context}",
            "method": self.proof.method,
            "output": plan.output,
            "positions": plan.function.positions,
            "parameters": dict(plan.parameters),
            "codes_seed": plan.codes_seed,
            "why": self.why,
            "rounding_assumes": ASSUMED,
        }

    def __repr__(self) -> str:
        plan, shown = self.plan, str(self.plan.function)
        shown = shown if len(shown) <= 60 else f"a function of {plan.function.sparsity} positions"
        return (
            f"Compiled({shown!r}, context={plan.context}, {plan.construction}, {plan.width} units, "
            f"margin {at_least(self.proof.margin, 6)} on all 2^{plan.context} inputs)"
        )


def compile_choice(choice: Choice, carry: str | None = None) -> Compiled:
    """Prove the chosen plan, or refuse it; with `carry` also where that format is not proved to keep the signs."""
    plan = choice.plan
    proof = prove(plan)
    if not proof.margin > 0:
        raise CompileError(
            f"{plan.construction} would be off by up to {at_most(proof.error)}, where {half_gap(plan.output):g} is the "
            "distance to the threshold: double precision does not carry its weights. Use fewer positions, or another "
            "construction."
        )
    compiled = assess_plan(plan, proof, choice.why, choice.construction)
    if carry is None:
        return compiled
    formats = {short_name(pair): verdict for pair, verdict in compiled.formats.items()}
    named = short_name(carry)
    if named not in formats:
        raise CompileError(f"There is no number format {carry!r}; choose one of {', '.join(map(repr, formats))}.")
    if formats[named].outcome != "proved":
        raise CompileError(
            f"The margin was to be carried by {named}, and that is not proved ({formats[named]}). Use a wider format "
            "or fewer positions."
        )
    return compiled


def assess_plan(plan: Plan, proof: Proof, why: str, construction: Construction | None = None) -> Compiled:
    """A plan and its proof with all else that is shown of it; the construction is the registered one if not given."""
    maker = construction_of(plan.construction) if construction is None else construction
    return Compiled(plan, proof, plan_profile(plan), theorem_norms(plan, maker), why)
