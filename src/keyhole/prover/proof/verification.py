"""The outcome of a proof over all inputs."""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Int
from keyhole.decimals import margin as printed_margin
from keyhole.prover.proof.tables import Tables, sequence_of
from keyhole.rigorous import Ball
from keyhole.verdicts import CertificateStatus


@dataclass(frozen=True, eq=False)
class Verification:
    """The outcome over all inputs asked about; PROVED says that model and answers agree, never that either is right.

    With PROVED, `margin` is a certified μ > 0: f ≥ μ wherever the answer is true and f ≤ −μ wherever it is false, for
    the real-number function f that the weights define, or the tables where only they are given. Any implementation
    within μ of f therefore has the same sign. With COUNTEREXAMPLE the sign of f at the input is certain beyond
    rounding and not the one wanted; `output` is f there. With UNDECIDED, `bound` is the largest number that sign·f is
    known not to be below.
    """

    status: CertificateStatus
    margin: float | None = None
    counterexample: Int[np.ndarray, "T"] | None = None
    wanted: bool | None = None
    output: float | None = None
    bound: float | None = None
    reason: str = ""
    parts: int = 0  # parts of the inputs that were cut, or bounded
    seconds: float = 0.0

    @property
    def rule(self) -> str:
        """The use of the margin, in words; empty without a proof."""
        if self.margin is None:
            return ""
        near = printed_margin(self.margin)
        return f"an implementation within {near} of the model's output gives the same answer on every input"


def refuted_at(tables: Tables, point: Int[np.ndarray, "rows A"], output: Ball, wanted: bool) -> Verification | None:  # noqa: FBT001  (an answer)
    """A counterexample, if f's sign at the point is certain and not the one wanted."""
    wrong = float(output.high) < 0 if wanted else float(output.low) > 0
    if not wrong:
        return None
    sequence = sequence_of(tables, point)
    return Verification("COUNTEREXAMPLE", counterexample=sequence, wanted=wanted, output=float(output.mid))
