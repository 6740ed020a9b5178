"""The distance of a finite exchangeable sequence from independent tokens given a latent, and that of positions.

De Finetti's theorem is about sequences that can be prolonged for ever. Part of a finite exchangeable sequence is only
near a mixture of independent draws. For tokens that carry their positions the distance is O(k²/T) for k of T tokens
and no better, so over a whole sentence the latent model is an assumption and not a theorem.

Beside it: the rate at which a posterior finds its latent, the regret of averaging over it on the way, and its
expectation after one more token, which is the posterior itself.
"""

from itertools import combinations
from math import comb, exp, expm1, fsum, inf, log, log1p
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.errors import AssumptionError
from keyhole.latent.models import BetaBernoulli, FiniteModel, Polya

ASSUMPTION = (
    "For positioned tokens the bound is O(k²/T) for k of T tokens, and no better one is true: over a whole sentence "
    "the latent model is an assumption."
)


def urn_distance(n: int, ones: int, k: int) -> float:
    """Total variation between k draws without replacement and k with, from an urn with `ones` ones among n.

    Statement  It is ½ Σ_j |C(M, j) C(n − M, k − j)/C(n, k) − C(k, j) (M/n)^j (1 − M/n)^{k−j}|.
    Proof      Both laws are exchangeable, so given the number of ones every order is equally likely under both:
               the distance of the sequences is that of the counts.
    Source     Standard.

    >>> round(urn_distance(20, 10, 5), 7)
    0.0715944
    """
    if ones in (0, n):
        return 0.0
    draws, log_one, log_zero = comb(n, k), log(ones / n), log((n - ones) / n)
    gaps = (  # a binomial coefficient can be too large for a float; its logarithm never is
        abs(comb(ones, j) * comb(n - ones, k - j) / draws - exp(log(comb(k, j)) + j * log_one + (k - j) * log_zero))
        for j in range(k + 1)
    )
    return fsum(gaps) / 2


