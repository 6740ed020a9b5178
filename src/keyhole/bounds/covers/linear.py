"""Covers of linear maps: the five lemmas from which every class here is built.

Each returns a cover of one term; `log_size` counts its steps exactly, `capacity` is its C in C/ε².
"""

from math import ceil, floor, log1p, sqrt

from keyhole.bounds.covers.calculus import Cover, Term
from keyhole.bounds.derivation import Lemma
from keyhole.bounds.validate import Real, norm, positive

LEMMA_A = Lemma("Lemma A", "log N ≤ (ab/ε)² log(2N+1)")
LEMMA_B = Lemma("Lemma B", "log N ≤ 2(B b/ε)² log(k(2N+1)+1)")
LEMMA_C = Lemma("Lemma C", "log N ≤ ⌈(B b/ε)²⌉ log(2kd+1)")
LEMMA_E = Lemma("Lemma E", "log N ≤ (‖M‖_F B_X B_Z/ε)² log(2N+1)")

ROUNDING = 1e-12  # a whole number computed with rounding errors must not be taken for the next one


def scalar_cover(weight_norm: Real, radius: Real, points: Real, name: str = "read-out") -> Cover:
    """Covers the scalar linear maps u ↦ ⟨w, u⟩, in any dimension, on N points at once.

    Statement  ‖w‖₂ ≤ a and ‖u_i‖ ≤ b give log N(ε) ≤ (⌈a²b²/ε²⌉ − 1) log(2N+1) ≤ (ab/ε)² log(2N+1).
    Proof      Start at ŵ = 0; while some |⟨w − ŵ, u_i⟩| > ε, add (ε/b²)·sign·u_i. Each correction lowers
               ‖w − ŵ‖² by more than ε²/b², so there are fewer than a²b²/ε² of them, and ŵ is named by
               its signed indices, with a null symbol as padding.
    Equality   The number of corrections is attained: orthonormal points, w constant on them.
    Source     Ours (Lemma A); the constant is 1 where a classical bound has 36.

    >>> round(scalar_cover(2, 1, 100).log_size(0.5), 6)
    79.549574
    """
    a, b, n = norm("a weight's norm", weight_norm), norm("a radius", radius), positive("points", points)
    nats = log1p(2 * n)
    return Cover(
        (
            Term(
                name,
                LEMMA_A,
                1.0,
                a * b,
                nats,
                (("a", a), ("b", b), ("N", n)),
                lambda accuracy: max(0, ceil((a * b / accuracy) ** 2 - ROUNDING) - 1) * nats,
            ),
        )
    )


def matrix_cover(columns21: Real, radius: Real, width: Real, points: Real, name: str = "values") -> Cover:
    """Covers the linear maps into R^k by the sum of their column norms, ℓ2 error at the output.

    Statement  Σ_r ‖w_r‖ ≤ B and ‖u_i‖ ≤ b give log N(ε) ≤ ⌊2(Bb/ε)²⌋ log(k(2N+1)+1), and 0 if ε ≥ Bb.
    Proof      With δ = ε²/(2Bb²) give column r a budget of ⌊‖w_r‖/δ⌋ corrections of Lemma A; columns with
               none are dropped. Squared errors add up to at most ε², budgets to at most 2(Bb/ε)²; a token
               names column and signed index, and the budget is read off as the number of its tokens.
    Source     Ours (Lemma B). The factor log k cannot be avoided: N = 1 is the ℓ1 ball in ℓ2.

    >>> round(matrix_cover(1, 1, 2, 4).log_size(0.5), 6)
    23.555512
    """
    bound, b = norm("a (2,1) norm", columns21), norm("a radius", radius)
    k, n = positive("the width", width), positive("points", points)
    nats = log1p(k * (2 * n + 1))

    def size(accuracy: float) -> float:
        if accuracy >= bound * b:
            return 0.0
        return floor(2 * (bound * b / accuracy) ** 2 + ROUNDING) * nats

    inputs = (("‖W‖₂₁", bound), ("b", b), ("k", k), ("N", n))
    return Cover((Term(name, LEMMA_B, 1.0, sqrt(2) * bound * b, nats, inputs, size),))


def sparse_matrix_cover(entries11: Real, radius: Real, entries: Real, name: str = "values") -> Cover:
    """Covers matrices by the sum of their absolute entries, for all inputs at once: free of T and of m.

    Statement  ‖W‖_{1,1} ≤ B with kd entries gives log N(ε) ≤ ⌈(Bb/ε)²⌉ log(2kd+1) over all ‖x‖ ≤ b.
    Proof      The average of K random atoms ±B e_r e_jᵀ, or 0, with mean W has E‖W − Ŵ‖_F² ≤ B²/K.
               In C/ε² form ⌈x⌉ ≤ 2x for x ≥ 1, and {0} covers when ε ≥ Bb.
    Source     Ours (Lemma C), the idea of parameter-space covers being Trauger and Tewari's.

    >>> round(sparse_matrix_cover(2, 1, 64).log_size(0.3), 6)
    218.691558
    """
    bound, b = norm("a (1,1) norm", entries11), norm("a radius", radius)
    nats = log1p(2 * positive("the number of entries", entries))

    def size(accuracy: float) -> float:
        if accuracy >= bound * b:
            return 0.0
        return ceil((bound * b / accuracy) ** 2 - ROUNDING) * nats

    inputs = (("‖W‖₁₁", bound), ("b", b), ("entries", float(entries)))
    return Cover((Term(name, LEMMA_C, 1.0, sqrt(2) * bound * b, nats, inputs, size),))


def volumetric_size(frobenius: Real, radius: Real, entries: Real, accuracy: Real) -> float:
    """Covers matrices by volume: for few entries and fine accuracy.

    Statement  ‖W‖_F ≤ F with kd entries gives log N(ε) ≤ kd log(1 + 2Fb/ε) over all ‖x‖ ≤ b.
    Proof      A maximal ε/b-packing of the Frobenius ball is a cover; compare volumes.
    Source     Textbook (Lemma D). Not of the form C/ε².

    >>> round(volumetric_size(1, 1, 64, 0.5), 6)
    103.004026
    """
    f, b = norm("a Frobenius norm", frobenius), norm("a radius", radius)
    return positive("the number of entries", entries) * log1p(2 * f * b / positive("the accuracy", accuracy))


def bilinear_cover(frobenius: Real, token_radius: Real, query_radius: Real, pairs: Real, name: str = "scores") -> Cover:
    """Covers attention scores xᵀMz by the Frobenius norm of M alone.

    Statement  ‖M‖_F ≤ F gives log N(ε) ≤ (F B_X B_Z/ε)² log(2N+1) on N (token, query) pairs.
    Proof      xᵀMz = ⟨M, xzᵀ⟩ is linear in M with feature norm ≤ B_X B_Z: Lemma A.
    Equality   As Lemma A. For one fixed query q = M z, put ‖q‖ for F and 1 for B_Z.
    Source     Ours (Lemma E); the (2,1) norm recalled of the paper is never smaller.

    >>> round(bilinear_cover(5, 1, 1, 1000).capacity, 3)
    190.035
    """
    f, b_x, b_z = norm("‖M‖_F", frobenius), norm("B_X", token_radius), norm("B_Z", query_radius)
    (term,) = scalar_cover(f, b_x * b_z, pairs, name).terms
    inputs = (("‖M‖_F", f), ("B_X", b_x), ("B_Z", b_z), ("N", float(pairs)))
    return Cover((term._replace(lemma=LEMMA_E, inputs=inputs),))
