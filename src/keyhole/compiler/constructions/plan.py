"""A plan: what a construction decides, before it becomes weights; and the layout of its tokens.

Only what differs from position to position is kept: the logits and values of the relevant positions, and those that all
the others share. The query is fixed at [CLS], whose own logit is 0. Off the relevant positions logits do not depend on
the symbol; at them they may.

The interface of a construction: the plans it makes of a function, the norms of its theorem, and its name in files.

A construction of one's own is a subclass with a `plans` of its own. What follows holds for it as for the library's: the
proof over all inputs, the measured norms beside the theorem's, number formats, files, exports and the check.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from keyhole.arrays import Bool, Float
from keyhole.attention import Embedding
from keyhole.boolean import Levels, SparseFunction
from keyhole.errors import AssumptionError, CompileError

MAX_POSITIONS = 4096  # relevant ones
MAX_ENTRIES = 2**24  # of a table of values: 128 MB
Output = Literal["signs", "bits"]  # a true function reads 1; a false one −1 or 0
_DISTRACTORS = re.compile(r" with \d+ distractors?$")  # the count, in a plan's name, of heads that nothing reads


Places = tuple[int, ...]  # relevant positions, in order


@dataclass(frozen=True)
class Layout(ABC):
    """T bits and [CLS] as vectors, and a head's logits and values as matrices.

    The last coordinate is [CLS]'s own: x_CLS is its unit vector. `places` are the relevant positions, in order.
    """

    context: int
    names_position: ClassVar[bool]  # whether a token of the vocabulary names its position beside its symbol
    orthogonal: ClassVar[bool] = True  # whether tokens of two positions are: then any logits can be chosen, exactly
    radius: ClassVar[float]  # B_X, the length of the longest token

    @classmethod
    def stored(cls, context: int, dimension: int, codes_seed: int | None) -> "Layout":
        """The layout of a model file, from its description."""
        return cls(context)

    @property
    @abstractmethod
    def dimension(self) -> int:
        """d, the coordinates of a token."""

    @property
    def codes_seed(self) -> int | None:
        """The seed of random position codes, where there are any."""
        return None

    @abstractmethod
    def embedding(self) -> Embedding:
        """Every token as a vector."""

    @abstractmethod
    def diameter(self) -> float | None:
        """D_X, the largest distance of two tokens; None where it is not computed."""

    def logits(self, places: Places, head: "HeadPlan") -> Float[np.ndarray, "T 2"]:
        """The head's logit at every position, in order, by symbol."""
        every = np.empty((self.context, 2))
        every[np.delete(np.arange(self.context), places)] = np.reshape(head.rest_logits, (-1, 1))
        every[list(places)] = head.symbol_focus
        return every

    @abstractmethod
    def key_entries(self, places: Places, head: "HeadPlan") -> np.ndarray:
        """The entries of the key vector that can differ from zero, where all other logits are 0."""

    @abstractmethod
    def key_vector(self, places: Places, head: "HeadPlan") -> Float[np.ndarray, "d"]:
        """The vector q whose product with a token is its logit: M = q x_CLSᵀ."""

    @abstractmethod
    def value_rows(self, head: "HeadPlan") -> np.ndarray:
        """The rows of W_V that can differ from zero, without [CLS]'s."""

    @abstractmethod
    def value_matrix(self, places: Places, head: "HeadPlan") -> Float[np.ndarray, "d k"]:
        """W_V, with 0 in its last row, which is [CLS]'s."""

    def check_head(self, places: Places, head: "HeadPlan") -> None:  # noqa: B027  (any head has matrices)
        """Refuse a head that no matrices have in this layout: what is proved of tables would not hold of the model."""

    @abstractmethod
    def vocabulary(self) -> list[str]:
        """The names of the tokens, [CLS] last."""

    @abstractmethod
    def directions(self) -> list[str]:
        """The name of every coordinate."""


