"""Lower bounds for every attention layer: large logits or large outputs, and capacity for every table."""

from math import exp, log

from keyhole.bounds.validate import Real, norm, positive, whole


def token_influence(logit_range: Real, value_radius: Real, context: int) -> float:
    """Largest move of a head's output when one of T tokens is replaced.

    Statement  If all logits lie in an interval of length ρ, one replaced token moves the output by at most
               4 V e^ρ / T, V the largest ‖W_Vᵀx‖ of any token.
    Proof      With ō the average of the other tokens, o' − o = a'(v' − ō) − a(v − ō); a, a' ≤ e^ρ/T and
               ‖v − ō‖ ≤ 2V.
    Source     Ours; proved above.

    >>> token_influence(0.0, 1.0, 100)
    0.04
    """
    spread = exp(norm("the logit range", logit_range))
    return 4 * norm("V", value_radius) * spread / whole("the context", context)


def logit_range_floor(change: Real, context: int, output_lipschitz: Real, value_radius: Real) -> float:
    """Least range of logits in a model whose output changes by μ under one flip: a trade-off with its norms.

    Statement  2B ≥ log(μT / (4 Λ V)), Λ = ‖w‖‖W_C‖₂L the Lipschitz constant of what follows the head;
               0 where that says nothing.
    Proof      `token_influence` times Λ must reach μ.
    Source     Ours; proved above: the logit-range floor. It does not say that logits are needed for exactness: large
               read-outs do too.

    >>> round(logit_range_floor(1.0, 100, 6.0, 2 / 3), 6)
    1.832581
    """
    outward = 4 * positive("Λ", output_lipschitz) * positive("V", value_radius)
    return max(0.0, log(positive("the change", change) * whole("the context", context) / outward))


def junta_capacity_floor(sparsity: int) -> float:
    """Least C of any valid bound C/ε² for a class that holds every ±1 function of s given bits.

    Statement  C ≥ 2^s ln 2 at m = 2^s points.
    Proof      The class takes all 2^(2^s) sign patterns on those points with margin 1, so
               log N(ε) ≥ 2^s ln 2 for every ε < 1.
    Source     Ours; proved above.

    >>> round(junta_capacity_floor(3), 3)
    5.545
    """
    return 2.0 ** whole("the sparsity", sparsity, least=0) * log(2)
