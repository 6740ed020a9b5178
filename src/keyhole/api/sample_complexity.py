"""The answer of a sweep: m* at each context with its interval, the laws of its growth, and figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, log10
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.result import Result
from keyhole.api.run_certificate import RunCertificate, delta_over_many, shares, wrong_over_many
from keyhole.decimals import at_least, at_most, counted, percent
from keyhole.errors import OutputError
from keyhole.figure import Figure
from keyhole.files.atomic import write_file
from keyhole.files.record import hidden
from keyhole.show.answer import Show
from keyhole.show.site import save_figure
from keyhole.sweeps.laws import FittedLaw, LawVerdict, learners_figure, steps_figure, success_figure
from keyhole.sweeps.plans import Plan, write_plan
from keyhole.sweeps.thresholds import Attempt, Sweep, Tally, Threshold

PROVABLE = ("transformer", "started")  # learners with weights that `prove` reads
HEADS = ("T", "m*", "floor", "runs", "not fitted")
ONLINE = ("T", "runs", "successes", "median steps", "samples")
NOTES = (
    "floor: with fewer samples no learner succeeds as often; the intervals do not use it",
    "not fitted: share of runs that failed and did not even fit their training set",
    "> or <: m* lies beyond the sizes that were run",
)
LAW_NOTES = (
    "support: weight of the law among those listed, by likelihood and a price for each coefficient; no probability",
    "fit: how probable points as far off are if the law is true and the intervals are its noise; they are often wider",
    "ranks first: how often the law has the most support when the points are drawn again within their errors",
    "forecast: by how much the law, fitted to the shorter contexts, misses m* at the longest",
)


@dataclass(frozen=True)
class Needed(Threshold):
    """m* at one context, the floor below it, and the runs that the precision would still take."""

    floor: float | None
    more_runs: int


@dataclass(frozen=True)
class Floor:
    """The number of samples below which no learner succeeds as often."""

    context: int
    floor: float | None


@dataclass(frozen=True)
class Ratio:
    """The samples that the first learner needs over those of another, at one context."""

    context: int
    ratio: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, repr=False)
class SampleComplexity(Result):
    """m* at each context with its interval, the floor below it, and the runs it comes from."""

    schema: ClassVar[str] = "learn/1"
    endings: ClassVar[tuple[str, ...]] = (".toml", "")
    properties: ClassVar[tuple[str, ...]] = (
        "certified", "certificates_delta", "certificates_wrong", "runs", "made", "seconds", "plan_hash",
    )  # fmt: skip

    what: str  # the task, with what is not usual about it
    by: str  # the learner, as a person names it
    task: Mapping[str, Any]  # this and the next two with every setting
    learner: Mapping[str, Any]
    schedule: Mapping[str, Any]
    quantile: float  # the share of runs that succeed at m*
    confidence: float  # of the intervals
    thresholds: tuple[Needed, ...]
    floors: tuple[Floor, ...]
    laws: tuple[FittedLaw, ...]  # from best to worst, where there are contexts enough
    verdict: LawVerdict | None
    remarks: tuple[str, ...]  # what the laws come to, in words: the verdict, the slope of the logarithm, objections
    cells: tuple[Tally, ...]  # the runs counted by context and size
    limits: tuple[str, ...]  # what the learner assumes or departs from
    other_versions: Mapping[str, int]  # versions other than the present → runs made with them
    trivial_accuracy: float | None  # of a constant answer
    trivial_remedy: str | None  # the law of the bits to choose where a constant answer succeeds: balanced, or another
    coverage: str | None  # how often intervals of such a sweep cover m*, where that was measured
    sweep: Sweep = hidden()
    compared: tuple[str, ...] = hidden(default=())  # names of the growth laws
    attempts: tuple[Attempt, ...] = ()  # with few steps first, where a limit of time was given
    time_limit: float | None = None  # in seconds
    full_steps: int | None = None  # that each run might have taken, where steps were tried one budget after the other
    certificates: tuple[RunCertificate, ...] = ()  # of the successful runs, where they were asked for
    beside: tuple["SampleComplexity", ...] = ()  # the same question put to other learners
    ratios: tuple[Ratio, ...] = ()  # m* of the learner that this one stands beside over m* of this one

    @property
    def online(self) -> bool:
        """Return whether runs learn from fresh samples."""
        return bool(self.schedule["kind"] == "online")

    @property
    def certified(self) -> list[dict[str, Any]]:
        """The certificates counted by context and size."""
        return shares(self.certificates)

    @property
    def certificates_delta(self) -> str:
        """The meaning of δ for all certificates together."""
        return delta_over_many(self.certificates)

    @property
    def certificates_wrong(self) -> str:
        """The shares of inputs on which refuted models are wrong."""
        return wrong_over_many(self.certificates)

    @property
    def runs(self) -> int:
        """The number of runs it rests on, those of the learners beside it included."""
        earlier = sum(attempt.trials for attempt in self.attempts if attempt.steps != self.attempts[-1].steps)
        return len(self.sweep.rows) + earlier + sum(other.runs for other in self.beside)

    @property
    def made(self) -> int:
        """The number of them that were made now; the others were found."""
        return self.sweep.made + sum(other.made for other in self.beside)

    @property
    def seconds(self) -> float:
        """The time from question to answer."""
        return self.sweep.seconds + sum(other.seconds for other in self.beside)

    @property
    def plan(self) -> Plan:
        """The sweeps with every setting spelled out."""
        return Plan({answer.by: answer.sweep.plan for answer in (self, *self.beside)}, self.compared, self.what)

    @property
    def plan_hash(self) -> str:
        """The hash of the plan's values."""
        return self.plan.hash

    def lines(self, show: Show) -> None:
        """Set a row per learner and context; say how m* grows, and what is wanting."""
        every = (self, *self.beside)
        success = "99 % accuracy on fresh inputs"
        goal = f"m*, the samples with which {100 * self.quantile:g} % of runs reach {success}"
        goal = f"success: {success}" if self.online else goal
        show.line(f"{self.what} by {', '.join(each.by for each in every)}: {goal}")
        for online, rows in ((True, _online_rows), (False, threshold_rows)):
            heads = ONLINE if online else (*HEADS[:2], f"{100 * self.confidence:g} % interval", *HEADS[2:])
            named = {"learner": "<"} if self.beside else {}
            entries = [
                ((each.by,) if named else ()) + row for each in every if each.online == online for row in rows(each)
            ]
            if entries:
                show.table({**named, **dict.fromkeys(heads, ">")}, entries)
        for each in every:
            _say_wanting(each, show)
        if self.verdict is not None:
            show.line(f"Growth: {self.verdict}.")
        elif len(self.thresholds) > 1 and not self.online:
            show.line("Growth: comparing laws takes four contexts, three of them with a finite interval.")
        for other in self.beside:
            _say_better(self, other, show)
        if self.certificates:
            _say_certificates(self, show)
        self._name_runs(show)
        for each in every if show.verbose else ():
            _say_more(each, show)

    def _name_runs(self, show: Show) -> None:
        """Say how many runs it rests on, name the last one that succeeded, and what to do with it."""
        show.line(f"{counted(self.runs, 'run')} ({self.made:,} new) in {self.seconds:.1f} s")
        rows = [row for row in self.sweep.rows if row.success] or list(self.sweep.rows)
        if rows:
            name = max(rows, key=lambda row: (row.created, row.context)).identity[:10]
            proves = self.learner.get("name") in PROVABLE
            show.line(f"next: keyhole {'prove --run' if proves else 'runs show'} {name}")

    def figures(self) -> dict[str, Figure]:
        """Draw all that can be drawn, by name, the chief figure first."""
        if self.thresholds:
            learners = {each.by: each.thresholds for each in (self, *self.beside)}
            floors = {each.context: each.floor for each in self.floors}
            counts: dict[int, dict[int, tuple[int, int]]] = {}
            for each in self.cells:
                counts.setdefault(each.context, {})[each.samples or 0] = each.successes, each.trials
            needed = learners_figure(f"Samples needed: {self.what}", learners, floors=floors)
            title = f"Success: {self.what} by {self.by}"
            drawn = success_figure(title, counts, self.thresholds, verdict=self.verdict, floors=floors)
            if self.beside:  # the figure that shows every learner comes first
                return {"thresholds": needed, "success": drawn}
            return {"success": drawn, "thresholds": needed}
        steps = {each.context: each.steps for each in self.cells if each.successes}
        return {"steps": steps_figure(f"Steps on fresh samples: {self.what} by {self.by}", steps)} if steps else {}

    def figure(self) -> Figure:
        """Draw the chief figure."""
        figures = self.figures()
        if not figures:
            raise OutputError("A figure was asked for, but no run succeeded; there is none to draw.")
        return next(iter(figures.values()))

    def save(self, path: str | Path) -> Path:
        """Write the chief figure (.svg, .pdf, .png, .html, .csv), the record (.json), the text (.txt) or the plan.

        A plan (.toml) repeats the sweep exactly. A path without an ending is a folder: it gets every figure as a page,
        and learn.json.
        """
        path = Path(path)
        if path.suffix == ".toml":
            return write_file(path, write_plan(self.plan).encode())
        if path.suffix:
            return super().save(path)
        for name, figure in self.figures().items():
            save_figure(figure, path / f"{name}.html")
        super().save(path / "learn.json")
        return path


