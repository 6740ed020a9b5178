"""Precision, recall and AUC of an attribution whose relevant positions are known.

An attribution gives every position of every input a number; its size, whatever the sign, says how much the position
is held to matter. The relevant set belongs to the function and not to one input, so sizes are averaged over the inputs
and the positions ranked once. Ties are shared: a set cut through a tie counts what it holds on average.
"""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float, Shaped
from keyhole.errors import DataError
from keyhole.estimate import Estimate

RESAMPLES = 1000
CONFIDENCE = 0.95
BLOCK = 2**22  # numbers of a block of resamples


@dataclass(frozen=True)
class AttributionScore:
    """Precision and recall of the `top` positions, and the chance that a relevant one outranks another.

    Each lies between its ends in 95 of 100 resamples of the inputs.
    """

    precision: Estimate
    recall: Estimate
    auc: Estimate
    auc_per_input: Estimate  # ranked within each input, then averaged: 1/2 wherever an input's sizes are all alike
    top: int
    inputs: int
    resamples: int
    seed: int


def score_attribution(
    attributions: Shaped[np.ndarray, "n T"], positions: tuple[int, ...], *, top: int | None = None, seed: int = 0
) -> AttributionScore:
    """Precision, recall and AUC of the relevant set, with percentile intervals from a bootstrap over the inputs.

    Without `top` as many positions are taken as are relevant; precision and recall are then equal.

    >>> score = score_attribution(np.array([[0.0, -2.0, 0.0, 1.0], [0.0, 1.0, 0.0, 3.0]]), (1, 3))
    >>> score.precision.value, score.auc.value
    (1.0, 1.0)
    """
    if attributions.dtype.kind not in "fiub" or attributions.size == 0:
        raise DataError(
            f"Attributions of type {attributions.dtype} and shape {attributions.shape} were given; give real numbers, "
            "a row per input and a column per position."
        )
    sizes = np.abs(attributions.astype(np.float64))
    if not np.isfinite(sizes).all():
        raise DataError("The attributions hold NaN or infinity, which have no rank; give finite numbers.")
    n, context = sizes.shape
    if any(not 0 <= place < context for place in positions):
        raise DataError(f"Attributions to {context} positions were given, but position {max(positions)} is relevant.")
    relevant = np.isin(np.arange(context), positions)
    if not 0 < relevant.sum() < context:
        raise DataError(
            f"{int(relevant.sum())} of {context} positions are relevant; a ranking needs some that are and some not."
        )
    taken = len(positions) if top is None else top
    if not 1 <= taken <= context:
        raise DataError(f"The top {taken} positions were asked for; a context of {context} has 1 to that many.")
    per_input = auc(sizes, relevant)
    point = _measures(sizes.mean(axis=0)[None], relevant, taken)
    drawn, averages = [], []
    rng, step = np.random.Generator(np.random.Philox(seed)), max(1, BLOCK // max(n, context))
    for start in range(0, RESAMPLES, step):  # how often each input is in each resample, a block of them at a time
        counts = rng.multinomial(n, np.full(n, 1 / n), size=min(step, RESAMPLES - start)).astype(np.float64)
        drawn.append(_measures(counts @ sizes / n, relevant, taken))
        averages.append(counts @ per_input / n)
    spread = np.concatenate([np.concatenate(drawn, axis=1), np.concatenate(averages)[None]])
    low, high = np.quantile(spread, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=1)
    values = [*point[:, 0], per_input.mean()]
    precision, recall, area, area_per_input = (
        Estimate(float(value), float(below), float(above))
        for value, below, above in zip(values, low, high, strict=True)
    )
    return AttributionScore(precision, recall, area, area_per_input, taken, n, RESAMPLES, seed)


def auc(sizes: Float[np.ndarray, "n T"], relevant: Shaped[np.ndarray, "T"]) -> Float[np.ndarray, "n"]:
    """The share of pairs of a relevant and another position in which the relevant one is larger, ties counting half.

    Statement  With average ranks from 1, Σ_{i∈I} rank_i = s(s+1)/2 + s(T−s) AUC.
    Proof      A relevant position's rank is 1 plus the positions below it and half of the others equal to it; pairs
               within I contribute s(s−1)/2 in all.
    Source     Standard: the statistic of Mann and Whitney.
    """
    from scipy.stats import rankdata

    s, others = int(relevant.sum()), int((~relevant).sum())
    ranks = rankdata(sizes, axis=1)[:, relevant].sum(axis=1)
    return np.asarray((ranks - s * (s + 1) / 2) / (s * others))


def hits(sizes: Float[np.ndarray, "n T"], relevant: Shaped[np.ndarray, "T"], top: int) -> Float[np.ndarray, "n"]:
    """Count the relevant positions among the `top` largest, on average over all ways to break ties."""
    cut = np.partition(sizes, -top, axis=1)[:, -top][:, None]
    above, tied = sizes > cut, sizes == cut
    share = (top - above.sum(axis=1)) / tied.sum(axis=1)
    return np.asarray(above[:, relevant].sum(axis=1) + share * tied[:, relevant].sum(axis=1))


def _measures(sizes: np.ndarray, relevant: np.ndarray, top: int) -> np.ndarray:
    """Rows precision, recall and AUC, a column per ranking."""
    taken = hits(sizes, relevant, top)
    return np.stack([taken / top, taken / relevant.sum(), auc(sizes, relevant)])
