"""The identity of a run.

Two identities are kept apart here.

What *seeds* a run is `RunSpec.record()`, with its numerics in it: task, learner with every setting, context, sample
size and seed, as canonical JSON. Its SHA-256 is the run's identity, and every random stream of the run comes from that
number. So the record is frozen: a field, name or value that is written otherwise draws other data. When the same record
gives other numbers, NUMERICS of the learners is raised, or `Method.numerics` where only one learner changes.
Rounding is not such a change: a sum in another order, as other versions of jax and other processors have it, keeps the
data and the starting weights. Nor is what a reading looks at.

What *keys the store* is the same identity: a run that is found under it is not made again. Versions of packages and
the processor do not enter the name, because they must not change what is drawn. They are stored beside each run, and a
sweep points out the runs that were made with other versions of the packages that decide the learner's numbers
(`Method.packages`). The source of the library enters neither: a changed docstring makes no run again.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from keyhole.errors import ArgumentError
from keyhole.training import task_from_record
from keyhole.training.learners import Method, learner_from_record


@runtime_checkable
class Described(Protocol):
    """A task of a run, as far as its name goes."""

    @property
    def name(self) -> str:
        """Return the name that a person types."""

    def record(self) -> dict[str, Any]:
        """Every field as plain values: they seed the run."""


@dataclass(frozen=True)
class RunSpec:
    """One run to be made: a task, a learner, a context length, a sample size (None: fresh samples), a seed."""

    task: Described
    learner: Method
    context: int
    samples: int | None
    seed: int

    def __post_init__(self) -> None:
        if self.context < 1:
            raise ArgumentError(f"A context of length {self.context} was asked for; use at least 1.")
        if self.samples is not None and self.samples < 1:
            raise ArgumentError(f"A training set of {self.samples} was asked for; use at least 1 sample.")

    def record(self) -> dict[str, Any]:
        """Every field as plain values."""
        return {
            "task": self.task.record(),
            "learner": self.learner.record(),
            "context": self.context,
            "samples": self.samples,
            "seed": self.seed,
            "numerics": self.learner.numerics,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "RunSpec":
        """The run that a record was made of; refuses one whose numbers would come out differently now."""
        task, learner = task_from_record(record["task"]), learner_from_record(record["learner"])
        if record["numerics"] != learner.numerics:
            raise ArgumentError(
                f"The run was made with numerics {record['numerics']}, and this is numerics {learner.numerics}: it "
                "cannot be made again to the bit. Use the version it was made with."
            )
        return cls(task, learner, record["context"], record["samples"], record["seed"])

    @cached_property
    def identity(self) -> str:
        """SHA-256 of the canonical JSON of the record."""
        canonical = json.dumps(self.record(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def seeds(self) -> tuple[np.random.SeedSequence, ...]:
        """Independent streams for the hidden part, the training set, the learner and the fresh inputs."""
        return tuple(np.random.SeedSequence(int(self.identity, 16)).spawn(4))
