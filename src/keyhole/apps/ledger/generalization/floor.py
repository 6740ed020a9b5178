"""How few samples name three hidden positions: the floor no learner passes, and where search succeeds?"""

from functools import partial
from itertools import combinations
from math import comb, exp, log
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.verdict import verdict_of
from keyhole.bounds.finite import clopper_pearson, information_floor
from keyhole.decimals import at_least, at_most
from keyhole.figure import Axis, line_figure
from keyhole.papers import EDELMAN_2022

CLAIM = Claim(
    id="floor",
    title="log₂ C(T, s) samples are necessary, and search succeeds at a size of the same growth",
    statement=(
        "From m one-bit labels no learner names a random 3-set with probability above 2^m/C(T,3). For a balanced 3-way AND the "
        "hidden set is the only consistent one at least half of the time once the expected number of rivals is ½."
    ),
    formula=r"m\ge\log_2\binom{T}{s},\qquad \sum_{j<3}\binom{3}{j}\binom{T-3}{3-j}\left(2p^{6-j}\right)^m\le\tfrac{1}{2}",
    kind="inequality",
    source="keyhole, with proof (the information floor; first moment); that log T is optimal is also a sentence of the slides of Edelman et al. (2022)",
    prediction=(
        "At the first-moment size (28 samples at T = 100, 34 at T = 400) the target is alone with probability at least ½; "
        "picking a random consistent AND never beats 2^m/C(T,3)."
    ),
    could_fail="An upper end of the interval below ½, or a success rate whose lower end exceeds 2^m/C(T,3).",
    papers=(EDELMAN_2022,),
)

P = 2 ** (-1 / 3)
FEW_EXAMPLES = 14  # negative examples whose 2^14 sets are gone through rather than the sets of positions


@partial(Experiment, CLAIM)
def experiment(scale: Scale, seed: int) -> Outcome:
    """Draw samples of a hidden 3-way AND, count the consistent ones, and see when the target is alone or picked."""
    rng = np.random.default_rng(seed)
    draws = 400 if scale == "quick" else 4000
    rows: list[dict[str, Any]] = []
    numbers: dict[str, float] = {}
    verdicts = []
    for context in (100, 400):
        size = first_moment_size(context)
        for samples in sorted({12, 16, 20, 24, size, size + 8}):
            drawn = (rng.random((samples, context)) < P for _ in range(draws))
            counts = np.array([count_fitting(bits, np.asarray(bits[:, :3].all(axis=1)), 3) for bits in drawn])
            picked = int((rng.random(draws) < 1 / counts).sum())
            alone = int((counts == 1).sum())
            low, high = clopper_pearson(picked, draws, 0.001)
            limit = min(1.0, 2.0**samples / comb(context, 3))
            verdicts.append(low <= limit)
            rows.append(
                {"T": str(context), "m": samples, "rate": picked / draws, "low": low, "high": high, "limit": limit}
            )
            if samples == size:
                ends = clopper_pearson(alone, draws, 0.001)
                verdicts.append(ends[1] >= 0.5)
                numbers |= {
                    f"alone at T = {context}, m = {size}": alone / draws,
                    f"floor at T = {context}": information_floor(context, 3),
                }
                numbers |= {f"lower end at T = {context}": ends[0], f"upper end at T = {context}": ends[1]}
    decided = all(numbers[f"lower end at T = {context}"] >= 0.5 for context in (100, 400))
    return Outcome(
        verdict=verdict_of(holds=decided, fails=not all(verdicts)),
        measurement="; ".join(
            f"T = {context}: alone in {numbers[f'alone at T = {context}, m = {first_moment_size(context)}']:.3f} of draws at "
            f"m = {first_moment_size(context)}, floor {at_least(information_floor(context, 3), places=1)}"
            for context in (100, 400)
        )
        + ".",
        numbers=numbers,
        interval=f"99.9 % Clopper–Pearson over {draws} draws; at T = 100: {at_least(numbers['lower end at T = 100'], places=3)} to {at_most(numbers['upper end at T = 100'], places=3)}.",
        figures=(
            line_figure(
                "Picking a random consistent 3-way AND",
                rows,
                Axis("m", "samples m"),
                Axis("rate", "picked"),
                Axis("T", "T", "category"),
                subtitle="share of draws in which the hidden set is picked, bits biased so that labels balance",
                band=True,
            ),
        ),
    )


def expected_rivals(context: int, sparsity: int, samples: int) -> float:
    """Expected number of wrong s-ANDs that fit all samples, when bits are 1 with probability 2^(−1/s).

    Statement  Σ_{j<s} C(s, j) C(T−s, s−j) (2 p^{2s−j})^m with p = 2^{−1/s}.
    Proof      Two ANDs that share j positions are both 1 with probability p^{2s−j}; each is 1 with
               probability ½, so they agree with probability 2 p^{2s−j}. Sum over the rivals.
    Equality   Always: it is an expectation.
    Source     Ours; proved above.

    >>> expected_rivals(6, 3, 1) > expected_rivals(6, 3, 2)
    True
    """
    p = 2 ** (-1 / max(1, sparsity))
    return sum(
        comb(sparsity, j) * comb(context - sparsity, sparsity - j) * exp(samples * log(2 * p ** (2 * sparsity - j)))
        for j in range(sparsity)
    )


def first_moment_size(context: int, sparsity: int = 3) -> int:
    """Samples at which the hidden AND is the only AND that fits with probability ≥ ½: enough, not a floor.

    Statement  The smallest m with at most ½ expected wrong ANDs that fit m balanced samples.
    Proof      Markov: the probability that some wrong AND fits is at most the expected number that do.
    Source     Ours; proved above. A random consistent AND is right half of the time at fewer samples; the only
               floor is `information_floor`.

    >>> first_moment_size(100)
    28
    """
    samples = 0
    while expected_rivals(context, sparsity, samples) > 0.5:
        samples += 1
    return samples


def count_fitting(bits: np.ndarray, labels: np.ndarray, size: int) -> int:
    """Count the ANDs of `size` positions that agree with every label.

    An AND that fits has positions that are 1 in every positive example. With N(S) those that are 1 in every negative
    example of S, too, a set of positions accepts all of S if it lies in these, and it fits if no example is accepted:
    Σ_S (−1)^|S| · C(N(S), size), in n · 2^n steps for n negative examples, however many positions there are.
    """
    negatives = bits[~labels][:, bits[labels].all(axis=0)]
    examples, places = negatives.shape
    if examples > FEW_EXAMPLES:
        sets = np.array(list(combinations(range(places), size)), dtype=np.int64).reshape(-1, size)
        return int((~negatives[:, sets].all(axis=2)).all(axis=0).sum())
    within = np.bincount(negatives.T @ (1 << np.arange(examples)), minlength=1 << examples)
    for example in range(examples):  # from "exactly these examples" to "these and others"
        halves = within.reshape(-1, 2, 1 << example)
        halves[:, 0] += halves[:, 1]
    signs = 1 - 2 * (np.bitwise_count(np.arange(1 << examples)).astype(np.int64) & 1)
    return sum(int(sign) * comb(int(count), size) for sign, count in zip(signs, within, strict=True))
