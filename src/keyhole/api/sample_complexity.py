"""What a sweep came to: m* at each context with its interval, as words, as plain values, and as figures."""

from dataclasses import asdict, dataclass
from html import escape
from textwrap import wrap
from typing import Any

from keyhole.api.certify_runs import Settled, shares
from keyhole.boolean.distribution import balanced
from keyhole.boolean.families import read_function
from keyhole.decimals import at_least, at_most
from keyhole.errors import AssumptionError
from keyhole.figure import Figure
from keyhole.lab.laws.figures import learners_figure, steps_figure, success_figure
from keyhole.lab.laws.floors import trivial_accuracy
from keyhole.lab.laws.verdict import FittedLaw, LawVerdict, slope_beside_floor
from keyhole.lab.runs.run import SUCCESS
from keyhole.lab.task import SparseTask, Task
from keyhole.lab.thresholds.schedule import Adaptive, Online
from keyhole.lab.thresholds.sweep import Sweep, SweepPlan, Tally
from keyhole.lab.thresholds.threshold import Threshold

WIDTH = 80
_FIRST = {"context", "m", "low", "high", "censored", "quantile"}


@dataclass(frozen=True)
class Learned:
    """The answer: m* at each context with its interval, the floor below it, and the runs it comes from."""

    what: str  # the task, with what is not usual about it
    by: str  # the learner, as a person names it
    sweep: Sweep
    thresholds: tuple[Threshold, ...]
    floors: dict[int, float | None]
    verdict: LawVerdict | None  # of the laws of growth, where there are contexts enough
    settled: tuple[Settled, ...] = ()  # certificates of the successful runs, where they were asked for
    beside: tuple["Learned", ...] = ()  # the same question put to other learners

    @property
    def title(self) -> str:
        """Task and learner."""
        return f"{self.what} by {self.by}"

    @property
    def runs(self) -> int:
        """How many runs it rests on, those of the learners beside it included."""
        return len(self.sweep.rows) + sum(other.runs for other in self.beside)

    @property
    def made(self) -> int:
        """How many of them were made now; the others were found."""
        return self.sweep.made + sum(other.made for other in self.beside)

    @property
    def seconds(self) -> float:
        """From question to answer."""
        return self.sweep.seconds + sum(other.seconds for other in self.beside)

    def __str__(self) -> str:
        plan = self.sweep.plan
        lines = [*wrap(self.title, WIDTH, subsequent_indent="  "), _success(plan), *_trivial(plan.task)]
        lines += _rows(self) + _runs_needed(self) + _law_table(self) + _certified(self) + _other_versions(self)
        for other in self.beside:
            lines += ["", f"beside it, by {other.by}", *_rows(other), *_runs_needed(other), *_verdict_words(other)]
            lines += _other_versions(other)
        lines += [""] if self.beside else []
        found = self.runs - self.made
        lines.append(f"{self.runs:,} runs ({self.made:,} made now, {found:,} found) in {self.seconds:.1f} s")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def figures(self) -> dict[str, Figure]:
        """What can be drawn of it, by name, the chief one first."""
        drawn: dict[str, Figure] = {}
        if self.thresholds:
            learners = {one.by: one.thresholds for one in (self, *self.beside)}
            counts: dict[int, dict[int, tuple[int, int]]] = {}
            for one in self.sweep.tallies:
                counts.setdefault(one.context, {})[one.samples or 0] = one.successes, one.trials
            title = f"Success: {self.title}"
            drawn["success"] = success_figure(title, counts, self.thresholds, verdict=self.verdict, floors=self.floors)
            drawn["thresholds"] = learners_figure(f"Samples needed: {self.what}", learners, floors=self.floors)
        elif any(one.successes for one in self.sweep.tallies):
            steps = {one.context: one.steps for one in self.sweep.tallies if one.successes}
            drawn["steps"] = steps_figure(f"Steps on fresh samples: {self.title}", steps)
        return drawn

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
                    "context": one.context,
                    "m": one.m,
                    "low": one.low,
                    "high": one.high,
                    "censored": one.censored,
                    **{name: value for name, value in asdict(one).items() if name not in _FIRST},
                    "floor": self.floors[one.context],
                    "more_runs": self.sweep.runs_needed[one.context],
                }
                for one in self.thresholds
            ],
            "laws": ranked.pop("laws", []),
            "verdict": ranked or None,
            "cells": [asdict(tally) for tally in self.sweep.tallies],
            "certified": shares(self.settled),
            "certificates": [one.record() for one in self.settled],
            "beside": [other.record() for other in self.beside],
            "runs": self.runs,
            "made": self.made,
            "seconds": self.seconds,
            "trivial_accuracy": trivial_accuracy(plan.task),
        }


def _rows(answer: Learned) -> list[str]:
    return _online(answer) if isinstance(answer.sweep.plan.schedule, Online) else _table(answer)


def _table(answer: Learned) -> list[str]:
    share = f"{100 * answer.sweep.plan.confidence:g} % interval"
    lines = [f"{'T':>8} {'m*':>9}  {share:<17} {'floor':>6} {'runs':>6}  failed unfitted"]
    for one in answer.thresholds:
        floor = answer.floors[one.context]
        shown = "–" if floor is None else at_least(floor, places=1)
        unfit = "" if one.unfitted is None else f"{100 * one.unfitted:.0f} %"
        lines.append(f"{one.context:>8} {_place(one):>9}  {_interval(one):<17} {shown:>6} {one.trials:>6}  {unfit:>15}")
    return lines


