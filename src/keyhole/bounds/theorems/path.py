"""The path norm: a bound for any number of heads and units that never counts them."""

from functools import lru_cache
from math import inf, log1p, sqrt, tanh

from keyhole.bounds.covers.chaining import BASES, Chain
from keyhole.bounds.covers.heads import (
    fixed_query_norm,
    fixed_rows,
    pooling_radius,
    refuse_projection,
    single_layer,
    trained_tables,
)
from keyhole.bounds.derivation import Complexity, Lemma, Step
from keyhole.bounds.softmax import smoothness
from keyhole.bounds.validate import Real, norm, sample_size
from keyhole.errors import AssumptionError
from keyhole.norm_profile import NormProfile

DEEPEST = 60
FINEST = 200  # accuracies of trained rows that are tried, each 2^{1/4} finer
THEOREM_P = Lemma("Theorem P", "R_m(F) ≤ κ P L R_m(G), κ = 1 without units or with odd ones, else 2")
UNIT_HEADS = Lemma("Theorem P, chain", "R_m(G) ≤ B_X/√m + α_J + Σ_j (α_j + α_{j−1})(1 + √(2(ℓ_j + ℓ_{j−1})))/√m")

TRAINED_ROWS = Lemma(
    "Theorem P, trained rows", "n ε (1 + Q r) + B_X √(2 ln N / m), at the best ε for rows within D + 2nε"
)


@lru_cache(maxsize=4096)
def unit_heads(query: Real, token_radius: Real, diameter: Real, tokens: Real, samples: Real) -> Chain:
    """Bounds the Rademacher complexity of all single units v ↦ vᵀXᵀ softmax(Xq), ‖v‖ ≤ 1, ‖q‖ ≤ Q.

    Statement  R_m(G) ≤ B_X/√m + α_J + Σ_{j≤J} ((α_j + α_{j−1})/√m)(1 + √(2(ℓ_j + ℓ_{j−1}))), and ≤ B_X, where
               α_j = α_0 b^{−j}, α_0 = D tanh(QB_X/2), ℓ_0 = 0, ℓ_j = (QB_X D/(2α_j))² log(2mT+1), T rows.
    Proof      For N fixed q's, E max‖(1/m)Σ ξ_i o_i‖ ≤ B/√m + B√(2 log N/m) by bounded differences. Chain
               over covers of q (Lemma A), accuracy 2α_j/D in the scores giving α_j in the pooled token.
    Source     Ours (Theorem P).

    >>> round(unit_heads(5.0, 1.0, 2**0.5, 101.0, 1e6).value, 6)
    0.312404
    """
    q, b_x, m = norm("‖q‖", query), norm("B_X", token_radius), sample_size(samples)
    root, start = sqrt(m), norm("D_X", diameter) * tanh(q * b_x / 2)
    fixed, nats = b_x / root, log1p(2 * m * tokens)
    if start == 0:
        return Chain(min(fixed, b_x), 1.0, 0, 0.0)
    scale = (q * b_x * diameter / 2) ** 2 * nats
    best = Chain(b_x, 1.0, 0, b_x)
    for b in BASES:
        alpha, links, before = start, fixed, 0.0
        for depth in range(1, DEEPEST + 1):
            finer = alpha / b
            now = scale / finer**2
            links += (finer + alpha) / root * (1 + sqrt(2 * (now + before)))
            if links >= best.value:
                break
            if links + finer < best.value:
                best = Chain(links + finer, b, depth, finer)
            alpha, before = finer, now
    return best


