"""The outcome of a proof over all inputs.

Sets of inputs, several at once, and the least value that a functional of the heads' outputs takes on each.

A lower bound of f needs no more of a set of inputs than this: a part of the cube, the words of a language and the
inputs with a given count all offer it.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from keyhole.arrays import Float, Int, Shaped
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


@dataclass(frozen=True, eq=False)
class Minimisers:
    """For each part: a lower bound, a point where it is nearly attained, and how much each row's choice matters."""

    low: Float[np.ndarray, "parts"]
    shown: Shaped[np.ndarray, "parts rows A"]  # how many copies of each row show each symbol, whole or on average
    spread: Float[np.ndarray, "parts rows"]


@runtime_checkable
class Region(Protocol):
    """Some sets of inputs, called parts."""

    @property
    def count(self) -> int:
        """The number of parts."""

    def middle(self) -> Float[np.ndarray, "parts rows A"]:
        """A typical point of each part, whole or not: where lines and tangents are first laid."""

    def least(self, directions: Ball) -> Float[np.ndarray, "parts D"]:
        """A certified lower bound of each functional over each part; directions have shape (1 or parts, D, width)."""

    def minimisers(self, directions: Ball) -> Minimisers:
        """The same for one functional per part, with a point of the part where the bound is nearly attained."""
