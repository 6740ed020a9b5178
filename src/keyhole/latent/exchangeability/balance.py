"""A ceiling for how evenly tokens divide into two kinds, which no latent variable can pass.

Tokens of two kinds that are independent given a latent give a mixture of binomial counts, and no binomial of T puts
more than a known share between a and b. Draws without replacement do: their counts keep near the middle.

The birthday problem as a test: a ceiling for the share of sequences without a repeated letter.

Independent tokens over V letters repeat sooner or later, as birthdays do; draws without replacement never. No latent
variable helps: it can only make letters less equal, and tokens repeat the more.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import exp, log, log1p, sqrt
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.bounds.finite import log_lower_tail
from keyhole.errors import AssumptionError

ROUNDING = 1e-11  # relative error allowed to a sum of T terms from logarithms of factorials, taken upwards
STEP = 2**0.25  # ratio of neighbouring half-widths tried: every width for short sequences, few for long ones


@dataclass(frozen=True)
class Balance:
    """The event that from `least` to `most` of a sequence's tokens are of one kind, and the most a mixture gives it."""

    least: int  # a
    most: int  # b
    ceiling: float  # π*


@lru_cache(maxsize=4096)  # simulations ask for the same few again and again
def balance_ceiling(length: int, least: int, most: int) -> float:
    """The largest chance that from a to b of T tokens are of one kind, over all latent variables.

    Statement  If tokens are independent and alike given z, P(a ≤ K ≤ b) ≤ π* = max_p P(a ≤ Bin(T, p) ≤ b), and for
               1 ≤ a ≤ b < T the maximum is where (p/(1 − p))^{b−a+1} = C(T−1, a−1)/C(T−1, b).
    Assumes    Nothing of the law of z.
    Proof      Given z, K is Bin(T, p_z); an average is at most the maximum. The derivative in p of the chance is
               T[C(T−1, a−1)p^{a−1}q^{T−a} − C(T−1, b)p^b q^{T−1−b}], positive before that p and negative after.
    Equality   Tokens that are independent with that p.
    Source     Standard.

    >>> round(balance_ceiling(8, 3, 5) * 256, 6), balance_ceiling(8, 0, 5)
    (182.0, 1.0)
    """
    if not 0 <= least <= most <= length:
        raise AssumptionError(f"Counts from {least} to {most} of {length} tokens are none; give 0 ≤ a ≤ b ≤ T.")
    if least == 0 or most == length:
        return 1.0
    logs = np.concatenate([[0.0], np.log(np.arange(1, length + 1)).cumsum()])  # of factorials
    ratio = logs[most] + logs[length - 1 - most] - logs[least - 1] - logs[length - least]
    log_odds = float(ratio) / (most - least + 1)
    log_p, log_q = -float(np.logaddexp(0, -log_odds)), -float(np.logaddexp(0, log_odds))
    counts = np.arange(least, most + 1)
    terms = logs[length] - logs[counts] - logs[length - counts] + counts * log_p + (length - counts) * log_q
    return min(1.0, float(np.exp(terms).sum()) * (1 + ROUNDING))


def choose_balance(counts: Int[Any, "N"], length: int) -> Balance:
    """The interval round the mean count whose observed share is furthest above its ceiling, in relative entropy."""
    if int(counts.max()) == 0 or int(counts.min()) == length:
        return Balance(0, length, 1.0)  # one kind only: nothing divides
    middle = float(counts.mean())
    widths = 0.5 * STEP ** np.arange(np.ceil(np.log(2 * length) / np.log(STEP)) + 1)
    ends = {(max(1, int(np.ceil(middle - w))), min(length - 1, int(np.floor(middle + w)))) for w in widths}
    best, best_score = Balance(0, length, 1.0), -np.inf
    for least, most in sorted(ends):
        if least > most:
            continue
        ceiling = balance_ceiling(length, least, most)
        # half a sequence is added on either side, so that the share is never 0 or 1
        share = (int(((counts >= least) & (counts <= most)).sum()) + 0.5) / (len(counts) + 1)
        entropy = share * log(share / ceiling) + (1 - share) * (log1p(-share) - log1p(-ceiling)) if ceiling < 1 else 0
        score = float(np.copysign(entropy, share - ceiling))
        if score > best_score:
            best, best_score = Balance(least, most, ceiling), score
    return best


def balance_p_value(balanced: int, sequences: int, ceiling: float) -> float:
    """P(Bin(N, π*) ≥ k): the chance that so many sequences fall in an event of chance at most π* each.

    Statement  For independent sequences, each in the event with chance at most π*, P(p ≤ α) ≤ α for every α and N.
    Proof      The count is stochastically at most Bin(N, π*): draw each indicator below a common one of chance π*.
               The upper tail at its own count is a p-value.
    Equality   Chances all π*, at the α that the tail takes.
    Source     Standard.

    >>> round(balance_p_value(3, 3, 0.5), 9)
    0.125
    """
    if balanced <= 0 or ceiling >= 1:
        return 1.0
    return exp(log_lower_tail(sequences - balanced, sequences, 1 - ceiling))


