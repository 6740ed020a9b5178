"""One run: draw the hidden part and the training set, learn, and judge on fresh inputs.

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
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from keyhole.errors import ArgumentError
from keyhole.training import BLOCK as DRAWN
from keyhole.training import Examples, Instance, Notice, Observer, SampleSource, Task, task_from_record
from keyhole.training.learners import Fitted, Learner, Method, Predictor, Reading, learner_from_record


@runtime_checkable
class MakesRuns(Protocol):
    """A task without a hidden Boolean function: it makes its runs itself, and they are stored as all others are."""

    @property
    def name(self) -> str:
        """Return the name that a person types."""

    def record(self) -> dict[str, Any]:
        """Every field as plain values: they seed the run."""

    def make(self, spec: "RunSpec") -> "RunResult":
        """Make one run of this task."""


@dataclass(frozen=True)
class RunSpec:
    """One run to be made: a task, a learner, a context length, a sample size (None: fresh samples), a seed."""

    task: Task | MakesRuns
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


FRESH = 10_000  # inputs on which success is judged
SUCCESS = 0.99  # of them answered rightly
BLOCK = 1 << 23  # symbols predicted at once
AT_ONCE = 1 << 29  # symbols of fresh inputs that are drawn at once


@dataclass(frozen=True, eq=False)
class RunResult:
    """The outcome of one run; `fitted` is about the training set, `success` about fresh inputs."""

    success: bool
    fitted: bool
    accuracy: float
    train_accuracy: float | None
    steps: int
    seconds: float
    function: str
    positions: tuple[int, ...]
    numbers: Mapping[str, float]
    readings: tuple[Reading, ...]
    weights: Mapping[str, np.ndarray] | None = None
    weights_digest: str | None = None  # of the weights there were, kept or not; None: there were none, or an old record

    def record(self) -> dict[str, Any]:
        """Everything but the weights, as plain values."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"weights": None, "numbers": dict(self.numbers)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "RunResult":
        """The result a record was made of."""
        fields = {**record, "positions": tuple(record["positions"]), "readings": tuple(record["readings"])}
        return cls(**fields)


def run(spec: RunSpec, notice: Notice | None = None) -> RunResult:
    """Make one run; `notice` hears of every reading of a learner that takes some.

    The same specification gives the same result on the same kind of machine, wherever it is run.

    Which hidden function and which examples are drawn is decided by the specification and by numpy alone. What a
    transformer or a floating-point baseline makes of them is the same to the bit where three things are: the versions
    of the packages, the processor, and one thread, since sums that threads share are added in another order. Workers
    have one thread; `keyhole runs show` names the other two.
    """
    if isinstance(spec.task, MakesRuns):
        return spec.task.make(spec)
    began = time.perf_counter()
    instance, examples, fitted = learn(spec, notice)
    accuracy = judge(fitted.predict, instance, spec)
    train_accuracy = None if examples is None else _agreement(fitted.predict, examples)
    numbers = dict(fitted.numbers)
    if examples is not None and instance.balanced_sets:
        numbers |= {"redraws": examples.redraws, "accepted": float(examples.accepted)}
    return RunResult(
        success=accuracy >= SUCCESS,
        fitted=train_accuracy is None or train_accuracy == 1.0,
        accuracy=accuracy,
        train_accuracy=train_accuracy,
        steps=fitted.steps,
        seconds=time.perf_counter() - began,
        function=str(instance.function),
        positions=instance.function.positions,
        numbers=numbers,
        readings=fitted.readings,
        weights=fitted.weights,
        weights_digest=None if fitted.weights is None else digest(fitted.weights),
    )


def digest(weights: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of the arrays' names, shapes and values as doubles, which hold every single and are what files keep."""
    sha = hashlib.sha256()
    for name, array in sorted(weights.items()):
        sha.update(f"{name} {array.shape}\n".encode())
        sha.update(array.astype("<f8").tobytes())
    return sha.hexdigest()


def learn(spec: RunSpec, notice: Notice | None = None) -> tuple[Instance, Examples | None, Fitted]:
    """The hidden part, the training set (None: fresh samples) and what was learned from it."""
    instance, examples = data_of(spec)
    learner, seed = spec.learner, spec.seeds()[2]
    if not isinstance(learner, Learner):
        raise ArgumentError(f"{learner.name} does not learn hidden functions; use one of keyhole.training.learners.")
    require_learnable(learner, instance, online=examples is None)
    learner = learner.with_target(instance.function).with_observer(Observer(instance, notice))
    if examples is not None:
        return instance, examples, learner.fit(instance.size, examples, seed)
    return instance, None, learner.fit_online(instance.size, SampleSource(instance), seed)


def require_learnable(learner: Learner, instance: Instance, *, online: bool) -> None:
    """Refuse in a sentence what the learner could not learn, before anything is run."""
    learner.validate(instance.size, online=online)
    if online and instance.feature_noise:
        raise ArgumentError(
            "Fresh samples with feature noise were asked for; feature noise needs a training set. Give sample sizes."
        )


def data_of(spec: RunSpec) -> tuple[Instance, Examples | None]:
    """The hidden part of a run and its training set."""
    hidden, drawn, _, _ = spec.seeds()
    if not isinstance(spec.task, Task):
        raise ArgumentError(f"{spec.task.name} does not hide a function of a context; it makes its runs itself.")
    instance = spec.task.instance(spec.context, np.random.default_rng(hidden))
    if spec.samples is None:
        return instance, None
    return instance, instance.training_set(spec.samples, np.random.default_rng(drawn))


def judge(predict: Predictor, instance: Instance, spec: RunSpec) -> float:
    """The share of fresh inputs answered rightly; of long contexts they are drawn and judged a block at a time."""
    rng = np.random.default_rng(spec.seeds()[3])
    if instance.context * FRESH <= AT_ONCE:
        inputs = instance.inputs(FRESH, rng)
        return _agreement(predict, Examples(inputs, instance.truth(inputs)))
    rows = max(1, DRAWN // instance.context)  # those of a block, so that the same inputs are drawn
    shares = []
    for start in range(0, FRESH, rows):
        inputs = instance.inputs(min(rows, FRESH - start), rng)
        shares.append(len(inputs) * _agreement(predict, Examples(inputs, instance.truth(inputs))))
    return float(sum(shares)) / FRESH


def _agreement(predict: Predictor, examples: Examples) -> float:
    step = max(1, BLOCK // examples.inputs.shape[1])
    right = [
        predict(examples.inputs[start : start + step]) == examples.labels[start : start + step]
        for start in range(0, len(examples.labels), step)
    ]
    return float(np.concatenate(right).mean())
