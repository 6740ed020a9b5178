"""One run: draw the hidden part and the training set, learn, and judge on fresh inputs."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol, runtime_checkable

import numpy as np

from keyhole.errors import ArgumentError
from keyhole.sweeps.runs.spec import RunSpec
from keyhole.training import BLOCK as DRAWN
from keyhole.training import Examples, Instance, Notice, Observer, SampleSource, Task
from keyhole.training.learners import Fitted, Learner, Predictor, Reading

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


@runtime_checkable
class MakesRuns(Protocol):
    """A task without a hidden Boolean function: it makes its runs itself, and they are stored as all others are."""

    def make(self, spec: RunSpec) -> RunResult:
        """Make one run of this task."""


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
    train_accuracy = None
    if examples is not None:
        train_accuracy = _agreement(fitted.predict, examples)
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
    seen = hashlib.sha256()
    for name, array in sorted(weights.items()):
        seen.update(f"{name} {array.shape}\n".encode())
        seen.update(array.astype("<f8").tobytes())
    return seen.hexdigest()


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
