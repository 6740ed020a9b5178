"""Theorem T: a head with a fixed query is a convex mixture of one-position functions, hence √(log T)."""

from functools import lru_cache
from math import exp, expm1, inf, log, sqrt, tanh
from typing import NamedTuple

from keyhole.bounds.covers.heads import refuse_projection, single_layer
from keyhole.bounds.derivation import STANDARD, Complexity, Inputs, Lemma, Step
from keyhole.bounds.validate import Real, norm, sample_size, whole
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

    Beyond 64 symbols it is the larger ln(2^A T), which is off by at most 2^{1−A}.
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
            "variance. Train a layer without one, such as transformer:bounded."
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
