"""One run: draw the hidden part and the training set, learn, and judge on fresh inputs."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from keyhole.lab.learners.base import Fitted, Predictor, Reading
from keyhole.lab.runs.spec import Cell
from keyhole.lab.task import Examples, Instance

FRESH = 10_000  # inputs on which success is judged
SUCCESS = 0.99  # of them answered rightly
BLOCK = 1 << 23  # symbols predicted at once


@dataclass(frozen=True, eq=False)
class Result:
    """What one run came to; `fitted` is about the training set, `success` about fresh inputs."""

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
        return asdict(replace(self, weights=None)) | {"numbers": dict(self.numbers)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Result":
        """The result a record was made of."""
        fields = {**record, "positions": tuple(record["positions"]), "readings": tuple(record["readings"])}
        return cls(**fields)


def run(cell: Cell) -> Result:
    """Make one run. The same cell gives the same result on the same kind of machine, wherever and whenever it is run.

    Which hidden function and which examples are drawn is decided by the cell and by numpy alone. What a transformer or
    a floating-point yardstick makes of them is the same to the bit where three things are: the versions of the
    packages, the processor, and one thread, since sums that threads share are added in another order. Workers have one
    thread; `keyhole runs show` names the other two.
    """
    began = time.perf_counter()
    instance, examples, fitted = learn(cell)
    accuracy = judge(fitted.predict, instance, cell)
    train_accuracy = None
    if examples is not None:
        train_accuracy = _agreement(fitted.predict, examples)
    numbers = dict(fitted.numbers)
    if examples is not None and instance.balanced_sets:
        numbers |= {"redraws": examples.redraws, "accepted": float(examples.accepted)}
    return Result(
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


def learn(cell: Cell) -> tuple[Instance, Examples | None, Fitted]:
    """The hidden part, the training set (None: fresh samples) and what was learned from it."""
    instance, examples = data_of(cell)
    return instance, examples, cell.learner.fit(instance, examples, cell.seeds()[2])


def data_of(cell: Cell) -> tuple[Instance, Examples | None]:
    """The hidden part of a cell and its training set."""
    hidden, drawn, _, _ = cell.seeds()
    instance = cell.task.instance(cell.context, np.random.default_rng(hidden))
    if cell.samples is None:
        return instance, None
    return instance, instance.training_set(cell.samples, np.random.default_rng(drawn))


def judge(predict: Predictor, instance: Instance, cell: Cell) -> float:
    """The share of fresh inputs answered rightly."""
    inputs = instance.inputs(FRESH, np.random.default_rng(cell.seeds()[3]))
    return _agreement(predict, Examples(inputs, instance.truth(inputs)))


def _agreement(predict: Predictor, examples: Examples) -> float:
    step = max(1, BLOCK // examples.inputs.shape[1])
    right = [
        predict(examples.inputs[start : start + step]) == examples.labels[start : start + step]
        for start in range(0, len(examples.labels), step)
    ]
    return float(np.concatenate(right).mean())
