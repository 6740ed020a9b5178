"""How many samples a learner needs as documents: when the sweep is over, and while it runs."""

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any

from keyhole.decimals import at_least, at_most, counted, percent
from keyhole.show.document import Column, Document, Element, Gap, Grid, Lines

Record = Mapping[str, Any]

NOT_FITTED = "not fitted: share of runs that failed and did not even fit their training set"
BEYOND = (
    "> or <: the best estimate of m* lies beyond the sizes that were run, and is not given; sizes that were run may "
    "still lie in the interval"
)
OPEN = "to ∞, up to: the runs limit m* on one side only"
CERTIFIED = (
    "successful runs, certified. clean: no error on 100,000 fresh inputs; proved: the function read off the weights "
    "equals the model on all inputs; refuted: an input was found on which they differ; identified: that function is "
    "the target; bound: median of the error bounds from the training sets"
)
FLOOR = "floor: with fewer samples no learner can succeed in {share} of its runs; the intervals do not use it"
PRECISION = (
    "precision: the interval, made wider where runs end before the budget, has to lie within "
    "{precision} of m*; where it is not reached the budget is spent, and the interval above is not widened"
)
TOO_FEW = "no growth laws are compared: that takes an m* at four contexts, at three of them bounded on both sides"
ROUND = 16  # letters of the bar of a round


def sample_complexity_document(record: Record) -> Document:
    """m* at each context, the laws of its growth, certificates, the learners beside it, and the runs in all."""
    earlier = record["runs"] - record["made"]
    elements: list[Element] = [
        Lines(f"{record['what']} by {record['by']}"),
        Lines(_success(record)),
        *_limits(record),
        *_trivial(record),
        *_table(record),
        *([Lines(record["coverage"])] if record["coverage"] else []),
        *_wanting(record),
        *_laws(record),
        *_certified(record),
        *_versions(record),
    ]
    for other in record["beside"]:
        elements += [Gap(), Lines(f"beside it, by {other['by']}"), *_limits(other), *_table(other), *_wanting(other)]
        elements += [*_remarks(other), *_versions(other), *_ratios(record, other)]
    if record["beside"] or record["laws"] or record["certified"]:
        elements.append(Gap())
    runs = counted(record["runs"], "run")
    elements.append(Lines(f"{runs} ({record['made']:,} new, {earlier:,} reused) in {record['seconds']:.1f} s"))
    return tuple(elements)


def _ratios(record: Record, other: Record) -> list[Element]:
    """How many times as many samples the learner asked about needs as the one beside it."""
    ratios = other["ratios"]
    if not ratios:
        return []
    sure = 100 * (1 - 2 * (1 - record["confidence"]))
    columns = [
        Column("T", "right", at_least=8),
        Column("ratio", "right", at_least=8),
        Column(f"at least {sure:.4g} % interval"),
    ]
    rows = []
    for row in ratios:
        low = None if row["low"] is None else at_least(row["low"], 3)
        high = None if row["high"] is None else at_most(row["high"], 3)
        ratio = "–" if row["ratio"] is None else f"{row['ratio']:.3g}"
        rows.append((str(row["context"]), ratio, _interval(low, high)))
    heading = f"ratio: m* of {record['by']} over m* of {other['by']}. {_better(record, other)}"
    return [Gap(), Lines(heading), Grid(columns, rows)]


def _better(record: Record, other: Record) -> str:
    """Which of the two needs fewer samples, where every interval says the same."""
    ratios = other["ratios"]
    if all(row["high"] is not None and row["high"] < 1 for row in ratios):
        return f"{record['by']} needs fewer samples at every context."
    if all(row["low"] is not None and row["low"] > 1 for row in ratios):
        return f"{other['by']} needs fewer samples at every context."
    return "Which needs fewer is undecided: an interval contains 1, or is open on one side."


def standings_document(record: Record) -> Document:
    """What is known so far at each context, and how far its round has come, from the record of a sweep's state."""
    columns = [Column(name, "right") for name in ("T", "m* so far", "runs", "not fitted")]
    rows = [
        (
            str(standing["context"]),
            _so_far(standing),
            str(standing["runs"]),
            str(standing["unfitted"]),
            _round(standing),
        )
        for standing in record["contexts"]
    ]
    return (Grid([*columns, Column("this round")], rows),)


def _success(record: Record) -> str:
    if record["schedule"]["kind"] == "online":
        return "runs on fresh samples; success: 99 % of fresh inputs answered correctly"
    return f"m*: samples with which {100 * record['quantile']:g} % of runs answer 99 % of fresh inputs correctly"


def _trivial(record: Record) -> list[Element]:
    """How often a constant answer is right, and a warning where that is a success already."""
    accuracy = record["trivial_accuracy"]
    if accuracy is None:
        return []
    share = "over 99.9" if 0.9995 <= accuracy < 1 else f"{100 * accuracy:.3g}"
    lines: list[Element] = [Lines(f"a constant answer is correct on {share} % of inputs")]
    remedy = {
        None: "",
        "balanced": "draw the bits so that both answers are as likely (the law balanced)",
        "another": "draw the bits by another law",
    }[record["trivial_remedy"]]
    if remedy:
        lines.append(Lines(f"warning: a constant answer is a success here ({share} % is 99 % or more); {remedy}"))
    return lines


