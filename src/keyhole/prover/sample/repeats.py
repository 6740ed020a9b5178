"""Rows that occur more than once: how improbable they are in independent draws, and how often each then counts.

A sample written twice, epochs put one after the other, or a class drawn oftener than it occurs, look like a larger
sample and say no more than the rows they repeat.

Only equal rows are seen. A copy with a single symbol changed is a row of its own here; that rows are independent stays
an assumption, which the certificate prints.
"""

from dataclasses import dataclass
from math import exp, inf, lgamma, log

import numpy as np

from keyhole.arrays import Bool, Int, Shaped
from keyhole.boolean import SymbolLaw
from keyhole.decimals import at_most

LEVEL = 1e-6  # repeats that independent draws of the law show with at most this probability are no chance


@dataclass(frozen=True, eq=False)
class Repeats:
    """The distinct rows, the probability of so many repeats, and the decision to count each row once."""

    rows: int
    distinct: int  # or, where all rows are written several times in the same order, the rows written first
    chance: float  # at most the probability of so many repeats among independent draws of the law
    refuted: bool  # whether that is too small to believe in independent draws
    owners: Int[np.ndarray, "rows"]  # the number of each row among the distinct ones, by first appearance
    copies: int = 1  # how often all rows are written in the same order

    @property
    def first(self) -> Int[np.ndarray, "distinct"]:
        """The first place of each distinct row."""
        return np.unique(self.owners, return_index=True)[1]

    def says(self, law: SymbolLaw) -> str:
        """Return why the rows are not independent draws of the law, or nothing."""
        if not self.refuted:
            return ""
        if self.copies > 1:
            return (
                f"the {self.rows:,} rows are {self.distinct:,} written {self.copies} times, and independent draws "
                f"of {law} are that with probability at most {at_most(self.chance, 2)}"
            )
        return (
            f"only {self.distinct:,} of {self.rows:,} rows are distinct, and independent draws of {law} repeat so "
            f"many with probability at most {at_most(self.chance, 2)}"
        )

    @property
    def counted(self) -> int:
        """The number of rows that count: all of them, or each once."""
        return self.distinct if self.refuted else self.rows

    def count(self, wrong: Bool[np.ndarray, "rows"]) -> int:
        """Count the distinct rows that are wrong in at least one of their copies."""
        return len(np.unique(self.owners[wrong]))


def repeats_of(
    inputs: Shaped[np.ndarray, "m T"], law: SymbolLaw, accepted: float = 1.0, level: float = LEVEL
) -> Repeats:
    """The repeats of a sample, judged under the law; `accepted` is the probability with which a sample was kept.

    Statement  m independent rows of the law show at most d distinct ones, m − d = k ≥ 1, with probability at most
               four times the least of
               (1) C(m,2) c, c = (Σ p_a²)^T, divided by the number of equal pairs seen;
               (2) (eμ/k)^k e^{−μ} where μ = C(m,2) q < k, q = (max p_a)^T;
               (3) C(A^T, d) (d q)^m;
               (4) the sum of q^{m − m/n} over the divisors n > 1 of m, where all rows are m/n rows written n times.
               Of samples kept with probability P, at most 1/P times that.
    Proof      (1) Two rows are equal with probability c: Markov on the number of equal pairs. (2) Given the rows
               before it, row j repeats one of them with probability at most (j − 1) q: the count of repeats is below
               a sum of independent bits of mean μ; Chernoff. (3) Some set of d rows holds all draws; union over the
               sets. (4) Each row after the first m/n is a given one; union over n. Each has a quarter of the level.
    Source     Ours (the birthday bound and its relatives).
    """
    m, tokens = inputs.shape
    owners = _numbered(inputs)
    distinct = int(owners.max()) + 1
    counts = np.bincount(owners)
    pairs = float((counts * (counts - 1.0) / 2).sum())
    if distinct == m:
        return Repeats(m, distinct, 1.0, refuted=False, owners=owners)
    all_pairs, likeliest = log(m * (m - 1) / 2), tokens * log(max(law.chances))
    equal = tokens * log(sum(chance**2 for chance in law.chances))
    repeats, log_mean = m - distinct, all_pairs + likeliest
    above = log(repeats) > log_mean  # Chernoff's bound speaks of counts above the mean
    nats = max(
        log(pairs) - all_pairs - equal,
        exp(log_mean) - repeats + repeats * (log(repeats) - log_mean) if above else 0.0,
        -_log_choose(tokens * log(law.symbols), distinct) - m * (log(distinct) + likeliest),
    )
    chance = _chance(nats, 4, accepted)
    copies, nats = _copies(owners, likeliest)
    if chance >= level > _chance(nats, 4, accepted):  # few different rows in all, and the same ones again and again
        first = m // copies
        return Repeats(m, first, _chance(nats, 4, accepted), refuted=True, owners=np.arange(m) % first, copies=copies)
    return Repeats(m, distinct, chance, refuted=chance < level, owners=owners)


