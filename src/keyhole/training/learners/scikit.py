"""scikit-learn's classifiers as learners, by name; nothing is called before it is known to be one."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import Any, ClassVar

import numpy as np

from keyhole.arrays import Bool, Float, Float32, UInt8
from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Fitted, Learner, register_learner
from keyhole.training.task import Examples, ProblemSize

Settings = tuple[tuple[str, str | int | float | bool | None], ...]
CLASSES: dict[str, tuple[str, Settings]] = {  # short names, and the settings that each stands for
    "tree": ("tree.DecisionTreeClassifier", ()),
    "logistic": ("linear_model.LogisticRegression", ()),
    "forest": ("ensemble.RandomForestClassifier", ()),
    "lasso": ("linear_model.LogisticRegression", (("C", 1.0), ("l1_ratio", 1.0), ("solver", "liblinear"))),
    "mlp": ("neural_network.MLPClassifier", (("max_iter", 1000),)),
}


@dataclass(frozen=True)
class Estimator(Learner):
    """A classifier of scikit-learn: a short name of CLASSES, or a class such as `neighbors.KNeighborsClassifier`.

    It sees bits as 0 and 1, and larger alphabets one-hot. Settings are those of the class.
    """

    kind: str
    settings: Settings = ()
    packages: ClassVar[tuple[str, ...]] = ("numpy", "scipy", "scikit-learn")

    def __post_init__(self) -> None:
        path, usual = CLASSES.get(self.kind, (self.kind, ()))
        if path.count(".") != 1 or not all(part.isidentifier() for part in path.split(".")):
            raise ArgumentError(
                f"sklearn:{self.kind} is not an estimator; use {', '.join(CLASSES)}, or a module and class such as "
                "sklearn:neighbors.KNeighborsClassifier."
            )
        if not self.settings:
            object.__setattr__(self, "settings", usual)
        if self.kind not in CLASSES or self.settings != usual:  # the short names alone need no import of scikit-learn
            classifier(self.kind, dict(self.settings))

    @property
    def name(self) -> str:
        """Return the name that a person types."""
        return f"sklearn:{self.kind}"

    def record(self) -> dict[str, Any]:
        """Return the name and the settings."""
        return {"name": self.name, "settings": dict(self.settings)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Estimator":
        """Make the classifier of a record, its settings in order."""
        name, settings = str(record["name"]), record.get("settings") or {}
        if not isinstance(settings, Mapping) or not all(
            isinstance(key, str) and isinstance(value, str | int | float | bool | None)
            for key, value in settings.items()
        ):
            raise ArgumentError(
                f"The settings of {name} are {settings!r}; they must be names, each with a number, a text or nothing."
            )
        return cls(name.removeprefix("sklearn:"), tuple(sorted(settings.items())))

    def fit(self, size: ProblemSize, examples: Examples, seed: np.random.SeedSequence) -> Fitted:
        """Fit the estimator; from labels that are all alike it learns that label."""
        inputs, labels = examples.inputs, examples.labels
        if labels.all() or not labels.any():
            return Fitted(lambda others: np.full(len(others), labels[0]))
        with _explain_errors(self.name):
            model = self._make(int(seed.generate_state(1)[0]))
            model.fit(_features(inputs, size.symbols), labels)
        return Fitted(_Trained(self.name, model, size.symbols))

    def predictions(
        self,
        features: Float[np.ndarray, "n d"],
        labels: Bool[np.ndarray, "n"],
        others: Float[np.ndarray, "k d"],
        seed: np.random.SeedSequence,
    ) -> Bool[np.ndarray, "k"]:
        """The labels of other rows of numbers, having learned from these; columns are scaled over these rows."""
        if labels.all() or not labels.any():
            return np.full(len(others), labels[0])
        middle, spread = features.mean(axis=0), features.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        with _explain_errors(self.name):
            model = self._make(int(seed.generate_state(1)[0]))
            model.fit((features - middle) / spread, labels)
            return np.asarray(model.predict((others - middle) / spread), dtype=bool)

    def _make(self, seed: int) -> Any:
        model = classifier(self.kind, dict(self.settings))(**dict(self.settings))
        return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


def classifier(kind: str, settings: Mapping[str, Any]) -> Callable[..., Any]:
    """The class of this name, known to be a classifier that takes these settings; nothing is called to find out.

    >>> classifier("tree", {"max_depth": 2}).__name__
    'DecisionTreeClassifier'
    """
    import sklearn  # noqa: PLC0415  (imported by its learners only)
    from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: PLC0415

    module, name = CLASSES.get(kind, (kind, ()))[0].split(".")
    cls = None
    if module in sklearn.__all__ and not name.startswith("_"):  # its public modules
        with suppress(ImportError, AttributeError):  # some names of the listing are functions
            cls = getattr(import_module(f"sklearn.{module}"), name)
    if not (isinstance(cls, type) and issubclass(cls, BaseEstimator) and issubclass(cls, ClassifierMixin)):
        raise ArgumentError(
            f"sklearn:{kind} is not a classifier of scikit-learn; use {', '.join(CLASSES)}, or a module and class such "
            "as sklearn:neighbors.KNeighborsClassifier."
        )
    try:
        signature(cls).bind(**settings)
    except TypeError as error:
        raise ArgumentError(f"scikit-learn makes no {kind} with these settings: {error}.") from error
    return cls


@contextmanager
def _explain_errors(name: str) -> Iterator[None]:
    """Turn an error of scikit-learn into a sentence; use a classifier that stopped at its limit of iterations."""
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415  (imported by its learners only)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ArgumentError(f"{name} cannot learn here: {reason.rstrip('.')}.") from error


@dataclass(frozen=True)
class _Trained:
    name: str
    model: Any
    symbols: int

    def __call__(self, inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n"]:
        with _explain_errors(self.name):
            return np.asarray(self.model.predict(_features(inputs, self.symbols)), dtype=bool)


def _features(inputs: UInt8[np.ndarray, "n T"], symbols: int) -> Float32[np.ndarray, "n features"]:
    if symbols == 2:
        return inputs.astype(np.float32)
    hot = inputs[:, :, None] == np.arange(symbols, dtype=np.uint8)
    return np.asarray(hot.reshape(len(inputs), -1), dtype=np.float32)


for _kind in CLASSES:
    register_learner(f"sklearn:{_kind}", lambda kind=_kind: Estimator(kind), Estimator.from_record)
register_learner("sklearn:", Estimator, Estimator.from_record)
