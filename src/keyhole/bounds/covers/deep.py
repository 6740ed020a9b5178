"""Deep attention: what each layer adds, and how much the layers above magnify it."""

from keyhole.bounds.covers.calculus import Cover, deepened
from keyhole.bounds.covers.heads import require_covered, trained_tables
from keyhole.bounds.covers.linear import bilinear_cover, matrix_cover, scalar_cover
from keyhole.bounds.softmax import smoothness
from keyhole.bounds.validate import Real, norm, sample_size, whole
from keyhole.errors import AssumptionError
from keyhole.norm_profile import ROUNDING, BlockNorms, NormProfile, require_normaliser


def block_gain(block: BlockNorms, profile: NormProfile) -> float:
    """‖W_C‖₂ L: what an error before σ is multiplied by on its way out of a layer."""
    spectral = 1.0 if block.output is None else norm("‖W_C‖₂", block.output.spectral)
    return spectral * norm("L_σ", profile.activation_lipschitz)


def block_reach(block: BlockNorms, profile: NormProfile, radius: Real) -> float:
    """Largest row norm after a layer whose rows enter with norm ≤ `radius`."""
    if profile.projected:
        return 1.0
    values = sum(norm("‖W_V‖₂", head.value.spectral) for head in block.heads)
    return block_gain(block, profile) * values * radius + (radius if block.residual else 0.0)


def block_lipschitz(block: BlockNorms, profile: NormProfile, radius: Real) -> float:
    """How much a layer magnifies a change of its input rows, its residual connection not counted.

    Statement  Lip = ‖W_C‖₂ L Σ_h ‖W_V‖₂ (1 + 2c B²‖M‖₂) for rows of norm ≤ B.
    Proof      Rows moved by e move a score xᵀMz by ≤ 2B‖M‖₂e, hence the mixture by ≤ 2cB‖M‖₂e in ℓ1,
               against values of norm ≤ ‖W_V‖₂B; the values themselves move by ‖W_V‖₂e.
    Source     Ours (Theorem D).
    """
    c = smoothness(profile.normaliser_constant, profile.normaliser)
    inner = sum(
        head.value.spectral * (1 + 2 * c * radius * radius * norm("‖M‖₂", head.score.spectral)) for head in block.heads
    )
    return block_gain(block, profile) * inner


def block_cover(
    block: BlockNorms, profile: NormProfile, samples: Real, radius: float, *, queries: Real, label: str
) -> Cover:
    """The terms of one layer at its own output, `queries` of them per sequence.

    Statement  (‖W_C‖₂ L c‖W_V‖₂B, ‖M‖_F B², log(2mTq+1)), (‖W_C‖₂ L, √2‖W_V‖₂₁B, log(k(2mT+1)+1)) for every
               head, and (1, √2‖W_C‖₂₁ L Σ_h‖W_V‖₂B, log(d(2mT+1)+1)).
    Proof      As for a head; hidden vectors of cover elements are projected on the ball of the true ones
               before W_C is covered by Lemma B.
    Source     Ours (Theorem D).
    """
    if not block.heads:
        raise AssumptionError("A layer of attention needs at least one head, and this profile has none in it.")
    require_covered(block, profile)
    c = smoothness(profile.normaliser_constant, profile.normaliser)
    points, gain = samples * profile.tokens, block_gain(block, profile)
    cover = Cover(())
    for h, head in enumerate(block.heads, 1):
        tag = f"{label}, head {h}" if len(block.heads) > 1 else label
        scores = bilinear_cover(head.score.frobenius, radius, radius, points * queries, f"scores, {tag}")
        values = matrix_cover(head.value.columns21, radius, head.value.columns, points, f"values, {tag}")
        cover += (scores.through(c * head.value.spectral * radius) + values).through(gain)
    if block.output is None:
        return cover
    hidden = profile.activation_lipschitz * radius * sum(head.value.spectral for head in block.heads)
    return cover + matrix_cover(block.output.columns21, hidden, block.output.columns, points, f"output, {label}")


def require_query_row(profile: NormProfile) -> None:
    """Refuse a query longer than every row: layers here are covered for rows, of which the query is one."""
    require_normaliser(profile)
    if profile.query_radius > profile.token_radius * (1 + ROUNDING):
        raise AssumptionError(
            f"Theorem D takes the query for one of the rows, and query_radius = {profile.query_radius:g} is above "
            f"token_radius = {profile.token_radius:g}; give the radius of all rows, [CLS] included."
        )


def deep_cover(profile: NormProfile, samples: Real, *, every_query: bool = False) -> Cover:
    """Covers a stack of attention layers read out to a number at [CLS].

    Statement  Errors follow e' ≤ Lip·e (+ e with a residual connection) + own terms, layer by layer, from the error of
               trained position codes and token vectors, if any; then the read-out multiplies by ‖w‖ and adds
               (1, ‖w‖ B_{L+1}, log(2m+1)).
    Assumes    Between layers either nothing, or a projection on the unit ball, which is 1-Lipschitz. True
               LayerNorm is not Lipschitz near zero variance, and MLP blocks are not in this class. The query is
               one of the rows, so that B_Z ≤ B_X (`require_query_row`).
    Proof      `deepened` from below, each layer covered on the outputs of the covers beneath it.
    Source     Ours (Theorem D). In the last layer only the query at [CLS] is read, unless `every_query`.
    """
    m, tokens = sample_size(samples), whole("the number of tokens", profile.tokens)
    radius, cover = norm("B_X", profile.token_radius), Cover(())
    for table in trained_tables(profile):  # an error of the rows that enter
        cover += table.cover
    for depth, block in enumerate(profile.blocks, 1):
        last = depth == len(profile.blocks) and not every_query
        own = block_cover(block, profile, m, radius, queries=1 if last else tokens, label=f"layer {depth}")
        cover = deepened(cover, block_lipschitz(block, profile, radius), own, residual=block.residual)
        radius = block_reach(block, profile, radius)
    w = norm("‖w‖₂", profile.readout)
    return cover.through(w) + scalar_cover(w, radius, m)
