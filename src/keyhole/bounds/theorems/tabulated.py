"""Theorem T: a head with a fixed query is a convex mixture of one-position functions, hence √(log T)."""

from functools import lru_cache
from math import ceil, exp, expm1, floor, inf, log, log2, sqrt, tanh
from typing import NamedTuple

from keyhole.bounds.covers.heads import refuse_projection, single_layer
from keyhole.bounds.derivation import STANDARD, Complexity, Inputs, Lemma, Step
from keyhole.bounds.validate import Real, failure, norm, positive, sample_size, whole
from keyhole.errors import AssumptionError
from keyhole.norm_profile import NormProfile

THEOREM_T = Lemma(
    "Theorem T",
    "R_m ≤ κ L P_∞ Φ(R) r_m, κ = 1 without units or with odd ones, or if every read-out weight is ≥ 0, else 2",
)
MASSART = Lemma("Massart over one-position functions", "r_m = √(2 ln N_A / m), N_A = (2^A − 2)T + 2", STANDARD)
SPREAD = Lemma("Theorem T, content-dependent scores", "Φ = min(Φ_a, Φ_b, 1/r_m), Φ(0) = 1")
MOST_COUNTED = 64  # symbols whose sets are counted one by one
LARGEST_SPREAD = 700.0  # e^R is a float up to here; the cap 1/r_m is long since in force


def log_one_position_functions(context: Real, symbols: int = 2) -> float:
    """Ln N_A, N_A = (2^A − 2)T + 2: functions of one position's symbol with values ±1, the constants counted once.

    Where 2^A is no number to compute with, the larger ln(2^A T), which is off by at most 2^{1−A}.
    """
    alphabet, tokens = whole("the alphabet", symbols), whole("the context", context)
    if alphabet > MOST_COUNTED:
        return alphabet * log(2) + log(tokens)
    return log((2**alphabet - 2) * tokens + 2)


def one_position_rate(context: Real, samples: Real, symbols: int = 2) -> float:
    """Bounds the Rademacher complexity of mixtures of one-position functions.

    Statement  r_m = √(2 ln N_A / m).
    Proof      Massart's lemma for N_A functions with values ±1; a convex hull keeps R_m.
    Source     Textbook.

    >>> round(one_position_rate(100, 100000), 7)
    0.0103037
    """
    return sqrt(2 * log_one_position_functions(context, symbols) / sample_size(samples))


def contraction_price(spread: Real) -> float:
    """Φ_a: the price of scores that look at the symbol, by contraction in two coordinates.

    Statement  Φ_a(R) = e^R (1 + √((1 − e^{−R})/2))² ≤ 2.9143 e^R.
    Proof      On |n| ≤ z, z ≥ e^{−R} the map n/z is Lipschitz in max(|n−n'|, α|z−z'|) with e^R(1 + 1/α);
               R_m({z}) ≤ κ r_m, κ = (1 − e^{−R})/2; Maurer's argument adds the coordinates; α = κ^{−1/2}.
    Equality   R = 0, where it is 1.
    Source     Ours (Theorem T).

    >>> round(contraction_price(1.0), 4)
    6.6338
    """
    r = norm("the spread R", spread)
    if r > LARGEST_SPREAD:
        return inf
    return exp(r) * (1 + sqrt(-expm1(-r) / 2)) ** 2


@lru_cache(maxsize=4096)
def series_price(spread: float) -> float:
    """Φ_b: the price of scores that look at the symbol, by expanding the normaliser.

    Statement  Φ_b(R) = (2/(1 + e^{−R})) Σ_{k≥0} tanh(R/2)^k √(k+1).
    Proof      z = c(1 − y) with c = (1 + e^{−R})/2 and y in tanh(R/2) times the hull, so n/z = c⁻¹ Σ_k n y^k,
               and n y^k is a mixture of products of k + 1 one-position functions. The tail of the series
               is added as x^n √(n+1)/(1−x)², which bounds it since √(1+j) ≤ 1+j.
    Equality   R = 0, where it is 1.
    Source     Ours (Theorem T); smaller than Φ_a for R < 2.939.

    >>> round(series_price(1.0), 4)
    3.5456
    """
    r = norm("the spread R", spread)
    x = tanh(r / 2)
    if 1 - x < 1e-4:  # R > 9.9, where Φ_a is smaller by far and the series is long
        return inf
    total, power, k = 0.0, 1.0, 0
    while power * sqrt(k + 1) / (1 - x) ** 2 > 1e-14 * total:
        total, power, k = total + power * sqrt(k + 1), power * x, k + 1
    return 2 / (1 + exp(-r)) * (total + power * sqrt(k + 1) / (1 - x) ** 2)


