"""Attention heads as covered classes: the general head, its transformer instances, the scalar read-out."""

from math import sqrt
from typing import NamedTuple

from keyhole.bounds.covers.calculus import Cover, concatenated
from keyhole.bounds.covers.linear import bilinear_cover, matrix_cover, scalar_cover, sparse_matrix_cover
from keyhole.bounds.softmax import smoothness
from keyhole.bounds.validate import Real, norm, sample_size, whole
from keyhole.errors import AssumptionError
from keyhole.norm_profile import BlockNorms, HeadNorms, NormProfile


def attention_cover(
    scores: Cover,
    values: Cover,
    *,
    value_radius: Real,
    constant: float | None = 1.0,
    normaliser: str = "softmax",
    output_lipschitz: Real = 1.0,
) -> Cover:
    """Covers a general attention head from covers of its scores and of its values.

    Statement  f = φ_out(Σ_t Norm(scores)_t · φ_in(x_t)), φ_out being L-Lipschitz, ‖φ_in(x_t)‖ ≤ r and Norm
               c-Lipschitz from ℓ∞ to ℓ1, moves by at most L(ε_in + c r ε_S).
    Proof      Change the mixture first: at most c ε_S in ℓ1 against vectors of norm ≤ r. Change the values
               second: a mixture of errors ≤ ε_in.
    Equality   Two tokens with opposite values, mixture moved at its steepest.
    Source     Ours (Theorem H); the shape follows Edelman et al. (recalled), where T enters, as here, only
               through the number of points. If the values lie within D of each other, r may be D/2.

    >>> from keyhole.bounds.covers.calculus import plain
    >>> round(attention_cover(plain(1, 1, 1), plain(1, 1, 1), value_radius=1.0).capacity, 9)
    8.0
    """
    c = smoothness(constant, normaliser)
    return (values + scores.through(c * norm("the value radius", value_radius))).through(output_lipschitz)


def pooling_radius(profile: NormProfile) -> float:
    """The factor of a change of the mixture: B_X, or half the token diameter where that is smaller.

    Statement  ‖Σ_t (p_t − p'_t) x_t‖₂ ≤ (D/2) ‖p − p'‖₁ for tokens within D of each other.
    Proof      p − p' is half its ℓ1 norm times a difference of two probability vectors, and two averages of tokens
               are at most D apart.
    Equality   Two tokens at distance D.
    Source     Ours (Lemma S).
    """
    radius = norm("B_X", profile.token_radius)
    if profile.token_diameter is None:
        return radius
    return min(radius, norm("D_X", profile.token_diameter) / 2)


def head_cover(head: HeadNorms, profile: NormProfile, samples: Real, label: str = "") -> Cover:
    """Covers one transformer head σ(W_Vᵀ Xᵀ softmax(X M z)), ℓ2 error at its k outputs.

    Statement  Terms (L, √2‖W_V‖₂₁B_X, log(k(2mT+1)+1)) and (L c ‖W_V‖₂B_X, ‖M‖_F B_X B_Z, log(2mT+1)).
    Proof      `attention_cover` with Lemma B for the values and Lemma E for the scores, then σ. Half the token
               diameter may stand for B_X beside c where the rows were fixed (`pooling_radius`).
    Source     Ours (Theorem H); T counts the rows of X.

    >>> from keyhole.bounds.construction_norms import hypothetical
    >>> p = hypothetical(tokens=100, value21=2.0, value=1.0, score=5.0, width=4)
    >>> round(head_cover(p.blocks[0].heads[0], p, 1000).capacity, 6)
    1523.047564
    """
    points = sample_size(samples) * whole("the number of tokens", profile.tokens)
    spectral = norm("‖W_V‖₂", head.value.spectral)
    size, query_radius = norm("‖M‖_F", head.score.frobenius), profile.query_radius
    if head.query is not None and norm("‖q‖", head.query) <= size * query_radius:  # the norm of its one query
        size, query_radius = head.query, 1.0
    return attention_cover(
        bilinear_cover(size, profile.token_radius, query_radius, points, "scores" + label),
        matrix_cover(head.value.columns21, profile.token_radius, head.value.columns, points, "values" + label),
        # covers of trained rows are further apart than the rows
        value_radius=spectral * (profile.token_radius if trained_tables(profile) else pooling_radius(profile)),
        constant=profile.normaliser_constant,
        normaliser=profile.normaliser,
        output_lipschitz=profile.activation_lipschitz,
    )


