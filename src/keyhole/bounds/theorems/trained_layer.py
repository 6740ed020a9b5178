"""The gap of a trained layer from the few numbers that Theorems T and L read, without any norm of W_Q or W_K.

A layer without LayerNorm after attention, read at a fixed query, has a path norm P_∞ and, per head, tables of scores.
`keyhole.attention.profile(model, trained=True)` measures them; these functions need the numbers alone.
"""

from keyhole.bounds.theorems.guarantees import Guarantee, guarantee
from keyhole.bounds.theorems.registry import LISTS, PRODUCT_LISTS, TABULATED, Route
from keyhole.bounds.theorems.risk import Loss
from keyhole.bounds.validate import Real, failure, whole
from keyhole.errors import AssumptionError
from keyhole.norm_profile import BlockNorms, NormProfile, require_possible


def tabulated_profile(
    *, path_inf: Real, context: int, symbols: int = 2, constant_tokens: int = 1, spread: Real | None = None,
    least_probability: Real | None = None, lipschitz: Real = 1.0, odd_units: bool = False,
) -> NormProfile:  # fmt: skip
    """A layer of which only what Theorems T and L read is known: P_∞, the spread R, alphabet, constant tokens, law.

    `odd_units` says that no units stand after attention, or units with σ(−x) = −σ(x): signs then cost nothing.

    >>> tabulated_profile(path_inf=4.0, context=100).tokens
    101
    """
    return NormProfile(
        blocks=(BlockNorms((), biased=True),),  # what passes the units counts in P_∞ too
        tokens=whole("the context", context) + whole("the number of constant tokens", constant_tokens, least=0),
        readout=0.0,
        token_radius=0.0,
        query_radius=0.0,
        activation_lipschitz=float(lipschitz),
        symbols=symbols,
        path_inf=float(path_inf),
        spread=None if spread is None else float(spread),
        odd_units=odd_units,
        constant_tokens=constant_tokens,
        least_probability=None if least_probability is None else float(least_probability),
    )


def layer_guarantee(
    profile: NormProfile,
    samples: Real,
    *,
    delta: Real = 0.01,
    loss: Loss | None = None,
    two_sided: bool = True,
    measured: bool = True,
) -> Guarantee:
    """The smallest gap that Theorems T and L promise for a layer, its P_∞ and spread measured after training.

    Statement  With probability ≥ 1 − δ the gap of every loss of the kind is at most the value: the smaller of Theorem T
               and Theorem L under any law (where the profile has a spread) and of Theorem L for independent symbols
               (where it has a least probability).
    Proof      Theorems T and L under any law speak of one class, so the smaller holds without a price. The form for
               independent symbols speaks of a larger class, without a spread; where both kinds are asked of measured
               norms, each is given δ/2. Peeling (Rule 4) pays for the norms.
    Source     Ours.

    >>> layer = tabulated_profile(path_inf=1.0, context=1000, least_probability=0.5)
    >>> round(layer_guarantee(layer, 1e6).value, 4)
    0.0696
    """
    require_possible(profile)
    groups: list[tuple[Route, ...]] = []
    groups += [(TABULATED, LISTS)] if profile.spread is not None else []
    groups += [(PRODUCT_LISTS,)] if profile.least_probability is not None else []
    if not groups:
        raise AssumptionError(
            "A bound for this layer needs the spread R of its scores, or the law of its inputs: give one."
        )
    share = failure(delta) / (len(groups) if measured else 1)
    guarantees = (
        guarantee(route, profile, samples, delta=delta, spent=share, loss=loss, two_sided=two_sided, measured=measured)
        for group in groups
        for route in group
    )
    return min(guarantees, key=lambda stated: stated.value)