def spread_price(spread: Real, rate: Real = 0.0) -> float:
    """Φ(R) = min(Φ_a, Φ_b, 1/r_m): what content-dependent scores cost.

    Statement  Φ(0) = 1; Φ_b is used up to R = 3 and Φ_a beyond, either being valid; |n/z| ≤ 1 gives the cap.
    Source     Ours (Theorem T).

    >>> spread_price(0.0)
    1.0
    """
    r = norm("the spread R", spread)
    price = min(contraction_price(r), series_price(r)) if r <= 3 else contraction_price(r)
    return min(price, 1 / rate) if rate > 0 else price


def tabulated_complexity(profile: NormProfile, samples: Real) -> Complexity:
    """Bounds one layer with a fixed query, without any norm of QK or of the positions, without chaining.

    Statement  R_m(F) ≤ 2 L P_∞ Φ(R) r_m for every sample, any number of units and heads, any logit scale;
               the 2 is dropped as `sign_factor` says.
    Assumes    One layer, one fixed query, a finite alphabet; no LayerNorm after attention.
    Proof      A head is n/z with n a mixture of one-position functions and z one too; hull and contraction
               as for the path norm, Φ for the quotient.
    Source     Ours (Theorem T).
    """
    layer = fixed_query_layer(profile, "Theorem T", needs=("path_inf", "spread"))
    m, spread = sample_size(samples), norm("the spread R", profile.spread or 0.0)
    rate = one_position_rate(layer.context, m, profile.symbols)
    price = spread_price(spread, rate)
    value = layer.factor * price * rate
    base = (("T", float(layer.context)), ("A", float(profile.symbols)))
    parts = (
        Step("one-position functions r_m", rate, MASSART, base, (), 1 / price if price > 1 else 1.0),
        # a factor's share: what would go if it were 1
        Step("price of content Φ", price, SPREAD, (("R", spread),), (), max(0.0, 1 - 1 / price)),
    )
    return Complexity(value, Step("complexity R_m", value, THEOREM_T, layer.inputs, parts), layer.conditions)


class FixedQueryLayer(NamedTuple):
    """The factor from the complexity of one head with values within ±1 to that of a layer."""

    context: int  # T: positions whose symbol varies
    path: float  # P_∞
    lipschitz: float  # L_σ
    signs: float  # κ
    conditions: tuple[str, ...]

    @property
    def factor(self) -> float:
        """κ L P_∞."""
        return self.signs * self.lipschitz * self.path

    @property
    def inputs(self) -> Inputs:
        """The numbers of the factor, by name."""
        return (("P_∞", self.path), ("L_σ", self.lipschitz), ("sign factor", self.signs))


