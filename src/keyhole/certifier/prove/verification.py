"""What was found when a model was compared with a junta on every input: a proof, a counterexample, or neither."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int

from keyhole.decimals import at_least

Status = Literal["PROVED", "COUNTEREXAMPLE", "UNDECIDED"]


@dataclass(frozen=True, eq=False)
class Verification:
    """The outcome for all A^T inputs; PROVED says that model and junta agree, never that either is right.

    With PROVED, `margin` is a certified μ > 0: f ≥ μ wherever the junta says true and f ≤ −μ wherever it says
    false, for the real-number function f that the weights define, or the tables where only they are given. Any
    implementation within μ of f therefore has the same sign. With COUNTEREXAMPLE the sign of f at the input is certain
    beyond rounding; `output` is f there.
    """

    status: Status
    margin: float | None = None
    counterexample: Int[np.ndarray, "T"] | None = None
    model_answer: bool | None = None
    junta_answer: bool | None = None
    output: float | None = None
    reason: str = ""
    branches: int = 0
    seconds: float = 0.0

    @property
    def rule(self) -> str:
        """What a margin is good for, in words; empty without a proof."""
        if self.margin is None:
            return ""
        return f"any implementation within {at_least(self.margin)} of f has the same sign on every input"
