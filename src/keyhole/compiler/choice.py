"""Which construction is cheapest: the one Theorem T charges least for, and of those the narrowest."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, log
from typing import cast

from keyhole.boolean.function import SparseFunction, check_context
from keyhole.compiler.constructions.additive import additive_plan, check_leak, coded_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.constructions.per_position import separate_plan
from keyhole.compiler.constructions.plan import MAX_POSITIONS, Output, Plan
from keyhole.compiler.norms import plan_profile
from keyhole.errors import AssumptionError, CompileError
from keyhole.profile import NormProfile

CONSTRUCTIONS = ("auto", "pair", "additive", "codes", "heads")
DEFAULT = 0.5  # the attention mass off the relevant positions where none is asked for
LEAST = 1e-3  # that mass is searched for between this and one minus this
GOLDEN = 0.6180339887498949
Charge = Callable[[NormProfile], float]


@dataclass(frozen=True)
class Choice:
    """A plan, and why it was taken."""

    plan: Plan
    why: str


@dataclass(frozen=True)
class Wish:
    """What was asked for, the attention mass aside."""

    function: SparseFunction
    context: int
    output: str = "signs"  # or "bits"
    construction: str = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        check_context(self.function, self.context)
        if self.construction not in CONSTRUCTIONS:
            raise CompileError(
                f"There is no construction {self.construction!r}; choose one of {', '.join(CONSTRUCTIONS)}."
            )
        if self.output not in ("signs", "bits"):
            raise CompileError(f"There is no output {self.output!r}; choose signs (1 and −1) or bits (1 and 0).")
        if self.function.sparsity > MAX_POSITIONS:
            raise CompileError(
                f"The function reads {self.function.sparsity} positions; at most {MAX_POSITIONS} relevant ones are "
                "compiled. Use fewer."
            )
        if not self.function.sparsity:
            raise CompileError(
                "The function is constant, and no head is needed for it; compile one that reads at least one position."
            )


def choose(wish: Wish, gamma: float = DEFAULT, rho: float = DEFAULT) -> Choice:
    """The cheapest plan of the wished construction, by P_∞ and then by width; or a refusal that says why.

    With `auto` the pair, additive and one-head-per-position constructions compete. Random codes are taken only by
    name: they cost what the additive construction costs, and save dimension.
    """
    if not 0 < gamma < 1:  # also where the pair construction is not tried
        raise AssumptionError(f"γ is the attention mass off the relevant positions, so 0 < γ < 1; got {gamma}.")
    check_leak(rho, 1.0)
    names = ("pair", "additive", "heads") if wish.construction == "auto" else (wish.construction,)
    plans: list[Plan] = []
    refusals: list[CompileError] = []
    for name in names:
        try:
            plans += candidates(wish, name, gamma, rho)
        except CompileError as refusal:
            refusals.append(refusal)
    if not plans:
        raise refusals[0]
    best, *rivals = sorted(plans, key=lambda plan: (plan.path_inf, plan.width))
    return Choice(best, _why(best, rivals, asked=wish.construction != "auto"))


def candidates(wish: Wish, name: str, gamma: float, rho: float) -> list[Plan]:
    """Every plan of one construction."""
    function, context, output = wish.function, wish.context, cast("Output", wish.output)
    if name == "pair":
        return pair_plans(function, context, gamma, output)
    if name == "additive":
        return [additive_plan(function, context, rho, output)]
    if name == "heads":
        return [separate_plan(function, context, rho, output)]
    return [coded_plan(function, context, rho, output, wish.seed)]


def cheapest(wish: Wish, charge: Charge) -> Choice:
    """The attention mass and the construction for which a bound's own charge is least.

    γ and ρ are one number here, searched for by golden section in its log-odds: exact where the charge falls and then
    rises, as products of a logit scale log(1/γ) and read-outs 1/(1 − γ) do.
    """

    def price(mass: float) -> float:
        return charge(plan_profile(choose(wish, mass, mass).plan))

    mass = _golden(price)
    choice = choose(wish, mass, mass)
    return Choice(choice.plan, f"{choice.why} {_searched(mass)}")


def reasons(plan: Plan) -> Iterator[str]:
    """The sentences that choosing a plan can have given: by name or the cheapest, its mass given or searched for.

    Of the two masses only the plan's own is known. The other one is taken to be equal to it, or as it is where none is
    asked for.
    """
    mass = plan.parameters["gamma" if plan.paired else "target"]
    kinds = (("pair", plan.paired), ("heads", plan.construction == "B′"), ("codes", plan.codes_seed is not None))
    named = next((name for name, holds in kinds if holds), "additive")
    for construction in ("auto", named):
        wish = Wish(plan.function, plan.context, plan.output, construction, plan.codes_seed or 0)
        for gamma, rho in {(mass, mass), (mass, DEFAULT), (DEFAULT, mass)}:
            choice = choose(wish, gamma, rho)
            if choice.plan.construction == plan.construction:
                yield choice.why
                if gamma == rho:
                    yield f"{choice.why} {_searched(mass)}"


def _searched(mass: float) -> str:
    """Where a search for the attention mass ended."""
    end = mass <= LEAST * 1.01 or mass >= 1 - LEAST * 1.01
    where = "at the end of the range searched" if end else "by golden section"
    return f"The attention mass off the relevant positions is {mass:.4g}, {where}."


def path_inf(profile: NormProfile) -> float:
    """What Theorem T charges: P_∞, which does not see logits, so that it always asks for the least mass."""
    return profile.path_inf if profile.path_inf is not None else float("inf")


def _golden(price: Callable[[float], float]) -> float:
    """The argument between LEAST and 1 − LEAST of the least price."""
    low, high = log(LEAST / (1 - LEAST)), log((1 - LEAST) / LEAST)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    price_left, price_right = price(_mass(left)), price(_mass(right))
    while high - low > 1e-3:
        if price_left <= price_right:
            high, right, price_right = right, left, price_left
            left = high - GOLDEN * (high - low)
            price_left = price(_mass(left))
        else:
            low, left, price_left = left, right, price_right
            right = low + GOLDEN * (high - low)
            price_right = price(_mass(right))
    return _mass((low + high) / 2)


def _mass(odds: float) -> float:
    return 1 / (1 + exp(-odds))


def _why(best: Plan, rivals: list[Plan], *, asked: bool) -> str:
    """One sentence with the figures of the chosen plan and of its rivals."""
    chosen = f"{best.construction} has P_∞ = {best.path_inf:.4g} with {_units(best)}"
    if not rivals:
        return f"{chosen}; {'it was asked for by name' if asked else 'no other construction fits'}."
    others = ", ".join(f"{plan.construction}'s {plan.path_inf:.4g} with {plan.width}" for plan in rivals)
    return f"{chosen}, against {others}."


def _units(plan: Plan) -> str:
    return "1 unit" if plan.width == 1 else f"{plan.width} units"