def fixed_query_layer(profile: NormProfile, theorem: str, needs: tuple[str, ...]) -> FixedQueryLayer:
    """The layer of a profile as Theorems T and L read it; refused where they say nothing of it.

    Statement  R_m(F) ≤ κ L P_∞ R_m(G), G being the heads with values within ±1, κ as `sign_factor`.
    Proof      A unit's input over its reach V_j is in the hull of G, which is symmetric and holds the constants within
               ±1. ReLU lets V_j pass into the weight, and any other unit is taken at the largest V_j. Contraction
               gives L, and signed weights cost κ. What goes past the units is a unit without activation, so L counts
               as at least 1 where something does.
    Source     Ours (Theorem T).
    """
    block = single_layer(profile)
    refuse_projection(profile)
    if block.layernorm == "after":
        raise AssumptionError(
            f"A LayerNorm stands after attention, and {theorem} does not speak of one: it is not Lipschitz near zero "
            "variance. Train without it."
        )
    if profile.normaliser != "softmax":
        raise AssumptionError(f"{theorem} is about softmax, and this profile has {profile.normaliser}.")
    missing = " and ".join(name for name in needs if getattr(profile, name) is None)
    if missing:
        reads = {"path_inf": "P_∞", "spread": "the spread R of the scores"}
        raise AssumptionError(
            f"{theorem} reads {' and '.join(reads[name] for name in needs)}; the profile has no {missing}: give it."
        )
    constants = whole("the number of constant tokens", profile.constant_tokens, least=0)
    context = whole("the number of tokens, [CLS] included,", profile.tokens, least=constants + 1) - constants
    past = block.residual or block.split_residual or block.biased or profile.readout_bias != 0
    conditions: tuple[str, ...] = (
        "one attention layer whose query does not depend on the input, over a finite alphabet",
        "no LayerNorm stands after attention",
    )
    if profile.odd_units:
        conditions += ("no units stand after attention, or units with σ(−x) = −σ(x)",)
    elif profile.readout_nonnegative:
        conditions += ("every read-out weight is ≥ 0",)
    return FixedQueryLayer(
        context,
        norm("P_∞", profile.path_inf or 0.0),
        max(norm("L_σ", profile.activation_lipschitz), 1.0 if past else 0.0),
        sign_factor(profile),
        conditions,
    )


def sign_factor(profile: NormProfile) -> float:
    """κ: what read-out weights of either sign cost.

    Statement  Let C be convex and symmetric, and S the sums Σ_j w_j σ(u_j) with u_j ∈ C and Σ_j |w_j| ≤ 1. Then
               R_m(S) ≤ κ R_m(σ(C)), where κ = 1 if all w_j ≥ 0 or if σ is odd, the identity for one, and κ = 2 in
               general.
    Proof      S is the hull of ±σ(C) and 0, and σ(0) = 0 is in σ(C). For w_j ≥ 0 it is the hull of σ(C) alone. If σ is
               odd, −σ(u) = σ(−u), so ±σ(C) = σ(C). In general the supremum over ±σ(C) is at most the one over σ(C)
               plus the one over −σ(C), neither being negative, and signs ξ and −ξ have one law.
    Source     Textbook. Whether σ is odd is known before the data are; the signs of trained weights are not.
    """
    return 1.0 if profile.odd_units or profile.readout_nonnegative else 2.0


def observed_normaliser_gap(
    *, path_inf: Real, smallest: Real, heads: int, context: int, samples: Real, delta: Real,
    margin: Real = 1.0, lipschitz: Real = 1.0,
) -> float:  # fmt: skip
    """Bounds the test error above the training ramp loss by the smallest normaliser seen, R not occurring.

    Statement  If z_h ≥ 2ζ on every training input, ζ = 2^{−i}, then with probability ≥ 1 − δ, for all i,
               P(yf ≤ 0) ≤ Ê ramp_γ + (2/γ)·2LP_∞(2.9143/ζ)r_m + H r_m/ζ + (H+1)√(ln(2i(i+1)/δ)/(2m)).
    Proof      Replace z by max(z, ζ), which changes nothing on the sample; elsewhere some z_h < ζ, whose
               probability Rule 3 bounds through the ramp from 2ζ to ζ. Peel over i.
    Source     Ours (Corollary Z). One-sided.

    >>> gap = observed_normaliser_gap(path_inf=4, smallest=0.5, heads=1, context=100, samples=1e8, delta=0.01)
    >>> gap < 0.07
    True
    """
    lowest = positive("the smallest normaliser", smallest)
    i = max(1, ceil(1 - log2(min(lowest, 1.0)) - 1e-12))  # largest ζ = 2^{−i} with 2ζ ≤ smallest
    zeta, m = 2.0**-i, sample_size(samples)
    rate = one_position_rate(context, m)
    cut = 2 * norm("L_σ", lipschitz) * norm("P_∞", path_inf) * (2.9143 / zeta) * rate
    count = whole("the number of heads", heads)
    chance = (count + 1) * sqrt(log(2 * i * (i + 1) / failure(delta)) / (2 * m))
    return 2 / positive("the margin", margin) * cut + count * rate / zeta + chance


