"""The cheapest construction: the one a bound charges least for, and of those the narrowest.

Theorem T holds for any law of the inputs, and charges P_∞ Φ(R): R is how far scores depend on symbols. For a product
law scores cost nothing, whatever they are, and P_∞ is all that is charged.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, log
from typing import cast

from keyhole.boolean import SparseFunction, check_context
from keyhole.bounds.theorems import spread_price
from keyhole.compiler.constructions.plan import MAX_POSITIONS, Construction, Output, Plan, check_leak, check_plan
from keyhole.compiler.constructions.registry import (
    AUTO,
    find_construction,
    registered_constructions,
)
from keyhole.compiler.norms import plan_profile
from keyhole.errors import CompileError
from keyhole.norm_profile import NormProfile

DEFAULT = 0.5  # the attention off the relevant positions: γ, or the leak ratio ρ
LEAST = 1e-3  # the leak is searched for between this and one minus this
GOLDEN = 0.6180339887498949
Charge = Callable[[NormProfile], float]


@dataclass(frozen=True)
class Choice:
    """A plan, the construction that made it, and why it was taken."""

    plan: Plan
    construction: Construction
    why: str


def choose(
    function: SparseFunction,
    context: int,
    construction: str | Construction = AUTO,
    *,
    output: str = "signs",  # or "bits"
    seed: int = 0,
    leak: float = DEFAULT,
    charge: Charge | None = None,
) -> Choice:
    """Return the plan of the construction that is charged least, and of those the narrowest.

    Without a charge it is Theorem T's. With "auto" those constructions compete that say so; the others are taken only
    by name.
    """
    check_context(function, context)
    check_leak(leak)
    if output not in ("signs", "bits"):
        raise CompileError(f"The output {output!r} is unknown; choose signs (1 and −1) or bits (1 and 0).")
    if function.sparsity > MAX_POSITIONS:
        raise CompileError(
            f"The function reads {function.sparsity} positions; at most {MAX_POSITIONS} relevant ones are "
            "compiled. Use fewer."
        )
    if not function.sparsity:
        raise CompileError(
            "The function is constant, and no head is needed for it; compile one that reads at least one position."
        )
    if construction == AUTO:
        makers = tuple(known for known in registered_constructions() if known.competes)
    else:
        makers = (find_construction(construction) if isinstance(construction, str) else construction,)
    plans: list[tuple[Plan, Construction]] = []
    refusals: list[CompileError] = []
    for maker in makers:
        try:
            candidates = maker.plans(function, context, leak, cast("Output", output), seed)
        except CompileError as refusal:
            refusals.append(refusal)
            continue
        for plan in candidates:
            check_plan(plan, maker)
            if (plan.function, plan.context, plan.output) != (function, context, output):
                raise CompileError(f"The construction {maker.name!r} made a plan of another function or context.")
            plans.append((plan, maker))
    if not plans:
        raise refusals[0] if refusals else CompileError(f"The construction {makers[0].name!r} made no plan.")
    best, maker = min(plans, key=lambda pair: (_price(pair[0], charge), pair[0].width))
    rivals = sorted((plan for plan, _ in plans if plan is not best), key=lambda plan: (_price(plan, None), plan.width))
    others = f". The others that fit: {'; '.join(map(_figures, rivals))}."
    alone = f"; {'no other construction fits' if construction == AUTO else 'it was asked for by name'}."
    why = _figures(best) + (others if rivals else alone)
    return Choice(best, maker, why)


def cheapest(
    charge: Charge,
    function: SparseFunction,
    context: int,
    construction: str | Construction = AUTO,
    *,
    output: str = "signs",
    seed: int = 0,
) -> Choice:
    """Return the leak and the construction for which a bound's own charge is least.

    The leak is searched for by golden section in its log-odds: exact where the charge falls and then rises, as products
    of a logit scale log(1/γ) and read-outs 1/(1 − γ) do.
    """

    def choose_at(leak: float) -> Choice:
        return choose(function, context, construction, output=output, seed=seed, leak=leak, charge=charge)

    def price(odds: float) -> float:
        return charge(plan_profile(choose_at(_mass(odds)).plan))

    low, high = log(LEAST / (1 - LEAST)), log((1 - LEAST) / LEAST)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    price_left, price_right = price(left), price(right)
    while high - low > 1e-3:
        if price_left <= price_right:
            high, right, price_right = right, left, price_left
            left = high - GOLDEN * (high - low)
            price_left = price(left)
        else:
            low, left, price_left = left, right, price_right
            right = low + GOLDEN * (high - low)
            price_right = price(right)
    leak = _mass((low + high) / 2)
    choice, end = choose_at(leak), min(leak, 1 - leak) <= LEAST * 1.01
    where = "at the end of the range searched" if end else "by golden section"
    return replace(choice, why=f"{choice.why} The attention mass off the relevant positions is {leak:.4g}, {where}.")


def path_inf(profile: NormProfile) -> float:
    """Return the charge of Theorem T, P_∞ Φ(R), which does not see logits that ignore symbols."""
    return product_law(profile) * spread_price(profile.spread or 0.0)


def product_law(profile: NormProfile) -> float:
    """Return the charge where positions are independent: P_∞ alone, whatever the scores are.

    Source     Ours: a head is a mixture of decision lists, and a product law ends each after few items.
    """
    return profile.path_inf if profile.path_inf is not None else float("inf")


def _price(plan: Plan, charge: Charge | None) -> float:
    """The charge for a plan; Theorem T's, and that of a product law, need no norm of a matrix."""
    if charge is product_law:
        return plan.path_inf
    return plan.path_inf * spread_price(plan.spread) if charge in {None, path_inf} else charge(plan_profile(plan))


def _mass(odds: float) -> float:
    return 1 / (1 + exp(-odds))


def _figures(plan: Plan) -> str:
    """A plan's name and what is compared of it."""
    spread = f" at R = {plan.spread:.4g}" if plan.spread else ""
    return f"{plan.construction} with P_∞ = {plan.path_inf:.4g}{spread}, {plan.width} unit{'s' * (plan.width != 1)}"