def _limits(record: Record) -> list[Element]:
    """What the learner assumes or departs from, in a line each."""
    return [Lines(sentence) for sentence in record["limits"]]


def _table(record: Record) -> list[Element]:
    return _online(record) if record["schedule"]["kind"] == "online" else _thresholds(record)


def _thresholds(record: Record) -> list[Element]:
    """A row per context: m* with its interval, the floor below it, the runs, and how many were not even fitted."""
    columns = [
        Column("T", "right", at_least=8),
        Column("m*", "right", at_least=8),
        Column(f"{100 * record['confidence']:g} % interval", at_least=16),
        Column("floor", "right", at_least=5),
        Column("runs", "right", at_least=5),
        Column("not fitted", "right"),
    ]
    rows = [
        (
            str(threshold["context"]),
            *_place(threshold),
            "–" if threshold["floor"] is None else at_least(threshold["floor"], places=1),
            str(threshold["trials"]),
            "" if threshold["unfitted"] is None else f"{100 * threshold['unfitted']:.0f} %",
        )
        for threshold in record["thresholds"]
    ]
    notes = [Lines(NOT_FITTED)] if any(row[-1] for row in rows) else []
    if any(row[3] != "–" for row in rows):
        notes.append(Lines(FLOOR.format(share=f"{100 * record['quantile']:g} %")))
    if any(threshold["m"] is None for threshold in record["thresholds"]):
        notes.append(Lines(BEYOND))
    if any(None in (threshold["low"], threshold["high"]) for threshold in record["thresholds"]):
        notes.append(Lines(OPEN))
    return [Grid(columns, rows), *notes, *_fruitless(record)]


def _online(record: Record) -> list[Element]:
    columns = [Column("T", "right", at_least=8), Column("runs", "right"), Column("successes", "right")]
    rows = [
        (
            str(cell["context"]),
            str(cell["trials"]),
            str(cell["successes"]),
            f"{cell['steps']:,.0f}" if cell["successes"] else "–",
            _fresh_samples(record, cell["steps"]) if cell["successes"] else "–",
        )
        for cell in record["cells"]
    ]
    columns += [Column("median steps", "right"), Column("samples", "right")]
    seen = _fresh_samples(record, record["learner"].get("steps"))
    said = [f"each run had up to {record['learner']['steps']:,} steps, {seen} fresh samples"] if seen != "–" else []
    said += [
        f"T = {row['context']}: with fewer than {at_least(row['floor'], places=1)} samples no learner names the "
        f"positions in {100 * record['quantile']:g} % of runs"
        for row in record["floors"]
        if row["floor"] is not None
    ]
    return [Grid(columns, rows), *_attempts(record), *map(Lines, said), *_fruitless(record)]


def _attempts(record: Record) -> list[Element]:
    """The budgets of steps that were tried one after the other, where time was limited."""
    if not record["attempts"]:
        return []
    columns = [Column("T", "right", at_least=8), Column("steps up to", "right"), Column("samples", "right")]
    columns += [Column("runs", "right"), Column("successes", "right"), Column("seconds", "right")]
    rows = [
        (
            str(attempt["context"]),
            f"{attempt['steps']:,}",
            _fresh_samples(record, attempt["steps"]),
            str(attempt["trials"]),
            str(attempt["successes"]),
            f"{attempt['seconds']:.0f}",
        )
        for attempt in record["attempts"]
    ]
    words = f"tried within {record['time_limit']:g} s, twice the steps each time until half of the runs succeed"
    return [Gap(), Lines(words.replace("half", _share(record["quantile"]))), Grid(columns, rows), Gap()]


def _share(quantile: float) -> str:
    return "half" if quantile == 0.5 else f"{100 * quantile:g} %"


def _fresh_samples(record: Record, steps: float | None) -> str:
    """How many fresh samples so many steps see, where the learner says how many a step takes."""
    batch = record["learner"].get("batch")
    return f"{round(steps * batch):,}" if steps and batch else "–"


def _fruitless(record: Record) -> list[Element]:
    """A line where no run succeeded at all: what was tried."""
    cells = record["cells"]
    if not cells or any(cell["successes"] for cell in cells):
        return []
    runs = sum(cell["trials"] for cell in cells)
    sizes = [cell["samples"] for cell in cells if cell["samples"]]
    tried = f"with up to {max(sizes):,} samples" if sizes else "on fresh samples"
    return [Lines(f"{'the one run did not succeed' if runs == 1 else f'none of {runs:,} runs succeeded'}, {tried}")]