def largest_urn_distance(n: int, k: int) -> float:
    """The largest distance over all urns of n letters, ones or zeros.

    >>> round(largest_urn_distance(20, 5), 5)
    0.0745
    """
    return max(urn_distance(n, ones, k) for ones in range(n // 2 + 1))  # M and n − M differ by names of letters


def finite_de_finetti_bound(n: int, k: int, letters: float = inf) -> float:
    """A bound on the distance of k tokens of an exchangeable sequence of n from a mixture of independent ones.

    Statement  Total variation ≤ min(c·k/n, k(k − 1)/(2n)) for an alphabet of c letters; 1 if both exceed it.
    Assumes    The law of the n tokens is exchangeable.
    Source     Diaconis and Freedman (1980), constants recalled and checked numerically here on urns.

    >>> finite_de_finetti_bound(400, 20, letters=2), finite_de_finetti_bound(128, 16)
    (0.1, 0.9375)
    """
    return min(letters * k / n, k * (k - 1) / (2 * n), 1.0)


def pair_eigenvalue(tokens: int) -> float:
    """The negative eigenvalue that shows why positions cannot come from a latent variable.

    Statement  For the positions of two tokens of a sentence in random order, the matrix
               P(pos₁ = a, pos₂ = b) − 1/T² has the eigenvalue −1/(T(T − 1)) on every vector of sum 0.
               Under a latent variable, given which tokens are independent and of one law, it would be positive semi-definite: Cov(f(x₁), f(x₂)) = Var E[f | z] ≥ 0.
    Proof      The matrix is (J − I)/(T(T − 1)) − J/T², J of ones; on sums 0 the J vanish.
    Source     Ours.

    >>> round(pair_eigenvalue(8), 7)
    -0.0178571
    """
    return -1 / (tokens * (tokens - 1))


def position_floor(tokens: int, k: int) -> float:
    """The distance of k positioned tokens of a sentence of T from every mixture of independent, alike tokens.

    Statement  Total variation ≥ 1 − T(T − 1)…(T − k + 1)/T^k, whatever the words, from every mixture of laws under
               which tokens are independent and of one law. From tokens of different laws it can be 0.
    Proof      The k positions are always distinct. Under independent draws from one law they are distinct with
               probability at most T(T − 1)…(T − k + 1)/T^k, attained by the uniform law (Maclaurin's inequality);
               a mixture does no better than its best part.
    Equality   Positions alone, against uniform independent positions.
    Source     Ours.

    >>> round(position_floor(100, 10), 6), round(position_floor(1000, 10), 6)
    (0.371843, 0.044139)
    """
    return -expm1(fsum(log1p(-j / tokens) for j in range(k)))


def chernoff_information(first: Float[Any, "V"], second: Float[Any, "V"]) -> float:
    """Max over s of −log Σ_v p_v^s q_v^{1−s}: the rate at which data separate two laws when either may be true.

    Statement  With finitely many latent values H(z | X) = E[−log π_X(z)] decays like e^{−CT + o(T)}, C the
               smallest Chernoff information of two of them; not at the larger Kullback–Leibler divergence.
    Proof      The error e of the best guess of z decays so (Chernoff), and H lies between 2 log 2 · e (Hellman
               and Raviv) and −e log e − (1 − e) log(1 − e) + e log(m − 1) (Fano).
    Source     Standard.

    >>> round(chernoff_information(np.array([0.6, 0.4]), np.array([0.4, 0.6])), 7)
    0.020411
    """
    from scipy.optimize import minimize_scalar

    both = (first > 0) & (second > 0)
    if not bool(np.any(both)):
        return float("inf")
    logs, others = np.log(first[both]), np.log(second[both])

    def log_sum(s: float) -> float:
        return log(float(np.exp(s * logs + (1 - s) * others).sum()))

    # log Σ p^s q^{1−s} is convex in s, and flat at its least value: an s off by 1e-9 moves it by about 1e-18 there
    inside = minimize_scalar(log_sum, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9})
    return -min(float(inside.fun), log_sum(0.0), log_sum(1.0))


def contraction_rate(model: FiniteModel) -> float:
    """The smallest Chernoff information of two latent values: the rate in T of the posterior's log loss."""
    return min(chernoff_information(first, second) for first, second in combinations(model.emission.T, 2))


def cumulative_regret(model: FiniteModel, tokens: Int[Any, "n T"]) -> Float[Any, "n T"]:
    """The loss of averaging over the posterior after every token, against the best latent value in hindsight.

    Statement  Σ_t −log P(x_t | x_<t) − min_z Σ_t −log P(x_t | z) ≤ log(1/p_z) for the best z, on every sequence;
               so ≤ log m for a uniform prior on m values.
    Proof      The first sum telescopes to −log Σ_z p_z P(X | z), which is at most −log(p_z P(X | z)) for any one z.
    Source     Standard.

    >>> three = FiniteModel(np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), np.array([0.5, 0.5]))
    >>> cumulative_regret(three, np.array([[0, 0, 2]])).round(6).tolist()
    [[0.356675, 0.544727, 0.356675]]
    """
    logs = np.cumsum(model.log_likelihood(tokens), axis=1)  # log P(x_1..x_t | z)
    best = logs.max(axis=2)
    if bool(np.any(np.isneginf(best))):
        raise AssumptionError("A sequence has probability 0 under every latent value, so its regret is not defined.")
    with np.errstate(divide="ignore"):
        return -np.logaddexp.reduce(logs - best[:, :, None] + np.log(model.prior), axis=2)


def regret_ceiling(model: FiniteModel) -> float:
    """log(1/p) of the least likely latent value: what no sequence's regret exceeds; infinite if the prior excludes one.

    >>> regret_ceiling(FiniteModel(np.array([[0.5, 0.2], [0.5, 0.8]]), np.array([1.0, 0.0])))
    inf
    """
    least = float(model.prior.min())
    return -log(least) if least > 0 else inf


def expected_posterior(model: FiniteModel | Polya | BetaBernoulli, tokens: Int[Any, "n T"]) -> Float[Any, "n *m"]:
    """Σ_v P(v | X) π_{X,v}: the belief expected after one more letter, summed over all letters.

    Statement  It equals π_X; for a posterior known by its mean, the means obey the same.
    Proof      Σ_v P(v | X) P(z | X, v) = Σ_v P(z, v | X) = P(z | X).
    Source     Standard.

    >>> expected_posterior(Polya(np.array([1.0, 2.0, 1.0])), np.array([[0, 0, 1]])).round(6).tolist()
    [[0.428571, 0.428571, 0.142857]]
    """
    chances = model.posterior_mean(tokens)
    expected = np.zeros_like(beliefs(model.posterior(tokens)))
    for letter in range(model.letters):
        possible = chances[:, letter] > 0  # a letter that cannot come has no posterior, and weighs nothing
        if not bool(np.any(possible)):
            continue
        longer = np.concatenate([tokens[possible], np.full((possible.sum(), 1), letter)], axis=1)
        belief = beliefs(model.posterior(longer))
        expected[possible] += chances[possible, letter].reshape(-1, *[1] * (belief.ndim - 1)) * belief
    return expected


def martingale_drift(model: FiniteModel | Polya | BetaBernoulli, tokens: Int[Any, "n T"]) -> float:
    """The largest difference between a belief and what it is expected to be one letter later; 0 but for rounding."""
    return float(np.abs(expected_posterior(model, tokens) - beliefs(model.posterior(tokens))).max())


def beliefs(posterior: Any) -> Float[Any, "n *m"]:
    """A posterior as numbers: its probabilities, or its mean."""
    return np.asarray(posterior if isinstance(posterior, np.ndarray) else posterior.mean)