@dataclass(frozen=True, eq=False)
class HeadPlan:
    """One head: logits and values at the relevant positions and elsewhere."""

    focus: Float[np.ndarray, "s"] | Float[np.ndarray, "s 2"]  # logits at the relevant positions; by symbol, or alike
    values: Float[np.ndarray, "s 2 k"]  # what unit j reads there, by symbol
    rest_logits: Float[np.ndarray, "_others"] | float  # of every other position: one number, or one each
    rest_values: Float[np.ndarray, "2 k"]  # of every other position, by symbol
    cls_values: Float[np.ndarray, "k"] | None = None  # of [CLS]; 0 where none are given

    @property
    def reads_symbols(self) -> bool:
        """Return True if a logit depends on the symbol."""
        return self.focus.ndim == 2 and bool((self.focus[:, 0] != self.focus[:, 1]).any())

    @property
    def symbol_focus(self) -> Float[np.ndarray, "s 2"]:
        """The logits at the relevant positions, by symbol."""
        return self.focus if self.focus.ndim == 2 else np.repeat(self.focus[:, None], 2, axis=1)

    @property
    def own_values(self) -> Float[np.ndarray, "k"]:
        """The values of [CLS]."""
        return np.zeros(self.rest_values.shape[1]) if self.cls_values is None else self.cls_values

    @property
    def spread(self) -> float:
        """R, the largest difference of one position's logits over its symbols."""
        return float(np.ptp(self.symbol_focus, axis=1).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Plan:
    """Heads summed before the activation, ReLU units, and a read-out: f = Σ_j w_j ReLU(Σ_h head_h[j])."""

    function: SparseFunction
    layout: Layout  # how its tokens are vectors
    output: Output
    construction: str  # the target's name, as files keep it: A1 … A5, B1, B2, B′, with how many distractors
    heads: tuple[HeadPlan, ...]
    readout: Float[np.ndarray, "k"]
    units: tuple[str, ...]  # what each unit detects
    parameters: Mapping[str, float]  # β, a, γ or ρ: as the construction names them

    @property
    def context(self) -> int:
        """T, without [CLS]."""
        return self.layout.context

    @property
    def dimension(self) -> int:
        """d, of the embedding the plan lives in."""
        return self.layout.dimension

    @property
    def codes_seed(self) -> int | None:
        """The seed of random position codes, where there are any."""
        return self.layout.codes_seed

    @property
    def target(self) -> str:
        """The construction's name without its distractors: what it was before any were added."""
        return target_of(self.construction)

    @property
    def width(self) -> int:
        """The number of ReLU units."""
        return len(self.units)

    def logits(self, head: HeadPlan) -> Float[np.ndarray, "T 2"]:
        """The head's logit at every position, in order, by symbol."""
        return self.layout.logits(self.function.positions, head)

    def key_vector(self, head: HeadPlan) -> Float[np.ndarray, "d"]:
        """The vector q whose product with a token is its logit: M = q x_CLSᵀ."""
        return self.layout.key_vector(self.function.positions, head)

    def value_matrix(self, head: HeadPlan) -> Float[np.ndarray, "d k"]:
        """W_V; [CLS] is the unit vector of the last coordinate, and so the last row is its own."""
        matrix = self.layout.value_matrix(self.function.positions, head)
        matrix[-1] = head.own_values
        return matrix

    @property
    def path_inf(self) -> float:
        """P_∞ = Σ_j |w_j| Σ_h max |value|: what Theorem T charges for the plan."""
        reach = np.zeros(self.width)
        for head in self.heads:
            rest = head.rest_values if self.context > self.function.sparsity else head.rest_values[:0]
            values = np.concatenate([head.values.reshape(-1, self.width), rest, head.own_values[None]])
            reach += np.abs(values).max(axis=0)
        return float(np.abs(self.readout) @ reach)

    @property
    def spread(self) -> float:
        """R, of the head whose logits depend most on the symbol."""
        return max(head.spread for head in self.heads)


def remove_unread(plan: Plan) -> Plan:
    """The plan without what cannot reach the output: units of read-out weight 0, and heads that write to no other.

    Statement  Both plans have the same output on every input, in exact arithmetic.
    Proof      f = Σ_j w_j ReLU(Σ_h head_h[j]): a unit with w_j = 0 adds nothing, and a head whose values are 0 in
               every unit with w_j ≠ 0 adds 0 to each of their pre-activations.
    Source     Ours.
    """
    read = np.flatnonzero(plan.readout)
    heads = tuple(
        replace(
            head,
            values=head.values[:, :, read],
            rest_values=head.rest_values[:, read],
            cls_values=None if head.cls_values is None else head.cls_values[read],
        )
        for head in plan.heads
        if head.values[:, :, read].any() or head.rest_values[:, read].any() or head.own_values[read].any()
    )
    if len(read) == plan.width and len(heads) == len(plan.heads):
        return plan
    return replace(plan, heads=heads, readout=plan.readout[read], units=tuple(plan.units[j] for j in read))


def count_unread_heads(plan: Plan) -> int:
    """Count the distractors of a plan: heads without a unit that is read."""
    return len(plan.heads) - len(remove_unread(plan).heads)


def require_shapes(plan: Plan) -> None:
    """Refuse a plan whose tables do not fit its function, context and units."""
    s, k, others = plan.function.sparsity, plan.width, plan.context - plan.function.sparsity
    if not plan.heads or not s or others < 0:
        raise CompileError("The plan has no heads, no positions, or a context too short for them.")
    if plan.readout.shape != (k,):
        raise CompileError(f"The readout has shape {plan.readout.shape}, and there are {k} units.")
    for index, head in enumerate(plan.heads):
        for name, array, fitting in (
            ("focus", head.focus, {(s,), (s, 2)}),
            ("values", head.values, {(s, 2, k)}),
            ("rest_logits", head.rest_logits, {(), (others,)}),
            ("rest_values", head.rest_values, {(2, k)}),
            ("cls_values", head.own_values, {(k,)}),
        ):
            if np.shape(array) not in fitting:
                raise CompileError(
                    f"{name} of head {index} has shape {np.shape(array)}; with {s} relevant positions, {others} others "
                    f"and {k} units it is {' or '.join(map(str, sorted(fitting)))}."
                )


def target_of(construction: str) -> str:
    """The name without its count of distractors.

    >>> target_of("B1 with codes"), target_of("A2 with 3 distractors")
    ('B1 with codes', 'A2')
    """
    return _DISTRACTORS.sub("", construction)


def every_pattern(sparsity: int) -> Bool[np.ndarray, "patterns s"]:
    """Return every pattern of the relevant bits, a row each."""
    return ((np.arange(1 << sparsity)[:, None] >> np.arange(sparsity)) & 1).astype(bool)


def pattern_per_count(rule: Levels) -> Bool[np.ndarray, "counts s"]:
    """Return for each number of true literals one pattern that has it."""
    s = len(rule.negated)
    return np.asarray(np.tri(s + 1, s, -1, dtype=bool) ^ np.array(rule.negated))  # row j: the first j literals true


def fits(sparsity: int, units: int) -> bool:
    """Return True if a table of values at so many relevant positions, for so many units, is small enough."""
    return 2 * sparsity * units <= MAX_ENTRIES


def wanted(truth: bool, output: Output) -> float:  # noqa: FBT001  (a truth value is what it takes)
    """The number a function's value is to appear as."""
    return 1.0 if truth else (-1.0 if output == "signs" else 0.0)


def half_gap(output: Output) -> float:
    """The distance of a perfect output from the threshold between true and false."""
    return 1.0 if output == "signs" else 0.5


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
        """The theorem's figure for each norm it states, free of any matrix; the names are those of `named_norms`."""
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