def threshold_rows(answer: SampleComplexity) -> list[tuple[object, ...]]:
    """Return the entries of m*: sizes that were tried are whole, estimates have decimals of their own."""
    rows: list[tuple[object, ...]] = []
    for each in answer.thresholds:
        numbers = [number for number in (each.m, each.low, each.high) if number is not None]
        whole = all(abs(number - round(number)) < 1e-9 for number in numbers)
        digits = 0 if whole else max(0, 3 - floor(log10(numbers[0])))
        m, low, high = (None if end is None else f"{end:.{digits}f}" for end in (each.m, each.low, each.high))
        tried = f"> {each.largest}" if each.censored == "above" else f"< {each.smallest}"
        least = None if each.floor is None else at_least(each.floor, places=1)
        unfitted = None if each.unfitted is None else percent(each.unfitted, 0)
        rows.append((each.context, m or tried, _interval(low, high), least, each.trials, unfitted))
    return rows


def _online_rows(answer: SampleComplexity) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for cell in answer.cells:
        steps = (f"{cell.steps:,.0f}", _fresh(answer, cell.steps)) if cell.successes else (None, None)
        rows.append((cell.context, cell.trials, cell.successes, *steps))
    return rows


def _interval(low: str | None, high: str | None) -> str:
    if low is None:
        return "not known" if high is None else f"up to {high}"
    return f"{low} to ∞" if high is None else f"{low} to {high}"