def covariance_within(seen: Float[Any, "N T"]) -> float:
    """An unbiased estimate θ̂ of the covariance of two tokens of one sequence.

    Statement  With S_i the sum of a sequence, q_i = (S_i² − Σ_t g²)/(T(T − 1)) and m_i = S_i/T,
               θ̂ = mean(q) − mean(m)² + var(m)/N is unbiased for Cov(g(x¹), g(x²)).
    Proof      q_i averages g(x^s)g(x^t) over pairs s ≠ t; E mean(m)² exceeds (E m)² by Var(m)/N.
    Source     Ours.
    """
    N, T = seen.shape
    centred = seen - seen.mean()  # θ̂ does not see a shift; sums of squares would
    sums = centred.sum(axis=1)
    pairs = (sums**2 - (centred**2).sum(axis=1)) / (T * (T - 1))
    deviation = float(sums.std(ddof=1)) / (T * sqrt(N))
    return float(pairs.mean() - (sums / T).mean() ** 2 + deviation**2)


@dataclass(frozen=True)
class Birthday:
    """The sequences that repeat no letter of a given alphabet, and their largest mean probability under a mixture."""

    letters: int  # V: the letters of the first half
    distinct: int  # sequences of the second half in which none of these occurs twice
    ceiling: float  # c̄: the mean over sequences of the largest chance of that
    p_value: float


def distinct_ceilings(letters: int, most: int) -> Float[Any, "counts"]:
    """The largest chance that j independent tokens over V letters are all different, for j = 0, …, most.

    Statement  If tokens are independent and alike given z and take at most V values, j of them are all different with
               chance at most (V)_j/V^j = Π_{i<j} (1 − i/V).
    Assumes    Nothing of the law of z.
    Proof      Given z with chances p_1, …, p_V it is j!·e_j(p), e_j the elementary symmetric polynomial, which on
               the simplex is largest where all p are equal (Maclaurin's inequality). An average is at most that.
    Equality   Independent tokens, all letters equally likely.
    Source     Standard (the birthday problem).

    >>> distinct_ceilings(365, 23)[23].round(4), distinct_ceilings(2, 3).round(6).tolist()
    (np.float64(0.4927), [1.0, 1.0, 0.5, 0.0])
    """
    factors = np.maximum(0.0, 1 - np.arange(most) / letters)
    ceilings = np.concatenate([[1.0], np.cumprod(factors)])
    return np.minimum(1.0, ceilings * np.where(np.arange(most + 1) < 2, 1.0, 1 + ROUNDING))


def birthday_test(first: Int[Any, "N T"], second: Int[Any, "M T"]) -> Birthday:
    """Reject when the letters that the first half shows are repeated too seldom within sequences of the second.

    Statement  Let A be the V letters of the first half, j_i how many tokens of sequence i of the second are in A, and
               k how many sequences have these all different. For every mixture of independent tokens P(p ≤ α) ≤ α,
               with p = P(Bin(M, c̄) ≥ k) where k ≥ Mc̄ + 1 and 1 elsewhere, c̄ the mean of (V)_j/V^j at j = j_i.
    Assumes    Sequences are independent of each other; their latents need not have one law. Not that A is all letters:
               tokens outside it are left out of account.
    Proof      Given z, the first half and which tokens are in A, those are independent over A: `distinct_ceilings`.
               So k is stochastically at most a sum of independent bits of mean c̄, and the upper tail of such a sum,
               from one above its mean on, is at most that of the binomial of the same mean (Hoeffding, 1956).
    Equality   Independent tokens over A, all letters equally likely.
    Source     Ours (the birthday problem and Hoeffding's comparison).
    """
    alphabet = np.unique(first)
    places = np.minimum(np.searchsorted(alphabet, second), len(alphabet) - 1)
    known = alphabet[places] == second
    # a number of its own for every token outside A, so that it repeats none
    coded = np.sort(np.where(known, places, len(alphabet) + np.arange(second.shape[1])), axis=1)
    distinct = int((np.diff(coded, axis=1) != 0).all(axis=1).sum())
    ceiling = float(distinct_ceilings(len(alphabet), second.shape[1])[known.sum(axis=1)].mean())
    above = distinct >= len(second) * ceiling + 1
    p = balance_p_value(distinct, len(second), ceiling) if above else 1.0
    return Birthday(len(alphabet), distinct, ceiling, p)
