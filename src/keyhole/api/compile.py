"""Compile: a sparse Boolean function into weights that compute it, with a proof for every input."""

from keyhole.boolean.families import read_function
from keyhole.boolean.function import SparseFunction
from keyhole.bounds.covers.heads import scalar_model_cover
from keyhole.compiler.choice import Charge, cheapest, choose, path_inf
from keyhole.compiler.compiled import Compiled, compile_choice
from keyhole.compiler.constructions.base import Construction
from keyhole.errors import ArgumentError
from keyhole.profile import NormProfile

COVER_SAMPLES = 1e6  # the capacity of covers holds log m; its least mass hardly moves with m


def cover_capacity(profile: NormProfile) -> float:
    """What the cover route charges: the capacity C of Theorem S, which sees logits and read-outs."""
    return scalar_model_cover(profile, COVER_SAMPLES).capacity


CHARGES = {"path_inf": path_inf, "cover": cover_capacity}


def compile(  # noqa: A001  (the verb's own name)
    function: str | SparseFunction,
    context: int,
    *,
    construction: str | Construction = "auto",
    gamma: float = 0.5,
    rho: float = 0.5,
    output: str = "signs",
    seed: int = 0,
    minimise: str | Charge | None = None,
    carry: str | None = None,
) -> Compiled:
    """Exact weights of one attention layer for a function of T bits, certified on all 2^T inputs.

    A construction is "auto" (the cheapest), "pair", "additive", "codes", "heads", the name of a registered one, or a
    Construction of your own.
    `gamma` is the attention mass off the relevant positions (pair construction), `rho` the leak ratio of the others.
    With `minimise` that mass is chosen instead, so that a charge is least: "path_inf", or any function of the norms,
    such as a bound's capacity ("cover": that of Theorem S). With `carry` a number format must be proved to keep
    every sign.

    >>> compile("x3 & x17 & x40", 1_000_000)
    Compiled('x3 & x17 & x40', context=1000000, A2, 2 units, margin 0.999999 on all 2^1000000 inputs)
    """
    if isinstance(function, str):
        function = read_function(function, seed)
    if minimise is None:
        choice = choose(function, context, construction, output=output, seed=seed, gamma=gamma, rho=rho)
        return compile_choice(choice, carry)
    if isinstance(minimise, str) and minimise not in CHARGES:
        raise ArgumentError(f"There is no charge {minimise!r} to minimise; use {', '.join(CHARGES)}, or a function.")
    charge = CHARGES[minimise] if isinstance(minimise, str) else minimise
    return compile_choice(cheapest(charge, function, context, construction, output=output, seed=seed), carry)
