"""A normaliser turns scores into weights; how far a change of scores can move the weights is its constant.

The constant is the best c in ‖N(u) − N(u′)‖₁ ≤ c ‖u − u′‖_∞: change of scores in ℓ∞ against change of weights
in ℓ1. Capacity that grows only with log T needs one that is free of T; most normalisers have none.

Where N is continuous and piecewise smooth, c is the supremum of ‖J‖_{∞→1} over the pieces: integrate the
Jacobian along the segment from u to u′. That norm is the maximum of ‖Ju‖₁, convex in u, over the corners
u ∈ {±1}ᵀ. For J = diag(w) − wwᵀ/W with weights w ≥ 0 of sum W it is the largest 4 A (W − A)/W, A the sum of w
over the set of +1's (`corner` below).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from array_api_compat import array_namespace

from keyhole.attention.types import Mixture, Scores, require_positive
from keyhole.errors import ShapeError


class Normaliser(ABC):
    """A map from scores to weights along the last axis, and its ℓ∞→ℓ1 constant."""

    name: ClassVar[str]
    simplex: ClassVar[bool] = True  # the weights are non-negative and sum to one

    def __call__(self, scores: Scores) -> Mixture:
        """The weights of these scores, along the last axis."""
        if scores.ndim == 0 or scores.shape[-1] == 0:
            raise ShapeError(f"{self.name} was asked to weigh no scores; give at least one along the last axis")
        return self.weigh(scores, array_namespace(scores))

    @property
    def constant(self) -> float | None:
        """The ℓ∞→ℓ1 constant that serves every number of tokens, or None when there is none."""
        return None

    @abstractmethod
    def weigh(self, scores: Scores, xp: Any) -> Mixture:
        """The weights, computed in the namespace xp."""

    @abstractmethod
    def constant_at(self, tokens: int) -> float:
        """The best ℓ∞→ℓ1 constant for `tokens` ≥ 1 scores."""


def corner(total: float, inside: float) -> float:
    """‖Ju‖₁ = 4 A (W − A)/W for J = diag(w) − wwᵀ/W at the corner whose +1's have weight A of W.

    >>> corner(1.0, 0.5)
    1.0
    """
    return 4 * inside * (total - inside) / total


@dataclass(frozen=True)
class Softmax(Normaliser):
    """The weights exp(u_t/τ)/Σ exp(u/τ), at temperature τ.

    Statement  ‖softmax(u/τ) − softmax(u′/τ)‖₁ ≤ ‖u − u′‖_∞/τ for any number of scores.
    Proof      τJ = diag(p) − ppᵀ, whose norm is max_S 4 P_S (1 − P_S) ≤ 1.
    Equality   In the limit of small changes, where some tokens carry exactly half of the weight, such as two
               equal scores; so the constant is the best for every T ≥ 2. One token has weight 1 always.
    Source     Ours. Edelman et al. (arXiv 2110.10090) is recalled to use 2, from the sum of all |J_ij|.

    >>> Softmax(temperature=0.5).constant
    2.0
    """

    temperature: float = 1.0
    name: ClassVar[str] = "softmax"

    def __post_init__(self) -> None:
        require_positive("a temperature", self.temperature)

    @property
    def constant(self) -> float | None:
        """1/τ, whatever the number of tokens."""
        return 1 / self.temperature

    def weigh(self, scores: Scores, xp: Any) -> Mixture:
        """Exponentials of scores below the largest, over their sum."""
        mass = xp.exp((scores - xp.max(scores, axis=-1, keepdims=True)) / self.temperature)
        return mass / xp.sum(mass, axis=-1, keepdims=True)

    def constant_at(self, tokens: int) -> float:
        """1/τ from two tokens on."""
        return 1 / self.temperature if tokens > 1 else 0.0


@dataclass(frozen=True)
class Sparsemax(Normaliser):
    """The point of the simplex nearest to the scores: (u_t − θ)₊, with θ such that the sum is one.

    Statement  The best constant for T scores is ⌊T/2⌋⌈T/2⌉·4/T: T for even T, T − 1/T for odd T.
    Proof      On a support of size n the Jacobian is I − 11ᵀ/n there and 0 elsewhere, whose norm is the
               largest 4 j (n − j)/n, at j = ⌊n/2⌋; that grows with n, and n = T occurs (equal scores).
    Equality   Nearly equal scores, ⌊T/2⌋ of them raised and the others lowered by the same small amount.
    Source     Ours.

    >>> [Sparsemax().constant_at(tokens) for tokens in (1, 2, 5, 8)]
    [0.0, 2.0, 4.8, 8.0]
    """

    name: ClassVar[str] = "sparsemax"

    def weigh(self, scores: Scores, xp: Any) -> Mixture:
        """Scores above the threshold θ = max_j (u_(1) + … + u_(j) − 1)/j, exactly, by sorting."""
        height, ordered, count = _descending(scores, xp)
        threshold = xp.max((xp.cumulative_sum(ordered, axis=-1) - 1) / count, axis=-1, keepdims=True)
        return _positive_part(height - threshold, xp)

    def constant_at(self, tokens: int) -> float:
        """A full support cut into halves as even as can be."""
        return corner(float(tokens), float(tokens // 2))


@dataclass(frozen=True)
class Entmax15(Normaliser):
    """The weights (u_t/2 − θ)₊², with θ such that the sum is one: between softmax and sparsemax.

    Statement  The best constant for T scores is 4 (⌊T/2⌋^(−1/3) + ⌈T/2⌉^(−1/3))^(−3/2), at most √T.
    Proof      With s = √p the Jacobian is diag(s) − ssᵀ/Σs, whose norm at a set of j tokens beside k others
               is 4AB/(A + B), A and B the sums of s over the two. By Cauchy–Schwarz A ≤ √j cos φ and
               B ≤ √k sin φ where cos²φ is the weight of the set; 1/A + 1/B is then least at
               tan φ = (j/k)^(1/6), where it is (j^(−1/3) + k^(−1/3))^(3/2). That falls in j and in k and,
               convex in j at j + k fixed, is least in the middle; all T tokens belong to the support.
    Equality   In the limit of small changes: even T, equal weights, √T. Odd T: two groups of ⌊T/2⌋ and ⌈T/2⌉
               equal weights, not the same in both.
    Source     Ours.

    >>> Entmax15().constant_at(16)
    4.0
    >>> round(Entmax15().constant_at(3), 6)  # equal weights on three tokens would give 1.539601 only
    1.66508
    """

    name: ClassVar[str] = "entmax-1.5"

    def weigh(self, scores: Scores, xp: Any) -> Mixture:
        """Squares above the threshold, which is found exactly, by sorting.

        If the largest j halved scores were the support, the threshold would be their mean less the root of
        (1 − their squared deviations)/j. It is right for the true support, and for any other too low or above
        the j-th score: the threshold is the largest of those that do not exceed their j-th score.
        """
        height, ordered, count = _descending(scores / 2, xp)
        mean = xp.cumulative_sum(ordered, axis=-1) / count
        square = xp.cumulative_sum(ordered * ordered, axis=-1) / count
        rest = 1 / count - (square - mean * mean)
        real = rest > 0  # elsewhere no root exists, and the branch not taken must stay differentiable
        candidate = mean - xp.sqrt(xp.where(real, rest, 1.0))
        right = real & (candidate <= ordered)
        threshold = xp.max(xp.where(right, candidate, -1.0), axis=-1, keepdims=True)
        return _positive_part(height - threshold, xp) ** 2

    def constant_at(self, tokens: int) -> float:
        """Two groups as even as can be, each of equal weights."""
        few, many = tokens // 2, tokens - tokens // 2
        return 4 / (few ** (-1 / 3) + many ** (-1 / 3)) ** 1.5 if few else 0.0


@dataclass(frozen=True)
class Hardmax(Normaliser):
    """All weight on the largest score, shared equally by ties.

    Statement  From two tokens on no finite constant exists.
    Proof      (0, 0) weighs (½, ½) and (ε, 0) weighs (1, 0): a change of 1 in ℓ1 for every ε > 0.
    Source     Standard.

    >>> Hardmax().constant_at(2)
    inf
    """

    name: ClassVar[str] = "hardmax"

    def weigh(self, scores: Scores, xp: Any) -> Mixture:
        """An equal share for every token that attains the maximum."""
        attained = xp.astype(scores == xp.max(scores, axis=-1, keepdims=True), scores.dtype)
        return attained / xp.sum(attained, axis=-1, keepdims=True)

    def constant_at(self, tokens: int) -> float:
        """Infinite from two tokens on."""
        return inf if tokens > 1 else 0.0


@dataclass(frozen=True)
class Uniform(Normaliser):
    """The same weight 1/T for every token, whatever its score; the constant is 0.

    >>> Uniform().constant
    0.0
    """

    name: ClassVar[str] = "uniform"

    @property
    def constant(self) -> float | None:
        """0: the scores are not read."""
        return 0.0

    def weigh(self, scores: Scores, xp: Any) -> Mixture:
        """Equal shares."""
        return xp.full_like(scores, 1 / scores.shape[-1])

    def constant_at(self, tokens: int) -> float:  # noqa: ARG002  (the same for every number of tokens)
        """0: the scores are not read."""
        return 0.0


@dataclass(frozen=True)
class Sigmoid(Normaliser):
    """A gate 1/(1 + exp(−u_t)) for each token by itself; the gates do not sum to one.

    Statement  The best constant for T scores is T/4.
    Proof      The Jacobian is diagonal with entries σ′(u_t) ≤ 1/4.
    Equality   In the limit of small changes at u = 0, all scores moving by the same amount.
    Source     Standard.

    >>> Sigmoid().constant_at(8)
    2.0
    """

    name: ClassVar[str] = "sigmoid"
    simplex: ClassVar[bool] = False

    def weigh(self, scores: Scores, xp: Any) -> Mixture:
        """exp(−log(1 + exp(−u))), which neither overflows nor loses small gates."""
        return xp.exp(-xp.logaddexp(xp.zeros_like(scores), -scores))

    def constant_at(self, tokens: int) -> float:
        """A quarter for each token."""
        return tokens / 4


@dataclass(frozen=True)
class Linear(Normaliser):
    """The score itself as weight, of either sign: linear attention; divided by T its constant would be 1.

    Statement  The best constant for T scores is T.
    Equality   All scores moving by the same amount.
    Source     Standard.

    >>> Linear().constant_at(8)
    8.0
    """

    name: ClassVar[str] = "linear"
    simplex: ClassVar[bool] = False

    def weigh(self, scores: Scores, xp: Any) -> Mixture:  # noqa: ARG002  (nothing is computed)
        """The scores."""
        return scores

    def constant_at(self, tokens: int) -> float:
        """One for each token."""
        return float(tokens)


def _descending(scores: Scores, xp: Any) -> tuple[Scores, Scores, Any]:
    """Scores below the largest, cut at −1; the same in falling order; the counts 1 … T.

    The threshold is at most 1 below the largest score, so a score that is 1 or more below that one has no
    weight and may be cut: sums of squares stay small, and a masked score of −∞ does no harm. NaN stays NaN.
    """
    height = scores - xp.max(scores, axis=-1, keepdims=True)
    height = xp.where(height <= -1, -1.0, height)
    count = xp.cumulative_sum(xp.ones_like(height), axis=-1)
    return height, xp.sort(height, axis=-1, descending=True), count


def _positive_part(height: Scores, xp: Any) -> Scores:
    return xp.where(height <= 0, 0.0, height)