def tabulated_log_size(spread: Real, samples: Real, context: int, accuracy: Real, symbols: int = 2) -> float:
    """Covers the heads with a fixed query and values within ±1, on m points.

    Statement  log N_∞(ε) ≤ 11 e^R ln(3m) ln(4^A T)/ε² for ε ≤ 1.
    Proof      Draw K = ⌊10 e^R ln(3m)/ε²⌋ + 1 positions from π with random vertices of mean r and v;
               Bernstein and Chernoff fail at one point with probability < 1/m, so some draw suits all.
    Source     Ours (Lemma K). Theorem L reaches the order e^{R/2} too, without chaining.

    >>> tabulated_log_size(0.0, 100, 10, 1.0) < tabulated_log_size(0.0, 100, 10, 0.5)
    True
    """
    epsilon = positive("the accuracy", accuracy)
    if epsilon > 1:
        raise AssumptionError(f"This cover is stated for accuracies ε ≤ 1; got {epsilon}.")
    nats = whole("the alphabet", symbols) * log(4) + log(whole("the context", context))
    return 11 * exp(norm("the spread R", spread)) * log(3 * sample_size(samples)) * nats / epsilon**2


def tabulated_floor(spread: Real, samples: Real, context: int) -> float:
    """Some sample on which heads with a fixed query must have large complexity.

    Statement  If T ≥ k = 1 + ⌊e^R⌋, some sample of m points has R_m(G) ≥ ½ √(k/(2m)).
    Assumes    m a multiple of k.
    Proof      k strings with a single 1 among k positions, π uniform on them, score gap R, value ±1 at the
               1 and 0 elsewhere: |u| ≥ ½ with arbitrary signs, and E|Σ of m/k signs| ≥ √(m/(2k)).
    Source     Ours (Proposition W): content-dependent scores cost at least of the order e^{R/2}.

    >>> tabulated_floor(0.0, 100, 10)
    0.05
    """
    k = 1 + floor(exp(norm("the spread R", spread)))
    if whole("the context", context) < k:
        raise AssumptionError(f"This floor needs a context of at least 1 + ⌊e^R⌋ = {k}; got {context}.")
    return 0.5 * sqrt(k / (2 * sample_size(samples)))


def compiled_path_inf(sparsity: int, leak: float = 0.01, *, symmetric: bool = False) -> float:
    """P_∞ of an exact head for any ±1 table of s bits, or for a symmetric one; free of T.

    Statement  2^s max(1, s−1)/(1−γ) for a table, at most 4s²/(1−γ) for a symmetric function.
    Source     Ours (Construction A).

    >>> compiled_path_inf(3, 0.5)
    32.0
    """
    s = whole("the sparsity", sparsity)
    if not 0 < leak < 1:
        raise AssumptionError(f"The leak γ is the attention that misses, so 0 < γ < 1; got {leak}.")
    return (4 * s * s if symmetric else 2**s * max(1, s - 1)) / (1 - leak)


def joined_samples(
    context: int, sparsity: int, *, error: Real, delta: Real, leak: float = 0.01, symmetric: bool = False
) -> float:
    """Samples from which a bounded attention layer learns any s-sparse function of T bits, by minimisation.

    Statement  m ≥ (4P√(2 ln(2T+2)) + √(ln(1/δ)/2))²/ε² gives error ≤ ε with probability ≥ 1 − δ, under every
               law of the bits, P = `compiled_path_inf`: 2^{O(s)} log T, poly(s) log T if symmetric.
    Proof      With R = 0 and P_∞ ≤ P the class holds the target at margin 1; Theorem T and Rule 3, one side.
    Source     Ours (Corollary J). About minimisers of the ramp loss, not about gradient descent.

    >>> round(joined_samples(100, 3, error=0.1, delta=0.01) / 1e6, 1)
    4.5
    """
    path = compiled_path_inf(sparsity, leak, symmetric=symmetric)
    complexity = 4 * path * sqrt(2 * log_one_position_functions(context))
    return ((complexity + sqrt(log(1 / failure(delta)) / 2)) / positive("the error", error)) ** 2