def shared_rows(
    inputs: Shaped[np.ndarray, "m T"], others: Shaped[np.ndarray, "n T"], law: SymbolLaw, accepted: float = 1.0
) -> tuple[int, float]:
    """Count the other rows that occur among the first, and bound the probability of so many for independent draws.

    Statement  Of n rows drawn independently of m others, k or more are among these with probability at most three
               times the least of m n c / k, c = (Σ p_a²)^T; e^{−n KL(k/n‖p)} where p = m (max p_a)^T < k/n; and, where
               the first min(m, n) rows of both are equal one by one, c^{min(m, n)}.
    Proof      Markov; Chernoff, each of the n being one of the m with probability at most p; a product. Each is
               looked at with a third of the level.
    Source     Ours.
    """
    m, n, tokens = len(inputs), len(others), inputs.shape[1]
    numbers = _numbered(np.concatenate([inputs, others]))
    shared = int(np.isin(numbers[m:], numbers[:m]).sum())
    if not shared:
        return 0, 1.0
    likeliest = tokens * log(max(law.chances))
    equal = tokens * log(sum(chance**2 for chance in law.chances))
    nats, share, log_chance = log(shared) - log(m) - log(n) - equal, shared / n, log(m) + likeliest
    if log_chance < log(share):
        rest = 0.0 if shared == n else (n - shared) * (log(1 - share) - log(1 - exp(log_chance)))
        nats = max(nats, shared * (log(share) - log_chance) + rest)
    aligned = min(m, n)
    if np.array_equal(numbers[:aligned], numbers[m : m + aligned]):
        nats = max(nats, -aligned * equal)
    return shared, _chance(nats, 3, accepted)


def _chance(nats: float, tests: int, accepted: float) -> float:
    """A bound of so many nats, found as the best of a few, for samples kept with this probability."""
    return min(1.0, tests * exp(-min(max(nats, 0.0), 700.0)) / accepted)


def _copies(owners: Int[np.ndarray, "m"], likeliest: float) -> tuple[int, float]:
    """Return the most times that the same rows are written in the same order, and the nats of any such."""
    m = len(owners)
    divisors = [copies for copies in range(2, m + 1) if m % copies == 0]
    written = [n for n in divisors if np.array_equal(owners[m // n :], owners[: m - m // n])]
    if not written:
        return 1, 0.0
    least = (m - m // divisors[0]) * -likeliest  # the likeliest of the orders has the fewest copies
    return max(written), max(0.0, least - log(len(divisors)))


def _numbered(rows: Shaped[np.ndarray, "m T"]) -> Int[np.ndarray, "m"]:
    """A number for each row, the same for equal rows, in the order of their first appearance."""
    plain = np.ascontiguousarray(rows.astype(np.int8 if rows.max(initial=0) < 128 else np.int64))
    whole = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1])))[:, 0]
    _, first, owners = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return np.asarray(order[owners.reshape(-1)])


def _log_choose(log_all: float, chosen: int) -> float:
    """The logarithm of C(N, d) for N = e^log_all, or more: beyond 2^20, where differences of lgamma round, N^d/d!."""
    if log_all > 20 * log(2):
        return chosen * log_all - lgamma(chosen + 1)
    whole = round(exp(log_all))
    return inf if chosen > whole else lgamma(whole + 1) - lgamma(chosen + 1) - lgamma(whole - chosen + 1)