def _wanting(record: Record) -> list[Element]:
    """Where the precision asked for was not reached, how many more runs it would take."""
    if record["schedule"]["kind"] != "adaptive":
        return []
    precision = 100 * record["schedule"]["precision"]
    wanting = [
        f"{threshold['more_runs']:,} more runs at T = {threshold['context']}"
        for threshold in record["thresholds"]
        if threshold["more_runs"]
    ]
    if not wanting:
        return []
    words = f"precision not reached; raise the budget: at least about {', '.join(wanting)}"
    return [Lines(words), Lines(PRECISION.format(precision=f"±{precision:g} %"))]


def _versions(record: Record) -> list[Element]:
    """A line where runs of other versions are mixed in: the same configuration may give other numbers there."""
    others = record["other_versions"]
    if not others:
        return []
    names = next(iter(others)) if len(others) == 1 else f"{len(others)} other sets of versions"
    return [Lines(f"warning: {sum(others.values()):,} of these runs were made with {names}, not the present")]


LAW_COLUMNS = (
    "support: the law's weight among those listed, by its likelihood and a price for each coefficient (as Akaike "
    "weights); the weights add up to 1 and are not probabilities. fit p: the probability of points at least as far off "
    "if the law is true. ranks first: how often the law has the most support if the points are drawn again within "
    "their errors. forecast: by how much the law, fitted to the shorter contexts, misses m* at the longest"
)


def _laws(record: Record) -> list[Element]:
    """The laws from best to worst, and what is to be said against the verdict."""
    if not record["laws"]:
        return [Lines(TOO_FEW)] if len(record["thresholds"]) > 1 else []
    columns = [
        Column("law", at_least=15),
        Column("support", "right"),
        Column("fit p", "right"),
        Column("ranks first", "right"),
        Column("forecast", "right"),
        Column("coefficients"),
    ]
    rows = [
        (
            law["formula"],
            f"{law['weight']:.2f}",
            f"{law['fit_p']:.2g}" if law["fit_p"] >= 0.001 else "<0.001",
            percent(law["share"], 0),
            "–" if law["foretold"] is None else f"{percent(law['foretold'], 0)} off",
            ", ".join(f"{name} = {each['value']:.3g}" for name, each in law["coefficients"].items()),
        )
        for law in record["laws"]
    ]
    return [Gap(), Grid(columns, rows), Lines(LAW_COLUMNS), *_remarks(record)]


def _remarks(record: Record) -> list[Element]:
    return [Lines(text) for text in record["remarks"]]


def _certified(record: Record) -> list[Element]:
    """How many successful runs are without an error, proved equal to the function read off them, and identified."""
    if not record["certified"]:
        return []
    names = ("T", "m", "runs", "clean", "proved", "refuted", "undecided", "identified", "bound", "seconds")
    rows = [
        (
            str(row["context"]),
            str(row["samples"] or "fresh"),
            *(str(row[name]) for name in ("settled", "clean", "proved", "counterexamples", "undecided", "identified")),
            "–" if row["error_bound"] is None else at_most(row["error_bound"], places=3),
            f"{row['seconds']:.1f}",
        )
        for row in record["certified"]
    ]
    columns = [Column(name, "right", at_least=8 if name in ("T", "m") else 0, gap=1) for name in names]
    said = [record["certificates_wrong"], record["certificates_delta"]]
    return [Gap(), Lines(CERTIFIED, hang=0), Grid(columns, rows), *(Lines(words) for words in said if words)]


def _place(threshold: Record) -> tuple[str, str]:
    """m* and its interval in one format: sizes that were tried are whole, estimates have decimals of their own."""
    m, censored = threshold["m"], threshold["censored"]
    numbers = [number for number in (m, threshold["low"], threshold["high"]) if number is not None]
    digits = _decimals(numbers)
    tried = f"> {threshold['largest']}" if censored == "above" else f"< {threshold['smallest']}"
    low, high = (None if end is None else f"{end:.{digits}f}" for end in (threshold["low"], threshold["high"]))
    return tried if m is None else f"{m:.{digits}f}", _interval(low, high)


def _interval(low: str | None, high: str | None) -> str:
    """An interval whose ends are written already; one that is open on a side says so."""
    if low is None:
        return "not known" if high is None else f"up to {high}"
    return f"{low} to ∞" if high is None else f"{low} to {high}"


def _decimals(numbers: Sequence[float]) -> int:
    """The decimals that give the first of these numbers four digits; none where all are whole."""
    if all(abs(number - round(number)) < 1e-9 for number in numbers):
        return 0
    return max(0, 3 - floor(log10(numbers[0])))


def _so_far(standing: Record) -> str:
    threshold = standing["threshold"]
    if threshold is None:
        return "–"
    place, interval = _place(threshold)
    return place if threshold["m"] is None else f"{place} ({interval})"


def _round(standing: Record) -> str:
    if not standing["round_size"]:
        return "done"
    full = round(ROUND * standing["round_done"] / standing["round_size"])
    return f"{'█' * full}{'░' * (ROUND - full)} {standing['round_done']} of {standing['round_size']}"