def _fresh(answer: SampleComplexity, steps: float | None) -> str | None:
    """Return the fresh samples that so many steps see, where the learner has a batch size."""
    batch = answer.learner.get("batch")
    return f"{round(steps * batch):,}" if steps and batch else None


def _say_wanting(answer: SampleComplexity, show: Show) -> None:
    """Warn of what speaks against the numbers, and say what they want."""
    for warning in answer.limits:
        if warning.startswith("warning"):
            show.line(warning)
    if answer.trivial_remedy and not answer.ratios:
        remedy = "the law balanced" if answer.trivial_remedy == "balanced" else "another law"
        show.line(f"warning: a constant answer is a success here; draw the bits by {remedy}")
    if others := answer.other_versions:
        names = next(iter(others)) if len(others) == 1 else f"{len(others)} other sets of versions"
        show.line(f"warning: {sum(others.values()):,} of these runs were made with {names}, not the present")
    cells = answer.cells
    if cells and not any(cell.successes for cell in cells):
        sizes = [cell.samples for cell in cells if cell.samples]
        tried = f"with up to {max(sizes):,} samples" if sizes else "on fresh samples"
        more = "more samples" if sizes else "more steps or time"
        runs = counted(sum(cell.trials for cell in cells), "run")
        show.line(f"none of {runs} succeeded, {tried}; try {more}, or see what the learner elimination or gf2 needs")
    short = [each for each in answer.thresholds if each.more_runs]
    if short and answer.schedule["kind"] == "adaptive":
        places = ", ".join(f"T = {each.context} (about {each.more_runs:,} more runs)" for each in short)
        show.line(f"precision not reached, for want of budget, at {places}")