def heads_cover(block: BlockNorms, profile: NormProfile, samples: Real) -> tuple[Cover, float]:
    """Covers the heads of a layer together; also the largest norm their joint output can have.

    Statement  Heads summed, before or after σ: all terms in one list, radius L B_X Σ_h‖W_V^h‖₂. Heads side
               by side: Rule 2, radius L B_X √(Σ_h‖W_V^h‖₂²).
    Proof      Errors of a sum add; squared errors of a concatenation add.
    Equality   H equal heads cost H³ as a sum, H² side by side.
    Source     Ours (Theorem M).
    """
    if not block.heads:
        raise AssumptionError("A layer of attention needs at least one head, and this profile has none in it.")
    many = len(block.heads) > 1
    covers = [
        head_cover(head, profile, samples, f", head {h}" if many else "") for h, head in enumerate(block.heads, 1)
    ]
    spectral = [head.value.spectral for head in block.heads]
    reach = profile.activation_lipschitz * profile.token_radius
    if block.concatenated and many:
        return concatenated(covers, "heads side by side"), reach * sqrt(sum(s * s for s in spectral))
    joined = covers[0]
    for cover in covers[1:]:
        joined += cover
    return joined, reach * sum(spectral)


def require_covered(block: BlockNorms, profile: NormProfile) -> None:
    """Refuse what no cover here speaks of: a LayerNorm, an MLP's inner matrix, a bias at the read-out."""
    for there, what in (
        (block.layernorm != "none", "a LayerNorm, which is not Lipschitz near zero variance"),
        (block.hidden is not None, "an MLP with an inner matrix of its own"),
        (block.biased, "a constant added after attention"),
        (block.split_residual, "a residual around attention and another around what follows"),
        (profile.readout_bias != 0, "a bias at the read-out"),
    ):
        if there:
            raise AssumptionError(f"The covers do not speak of {what}; Theorem T does where the profile has path_inf.")


def refuse_projection(profile: NormProfile) -> None:
    """One-layer theorems read the output linearly: a projection of the rows stands in the way."""
    if profile.projected:
        raise AssumptionError("Rows are projected on the unit ball before the read-out; only the deep bound covers it.")


def single_layer(profile: NormProfile) -> BlockNorms:
    """The one layer of a profile, refused when there are more or none."""
    if len(profile.blocks) != 1:
        raise AssumptionError(
            f"This theorem is about one attention layer, and the profile has {len(profile.blocks)}. "
            "Use the bound for deep models."
        )
    return profile.blocks[0]


def readout_norm(profile: NormProfile) -> float:
    """‖v‖₂ ≤ ‖w‖₂ ‖W_C‖₂ of a one-layer profile, v = W_C w."""
    output = single_layer(profile).output
    return norm("‖w‖₂", profile.readout) * (1.0 if output is None else norm("‖W_C‖₂", output.spectral))


def scalar_model_cover(profile: NormProfile, samples: Real) -> Cover:
    """Covers one attention layer read out to a number at [CLS].

    Statement  f = ⟨v, heads(X)⟩ has the terms of its heads with c multiplied by ‖v‖, and
               (1, ‖v‖·radius of the hidden vector, log(2m+1)); trained positions add their own term.
    Proof      Project the heads' cover on the ball that holds the true hidden vectors, then apply
               Lemma A to the m projected points, separately for each element.
    Source     Ours (Theorem S, Theorem M, Corollary E).
    """
    require_covered(single_layer(profile), profile)
    if single_layer(profile).residual:
        raise AssumptionError("Theorem S has no residual connection; Theorem T or the deep bound covers one.")
    refuse_projection(profile)
    heads, radius = heads_cover(single_layer(profile), profile, samples)
    v = readout_norm(profile)
    cover = heads.through(v) + scalar_cover(v, radius, sample_size(samples))
    return cover + trained_rows_cover(profile)


