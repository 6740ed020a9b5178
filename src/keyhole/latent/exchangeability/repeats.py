"""Sequences that occur more than once: too often for independent sequences whose order does not matter?

A table written twice, or epochs put one after the other, look like more sequences and say no more than those they
repeat. Which letters sequences have may be alike for any reason; their order, if it does not matter, may not.
"""

from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int, Shaped

LEVEL = 1e-6  # repeats that independent sequences show with at most this probability are no chance


@dataclass(frozen=True, eq=False)
class RepeatedSequences:
    """The sequences that count, and the probability of so many repeats if the order does not matter."""

    sequences: int
    chance: float  # at most the probability of so many repeats among independent exchangeable sequences
    kept: Int[Any, "n"]  # where each sequence that counts stands: all of them, or each distinct one once


def repeated_sequences(tokens: Shaped[Any, "N T *width"]) -> RepeatedSequences:
    """Find sequences that repeat others beyond chance.

    Statement  Let the sequences be independent and exchangeable, and M_i the number of different orders of the tokens
               of sequence i. Given which tokens each sequence has, k ≥ 1 or more sequences equal an earlier one with
               probability at most (eμ/k)^k e^{−μ} where k > μ = Σ 1/M over the pairs of sequences with the same
               tokens; and all sequences are the first N/n of them written n times, for some divisor n > 1 of N, with
               probability at most the sum over n of Π 1/M_i over the sequences after the first N/n. At most twice the
               lesser of both bounds is therefore the probability of what is seen.
    Proof      Given the earlier sequences, sequence i equals one of those with its tokens with probability at most
               their number over M_i: Chernoff. In the second, each of the later sequences is a given one: a product,
               and a union over n.
    Source     Ours.
    """
    N = len(tokens)
    # a number for each token, the same for equal tokens
    letters = _numbered(tokens.reshape(N * tokens.shape[1], -1)).reshape(tokens.shape[:2])
    whole = _numbered(letters)
    k = N - len(np.unique(whole))
    if not k:
        return RepeatedSequences(N, 1.0, np.arange(N))
    ordered = np.sort(letters, axis=1)
    orders, groups = _log_orders(ordered), _numbered(ordered)
    sizes, first = np.bincount(groups), np.unique(groups, return_index=True)[1]
    mean = float((sizes * (sizes - 1.0) / 2 * np.exp(-orders[first])).sum())
    nats = mean - k + k * (log(k) - log(mean)) if 0 < mean < k else 0.0
    copies, copied = _copies(whole, orders)
    chance = min(1.0, 2 * exp(-min(max(nats, copied), 700.0)))
    if chance >= LEVEL:
        return RepeatedSequences(N, chance, np.arange(N))
    if copied > nats:  # few different sequences there may be, and the same ones in the same order again
        return RepeatedSequences(N, chance, np.arange(N // copies))
    return RepeatedSequences(N, chance, np.sort(np.unique(whole, return_index=True)[1]))


def _numbered(rows: Shaped[Any, "n columns"]) -> Int[Any, "n"]:
    """A number for each row, the same for equal rows."""
    if rows.shape[1] == 1:
        return np.unique(rows[:, 0], return_inverse=True)[1]
    if np.issubdtype(rows.dtype, np.floating):
        rows = rows + 0.0  # −0 has other bytes than 0, and equals it
    # each row as one string of bytes: a record with a field per column, which axis=0 makes, is slow for long rows
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))
    return np.unique(whole[:, 0], return_inverse=True)[1]


def _log_orders(rows: Int[Any, "N T"]) -> Float[Any, "N"]:
    """ln(T!/Π n_a!) of sorted rows: the logarithm of the number of different orders of each."""
    N, T = rows.shape
    starts = np.concatenate([np.ones((N, 1), dtype=bool), rows[:, 1:] != rows[:, :-1]], axis=1)
    runs = np.bincount(np.cumsum(starts.ravel()) - 1)  # how often each letter of each row occurs, rows in turn
    owners = np.nonzero(starts)[0]
    logs = np.concatenate([[0.0], np.log(np.arange(1, T + 1)).cumsum()])  # of factorials
    return logs[T] - np.bincount(owners, weights=logs[runs], minlength=N)


def _copies(whole: Int[Any, "N"], orders: Float[Any, "N"]) -> tuple[int, float]:
    """The largest number of times that all sequences are written in the same order, and the nats of any such."""
    N = len(whole)
    divisors = [n for n in range(2, N + 1) if N % n == 0]
    written = [n for n in divisors if np.array_equal(whole[N // n :], whole[: N - N // n])]
    if not written:
        return 1, 0.0
    least = min(float(orders[N // n :].sum()) for n in divisors)
    return max(written), max(0.0, least - log(len(divisors)))
