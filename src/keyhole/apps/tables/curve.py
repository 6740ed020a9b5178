"""A table of one's own: how accuracy grows with the rows learned from, what an accuracy takes, and what noise costs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.old_result import OldResult as Result
from keyhole.api.prove import Proof, prove
from keyhole.apps.tables.figures import curves_figure
from keyhole.apps.tables.learning_curve import LearningCurve, learning_curve
from keyhole.apps.tables.show_curve import curve_document
from keyhole.apps.tables.table import Table, append_irrelevant, make_table, read_table
from keyhole.decimals import percent
from keyhole.errors import ArgumentError
from keyhole.estimate import Estimate
from keyhole.figure import Figure
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.document import Document
from keyhole.training import Examples, ProblemSize
from keyhole.training.learners import Learner, TransformerLearner, learner_named

MOST_COLUMNS = 1_000_000


@dataclass(frozen=True, repr=False, eq=False)
class Curve(Result):
    """Learning curves on one table: of each learner, and with irrelevant columns appended."""

    schema: ClassVar[str] = "curve/1"
    has_figure: ClassVar[bool] = True

    table: Table
    curves: Mapping[str, Mapping[int, LearningCurve]]  # learner → irrelevant columns → curve
    accuracy: float | None  # the accuracy whose price is asked for
    confidence: float
    certified: Proof | None = None  # what a transformer, trained on every row as bits, computes

    def rows_for(self, learner: str, irrelevant: int = 0) -> Estimate | None:
        """How many rows the accuracy that was asked for takes, with an interval; None where it is not reached."""
        return None if self.accuracy is None else self.curves[learner][irrelevant].rows_for(self.accuracy)

    @property
    def summary(self) -> str:
        """The accuracy of each learner with the most rows."""
        best = ", ".join(
            f"{name} {percent(curves[0].points[-1].accuracy.value)}" for name, curves in self.curves.items()
        )
        return f"{self.table.target} = {self.table.positive}: {best}"

    def document(self) -> Document:
        """A table for each learner, and what the accuracy takes."""
        return curve_document(self.record())

    def figure(self) -> Figure:
        """Accuracy against rows, a line for each learner and number of irrelevant columns."""
        lines = {
            f"{name}, {k:,} irrelevant" if k else name: curve
            for name, curves in self.curves.items()
            for k, curve in curves.items()
        }
        return curves_figure(f"Learning {self.table.target} = {self.table.positive}", lines, self.confidence)

    def record(self) -> dict[str, Any]:
        """Everything as plain values."""
        rows, columns = self.table.features.shape
        return {
            "target": self.table.target,
            "positive": self.table.positive,
            "rows": rows,
            "columns": columns,
            "share": float(self.table.labels.mean()),
            "accuracy": self.accuracy,
            "confidence": self.confidence,
            "learners": {
                name: [
                    {
                        "irrelevant": k,
                        "columns": curve.columns,
                        "points": [asdict(point) for point in curve.points],
                        "rows_needed": _ends(self.rows_for(name, k)),
                    }
                    for k, curve in curves.items()
                ]
                for name, curves in self.curves.items()
            },
            "certificate": None if self.certified is None else self.certified.record(),
        }


def curve(
    data: str | Path | tuple[Any, Any],
    *,
    target: str = "",
    positive: str = "",
    learner: str | Learner = "sklearn:logistic",
    beside: Sequence[str | Learner] = (),
    accuracy: float | None = None,
    irrelevant: Sequence[int] = (),
    sizes: Sequence[int] = (),
    splits: int = 20,
    confidence: float = 0.9,
    seed: int = 0,
    certify: bool = False,
    watch: Watch = ignore,
) -> Curve:
    """How well a column of a table can be told from the others, against the rows that are learned from.

    `data` is a .csv or .npz file, or arrays (features, target). `accuracy` asks how many rows it takes, with an
    interval; `irrelevant` repeats the curve with so many columns appended that say nothing, each a shuffled copy of
    one there is. Classifiers of scikit-learn see the numbers, each column scaled over the rows learned from; every
    other learner sees bits, whether a value is above its column's median. With `certify` a transformer is trained on
    the bits of every row, and what it computes is certified.
    """
    table = make_table(*data, positive=positive) if isinstance(data, tuple) else read_table(data, target, positive)
    if accuracy is not None and not 0 < accuracy < 1:
        raise ArgumentError(f"An accuracy of {accuracy:g} was asked for; it is a share of rows, such as 0.95.")
    counts = sorted({0, *map(int, irrelevant)})
    if counts[0] < 0 or counts[-1] + table.features.shape[1] > MOST_COLUMNS:
        raise ArgumentError(f"{counts[-1]:,} irrelevant columns were asked for; use 0 to {MOST_COLUMNS:,} in all.")
    learners = {each if isinstance(each, str) else each.name: each for each in (learner, *beside)}
    named = {name: learner_named(each) if isinstance(each, str) else each for name, each in learners.items()}
    transformers = [each for each in named.values() if isinstance(each, TransformerLearner)]
    if certify and not transformers:
        raise ArgumentError("A certificate was asked for without a transformer; name one among the learners.")
    options: dict[str, Any] = {"sizes": sizes, "splits": splits, "confidence": confidence, "seed": seed, "watch": watch}
    wide = {k: append_irrelevant(table, k, np.random.default_rng([seed, k])) for k in counts}
    curves = {
        name: {k: learning_curve(each, chosen, **options) for k, each in wide.items()} for name, chosen in named.items()
    }
    certificate = _certified(table, transformers[0], seed, watch) if certify else None
    return Curve(table, curves, accuracy, confidence, certificate)


def _certified(table: Table, learner: TransformerLearner, seed: int, watch: Watch) -> Proof:
    """What the transformer computes that is trained on the bits of every row."""
    from keyhole.training.network.network import model_of  # imports jax

    watch(Progress(0, None, "training on every row, and certifying", milestone=True))
    bits = table.bits(np.arange(len(table.labels)))
    size = ProblemSize(bits.shape[1], 2, min(3, bits.shape[1]))
    fitted = learner.fit(size, Examples(bits, table.labels), np.random.SeedSequence([seed]))
    return prove(model_of(learner.settings, fitted.weights or {}), (bits, table.labels))


def _ends(estimate: Estimate | None) -> dict[str, float | None] | None:
    """The numbers of an estimate, an open end as None."""
    return None if estimate is None else {name: None if x == inf else x for name, x in estimate.record().items()}