def _online(answer: Learned) -> list[str]:
    lines = [f"{'T':>8} {'runs':>6} {'successes':>10}  median steps of the successes"]
    return lines + [_online_line(tally) for tally in answer.sweep.tallies]


def _runs_needed(answer: Learned) -> list[str]:
    if not isinstance(answer.sweep.plan.schedule, Adaptive):
        return []
    precision = 100 * answer.sweep.plan.schedule.design.precision
    return [
        f"T = {T}: about {more:,} more runs for an interval within ±{precision:g} %; raise the budget."
        for T, more in answer.sweep.runs_needed.items()
        if more
    ]


def _other_versions(answer: Learned) -> list[str]:
    """A line where runs of other versions are mixed in: the same configuration may give other numbers there."""
    others = answer.sweep.other_versions
    if not others:
        return []
    names = next(iter(others)) if len(others) == 1 else f"{len(others)} other sets of versions"
    return [f"warning: {sum(others.values()):,} of these runs were made with {names}, not the present"]


def _law_table(answer: Learned) -> list[str]:
    """The laws from best to worst, and what is to be said against the verdict."""
    if answer.verdict is None:
        return []
    head = f"{'law':<16} {'weight':>7} {'resamples':>10} {'foretold':>9}   coefficients"
    return ["", head, *map(_law_line, answer.verdict.laws), *_verdict_words(answer), ""]


def _verdict_words(answer: Learned) -> list[str]:
    """What the laws come to, in words."""
    if answer.verdict is None:
        return []
    said = [str(answer.verdict), *_slope(answer), *answer.verdict.warnings]
    return [line for text in said for line in wrap(text, WIDTH, subsequent_indent="  ")]


def _slope(answer: Learned) -> list[str]:
    """The slope of the logarithmic law beside the floor's, where there is one."""
    task = answer.sweep.plan.task
    if answer.verdict is None or not isinstance(task, SparseTask) or None in answer.floors.values():
        return []
    sparsity = read_function(task.function).sparsity
    return [f"a + b ln T: {slope_beside_floor(law, sparsity)}." for law in answer.verdict.laws if law.name == "log"]


def _certified(answer: Learned) -> list[str]:
    """How many successful runs are without an error, proved equal to the function read off them, and identified."""
    if not answer.settled:
        return []
    columns = f"{'T':>8} {'m':>8} {'runs':>5} {'clean':>6} {'proved':>7} {'refuted':>8} {'identified':>11}"
    return [
        "",
        "successful runs, certified. clean: no error on 100,000 fresh inputs; proved: the",
        "function read off equals the model on all inputs; bound: median, from the sample",
        f"{columns}  {'bound':>6} {'seconds':>8}",
    ] + [_certified_line(row) for row in shares(answer.settled)]


def _success(plan: SweepPlan) -> str:
    if isinstance(plan.schedule, Online):
        return "runs on fresh samples; success: 99 % of fresh inputs answered rightly"
    return f"m*: samples with which {100 * plan.quantile:g} % of runs answer 99 % of fresh inputs rightly"


def _trivial(task: Task) -> list[str]:
    """How often a constant answer is right, and a warning where that is a success already."""
    accuracy = trivial_accuracy(task)
    if accuracy is None or not isinstance(task, SparseTask):
        return []
    share = "over 99.9" if 0.9995 <= accuracy < 1 else f"{100 * accuracy:.3g}"
    lines = [f"always answering the same is right on {share} % of inputs"]
    if accuracy < SUCCESS:
        return lines
    try:
        balanced(read_function(task.function))
        remedy = "balanced bits"
    except AssumptionError:  # no one law makes both answers as likely
        remedy = "another distribution of the bits"
    text = f"warning: success needs no learning here: {share} % is {100 * SUCCESS:g} % or more; use {remedy}"
    return lines + wrap(text, WIDTH, subsequent_indent="  ")


def _place(one: Threshold) -> str:
    if one.m is not None:
        return f"{one.m:.4g}"
    return f"> {one.largest}" if one.censored == "above" else f"< {one.smallest}"


def _interval(one: Threshold) -> str:
    low, high = ("?" if end is None else f"{end:.4g}" for end in (one.low, one.high))
    return f"{low} to {high}"


def _certified_line(row: dict[str, Any]) -> str:
    bound = "–" if row["error_bound"] is None else at_most(row["error_bound"], places=3)
    return (
        f"{row['context']:>8} {row['samples'] or 'fresh':>8} {row['settled']:>5} {row['clean']:>6} {row['proved']:>7} "
        f"{row['counterexamples']:>8} {row['identified']:>11}  {bound:>6} {row['seconds']:>8.1f}"
    )


def _law_line(law: FittedLaw) -> str:
    numbers = ", ".join(f"{name} = {each.value:.3g}" for name, each in law.coefficients.items())
    error = "–" if law.held_out_error is None else f"±{law.held_out_error:.0%}"
    return f"{law.formula:<16} {law.weight:>7.2f} {law.share:>10.0%} {error:>9}   {numbers}"


def _online_line(tally: Tally) -> str:
    steps = f"{tally.steps:.0f}" if tally.successes else "–"
    return f"{tally.context:>8} {tally.trials:>6} {tally.successes:>10}  {steps}"
