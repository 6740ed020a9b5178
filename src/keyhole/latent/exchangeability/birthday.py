"""The birthday problem as a test: a ceiling for the share of sequences without a repeated letter.

Independent tokens over V letters repeat sooner or later, as birthdays do; draws without replacement never. No latent
variable helps: it can only make letters less equal, and tokens repeat the more.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.latent.exchangeability.balance import ROUNDING, balance_p_value


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
