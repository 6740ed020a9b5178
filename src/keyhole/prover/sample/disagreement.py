"""The rate at which a model and a junta disagree, counted on fresh inputs where no proof excludes it.

Inputs without labels are free where their law is known. The count is a binomial, its ceiling exact.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from keyhole.attention import Evaluator
from keyhole.boolean import Junta, SymbolLaw
from keyhole.bounds import Real
from keyhole.decimals import at_most, chance

FRESH = 10**6
BLOCK = 2**24  # symbols drawn at once


@dataclass(frozen=True)
class Disagreement:
    """A rate η that the chance of disagreement does not exceed, and what it rests on."""

    rate: float
    kind: Literal["proved zero", "sampled", "proved rare"]
    disagreements: int = 0
    inputs: int = 0
    delta: float = 0.0  # the chance, over the fresh inputs, that the rate is too small; 0 where nothing was drawn

    def __str__(self) -> str:
        if self.kind == "sampled":
            return (
                f"at most {at_most(self.rate, 2)} ({self.disagreements:,} of {self.inputs:,} fresh inputs disagree; "
                f"fails with probability {chance(self.delta)})"
            )
        if self.kind == "proved zero":
            return "0: equal on all inputs"
        return f"at most {at_most(self.rate, 2)} (proved, no inputs drawn)"


def sampled_disagreement(
    evaluator: Evaluator, junta: Junta, law: SymbolLaw, *, delta: Real, seed: int = 0, inputs: int = FRESH
) -> Disagreement:
    """The rate by the exact binomial ceiling of what fresh inputs show.

    Statement  With k disagreements on N fresh inputs, η ≤ max{p : P(Bin(N, p) ≤ k) ≥ δ}; for k = 0 this is
               1 − δ^(1/N) ≤ ln(1/δ)/N.
    Assumes    Inputs follow the law, and N was chosen before any was drawn.
    Proof      Disagreements are independent trials; invert the lower tail.
    Source     Textbook (Clopper and Pearson, one side).
    """
    from keyhole.bounds.finite import held_out_ceiling  # noqa: PLC0415  (only without a proof)

    rng = np.random.default_rng([seed, 2])
    tokens, count = evaluator.model.tokens, 0
    step = max(1, BLOCK // tokens)
    for start in range(0, inputs, step):
        drawn = law.draw(min(step, inputs - start), tokens, rng)
        count += int(np.count_nonzero((np.asarray(evaluator(drawn)) > 0) != junta(drawn)))
    return Disagreement(held_out_ceiling(count, inputs, delta), "sampled", count, inputs, float(delta))
