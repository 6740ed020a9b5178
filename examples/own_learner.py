"""A learner of one's own, Winnow (Littlestone, 1988), beside elimination: samples for a conjunction among T bits.

Run with: python examples/own_learner.py
"""

import tempfile
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import keyhole
from keyhole.training.learners import Fitted, Learner, register_learner
from keyhole.training.task import Examples, ProblemSize


@dataclass(frozen=True)
class Winnow(Learner):
    """Weights on zeros, doubled or halved after a mistake; an AND is 0 where the zeros weigh T or more."""

    passes: int = 20  # a field seeds the runs and names them in the store
    name: ClassVar[str] = "winnow"
    packages: ClassVar[tuple[str, ...]] = ("numpy",)  # whose versions decide its numbers

    def fit(self, size: ProblemSize, examples: Examples, seed: np.random.SeedSequence) -> Fitted:  # noqa: ARG002
        """Go through the examples until a pass is without mistake; nothing is drawn, so the seed is not used."""
        weights, mistakes = np.ones(size.context), 0
        for _ in range(self.passes):
            before = mistakes
            for row, label in zip(examples.inputs, examples.labels, strict=True):
                if (weights[row == 0].sum() < size.context) != label:
                    weights[row == 0] *= 0.5 if label else 2.0
                    mistakes += 1
            if mistakes == before:
                break
        return Fitted(lambda inputs: (1 - inputs) @ weights < size.context, numbers={"mistakes": float(mistakes)})


register_learner("winnow", Winnow, Winnow.from_record)  # now it has a name, and stored runs can be made again

if __name__ == "__main__":  # workers import this file
    with tempfile.TemporaryDirectory() as folder:
        schedule = keyhole.Schedule(samples=[15, 30, 60, 120, 240], seeds=8)
        for learner in (Winnow(), "winnow", "elimination"):  # by name the same runs are found in the store
            print(keyhole.learn("and:3", [10, 20, 40], learner, schedule=schedule, execution=keyhole.Execution(folder)))
