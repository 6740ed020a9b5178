"""The main claim, joined: do 2^O(s) log T samples suffice for a bounded attention layer to learn any s-sparse function?"""

from functools import partial
from math import ceil, log, sqrt

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.representation.constructions import compiled_path_inf, find_plan, joined_samples
from keyhole.boolean import read_function
from keyhole.bounds.finite import information_floor, junta_nats, samples_for_error
from keyhole.bounds.theorems import one_position_rate
from keyhole.compiler import prove
from keyhole.decimals import at_least
from keyhole.figure import Axis, line_figure
from keyhole.papers import EDELMAN_2022

CLAIM = Claim(
    id="joined",
    title="Representation and generalization joined: 2^O(s) log T samples suffice",
    statement=(
        "The class of one-layer heads with P_∞ ≤ P contains every s-sparse function with margin 1, and generalizes from "
        "O(P² log T / ε²) samples under every law of the bits. The information floor has the same growth in T."
    ),
    formula=r"m\;\ge\;\frac{\left(4P\sqrt{2\ln(2T+2)}+\sqrt{\ln(1/\delta)/2}\right)^2}{\varepsilon^2},\quad P=\frac{2^s\max(1,s-1)}{1-\gamma}",
    kind="inequality",
    source="keyhole, with proof (Corollary J); about minimisers of the ramp loss, not about gradient descent",
    prediction=(
        "m/ln(2T+2) falls to a constant, so that from T = 10² to 10⁸ it changes by less than 1 %. For s = 3, ε = .1, δ = .01, γ = .01 and "
        "T = 100, 1000, 10000 Theorem T, evaluated at m samples, guarantees ε, and at one sample less it does not. Four functions, compiled "
        "at T = 1000, lie in the class and have margin 1 on all inputs."
    ),
    could_fail="Growth faster than ln T, a formula that is not Theorem T's, or a compiled function outside the class or without its margin.",
    papers=(EDELMAN_2022,),
)

SPARSITY, ERROR, DELTA, GAMMA = 3, 0.1, 0.01, 0.01
SHOWN = (100, 1000, 10_000)
CONTEXT = 1000  # of the members that are compiled
MEMBERS = ("x3 ^ x31 ^ x100", "x3 & x31 & x100", "maj(x3, x31, x100)", "x3 & ~x31 | x100")
ROUNDING = 1e-9


@partial(Experiment, CLAIM)
def experiment(scale: Scale, seed: int) -> Outcome:  # noqa: ARG001  (nothing is drawn)
    """The sample size along T beside Occam's and the floor; and one member of the class, compiled and proved."""
    rows, steadiness = [], []
    for context in [10**power for power in range(2, 9)]:
        enough = joined_samples(context, SPARSITY, error=ERROR, delta=DELTA, leak=GAMMA)
        steadiness.append(enough / log(2 * context + 2))
        rows.append({"T": context, "m": enough, "what": "enough for a bounded layer (ours)"})
        occam = samples_for_error(junta_nats(context, SPARSITY) - log(DELTA), ERROR)
        rows.append({"T": context, "m": occam, "what": "enough for a finite class (Occam)"})
        rows.append({"T": context, "m": information_floor(context, SPARSITY), "what": "necessary for any learner"})
    needed = {T: joined_samples(T, SPARSITY, error=ERROR, delta=DELTA, leak=GAMMA) for T in SHOWN}
    tight = all(guaranteed_error(T, ceil(m)) <= ERROR < guaranteed_error(T, ceil(m) - 1) for T, m in needed.items())
    plans = [find_plan(read_function(formula), CONTEXT, GAMMA, "A1") for formula in MEMBERS]
    proofs = [prove(plan) for plan in plans]
    limit = compiled_path_inf(SPARSITY, GAMMA) * (1 + ROUNDING)
    margin = min(proof.margin for proof in proofs)
    inside = all(plan.path_inf <= limit for plan in plans) and margin > 1 - ROUNDING
    drifted = max(steadiness) / min(steadiness) - 1
    return Outcome(
        verdict="holds" if tight and inside and drifted < 0.01 else "fails here",
        measurement=(
            f"m = {', '.join(f'{value:.3g} at T = {context}' for context, value in needed.items())}; m/ln(2T+2) changes by "
            f"{100 * drifted:.2f} % from T = 10² to 10⁸; {len(MEMBERS)} compiled functions lie in the class, with margin {at_least(margin, places=9)} on all inputs."
        ),
        numbers={
            **{f"m at T = {context}": value for context, value in needed.items()},
            "change of m/ln(2T+2)": drifted,
        },
        interval="None: computed, not sampled.",
        figures=(
            line_figure(
                "Samples that suffice, and samples that are necessary",
                rows,
                Axis("T", "context length T", "log"),
                Axis("m", "samples m", "log"),
                Axis("what", "", "category"),
                subtitle=f"any function of {SPARSITY} of T bits, error {ERROR}, δ = {DELTA}",
            ),
        ),
        caveats=("Four orders of magnitude lie between this bound and the finite-class one.",),
    )


def guaranteed_error(context: int, samples: int) -> float:
    """The error that Theorem T guarantees of a minimiser with so many samples, from the rate of one-position functions.

    The ramp loss of margin 1 is 1-Lipschitz, so a minimiser errs by at most twice the complexity 2P·r_m of the class
    and the deviation of one mean.
    """
    complexity = 2 * compiled_path_inf(SPARSITY, GAMMA) * one_position_rate(context, samples)
    return 2 * complexity + sqrt(log(1 / DELTA) / (2 * samples))
