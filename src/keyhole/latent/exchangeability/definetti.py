"""The distance of a finite exchangeable sequence from independent tokens given a latent, and that of positions.

De Finetti's theorem is about sequences that can be prolonged for ever. Part of a finite exchangeable sequence is only
near a mixture of independent draws. For tokens that carry their positions the distance is O(k²/T) for k of T tokens
and no better, so over a whole sentence the latent model is an assumption and not a theorem.
"""

from math import comb, exp, expm1, fsum, inf, log, log1p

from keyhole.errors import AssumptionError

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
    _require_draws(n, k)
    if not 0 <= ones <= n:
        raise AssumptionError(f"{ones} ones among {n} letters were asked for; give 0 to {n}.")
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
    _require_draws(n, k)
    if not letters >= 1:
        raise AssumptionError(f"An alphabet has at least one letter; got {letters}.")
    return min(letters * k / n, k * (k - 1) / (2 * n), 1.0)


def pair_eigenvalue(tokens: int) -> float:
    """The negative eigenvalue that shows why positions cannot come from a latent variable.

    Statement  For the positions of two tokens of a sentence in random order, the matrix
               P(pos₁ = a, pos₂ = b) − 1/T² has the eigenvalue −1/(T(T − 1)) on every vector of sum 0.
               Under a latent variable it would be positive semi-definite: Cov(f(x₁), f(x₂)) = Var E[f | z] ≥ 0.
    Proof      The matrix is (J − I)/(T(T − 1)) − J/T², J of ones; on sums 0 the J vanish.
    Source     Ours.

    >>> round(pair_eigenvalue(8), 7)
    -0.0178571
    """
    if tokens < 2:
        raise AssumptionError(f"A pair needs at least two tokens; got {tokens}.")
    return -1 / (tokens * (tokens - 1))


def position_floor(tokens: int, k: int) -> float:
    """The distance of k positioned tokens of a sentence of T from every mixture of independent tokens.

    Statement  Total variation ≥ 1 − T(T − 1)…(T − k + 1)/T^k, whatever the words.
    Proof      The k positions are always distinct. Under independent draws from one law they are distinct with
               probability at most T(T − 1)…(T − k + 1)/T^k, attained by the uniform law (Maclaurin's inequality);
               a mixture does no better than its best part.
    Equality   Positions alone, against uniform independent positions.
    Source     Ours.

    >>> round(position_floor(100, 10), 6), round(position_floor(1000, 10), 6)
    (0.371843, 0.044139)
    """
    _require_draws(tokens, k)
    return -expm1(fsum(log1p(-j / tokens) for j in range(k)))


def _require_draws(n: int, k: int) -> None:
    if not 1 <= k <= n:
        raise AssumptionError(f"{k} tokens out of {n} were asked about; ask about 1 to {max(n, 1)}.")
