"""A compiled function: its plan, the proof, and what follows from both."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np

from keyhole.attention import Model, Tabulated
from keyhole.bounds.finite import logit_range_floor
from keyhole.compiler.assembly import to_model, to_tabulated
from keyhole.compiler.choice import Choice
from keyhole.compiler.constructions.plan import Construction, Output, Plan, TheoremNorm, count_unread_heads, half_gap
from keyhole.compiler.norms import logit_range, named_norms, plan_profile, value_radius
from keyhole.compiler.precision.rounding import ASSUMED, ORDER, FormatVerdict, judge_formats
from keyhole.compiler.proof import Proof, prove
from keyhole.decimals import at_least, at_most
from keyhole.errors import CompileError
from keyhole.files.record import hidden
from keyhole.norm_profile import NormProfile
from keyhole.verdicts import FormatOutcome

Made = TypeVar("Made", bound="Compiled")


@dataclass(frozen=True, eq=False, repr=False)
class Compiled:
    """Weights that compute a function, with their certificate."""

    properties: ClassVar[tuple[str, ...]] = (
        "function", "context", "construction", "exact", "margin", "error", "leak", "logit_scale", "logit_floor",
        "width", "heads", "dimension", "norms", "theorem", "formats", "rounding", "summation", "inputs_covered",
        "method", "output", "positions", "parameters", "codes_seed", "why", "rounding_assumes",
    )  # fmt: skip
    summation: ClassVar[str] = ORDER
    rounding_assumes: ClassVar[str] = ASSUMED

    plan: Plan = hidden()
    proof: Proof = hidden()
    maker: Construction = hidden()
    why: str = hidden(default="")  # this construction was taken; `properties` has it

    @classmethod
    def from_choice(cls: type[Made], choice: Choice) -> Made:  # noqa: PYI019  (Self cannot be checked at run time)
        """Prove the chosen plan; refuse one whose weights double precision does not carry."""
        plan, proof = choice.plan, prove(choice.plan)
        if not proof.margin > 0:
            raise CompileError(
                f"{plan.construction} would be off by up to {at_most(proof.error)}, where {half_gap(plan.output):g} is "
                "the distance to the threshold: double precision does not carry its weights. Use fewer positions, or "
                "another construction."
            )
        compiled = cls(plan, proof, choice.construction, choice.why)
        unknown = sorted(compiled.theorem.keys() - set(compiled.norms))
        if unknown:
            raise CompileError(
                f"The construction {choice.construction.name!r} states a norm {unknown[0]!r}; the norms are "
                f"{', '.join(compiled.norms)}."
            )
        return compiled

    @property
    def function(self) -> str:
        """The formula."""
        return str(self.plan.function)

    @property
    def context(self) -> int:
        """T, without [CLS]."""
        return self.plan.context

    @property
    def construction(self) -> str:
        """The construction's target, such as A2."""
        return self.plan.construction

    @property
    def exact(self) -> bool:
        """Every one of the 2^T inputs is proved to come out on its right side."""
        return self.margin > 0

    @property
    def margin(self) -> float:
        """The least distance of an output from the threshold, on its right side, rounded down."""
        return self.proof.margin

    @property
    def error(self) -> float:
        """The largest distance of an output from the wanted one, rounded up."""
        return self.proof.error

    @property
    def leak(self) -> float:
        """The largest attention off the relevant positions, rounded up."""
        return self.proof.leak

    @cached_property
    def logit_scale(self) -> float:
        """The length of the interval that holds the logits."""
        return logit_range(self.plan)

    @cached_property
    def logit_floor(self) -> float:
        """The least logit scale that these output norms allow (`logit_range_floor`); 0 where the theorem is silent."""
        change = 2 * self.margin  # some flip carries the output from one side to the other
        return logit_range_floor(
            change, self.context, float(np.linalg.norm(self.plan.readout)), value_radius(self.plan)
        )

    @property
    def width(self) -> int:
        """The number of hidden units."""
        return self.plan.width

    @property
    def heads(self) -> int:
        """The number of heads."""
        return len(self.plan.heads)

    @property
    def dimension(self) -> int:
        """d, of the embedding."""
        return self.plan.dimension

    @cached_property
    def profile(self) -> NormProfile:
        """The norms that bounds take."""
        return plan_profile(self.plan)

    @cached_property
    def norms(self) -> dict[str, float]:
        """The norms that the theorems speak of, by name."""
        return named_norms(self.profile)

    @cached_property
    def theorem(self) -> Mapping[str, TheoremNorm]:
        """The construction's own figure for each norm that its theorem states; none for a plan with distractors."""
        return {} if count_unread_heads(self.plan) else self.maker.theorem_norms(self.plan)

    @property
    def formats(self) -> dict[str, FormatOutcome]:
        """The outcome of each number format."""
        return {name: verdict.outcome for name, verdict in self.rounding.items()}

    @cached_property
    def rounding(self) -> Mapping[str, FormatVerdict]:
        """The verdict on each number format; it takes longer than all the rest."""
        return judge_formats(self.plan, self.margin)

    @property
    def inputs_covered(self) -> str:
        """All of them."""
        return f"2^{self.context}"

    @property
    def method(self) -> str:
        """The cases of the proof."""
        return self.proof.method

    @property
    def output(self) -> Output:
        """The numbers that stand for true and false."""
        return self.plan.output

    @property
    def positions(self) -> tuple[int, ...]:
        """The relevant positions."""
        return self.plan.function.positions

    @property
    def parameters(self) -> Mapping[str, float]:
        """β, a, γ or ρ, as the construction names them."""
        return self.plan.parameters

    @property
    def codes_seed(self) -> int | None:
        """The seed of random position codes."""
        return self.plan.codes_seed

    @property
    def model(self) -> Model:
        """The weights as matrices of the plan's dimension."""
        return to_model(self.plan)

    @property
    def tabulated(self) -> Tabulated:
        """The weights as tables: relevant rows and one for all others."""
        return to_tabulated(self.plan)

    def __repr__(self) -> str:
        text = self.function
        text = text if len(text) <= 60 else f"a function of {len(self.positions)} positions"
        return (
            f"Compiled({text!r}, context={self.context}, {self.construction}, {self.width} units, "
            f"margin {at_least(self.margin, 6)} on all {self.inputs_covered} inputs)"
        )
