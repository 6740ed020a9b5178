"""One training run, watched: the loss, the accuracy on fresh inputs, and where each head looks, as training goes on."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from keyhole.api.compiled_start import CompiledStart
from keyhole.api.old_result import OldResult as Result
from keyhole.attention import Model, dense, tabulate
from keyhole.decimals import percent
from keyhole.errors import ArgumentError
from keyhole.figure import Axis, Figure, Row
from keyhole.files.paths import home
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.document import Column, Document, Facts, Grid, Lines
from keyhole.sweeps.laws import course_figure
from keyhole.sweeps.runs import RunSpec, RunSummary, Store, data_of, make_run
from keyhole.training import SparseTask
from keyhole.training.learners import TransformerLearner, change_settings, transformer_with_preset

IDENTITY = 10  # letters shown of a run's name
PROBED = 64  # inputs over which the attention of a frame is averaged
STARTS = ("random", "compiled")
LONGEST = 4096  # context: every frame has a number for each position
COLUMNS = {
    "step": "step",
    "loss": "loss",
    "train_accuracy": "right in training",
    "accuracy": "right on fresh",
    "mass_best": "attention",
}
SHARES = ("train_accuracy", "accuracy", "mass_best")  # readings that are shown in percent
NOTE = (
    "loss: log loss on the training set, in nats. right in training, right on fresh: the share of correct answers on "
    "the training set and on fresh inputs. attention: the share that the head with the most gives to the relevant "
    "positions, on the fresh inputs. Of more than 1,024 samples that are not all right, loss and share are those of "
    "the first 1,024. Training stops before the last step once all training inputs are right and the loss is at most "
    "the setting `tolerance` (0.01 by default)."
)


Shares = tuple[tuple[float, ...], ...]  # a row per head: the mean share of each position


@dataclass(frozen=True)
class Frame:
    """Training at one step."""

    readings: Mapping[str, float]  # step, loss, accuracies, attention on relevant positions, Fourier weight, norms
    attention: Shares

    def record(self) -> dict[str, Any]:
        """The frame as plain values, shares with four decimals."""
        return {"readings": dict(self.readings), "attention": _rounded(self.attention)}


@dataclass(frozen=True, eq=False, repr=False)
class Trained(Result):
    """One run with its frames; the store keeps its weights."""

    schema: ClassVar[str] = "train/1"
    has_figure: ClassVar[bool] = True

    run: RunSummary
    positions: tuple[int, ...]  # the relevant ones, which the learner was not told
    function: str
    start: Shares  # the attention before the first step
    frames: tuple[Frame, ...]
    started_from: str = "random"  # or compiled: the weights of the function itself

    @property
    def best_head(self) -> int:
        """The head that looks most at the relevant positions in the end."""
        shares = [sum(row[place] for place in self.positions) for row in self.frames[-1].attention]
        return shares.index(max(shares))

    @property
    def summary(self) -> str:
        """Whether it learned the function (from compiled weights: kept it), and from how much."""
        words = ("kept", "lost") if self.started_from == "compiled" else ("learned", "did not learn")
        outcome = words[0] if self.run.success else words[1]
        return f"{outcome} {self.function} from {self.run.samples} samples, T = {self.run.context}"

    def record(self) -> dict[str, Any]:
        """Every field as plain values."""
        return {
            "run": vars(self.run),
            "positions": self.positions,
            "function": self.function,
            "started_from": self.started_from,
            "start": _rounded(self.start),
            "frames": [frame.record() for frame in self.frames],
        }

    def document(self) -> Document:
        """The readings, a row per frame, and what came of it."""
        rows = [[_reading(name, frame.readings[name]) for name in COLUMNS] for frame in self.frames]
        best = self.best_head
        share = sum(self.frames[-1].attention[best][place] for place in self.positions)
        right, heads = percent(self.run.accuracy, 2), len(self.frames[-1].attention)
        looks = f"{percent(share)} of its attention to the {len(self.positions)} relevant positions"
        return (
            Grid([Column(title, "right") for title in COLUMNS.values()], rows),
            Facts(
                [
                    ("outcome", f"{self.summary}; {right} of fresh inputs are answered correctly"),
                    ("attention", f"head {best + 1} of {heads} gives {looks}, mean over {PROBED} more inputs"),
                    ("run", f"{self.run.identity[:IDENTITY]}, kept with its weights"),
                ]
            ),
            Lines(NOTE),
        )

    def figure(self) -> Figure:
        """What was read on the way, against the steps."""
        return course_figure(
            self.summary, {self.run.identity[:IDENTITY]: tuple(frame.readings for frame in self.frames)}
        )

    def attention_figure(self) -> Figure:
        """The attention of the head that looks most at relevant positions: a row per step, a column per position."""
        best = self.best_head
        rows: tuple[Row, ...] = tuple(
            {"step": str(int(frame.readings["step"])), "position": str(place), "attention": share}
            for frame in self.frames
            for place, share in enumerate(frame.attention[best])
        )
        return Figure(
            title=f"Attention of head {best + 1} while it learns",
            subtitle=f"{self.summary}; mean over {PROBED} inputs; relevant: {', '.join(map(str, self.positions))}",
            kind="heatmap",
            rows=rows,
            x=Axis("position", "position", "category"),
            y=Axis("step", "step", "category"),
            colour=Axis("attention", "share"),
        )

    def before_and_after(self) -> Figure:
        """The attention of the head that looks most at relevant positions, before the first step and after the last."""
        best, relevant = self.best_head, set(self.positions)
        before: list[Row] = [
            {"position": place, "share": share, "when": "before training"}
            for place, share in enumerate(self.start[best])
        ]
        rows: list[Row] = []
        for place, share in enumerate(self.frames[-1].attention[best]):
            kind = "relevant position" if place in relevant else "any other position"
            rows.append({"position": place, "share": share, "none": 0.0, "when": f"after training, {kind}"})
        across, up = Axis("position", "position"), Axis("share", "share of the attention")
        which = Axis("when", "", "category")
        return Figure(
            title="Where a head looks, before and after training",
            subtitle=f"head {best + 1} of a network that {self.summary}; mean over {PROBED} inputs",
            kind="points",
            rows=tuple(rows),
            x=across,
            y=up,
            colour=which,
            low="none",
            high="share",
            over=(Figure("before training", "curves", tuple(before), across, up, which),),
        )


def train(
    task: str,
    context: int,
    samples: int,
    *,
    preset: str = "default",
    settings: Mapping[str, str | float | None] = MappingProxyType({}),
    law: str = "uniform",
    start: str = "random",
    seed: int = 0,
    store: str | Path | None = None,
    watch: Watch = ignore,
) -> Trained:
    """Train one transformer on so many samples of a task, and keep the run with its weights in the store.

    The run is the one that `learn` makes for the same task, context, size and seed. `watch` hears of every reading; the
    detail of the event is a `Frame`. The learner is not told which positions are relevant; the result tells you.
    With the start "compiled" it is: the network, without norms or residual, starts from weights that compute the
    function exactly, and the question is whether training keeps them.
    """
    if not 1 <= context <= LONGEST:
        raise ArgumentError(f"A context of {context} was to be watched; use 1 to {LONGEST:,}.")
    if samples < 1 or seed < 0:
        raise ArgumentError(f"{samples} samples and the seed {seed} were given; use at least 1 sample, a seed from 0.")
    learner = _learner(preset, settings, start)
    spec = RunSpec(SparseTask(task, law), learner, context, samples, seed)
    instance, _ = data_of(spec)
    inputs = instance.inputs(PROBED, np.random.default_rng([seed, 1]))
    steps = learner.settings.steps
    frames: list[Frame] = []
    first: list[Shares] = []

    def notice(readings: Mapping[str, float], weights: Mapping[str, np.ndarray]) -> None:
        from keyhole.training.network.network import model_of  # imports jax

        shares = mean_attention(model_of(learner.settings, weights), inputs)
        step = int(readings["step"])
        if step == 0:
            first.append(shares)
            return
        frames.append(Frame(dict(readings), shares))
        watch(Progress(step, steps, "training steps", detail=frames[-1], milestone=True))

    folder = home(store)
    watch(Progress(0, steps, "compiling, then training steps", milestone=True))
    made = make_run(spec, True, notice)  # noqa: FBT003  (weights are kept)
    with Store(folder) as kept:
        row = kept.add([(spec, made)])[spec.identity]
    return Trained(row, made.positions, made.function, first[0], tuple(frames), start)


def _reading(name: str, value: float) -> str:
    """A reading as it is shown."""
    return percent(value) if name in SHARES else f"{value:.4g}"


def _learner(preset: str, settings: Mapping[str, str | float | None], start: str) -> TransformerLearner:
    """The transformer with these settings, from its usual start or from compiled weights."""
    if start not in STARTS:
        raise ArgumentError(f"There is no start {start!r}; there are {', '.join(STARTS)}.")
    if start == "random":
        learner = transformer_with_preset(preset)
        return TransformerLearner(change_settings(learner.settings, settings)) if settings else learner
    if preset != "default":
        raise ArgumentError(f"The preset {preset!r} was given with compiled weights, which have settings of their own.")
    return CompiledStart(change_settings(CompiledStart().settings, settings))


def _rounded(shares: Shares) -> list[list[float]]:
    """Shares with four decimals."""
    return [[round(share, 4) for share in row] for row in shares]


def mean_attention(model: Model, inputs: np.ndarray) -> Shares:
    """The share of the attention of [CLS] that each position gets, averaged over inputs; a row per head."""
    tables = dense(tabulate(model))
    places = np.arange(inputs.shape[1])
    rows = []
    for head in tables.heads:
        scores = np.asarray(head.scores)[places[None, :], inputs]
        own = np.full((len(inputs), 1), float(head.cls_score))
        shares = np.asarray(head.normaliser(np.concatenate([scores, own], axis=1)))
        rows.append(tuple(float(share) for share in shares[:, :-1].mean(axis=0)))
    return tuple(rows)
