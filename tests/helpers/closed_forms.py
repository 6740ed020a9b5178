"""Theorems H and S in closed form, with one common logarithm: oracles for the covers, free of T, m and dimension."""

from math import cbrt, log


def common_nats(width, samples, tokens):
    """Λ = log(k(2mT+1)+1), one logarithm for all terms of a head."""
    return log(width * (2 * samples * tokens + 1) + 1)


def head_capacity(
    *,
    value21,
    value,
    score,
    token_radius=1.0,
    query_radius=1.0,
    constant=1.0,
    lipschitz=1.0,
):
    """C/Λ of one head, as a closed form free of T, of m and of every dimension.

    Statement  C/Λ = (L B_X)² ((√2‖W_V‖₂₁)^{2/3} + (c‖W_V‖₂‖M‖_F B_X B_Z)^{2/3})³.
    Proof      `head_cover` with one common Λ.
    Source     Ours (Theorem H); the shape follows Edelman et al. (recalled).
    """
    values = cbrt(2 * value21**2)
    scores = cbrt((constant * value * score * token_radius * query_radius) ** 2)
    return float((lipschitz * token_radius) ** 2 * (values + scores) ** 3)


def scalar_capacity(
    *,
    readout,
    value21,
    value,
    score,
    token_radius=1.0,
    query_radius=1.0,
    constant=1.0,
    lipschitz=1.0,
):
    """C/Λ of the scalar model, as a closed form free of T, of m and of every dimension.

    Statement  C/Λ = (‖v‖L B_X)² (‖W_V‖₂^{2/3} + (√2‖W_V‖₂₁)^{2/3} + (c‖W_V‖₂‖M‖_F B_X B_Z)^{2/3})³.
    Proof      `scalar_model_cover` with one common Λ.
    Source     Ours (Theorem S); the shape follows Edelman et al. (recalled).
    """
    values = cbrt(2 * value21**2)
    scores = cbrt((constant * value * score * token_radius * query_radius) ** 2)
    scale = readout * lipschitz * token_radius
    return float(scale**2 * (cbrt(float(value) ** 2) + values + scores) ** 3)