def _say_better(answer: SampleComplexity, other: SampleComplexity, show: Show) -> None:
    """Say which of two learners needs fewer samples, where every interval says the same."""
    if other.ratios and all(row.high is not None and row.high < 1 for row in other.ratios):
        show.line(f"{answer.by} needs fewer samples than {other.by} at every context.")
    elif other.ratios and all(row.low is not None and row.low > 1 for row in other.ratios):
        show.line(f"{other.by} needs fewer samples than {answer.by} at every context.")
    elif other.ratios:
        show.line(f"Which of {answer.by} and {other.by} needs fewer samples is undecided.")


def _say_more(answer: SampleComplexity, show: Show) -> None:
    """Say what only some readers want of one learner."""
    show.line()
    show.line(f"{answer.what} by {answer.by}")
    for note in (*answer.limits, *((answer.coverage,) if answer.coverage else ()), *NOTES):
        show.line(note)
    if answer.trivial_accuracy is not None:
        show.line(f"a constant answer is correct on {percent(answer.trivial_accuracy)} of inputs")
    if answer.laws:
        laws = []
        for law in answer.laws:
            fit = f"{law.fit_p:.2g}" if law.fit_p >= 0.001 else "<0.001"
            forecast = None if law.foretold is None else f"{percent(law.foretold, 0)} off"
            fitted = ", ".join(f"{name} = {each.value:.3g}" for name, each in law.coefficients.items())
            laws.append((law.formula, f"{law.weight:.2f}", fit, percent(law.share, 0), forecast, fitted))
        heads = ("law", "support", "fit", "ranks first", "forecast", "coefficients")
        show.table({head: "<" if head in ("law", "coefficients") else ">" for head in heads}, laws)
        for note in (*LAW_NOTES, *answer.remarks):
            show.line(note)
    if answer.attempts:
        show.line(f"tried within {answer.time_limit:g} s, twice the steps each time until enough runs succeed")
        tried = []
        for each in answer.attempts:
            steps, counts = (f"{each.steps:,}", _fresh(answer, each.steps)), (each.trials, each.successes)
            tried.append((each.context, *steps, *counts, f"{each.seconds:.0f}"))
        show.table(dict.fromkeys(("T", "steps up to", "samples", "runs", "successes", "seconds"), ">"), tried)
    if answer.ratios:
        sure = 100 * (1 - 2 * (1 - answer.confidence))
        show.line(f"ratio: m* of the first learner over m* of {answer.by}")
        ratios = []
        for row in answer.ratios:
            low, high = None if row.low is None else at_least(row.low), None if row.high is None else at_most(row.high)
            ratios.append((row.context, None if row.ratio is None else f"{row.ratio:.3g}", _interval(low, high)))
        show.table(dict.fromkeys(("T", "ratio", f"at least {sure:.4g} % interval"), ">"), ratios)


def _say_certificates(answer: SampleComplexity, show: Show) -> None:
    """Count the certificates, and in full by context and size."""
    certificates = answer.certificates
    statuses = [each.status for each in certificates]
    show.line(
        f"Of {counted(len(certificates), 'successful run')} {sum(each.clean for each in certificates)} made no "
        f"error on 100,000 fresh inputs; {statuses.count('PROVED')} proved equal to the function read off, "
        f"{statuses.count('COUNTEREXAMPLE')} refuted."
    )
    if not show.verbose:
        return
    names = ("settled", "clean", "proved", "counterexamples", "undecided", "identified")
    heads = ("T", "m", "runs", "clean", "proved", "refuted", "undecided", "identified", "error ≤", "seconds")
    rows = []
    for row in answer.certified:
        bound = None if row["error_bound"] is None else at_most(row["error_bound"], places=3)
        counts = [row[name] for name in names]
        rows.append((row["context"], row["samples"] or "fresh", *counts, bound, f"{row['seconds']:.1f}"))
    show.table(dict.fromkeys(heads, ">"), rows)
    for note in filter(None, (answer.certificates_wrong, answer.certificates_delta)):
        show.line(note)
