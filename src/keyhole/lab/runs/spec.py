"""A cell: everything that decides one run, and the name it has because of that."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from keyhole.errors import ArgumentError
from keyhole.lab.learners.base import Learner
from keyhole.lab.task import Task

NUMERICS = 1  # raised when the same configuration gives other numbers


@dataclass(frozen=True)
class Cell:
    """One run to be made: a task, a learner, a context length, a sample size (None: fresh samples), a seed."""

    task: Task
    learner: Learner
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
            "numerics": NUMERICS,
        }

    @cached_property
    def identity(self) -> str:
        """SHA-256 of the canonical JSON of the record."""
        canonical = json.dumps(self.record(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def seeds(self) -> tuple[np.random.SeedSequence, ...]:
        """Independent streams for the hidden part, the training set, the learner and the fresh inputs."""
        return tuple(np.random.SeedSequence(int(self.identity, 16)).spawn(4))
