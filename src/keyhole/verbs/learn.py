"""As the context grows, how many samples does this learner need? Runs, thresholds and the laws of their growth."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from keyhole.errors import ArgumentError
from keyhole.figure import Figure
from keyhole.files.folder import home
from keyhole.lab.engine import Lane, borrowed, core_count, processes
from keyhole.lab.figures import learners_figure, steps_figure, success_figure
from keyhole.lab.floors import task_floor
from keyhole.lab.laws import LEAST, Law, Verdict, compare
from keyhole.lab.learner import Choosy, Learner
from keyhole.lab.presets import LAWS
from keyhole.lab.registry import learner_named
from keyhole.lab.schedule import BUDGET, LARGEST, Adaptive, Grid, Online, Schedule
from keyhole.lab.store import Store
from keyhole.lab.sweep import Plan, Sweep, Tally, Watch, sweep
from keyhole.lab.task import SparseTask, Task
from keyhole.lab.threshold import Threshold
from keyhole.verbs.settle import Settled, require_settleable, settle, shares

WIDTH = 80
SEEDS = 20  # at each size of a fixed grid, and online: as many as the definition of m* asks for


@dataclass(frozen=True)
class Learned:
    """The answer: m* at each context with its interval, the floor below it, and the runs it comes from."""

    title: str
    sweep: Sweep
    thresholds: tuple[Threshold, ...]
    floors: dict[int, float | None]
    verdict: Verdict | None  # of the laws of growth, where there are contexts enough
    settled: tuple[Settled, ...] = ()  # certificates of the successful runs, where they were asked for

    @property
    def runs(self) -> int:
        """How many runs it rests on."""
        return len(self.sweep.rows)

    @property
    def seconds(self) -> float:
        """From question to answer."""
        return self.sweep.seconds

    def __str__(self) -> str:
        plan = self.sweep.plan
        lines = [*wrap(self.title, WIDTH, subsequent_indent="  "), _success(plan)]
        lines += self._online() if isinstance(plan.schedule, Online) else self._table()
        lines += self._wanting() + self._laws() + self._certified()
        lines += self._strangers()
        found = self.runs - self.sweep.made
        lines.append(f"{self.runs:,} runs ({self.sweep.made:,} made now, {found:,} found) in {self.seconds:.1f} s")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def figures(self) -> dict[str, Figure]:
        """What can be drawn of it, by name, the chief one first."""
        drawn: dict[str, Figure] = {}
        if self.thresholds:
            learners = {self.sweep.plan.learner.name: self.thresholds}
            counts: dict[int, dict[int, tuple[int, int]]] = {}
            for one in self.sweep.tallies:
                counts.setdefault(one.context, {})[one.samples or 0] = one.successes, one.trials
            title = f"Success: {self.title}"
            drawn["success"] = success_figure(title, counts, self.thresholds, verdict=self.verdict, floors=self.floors)
            drawn["thresholds"] = learners_figure(f"Samples needed: {self.title}", learners, floors=self.floors)
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
            "schedule": {"kind": type(plan.schedule).__name__.lower(), **_settings(plan.schedule)},
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
                    "more_runs": self.sweep.wanting[one.context],
                }
                for one in self.thresholds
            ],
            "laws": ranked.pop("laws", []),
            "verdict": ranked or None,
            "cells": [asdict(tally) for tally in self.sweep.tallies],
            "certified": shares(self.settled),
            "certificates": [one.record() for one in self.settled],
            "runs": self.runs,
            "made": self.sweep.made,
            "seconds": self.seconds,
        }

    def _table(self) -> list[str]:
        share = f"{100 * self.sweep.plan.confidence:g} % interval"
        lines = [f"{'T':>8} {'m*':>9}  {share:<17} {'floor':>6} {'runs':>6}  did not fit"]
        for one in self.thresholds:
            floor = self.floors[one.context]
            shown = "–" if floor is None else f"{floor:.1f}"
            unfit = "" if one.unfitted is None else f"{100 * one.unfitted:.0f} %"
            lines.append(
                f"{one.context:>8} {_place(one):>9}  {_interval(one):<17} {shown:>6} {one.trials:>6}  {unfit:>11}"
            )
        return lines

    def _online(self) -> list[str]:
        lines = [f"{'T':>8} {'runs':>6} {'successes':>10}  median steps of the successes"]
        return lines + [_online_line(tally) for tally in self.sweep.tallies]

    def _wanting(self) -> list[str]:
        if not isinstance(self.sweep.plan.schedule, Adaptive):
            return []
        precision = 100 * self.sweep.plan.schedule.precision
        return [
            f"T = {T}: about {more:,} more runs for an interval within ±{precision:g} %; raise --budget."
            for T, more in self.sweep.wanting.items()
            if more
        ]

    def _strangers(self) -> list[str]:
        """A line where runs of other versions are mixed in: the same configuration may give other numbers there."""
        others = self.sweep.strangers
        if not others:
            return []
        names = next(iter(others)) if len(others) == 1 else f"{len(others)} other sets of versions"
        return [f"warning: {sum(others.values()):,} of these runs were made with {names}, not the present"]

    def _laws(self) -> list[str]:
        """The laws from best to worst, and what is to be said against the verdict."""
        if self.verdict is None:
            return []
        head = f"{'law':<16} {'weight':>7} {'resamples':>10} {'foretold':>9}   coefficients"
        said = [str(self.verdict), *self.verdict.warnings]
        wrapped = [line for text in said for line in wrap(text, WIDTH, subsequent_indent="  ")]
        return ["", head, *map(_law_line, self.verdict.laws), *wrapped, ""]

    def _certified(self) -> list[str]:
        """How many successful runs are without an error, proved equal to the function read off them, and identified."""
        if not self.settled:
            return []
        columns = f"{'T':>8} {'m':>8} {'runs':>5} {'clean':>6} {'proved':>7} {'refuted':>8} {'identified':>11}"
        return [
            "",
            "successful runs, certified. clean: no error on 100,000 fresh inputs; proved: the",
            "function read off equals the model on all inputs; bound: median, from the sample",
            f"{columns}  {'bound':>6} {'seconds':>8}",
        ] + [_certified_line(row) for row in shares(self.settled)]


_FIRST = {"context", "m", "low", "high", "censored", "quantile"}


def learn(
    task: str | Task,
    contexts: Sequence[int],
    *,
    samples: Sequence[int] = (),
    online: bool = False,
    learner: str | Learner = "transformer",
    preset: str = "default",
    quantile: float = 0.5,
    precision: float = 0.2,
    confidence: float = 0.9,
    seeds: int | None = None,
    budget: int = BUDGET,
    largest: int = LARGEST,
    law: str | None = None,
    label_noise: float = 0.0,
    feature_noise: float = 0.0,
    symbols: int = 2,
    balanced_sets: bool | None = None,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    store: Path | None = None,
    keep_weights: bool = False,
    certify: bool = False,
    assume_junta: int | None = None,
    watch: Watch | None = None,
    watch_certificates: Callable[[int, int], None] = lambda _done, _of: None,
) -> Learned:
    """How many samples the learner needs at each context; runs that the store holds are not made again.

    Without `samples` the sizes are chosen in rounds, until the interval of m* lies within the precision or `budget`
    runs are made. With `samples` every size gets `seeds` runs; `online`, every context does, on fresh samples.
    Runs are made by spawned processes (`workers`, one per core if not said), or by any `executor`, which then gets at
    most twice so many at once. All that is asked of it is a `submit(function, *arguments)` that returns futures of
    `concurrent.futures` (a Dask client has `get_executor()`); where it works in other processes or on other machines,
    task and learner must pickle, and keyhole be installed there. Only this process writes to the store, and the
    executor is left open. Seeds count from `seed`. The bits follow `law`, or, where none is named, the law of the
    preset; the paper's preset redraws training sets until they are balanced, unless told otherwise. With `certify`
    every successful run is certified from its own training set.
    """
    if isinstance(task, str):
        usual = LAWS.get(preset, "uniform") if learner == "transformer" else "uniform"
        law = usual if law is None else law
        redrawn = law == usual == "balanced" and not online if balanced_sets is None else balanced_sets
        task = SparseTask(task, law, label_noise, feature_noise, symbols, redrawn)
    by = learner if isinstance(learner, str) else learner.name
    if isinstance(learner, str):
        learner = learner_named(learner, preset_name=preset)
        by = f"{by} ({preset})" if learner.name == "transformer" else by
    schedule = _schedule(
        tuple(samples), online, seeds, Adaptive(quantile, precision, confidence, largest=largest, budget=budget)
    )
    plan = Plan(task, learner, tuple(sorted(set(contexts))), schedule, quantile, confidence, seed)
    instance = task.instance(plan.contexts[0], np.random.default_rng(0))  # refuses a context that is too short
    if isinstance(learner, Choosy):
        learner.refuse(instance, online=online)
    if certify:
        require_settleable(task, learner, plan.contexts, assume_junta)
    workers = core_count() if workers is None else workers
    folder = home(store)

    def start() -> list[Lane]:
        return processes(workers, folder) if executor is None else borrowed(executor, 2 * workers)

    with Store(folder) as runs:
        kept = keep_weights or certify
        swept = sweep(plan, runs, start, workers=workers, keep_weights=kept, watch=watch)
    floors = {context: task_floor(task, context, quantile) for context in plan.contexts}
    thresholds = swept.thresholds
    title = f"{task.name}{_circumstances(task)} by {by}"
    settled: tuple[Settled, ...] = ()
    if certify:
        won = [row for row in swept.rows if row.success]
        options = {"assume_junta": assume_junta, "workers": workers, "executor": executor}
        settled = settle(won, folder, watch=watch_certificates, **options)  # type: ignore[arg-type]
    return Learned(title, swept, thresholds, floors, _verdict(thresholds, confidence), settled)


def _schedule(samples: tuple[int, ...], online: bool, seeds: int | None, adaptive: Adaptive) -> Schedule:  # noqa: FBT001
    if online and samples:
        raise ArgumentError("Fresh samples and training sets of given sizes were both asked for; choose one.")
    if online:
        return Online(SEEDS if seeds is None else seeds)
    if samples:
        return Grid(tuple(sorted(set(samples))), SEEDS if seeds is None else seeds)
    if seeds is not None:
        raise ArgumentError(
            f"{seeds} seeds were asked for without sizes; an adaptive sweep chooses how often to run each size. "
            "Give --samples or --online too, or a --budget of runs at each context."
        )
    return adaptive


def _circumstances(task: Task) -> str:
    """What is not usual about the inputs, in brackets."""
    if not isinstance(task, SparseTask):
        return ""
    facts = [] if task.law == "uniform" else ["balanced bits" if task.law == "balanced" else f"bits {task.law}"]
    facts += [f"label noise {task.label_noise:g}"] if task.label_noise else []
    facts += [f"feature noise {task.feature_noise:g}"] if task.feature_noise else []
    facts += [f"{task.symbols} symbols"] if task.symbols != 2 else []
    facts += ["balanced sets"] if task.balanced_sets else []
    return f" ({', '.join(facts)})" if facts else ""


def _settings(schedule: Schedule) -> dict[str, Any]:
    names = getattr(schedule, "__dataclass_fields__", {})
    return {name: getattr(schedule, name) for name in names}


def _success(plan: Plan) -> str:
    if isinstance(plan.schedule, Online):
        return "runs on fresh samples; success: 99 % of fresh inputs answered rightly"
    return f"m*: samples with which {100 * plan.quantile:g} % of runs answer 99 % of fresh inputs rightly"


def _place(one: Threshold) -> str:
    if one.m is not None:
        return f"{one.m:.4g}"
    return f"> {one.largest}" if one.censored == "above" else f"< {one.smallest}"


def _interval(one: Threshold) -> str:
    low, high = ("?" if end is None else f"{end:.4g}" for end in (one.low, one.high))
    return f"{low} to {high}"


def _certified_line(row: dict[str, Any]) -> str:
    bound = "–" if row["error_bound"] is None else f"{row['error_bound']:.3f}"
    return (
        f"{row['context']:>8} {row['samples'] or 'fresh':>8} {row['settled']:>5} {row['clean']:>6} {row['proved']:>7} "
        f"{row['counterexamples']:>8} {row['identified']:>11}  {bound:>6} {row['seconds']:>8.1f}"
    )


def _law_line(law: Law) -> str:
    numbers = ", ".join(f"{name} = {each.value:.3g}" for name, each in law.coefficients.items())
    foretold = "–" if law.foretold is None else f"±{law.foretold:.0%}"
    return f"{law.formula:<16} {law.weight:>7.2f} {law.share:>10.0%} {foretold:>9}   {numbers}"


def _verdict(thresholds: Sequence[Threshold], confidence: float) -> Verdict | None:
    """The laws compared, where the contexts suffice."""
    reached = sum(one.m is not None for one in thresholds)
    if len(thresholds) < LEAST or reached < LEAST - 1:
        return None
    return compare(thresholds, confidence=confidence)


def _online_line(tally: Tally) -> str:
    steps = f"{tally.steps:.0f}" if tally.successes else "–"
    return f"{tally.context:>8} {tally.trials:>6} {tally.successes:>10}  {steps}"
