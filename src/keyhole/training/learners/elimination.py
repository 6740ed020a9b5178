"""Elimination: a conjunction learned by striking out every literal that some positive example denies."""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Bool, Int, UInt8
from keyhole.training.learners.base import ExactLearner, Fitted, as_bits, register_learner
from keyhole.training.task import Examples, ProblemSize


@dataclass(frozen=True)
class Conjunction:
    """The AND of the bits at `ones` and of the negated bits at `zeros`."""

    ones: Int[np.ndarray, "a"]
    zeros: Int[np.ndarray, "b"]

    def __call__(self, inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n"]:
        """Return whether every literal holds."""
        bits = as_bits(inputs)
        return np.asarray(bits[:, self.ones].all(axis=1) & ~bits[:, self.zeros].any(axis=1))


@dataclass(frozen=True)
class Elimination(ExactLearner):
    """The longest conjunction that no positive example denies; it never errs on the side of 1.

    Where the labels are a conjunction it fits every training set. `signed` admits negated literals too.
    """

    signed: bool = False

    @property
    def name(self) -> str:
        """Return the name that a person types."""
        return "elimination:signed" if self.signed else "elimination"

    @property
    def remark(self) -> str:
        """Return what it takes the labels for."""
        literals = "some bits and negated bits" if self.signed else "some bits, none negated"
        return (
            f"{self.name} assumes that labels are the AND of {literals}, without noise; one input wrongly labelled 1 "
            "removes literals for good"
        )

    def fit(self, size: ProblemSize, examples: Examples, seed: np.random.SeedSequence) -> Fitted:  # noqa: ARG002
        """Strike out literals, one positive example after another."""
        positive = as_bits(examples.inputs)[examples.labels]
        ones = np.flatnonzero(positive.all(axis=0))
        zeros = np.flatnonzero(~positive.any(axis=0)) if self.signed else np.zeros(0, dtype=np.int64)
        return Fitted(Conjunction(ones, zeros), numbers={"literals": float(len(ones) + len(zeros))})


register_learner("elimination", Elimination)
register_learner("elimination:signed", lambda: Elimination(signed=True))
