"""What a sweep came to: m* at each context with its interval, as words, as plain values, and as figures."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.old_result import OldResult as Result
from keyhole.api.run_certificate import RunCertificate, delta_over_many, shares, wrong_over_many
from keyhole.boolean import balanced, read_function
from keyhole.decimals import counted
from keyhole.errors import AssumptionError, OutputError
from keyhole.figure import Figure
from keyhole.files.atomic import write_file
from keyhole.show.document import Document
from keyhole.show.sample_complexity import sample_complexity_document
from keyhole.show.site import save_figure
from keyhole.sweeps.laws import (
    LawVerdict,
    learners_figure,
    slope_beside_floor,
    steps_figure,
    success_figure,
    trivial_accuracy,
)
from keyhole.sweeps.plans import Plan, write_plan
from keyhole.sweeps.runs import SUCCESS
from keyhole.sweeps.thresholds import Adaptive, Attempt, Sweep, Threshold
from keyhole.training import SparseTask, Task
from keyhole.training.learners import Learner

_FIRST = {"context", "m", "low", "high", "censored", "quantile"}


@dataclass(frozen=True, repr=False)
class SampleComplexity(Result):
    """The answer: m* at each context with its interval, the floor below it, and the runs it comes from."""

    schema: ClassVar[str] = "learn/1"
    has_figure: ClassVar[bool] = True

    what: str  # the task, with what is not usual about it
    by: str  # the learner, as a person names it
    sweep: Sweep
    thresholds: tuple[Threshold, ...]
    floors: dict[int, float | None]
    verdict: LawVerdict | None  # of the laws of growth, where there are contexts enough
    laws: tuple[str, ...] = ()  # names of the growth laws that are compared
    attempts: tuple[Attempt, ...] = ()  # with few steps first, where a limit of time was given
    time_limit: float | None = None  # in seconds
    full_steps: int | None = None  # that each run might have taken, where steps were tried one budget after the other
    settled: tuple[RunCertificate, ...] = ()  # certificates of the successful runs, where they were asked for
    beside: tuple["SampleComplexity", ...] = ()  # the same question put to other learners

    @property
    def title(self) -> str:
        """Task and learner."""
        return f"{self.what} by {self.by}"

    @property
    def remarks(self) -> list[str]:
        """What the laws come to, in words: the verdict, the slope beside the floor's, and the objections."""
        if self.verdict is None:
            return []
        return [str(self.verdict), *_slope(self), *self.verdict.warnings]

    @property
    def plan(self) -> Plan:
        """The sweeps with every setting spelled out; `keyhole.sweeps.plans.write_plan` makes a file of it."""
        return Plan({answer.by: answer.sweep.plan for answer in (self, *self.beside)}, self.laws, self.what)

    @property
    def runs(self) -> int:
        """How many runs it rests on, those of the learners beside it included."""
        earlier = sum(attempt.trials for attempt in self.attempts if attempt.steps != self.attempts[-1].steps)
        return len(self.sweep.rows) + earlier + sum(other.runs for other in self.beside)

    @property
    def made(self) -> int:
        """How many of them were made now; the others were found."""
        return self.sweep.made + sum(other.made for other in self.beside)

    @property
    def seconds(self) -> float:
        """From question to answer."""
        return self.sweep.seconds + sum(other.seconds for other in self.beside)

    @property
    def summary(self) -> str:
        """Task and learner, m* at the contexts, and how many runs it rests on."""
        places = ", ".join(f"{threshold.m:.4g}" if threshold.m is not None else "?" for threshold in self.thresholds)
        return f"{self.title}; {f'm* = {places}; ' if places else ''}{counted(self.runs, 'run')}"

    def document(self) -> Document:
        """m* at each context, the laws of its growth, certificates, and the learners beside it."""
        return sample_complexity_document(self.record())

    def figures(self) -> dict[str, Figure]:
        """What can be drawn of it, by name, the chief one first."""
        drawn: dict[str, Figure] = {}
        if self.thresholds:
            learners = {each.by: each.thresholds for each in (self, *self.beside)}
            counts: dict[int, dict[int, tuple[int, int]]] = {}
            for each in self.sweep.tallies:
                counts.setdefault(each.context, {})[each.samples or 0] = each.successes, each.trials
            title = f"Success: {self.title}"
            needed = learners_figure(f"Samples needed: {self.what}", learners, floors=self.floors)
            success = success_figure(title, counts, self.thresholds, verdict=self.verdict, floors=self.floors)
            if self.beside:  # the figure that shows every learner comes first
                return {"thresholds": needed, "success": success}
            return {"success": success, "thresholds": needed}
        if any(each.successes for each in self.sweep.tallies):
            steps = {each.context: each.steps for each in self.sweep.tallies if each.successes}
            drawn["steps"] = steps_figure(f"Steps on fresh samples: {self.title}", steps)
        return drawn

    def figure(self) -> Figure:
        """The chief figure."""
        figures = self.figures()
        if not figures:
            raise OutputError("A figure was asked for, but no run succeeded; there is none to draw.")
        return next(iter(figures.values()))

    def save(self, path: str | Path) -> Path:
        """Write the chief figure (.svg, .pdf, .png, .html, .csv), the record (.json) or what is shown (.txt).

        A path without an ending is a folder: it gets every figure as a page, and learn.json. Returns the path.
        """
        path = Path(path)
        if path.suffix:
            return super().save(path)
        for name, figure in self.figures().items():
            save_figure(figure, path / f"{name}.html")
        super().save(path / "learn.json")
        return path

    def save_plan(self, path: str | Path) -> Path:
        """Write the sweeps as a TOML file with every default spelled out, which `keyhole.run_plan` repeats."""
        return write_file(Path(path), write_plan(self.plan).encode())

    @classmethod
    def require_ending(cls, path: Path) -> None:
        """Refuse a name that says no format; one without an ending is a folder."""
        if path.suffix:
            super().require_ending(path)

    def record(self) -> dict[str, Any]:
        """The answer as plain lists and dictionaries."""
        plan = self.sweep.plan
        ranked = {} if self.verdict is None else self.verdict.record()
        return {
            "task": plan.task.record(),
            "learner": plan.learner.record(),
            "schedule": plan.schedule.record(),
            "quantile": plan.quantile,
            "confidence": plan.confidence,
            "thresholds": [
                {
                    "context": each.context,
                    "m": each.m,
                    "low": each.low,
                    "high": each.high,
                    "censored": each.censored,
                    **{name: value for name, value in asdict(each).items() if name not in _FIRST},
                    "floor": self.floors[each.context],
                    "more_runs": self.sweep.runs_needed[each.context],
                }
                for each in self.thresholds
            ],
            "laws": ranked.pop("laws", []),
            "verdict": ranked or None,
            "cells": [asdict(tally) for tally in self.sweep.tallies],
            "certified": shares(self.settled),
            "certificates": [each.record() for each in self.settled],
            "certificates_delta": delta_over_many(self.settled),
            "certificates_wrong": wrong_over_many(self.settled),
            "beside": [{**other.record(), "ratios": _ratios(self, other)} for other in self.beside],
            "runs": self.runs,
            "made": self.made,
            "seconds": self.seconds,
            "trivial_accuracy": trivial_accuracy(plan.task),
            "trivial_remedy": _trivial_remedy(plan.task),
            "what": self.what,
            "by": self.by,
            "remarks": self.remarks,
            "other_versions": dict(self.sweep.other_versions),
            "limits": _limits(plan.learner, plan.task),
            "coverage": plan.schedule.design.coverage(len(plan.contexts))
            if isinstance(plan.schedule, Adaptive)
            else None,
            "plan_hash": self.plan.hash,
            "attempts": [asdict(each) for each in self.attempts],
            "time_limit": self.time_limit,
            "full_steps": self.full_steps,
            "floors": [{"context": context, "floor": floor} for context, floor in self.floors.items()],
        }


