"""Published bounds as they are recalled: shapes with hidden constants set to 1, and two with their constants.

None of these may be shown as the constant of the work it follows.
"""

from math import cbrt, ceil, log, log2, prod, sqrt

from keyhole.bounds.covers.heads import readout_norm, single_layer
from keyhole.bounds.validate import Real, norm, positive, sample_size
from keyhole.errors import AssumptionError
from keyhole.norm_profile import HeadNorms, NormProfile


def risk_shape(capacity: Real, samples: Real, delta: Real, lipschitz: Real = 1.0, bound: Real = 1.0) -> float:
    """R1, the step from covers to risk as recalled, with hidden constants set to 1: not a bound.

    Statement  gap ~ L √(C/m)(1 + log(A √(m/C))) + A √(log(1/δ)/m).
    Source     Following Edelman et al. (recalled); ours is Theorem G with Rule 3.

    >>> risk_shape(1.0, 1e6, 0.01) > 0
    True
    """
    rate = sqrt(positive("C", capacity) / sample_size(samples))
    return lipschitz * rate * (1 + max(0.0, log(bound / rate))) + bound * sqrt(-log(delta) / samples)


def zhang_log_size(weight_norm: Real, radius: Real, points: Real, accuracy: Real, p: Real = 2) -> float:
    """R3, the classical scalar linear cover, in nats.

    Statement  log₂ N(ε) ≤ 36(p−1)a²b²ε⁻² log₂(2⌈4ab/ε + 2⌉n + 1).
    Source     Following Zhang 2002 (recalled); ours is Lemma A, 56 to 74 times smaller on the examples tried.

    >>> round(zhang_log_size(1, 1, 4, 0.45), 6)
    797.979799
    """
    reach = norm("a", weight_norm) * norm("b", radius) / positive("the accuracy", accuracy)
    return 36 * (p - 1) * reach**2 * log2(2 * ceil(4 * reach + 2) * points + 1) * log(2)


def head_shape(head: HeadNorms, profile: NormProfile, samples: Real) -> float:
    """R4, C of one head as recalled, with hidden constants set to 1: not a bound.

    Statement  (L B_X)² ((B_V^{2,1})^{2/3} + (B_QK^{2,1} B_X B_V)^{2/3})³ log(mT); the form has no B_Z.
    Source     Following Edelman et al. (recalled); ours is Theorem H.
    """
    values = cbrt(head.value.columns21**2)
    scores = cbrt((head.score.columns21 * profile.token_radius * head.value.spectral) ** 2)
    scale = (profile.activation_lipschitz * profile.token_radius) ** 2
    return float(scale * (values + scores) ** 3 * log(sample_size(samples) * profile.tokens))


def scalar_shape(profile: NormProfile, samples: Real) -> float:
    """R5, C of the scalar or multi-head model as recalled, with hidden constants set to 1: not a bound.

    Statement  R4 with a factor ‖w‖², a third summand for the read-out, the sum over heads inside the cube.
    Source     Following Edelman et al. (recalled); ours is Theorems S and M.
    """
    block = single_layer(profile)
    inside = sum(
        cbrt(head.value.columns21**2)
        + cbrt((head.score.columns21 * profile.token_radius * head.value.spectral) ** 2)
        + cbrt(head.value.spectral**2)
        for head in block.heads
    )
    scale = (readout_norm(profile) * profile.activation_lipschitz * profile.token_radius) ** 2
    return float(scale * inside**3 * log(sample_size(samples) * profile.tokens))


def deep_shape(profile: NormProfile, samples: Real) -> float:
    """R6, C of the deep model as recalled, with hidden constants and exponents set to 1: not a bound.

    Statement  (C₂ L)^{depth} B_X² B_w² C₂₁² log(d m T), C₂ and C₂₁ the largest spectral and (2,1) norms.
    Source     Following Edelman et al. (recalled); ours is Theorem D.
    """
    heads = [head for block in profile.blocks for head in block.heads]
    outputs = [block.output for block in profile.blocks if block.output is not None]
    matrices = [m for head in heads for m in (head.score, head.value)] + outputs
    if not matrices:
        raise AssumptionError("A shape for deep models needs at least one layer, and this profile has none.")
    spectral, summed = max(m.spectral for m in matrices), max(m.columns21 for m in matrices)
    depth = prod([spectral * profile.activation_lipschitz] * len(profile.blocks))
    nats = log(heads[0].value.rows * sample_size(samples) * profile.tokens)
    return depth * (profile.token_radius * profile.readout * summed) ** 2 * nats