def trained_rows(profile: NormProfile, query: float, samples: float) -> tuple[Chain, float]:
    """Bounds the complexity of one unit: of fixed rows, and the price of trained ones; 0 where all were fixed.

    Statement  R_m of the union over the tables is at most the least over ε of R_m(G) at the token diameter
               min(2B_X, D + 2nε), plus n ε (1 + Q r) + B_X √(2 ln N / m), where n tables of ‖·‖_{1,1} ≤ B_i have
               ln N = Σ_i ln N_i(ε) by Lemma C, and r is B_X or D/2.
    Proof      Rows moved by ε move every score by Qε and so the pooled token by ε + Q r ε, the mixture moved first,
               over the trained rows. The rows of Lemma C's tables are within nε of those, so within D + 2nε of each
               other, and they are projected on the ball. For N fixed tables the suprema over units have bounded
               differences 2B_X/m in the signs, so their largest exceeds the largest mean by at most
               B_X √(2 ln N / m) on average. The query is any vector of norm ≤ Q already.
    Source     Ours.
    """
    radius, tables = norm("B_X", profile.token_radius), trained_tables(profile)
    diameter = 2 * radius if profile.token_diameter is None else norm("D_X", profile.token_diameter)
    fixed = unit_heads(query, radius, diameter, profile.tokens, samples)
    if not tables:
        return fixed, 0.0
    best = fixed, radius  # which one unit does not exceed anyway
    for step in range(FINEST):
        accuracy = radius * 2.0 ** (-step / 4)
        nats = sum(table.cover.log_size(accuracy) for table in tables)
        moved = len(tables) * accuracy * (1 + query * pooling_radius(profile))
        price = moved + radius * sqrt(2 * nats / samples)
        if fixed.value + price < best[0].value + best[1]:  # no wider rows have less than the fixed ones
            wide = min(2 * radius, diameter + 2 * len(tables) * accuracy)
            chain = unit_heads(query, radius, wide, profile.tokens, samples)
            best = min(best, (chain, price), key=lambda found: found[0].value + found[1])
    return best


def path_complexity(profile: NormProfile, samples: Real) -> Complexity:
    """Bounds a layer by its path norm, whatever its width and its number of heads.

    Statement  F = {Σ_j w_j σ(v_jᵀXᵀsoftmax(Xq_j))}, ‖q_j‖ ≤ Q, has R_m(F) ≤ κ P L R_m(G), where
               P = Σ_j |w_j|‖v_j‖ for ReLU and ‖w‖₁ max_j‖v_j‖ for other σ with σ(0) = 0; κ = 1 for odd σ, such as
               none, and 2 otherwise.
    Assumes    Softmax, and a query that does not depend on the input; a temperature scales Q.
    Proof      A convex hull keeps R_m; signed weights cost κ (`sign_factor`), the hull of G being
               symmetric; contraction for σ. Trained rows cost
               what `trained_rows` says.
    Source     Ours (Theorem P).
    """
    block = single_layer(profile)
    refuse_projection(profile)
    if profile.path is None:
        raise AssumptionError("Theorem P needs the path norm P = Σ_j |w_j| ‖v_j‖, and the profile has none: give path.")
    if block.layernorm != "none":
        raise AssumptionError("Theorem P does not speak of a LayerNorm; Theorems T and L do of one before attention.")
    if profile.normaliser != "softmax":
        raise AssumptionError(f"Theorem P is about softmax, and this profile has {profile.normaliser}.")
    scale = smoothness(profile.normaliser_constant, profile.normaliser)  # 1/τ at temperature τ
    query = scale * max((fixed_query_norm(head, profile) for head in block.heads), default=inf)
    chain, price = trained_rows(profile, query, sample_size(samples))
    path = norm("the path norm", profile.path)
    unit = min(chain.value + price, profile.token_radius)
    signs = 1.0 if profile.odd_units else 2.0
    value = signs * path * profile.activation_lipschitz * unit
    inner = Step(
        "one unit R_m(G)",
        chain.value,
        UNIT_HEADS,
        (("Q", query), ("b", chain.base), ("J", float(chain.depth))),
    )
    parts: tuple[Step, ...] = (inner,)
    if price:
        share = chain.value / (chain.value + price)
        parts = (inner.of(share), Step("trained rows", price, TRAINED_ROWS, (("Q", query),), (), 1 - share))
    inputs = (("P", path), ("L_σ", profile.activation_lipschitz), ("sign factor", signs))
    return Complexity(
        value,
        Step("complexity R_m", value, THEOREM_P, inputs, parts),
        ("the query of every head is one fixed vector", *fixed_rows(profile)),
    )
