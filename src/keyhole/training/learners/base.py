"""A learner: examples in, a predictor out, with the readings on the way; learners by name, and from their records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from keyhole.arrays import Bool, UInt8
from keyhole.boolean import SparseFunction
from keyhole.errors import ArgumentError
from keyhole.training.task import Examples, Observer, ProblemSize, SampleSource

PACKAGES = ("jax", "jaxlib", "optax", "numpy", "scipy", "scikit-learn")  # whose versions are stored with a run
NUMERICS = 1  # raised when the same records give other numbers; a learner may state its own

Reading = Mapping[str, float]
Predictor = Callable[[UInt8[np.ndarray, "n T"]], Bool[np.ndarray, "n"]]


@dataclass(frozen=True, eq=False)
class Fitted:
    """The outcome of learning: a predictor, the steps it took, readings on the way, and weights if there are any."""

    predict: Predictor
    steps: int = 0
    numbers: Mapping[str, float] = field(default_factory=dict)
    readings: tuple[Reading, ...] = ()
    weights: Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True)
class Method:
    """The way in which runs learn: derive a frozen dataclass with a `name`. Equal fields learn alike.

    `record` seeds and names the runs, so a field that decides nothing has `compare=False`.
    """

    packages: ClassVar[tuple[str, ...]] = PACKAGES  # whose versions decide its numbers

    @property
    def name(self) -> str:
        """Return the name that a person types."""
        raise NotImplementedError

    @property
    def numerics(self) -> int:
        """Return the version of its numbers; raise it by one when only its numbers change."""
        return NUMERICS

    def record(self) -> dict[str, Any]:
        """Return the name and every field that decides what it learns, as plain values."""
        return {
            "name": self.name,
            **{setting.name: getattr(self, setting.name) for setting in fields(self) if setting.compare},
        }


@dataclass(frozen=True)
class Learner(Method):
    """A method that learns hidden functions: override `fit`, and `fit_online` if it can; the rest has defaults."""

    bears_noise: ClassVar[bool] = True  # whether it can learn from labels of which some are wrong

    @property
    def remark(self) -> str:
        """Return its assumptions, a sentence without its stop that every answer prints; empty if there are none."""
        return ""

    @property
    def steps(self) -> int | None:
        """Return the most steps that it takes; None if it does not train by steps."""
        return None

    @property
    def learns_online(self) -> bool:
        """Return whether it overrides `fit_online`."""
        return type(self).fit_online is not Learner.fit_online

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Learner":
        """Make the learner of a record."""
        return cls(**{name: value for name, value in record.items() if name != "name"})

    def validate(self, size: ProblemSize, *, online: bool) -> None:  # noqa: ARG002  (any size will do)
        """Refuse, before anything is run, a problem that it cannot learn."""
        if online and not self.learns_online:
            raise ArgumentError(
                f"{self.name} was asked to learn online, but it reads a training set; give sample sizes."
            )

    def with_steps(self, steps: int) -> "Learner":  # noqa: ARG002
        """Return the learner with about so many steps."""
        return self

    def with_observer(self, observer: Observer) -> "Learner":  # noqa: ARG002
        """Return the learner with an observer for its readings; it learns the same without one."""
        return self

    def with_target(self, function: SparseFunction) -> "Learner":  # noqa: ARG002
        """Return the learner with the hidden function, for those that start from it: their success is not learning."""
        return self

    def fit(self, size: ProblemSize, examples: Examples, seed: np.random.SeedSequence) -> Fitted:
        """Learn from these examples."""
        raise NotImplementedError

    def fit_online(self, size: ProblemSize, source: SampleSource, seed: np.random.SeedSequence) -> Fitted:
        """Learn from samples drawn afresh for every step."""
        raise NotImplementedError


@dataclass(frozen=True)
class ExactLearner(Learner):
    """A learner that reads bits, and searches for a function without error; its name gives all its settings."""

    packages: ClassVar[tuple[str, ...]] = ("numpy",)
    bears_noise: ClassVar[bool] = False

    def record(self) -> dict[str, Any]:
        """Return the name."""
        return {"name": self.name}

    def validate(self, size: ProblemSize, *, online: bool) -> None:
        """Refuse fresh samples, and symbols other than bits."""
        super().validate(size, online=online)
        if size.symbols != 2:
            raise ArgumentError(
                f"{self.name} reads bits, and this task has {size.symbols} symbols; use an alphabet of 2."
            )


def as_bits(inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n T"]:
    """Return symbols 0 and 1 as bits, without a copy."""
    return inputs.view(np.bool_)


_LEARNERS: dict[
    str, tuple[Callable[..., Learner], Callable[[Mapping[str, Any]], Learner]]
] = {}  # made by name, by record


def register_learner(
    name: str, make: Callable[..., Learner], from_record: Callable[[Mapping[str, Any]], Learner] | None = None
) -> None:
    """Make a learner known under a name; without `from_record` the name decides all its settings.

    A name that ends with a colon stands for all that begin with it, and `make` gets the rest. A learner that is passed
    as a value needs a name only where its stored runs are to be made again. The last registration of a name counts, but
    the library's own names are not replaced.
    """
    known, _ = _LEARNERS.get(name, (make, None))
    if known.__module__.startswith("keyhole.") and not make.__module__.startswith("keyhole."):
        raise ArgumentError(f"A learner of one's own was called {name!r}, and keyhole has one; choose another name.")
    _LEARNERS[name] = make, from_record or (lambda _record: make())


def learner_names() -> tuple[str, ...]:
    """Return the registered names, in order; those that end with a colon stand for others and are left out."""
    return tuple(sorted(name for name in _LEARNERS if not name.endswith(":")))


def learner_named(name: str) -> Learner:
    """Return the learner of this name."""
    if name in _LEARNERS and not name.endswith(":"):
        return _LEARNERS[name][0]()
    prefix, colon, rest = name.partition(":")
    if rest and prefix + colon in _LEARNERS:
        return _LEARNERS[prefix + colon][0](rest)
    raise ArgumentError(f"{name!r} is not a learner; there are {', '.join(learner_names())}.")


def learner_from_record(record: Mapping[str, Any]) -> Learner:
    """Return the learner of a record."""
    name = str(record["name"])
    entry = _LEARNERS.get(name) or _LEARNERS.get(name.partition(":")[0] + ":")
    if entry is None:
        raise ArgumentError(
            f"The learner {name!r} is not registered; there are {', '.join(learner_names())}. Register it with "
            "keyhole.training.learners.register_learner, so that its runs can be made again."
        )
    return entry[1](record)