def trained_rows_cover(profile: NormProfile) -> Cover:
    """The price of trained position codes and token vectors on the cover route; nothing where both were fixed.

    Statement  Codes with ‖P‖_{1,1} ≤ B_P add (‖v‖ L Σ_h‖W_V‖₂(1 + c B_X Q), √2 B_P, log(2Td+1)); token vectors, [CLS]
               too, with ‖E‖_{1,1} ≤ B_E add (‖v‖ L Σ_h‖W_V‖₂(1 + c B_X (Q + ‖M‖₂B_X)), √2 B_E, log(2nd+1)), n of them.
    Assumes    A query without a position, ‖M z‖ ≤ Q.
    Proof      A token moved by ε moves the values by ‖W_V‖₂ε and each score by Qε; a query moved by ε moves each
               score by ‖M‖₂B_X ε more. Lemma C covers the tables; rows of its elements are projected on the ball, and
               B_X bounds what the heads' own covers move there.
    Source     Ours (Corollary E). The constraint on the tables belongs to this route: for a fixed query Theorems T
               and L need none.
    """
    block = single_layer(profile)
    c, pooling = smoothness(profile.normaliser_constant, profile.normaliser), pooling_radius(profile)
    scale, cover = readout_norm(profile) * profile.activation_lipschitz, Cover(())
    for table in trained_tables(profile):
        moved = 0.0
        for head in block.heads:
            turned = norm("‖M‖₂", head.score.spectral) * profile.token_radius if table.moves_query else 0.0
            moved += head.value.spectral * (1 + c * pooling * (fixed_query_norm(head, profile) + turned))
        cover += table.cover.through(scale * moved)
    return cover


class TrainedTable(NamedTuple):
    """A table of rows that was trained: a cover of it in ℓ2 per row, and whether the query is one of its rows."""

    cover: Cover
    moves_query: bool


def trained_tables(profile: NormProfile) -> tuple[TrainedTable, ...]:
    """The tables that make up the rows of X and were trained: position codes, token vectors, both or none."""
    if not profile.blocks or not profile.blocks[0].heads:
        return ()
    d, tables = profile.blocks[0].heads[0].value.rows, []
    if profile.positions11 is not None:
        places = max(1, profile.tokens - profile.constant_tokens) * d
        tables.append(
            TrainedTable(sparse_matrix_cover(profile.positions11, 1.0, places, "positions"), moves_query=False)
        )
    if profile.embedding11 is not None:
        vectors = token_vectors(profile) * d
        tables.append(
            TrainedTable(sparse_matrix_cover(profile.embedding11, 1.0, vectors, "token vectors"), moves_query=True)
        )
    return tuple(tables)


def token_vectors(profile: NormProfile) -> int:
    """Rows of a trained table of tokens at most: one per symbol beside trained codes, else one per pair."""
    additive = profile.positions11 is not None
    places = 1 if additive else max(1, profile.tokens - profile.constant_tokens)
    return profile.symbols * places + profile.constant_tokens


def fixed_rows(profile: NormProfile) -> tuple[str, ...]:
    """The conditions on the rows of X for theorems about vectors: what was not paid for was fixed before the data."""
    return tuple(
        f"the {what} were fixed before the data were seen"
        for what, paid in (("token vectors", profile.embedding11), ("position codes", profile.positions11))
        if paid is None
    )


def fixed_query_norm(head: HeadNorms, profile: NormProfile) -> float:
    """‖M z‖ of one query: as measured, or at most ‖M‖₂ B_Z."""
    largest = norm("‖M‖₂", head.score.spectral) * norm("B_Z", profile.query_radius)
    return largest if head.query is None else min(largest, norm("‖q‖", head.query))
