"""One training run, watched: the loss, the accuracy on fresh inputs, and where each head looks, as training goes on."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from keyhole.api.learn import Settings, plan_sweeps
from keyhole.api.result import Result
from keyhole.attention import Model, dense, tabulate
from keyhole.decimals import percent
from keyhole.errors import ArgumentError
from keyhole.figure import Figure
from keyhole.files.atomic import home
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.answer import Show
from keyhole.sweeps import Schedule
from keyhole.sweeps.laws import course_figure
from keyhole.sweeps.runs import RunSpec, RunSummary, Store, data_of, make_run
from keyhole.training import Task
from keyhole.training.learners import TransformerLearner

IDENTITY = 10  # letters shown of a run's name
PROBED = 64  # inputs over which the attention of a frame is averaged
LONGEST = 4096  # context: every frame has a number for each position
SHOWN = 10  # frames in the table, evenly spread; all of them with -v
COLUMNS = {
    "step": "step",
    "loss": "loss",
    "train_accuracy": "right in training",
    "accuracy": "right on fresh",
    "mass_best": "attention",
}
SHARES = ("train_accuracy", "accuracy", "mass_best")  # readings that are shown in percent
ABOUT = (
    "loss: log loss on the training set, in nats. right: the share of correct answers, on the training set and on "
    "fresh inputs. attention: the largest share that a head gives to the relevant positions, on the fresh inputs. "
    "While a set of more than 1,024 samples has errors among its first 1,024, loss and share are those of these. "
    "Training stops once all training inputs are right and the loss is at most the setting `tolerance`."
)

Shares = tuple[tuple[float, ...], ...]  # a row per head: the mean share of each position


@dataclass(frozen=True)
class Frame:
    """Training at one step."""

    readings: Mapping[str, float]  # step, loss, accuracies, attention on relevant positions, Fourier weight, norms
    attention: Shares


@dataclass(frozen=True, eq=False, repr=False)
class Trained(Result):
    """One run with its frames; the store keeps its weights. Shares of attention have four decimals."""

    schema: ClassVar[str] = "train/1"

    run: RunSummary
    positions: tuple[int, ...]  # the relevant ones, which the learner was not given
    function: str
    started_from: str  # random, or compiled: the weights of the function itself
    start: Shares  # the attention before the first step
    frames: tuple[Frame, ...]

    @property
    def best_head(self) -> int:
        """Return the head that gives most to the relevant positions in the end."""
        shares = [sum(row[place] for place in self.positions) for row in self.frames[-1].attention]
        return shares.index(max(shares))

    @property
    def outcome(self) -> str:
        """Say whether the run learned the function (from compiled weights: kept it), and from how many samples."""
        words = ("kept", "lost") if self.started_from == "compiled" else ("learned", "did not learn")
        done = words[0] if self.run.success else words[1]
        return f"{done} {self.function} from {self.run.samples} samples, T = {self.run.context}"

    def lines(self, show: Show) -> None:
        """Say the outcome and the attention of the best head; set a row per frame."""
        best, last = self.best_head, self.frames[-1].attention
        share = sum(last[best][place] for place in self.positions)
        show.line(f"{self.outcome}; it answers {percent(self.run.accuracy, 2)} of fresh inputs correctly")
        show.line(
            f"Head {best + 1} of {len(last)} gives {percent(share)} of its attention to the {len(self.positions)} "
            "relevant positions."
        )
        every = 1 if show.verbose else -(-len(self.frames) // SHOWN)
        show.table(
            dict.fromkeys(COLUMNS.values(), ">"),
            [
                [(percent if name in SHARES else "{:.4g}".format)(frame.readings[name]) for name in COLUMNS]
                for frame in self.frames[::-every][::-1]
            ],
        )
        show.line(f"The store keeps the run and its weights: {self.run.identity[:IDENTITY]}.")
        if show.verbose:
            show.line(f"{ABOUT} The attention of a head is its mean over {PROBED} more inputs.")

    def figure(self) -> Figure:
        """Draw the readings against the steps."""
        readings = [frame.readings for frame in self.frames]
        return course_figure(self.outcome, {self.run.identity[:IDENTITY]: readings})


def train(
    task: str | Task,
    context: int,
    samples: int,
    learner: str | TransformerLearner = "transformer",
    *,
    settings: Settings = MappingProxyType({}),
    seed: int = 0,
    store: str | Path | None = None,
    watch: Watch = ignore,
) -> Trained:
    """Train one transformer on so many samples of a task, and keep the run with its weights in the store.

    The run is the one that `learn` makes for the same task, context, size, learner, settings and seed. `watch` gets
    every reading as the `Frame` of its event. The learner is not given the relevant positions; the result has them.
    With "started:compiled" it is: the network starts from weights that compute the function, and the question is
    whether training keeps them.
    """
    if not 1 <= context <= LONGEST:
        raise ArgumentError(f"A context of {context} was to be watched; use 1 to {LONGEST:,}.")
    if samples < 1 or seed < 0:
        raise ArgumentError(f"{samples} samples and the seed {seed} were given; use at least 1 sample, a seed from 0.")
    schedule = Schedule(samples=(samples,), seeds=1, first_seed=seed)
    (plan,) = plan_sweeps(task, [context], learner, schedule=schedule, settings=settings).values()
    one = plan.learner
    if not isinstance(one, TransformerLearner):
        raise ArgumentError(
            f"{one.name} was to be watched; one layer of attention can: transformer, or started:compiled."
        )
    spec = RunSpec(plan.task, one, context, samples, seed)
    instance, _ = data_of(spec)
    inputs = instance.inputs(PROBED, np.random.default_rng([seed, 1]))
    frames: list[Frame] = []

    def notice(readings: Mapping[str, float], weights: Mapping[str, np.ndarray]) -> None:
        from keyhole.training.network.network import model_of  # imports jax

        shares = mean_attention(model_of(one.settings, weights), inputs)
        frames.append(Frame(dict(readings), shares))
        if step := int(readings["step"]):
            watch(Progress(step, one.steps, "training steps", detail=frames[-1], milestone=True))

    watch(Progress(0, one.steps, "compiling, then training steps", milestone=True))
    made = make_run(spec, True, notice)  # noqa: FBT003  (weights are kept)
    with Store(home(store)) as kept:
        row = kept.add([(spec, made)])[spec.identity]
    start, *others = frames
    began = "compiled" if one.name == "started:compiled" else "random"
    return Trained(row, made.positions, made.function, began, start.attention, tuple(others))


def mean_attention(model: Model, inputs: np.ndarray) -> Shares:
    """Return the share of the attention of [CLS] that each position gets, averaged over inputs; a row per head."""
    rows = []
    for head in dense(tabulate(model)).heads:
        scores = np.asarray(head.scores)[np.arange(inputs.shape[1]), inputs]
        cls = np.full((len(inputs), 1), float(head.cls_score))
        shares = np.asarray(head.normaliser(np.concatenate([scores, cls], axis=1)))
        rows.append(tuple(shares[:, :-1].mean(axis=0).tolist()))
    return tuple(rows)