def _limits(learner: Learner, task: Task) -> list[str]:
    """What the learner assumes or departs from, where it says so, and a warning of noise that it does not bear."""
    said = [learner.remark] if learner.remark else []
    if isinstance(task, SparseTask) and not learner.bears_noise and (task.label_noise or task.feature_noise):
        said.append(
            f"warning: {learner.name} does not bear noise, and this task has some; its failures say nothing else"
        )
    return said


def _ratios(one: SampleComplexity, other: SampleComplexity) -> list[dict[str, float | None]]:
    """How many times as many samples one learner needs as another, at each context, and an interval.

    Statement  With intervals of confidence c for both m*, the ratio lies between low/high' and high/low' with
               probability at least 1 − 2(1 − c).
    Proof      It does where both intervals hold; each fails with probability at most 1 − c.
    """
    theirs = {threshold.context: threshold for threshold in other.thresholds}
    rows: list[dict[str, float | None]] = []
    for mine in one.thresholds:
        against = theirs[mine.context]
        parts = ((mine.m, against.m), (mine.low, against.high), (mine.high, against.low))
        ratio, low, high = (None if a is None or not b else a / b for a, b in parts)
        rows.append({"context": mine.context, "ratio": ratio, "low": low, "high": high})
    return rows


def _slope(answer: SampleComplexity) -> list[str]:
    """The slope of the logarithmic law beside the floor's, where there is one."""
    task = answer.sweep.plan.task
    if answer.verdict is None or not isinstance(task, SparseTask) or None in answer.floors.values():
        return []
    sparsity = read_function(task.function).sparsity
    level = answer.sweep.plan.confidence
    laws = [law for law in answer.verdict.laws if law.name == "log"]
    return [f"a + b ln T: {slope_beside_floor(law, sparsity, level)}." for law in laws]


def _trivial_remedy(task: Task) -> str | None:
    """Which law of the bits to choose where a constant answer succeeds: balanced, or another; None where none does."""
    accuracy = trivial_accuracy(task)
    if accuracy is None or accuracy < SUCCESS or not isinstance(task, SparseTask):
        return None
    try:
        balanced(read_function(task.function))
    except AssumptionError:  # no one law makes both answers as likely
        return "another"
    return "balanced"
