"""What is known of all words of one length: proved, a wrong word, undecided, or no word to speak of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from keyhole.api.kept_verdicts import load_verdict, question_key, save_verdict
from keyhole.api.word_question import Case, WordQuestion, cases
from keyhole.attention import Model, Tabulated, evaluate, forward
from keyhole.languages import AtLength
from keyhole.prover import FLOAT_UNITS, WordVerification, float_error, verify_words
from keyhole.prover.extraction import CertifiableModel, certifiable

BELOW = 0.99  # of the margin: a float error as small as that needs no closer look
CHUNK = 2**22  # symbols of random words held at once
FORMATS = {"float16": np.float16, "float32": np.float32, "float64": np.float64}
NAMES: Mapping[str, str] = {
    "PROVED": "proved",
    "COUNTEREXAMPLE": "WRONG INPUT",
    "UNDECIDED": "undecided",
    "VACUOUS": "no word to ask about",
}


@dataclass(frozen=True)
class LengthVerdict:
    """What is known of all words of one length.

    `margin` is a certified lower bound of the distance from the wrong answer, over all words (PROVED). A wrong word is
    given in the model's own tokens, with the answer that was wanted and by how much the model prefers the other one, in
    exact arithmetic and, as computed, in the format of its weights. `bound` is the best lower bound (UNDECIDED). With
    VACUOUS there is no word of that length to ask about. `float_error` bounds how far a plain forward pass in
    `float_format` is from exact arithmetic on any word; `float_keeps` says whether the margin is larger, so that the
    model as it runs answers rightly too. Both are None where no bound is known.
    """

    length: int
    status: str
    margin: float | None = None
    wrong_tokens: tuple[str, ...] | None = None
    wrong_numbers: tuple[int, ...] | None = None
    wanted: bool | None = None
    output: float | None = None
    output_as_computed: float | None = None
    bound: float | None = None
    reason: str = ""
    sampled: int = 0
    sampled_wrong: int = 0
    parts: int = 0
    seconds: float = 0.0
    time_limit: float = 0.0
    float_format: str | None = None
    float_error: float | None = None
    float_keeps: bool | None = None

    @property
    def name(self) -> str:
        """The status as it is said."""
        return NAMES[self.status]

    def record(self) -> dict[str, Any]:
        """Every field as plain values."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True)
class Search:
    """How much is searched at each length, and where verdicts are kept."""

    samples: int
    time_limit: float
    seed: int
    kept: Path


def at_length(question: WordQuestion, length: int, search: Search) -> LengthVerdict:
    """The verdict for one length of a checkpoint's words, from the store or made now."""
    at = question.stated.at(length)
    made = list(cases(question, at))
    names, formats = question.vocabulary.numbers, question.checkpoint.number_formats
    key = question_key(question.frame, sorted(names.items()), formats, made, search.seed, search.samples)
    path = search.kept / f"{key}.json"
    row = _earlier(path, search.time_limit)
    if row is not None:
        return row
    if not made:
        return LengthVerdict(length, "VACUOUS", reason=f"no word of length {length} is asked about")
    read = [certifiable(case.model) for case in made]
    verdicts = []
    for case, model in zip(made, read, strict=True):
        verdict = _searched(case, model, search.time_limit / len(made))
        verdicts.append((case, verdict))
        if verdict.status == "COUNTEREXAMPLE":
            break
    row = _joined(question, length, verdicts, search.time_limit)
    row = _with_float_error(row, question, made, read, search.time_limit)
    pairs = [(model.tables, case) for case, model in zip(made, read, strict=True)]
    sampled, wrong = _sampled(pairs, search, length)
    row = replace(row, sampled=sampled, sampled_wrong=wrong)
    rounded = sum(case.rounded for case in made)
    if rounded:
        said = f"{rounded} sums of stored numbers (tokens and positions, logits) were rounded to double precision"
        row = replace(row, reason="; ".join(filter(None, (row.reason, said))))
    save_verdict(path, row.record())
    return row


def _with_float_error(
    row: LengthVerdict,
    question: WordQuestion,
    made: Sequence[Case],
    read: Sequence[CertifiableModel],
    time_limit: float,
) -> LengthVerdict:
    """A proved row with what a pass in the format of the weights may be off, where that is known.

    It takes the time limit once more at most: the rest of it is for a proof with a margin above that error.
    """
    formats, embedding = question.checkpoint.number_formats, question.checkpoint.embedding
    units = {name: FLOAT_UNITS[name] for name in formats if name in FLOAT_UNITS}
    plain = embedding.norm is None and embedding.segments is None and embedding.widen is None
    plain = plain and all(len(wanted) == 1 for _, wanted, _ in question.pairs)  # not a mean of several logits
    plain = plain and all(rival is None or len(rival) == 1 for _, _, rival in question.pairs)
    if row.margin is None or len(units) < len(formats) or not units or not plain:
        return row
    coarsest, started = max(units, key=lambda name: units[name]), perf_counter()
    error = max(
        float_error(
            case.model,
            model.tables,
            case.reads,
            case.at.classes,
            case.gross,
            unit=units[coarsest],
            drifts=model.drifts,
            enough=BELOW * row.margin,
            time_limit=time_limit / len(made),
        )
        for case, model in zip(made, read, strict=True)
    )
    if not np.isfinite(error):
        return replace(row, float_format=coarsest, seconds=row.seconds + perf_counter() - started)
    margin = row.margin
    if margin <= error:  # the search stopped at the first margin above 0: it goes on to one above the error
        left = max(time_limit - (perf_counter() - started), 0.0) / len(made)
        again = [_searched(case, model, left, error) for case, model in zip(made, read, strict=True)]
        margins = [verdict.margin for verdict in again if verdict.margin is not None]
        margin = min(margins) if len(margins) == len(again) else margin
    seconds = row.seconds + perf_counter() - started
    row = replace(row, margin=margin, seconds=seconds)
    return replace(row, float_format=coarsest, float_error=error, float_keeps=margin > error)


def _searched(case: Case, model: CertifiableModel, time_limit: float, above: float = 0.0) -> WordVerification:
    return verify_words(
        model.tables, case.reads, case.at.classes, drifts=model.drifts, above=above, time_limit=time_limit
    )


def of_tables(read: CertifiableModel, at: AtLength, symbols: tuple[str, ...], search: Search) -> LengthVerdict:
    """The verdict for a model of one length whose sign is the answer."""
    key = question_key("tables", read.tables, read.drifts, at, symbols, search.seed, search.samples)
    path = search.kept / f"{key}.json"
    row = _earlier(path, search.time_limit)
    if row is not None:
        return row
    if not at.classes:
        return LengthVerdict(at.length, "VACUOUS", reason=f"no word of length {at.length} is asked about")
    verdict = verify_words(read.tables, at.reads, at.classes, drifts=read.drifts, time_limit=search.time_limit)
    row = _row(at.length, verdict, search.time_limit)
    if verdict.counterexample is not None:
        numbers = tuple(int(symbol) for symbol in verdict.counterexample)
        row = replace(row, wrong_tokens=tuple(symbols[symbol] for symbol in numbers), wrong_numbers=numbers)
    wrong = _wrongly_answered([(read.tables, at, at.reads)], search.samples, search.seed)
    row = replace(row, sampled=search.samples, sampled_wrong=wrong)
    save_verdict(path, row.record())
    return row


def _earlier(path: Path, time_limit: float) -> LengthVerdict | None:
    """A verdict of an earlier call; made again with more time where time ended it, or left its float error open."""
    known = {part.name for part in fields(LengthVerdict)}
    try:
        row = LengthVerdict(**{name: value for name, value in (load_verdict(path) or {}).items() if name in known})
    except TypeError:
        return None
    unsettled = row.status == "UNDECIDED" or (row.float_format is not None and not row.float_keeps)
    return None if unsettled and row.time_limit < time_limit else row


def _joined(
    question: WordQuestion, length: int, verdicts: Sequence[tuple[Case, WordVerification]], time_limit: float
) -> LengthVerdict:
    """One verdict from those of all cases: a wrong word of any, else undecided if any is, else proved."""
    seconds, parts = sum(found.seconds for _, found in verdicts), sum(found.parts for _, found in verdicts)
    case, last = verdicts[-1]
    if last.status == "COUNTEREXAMPLE" and last.counterexample is not None:
        sequence = last.counterexample
        first = len(question.frame.before) - int(question.frame.read_first)
        count = length - int(question.frame.at_symbol)
        word = [int(symbol) for symbol in sequence[first : first + count]]
        word += [] if case.last is None else [case.last]
        numbers = question.frame.tokens(tuple(word))
        return replace(
            _row(length, last, time_limit),
            wrong_tokens=tuple(question.vocabulary.name(number) for number in numbers),
            wrong_numbers=numbers,
            wanted=last.wanted if question.pairs[0][0] is None else None,
            output_as_computed=_as_computed(case.model, sequence, question.checkpoint.number_formats),
            parts=parts,
            seconds=seconds,
        )
    undecided = [found for _, found in verdicts if found.status == "UNDECIDED"]
    if undecided:
        worst = min(undecided, key=lambda found: -np.inf if found.bound is None else found.bound)
        return replace(_row(length, worst, time_limit), parts=parts, seconds=seconds)
    margin = min(found.margin for _, found in verdicts if found.margin is not None)
    return LengthVerdict(length, "PROVED", margin, parts=parts, seconds=seconds, time_limit=time_limit)


def _row(length: int, found: WordVerification, time_limit: float) -> LengthVerdict:
    return LengthVerdict(
        length,
        found.status,
        margin=found.margin,
        wanted=found.wanted,
        output=found.output,
        bound=found.bound,
        reason=found.reason,
        parts=found.parts,
        seconds=found.seconds,
        time_limit=time_limit,
    )


def _as_computed(model: Model, sequence: np.ndarray, formats: Sequence[str]) -> float | None:
    """The read-out by a plain dense forward pass in the format of the weights, where numpy has it."""
    kinds = [FORMATS[name] for name in formats if name in FORMATS]
    if not kinds:
        return None
    return float(forward(in_format(model, min(kinds, key=lambda kind: np.dtype(kind).itemsize)), sequence))


def in_format(value: Any, kind: Any) -> Any:
    """The same record with every array of numbers in another format."""
    if isinstance(value, np.ndarray):
        return value.astype(kind)
    if isinstance(value, tuple):
        return tuple(in_format(part, kind) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{part.name: in_format(getattr(value, part.name), kind) for part in fields(value)})
    return value


def _sampled(pairs: Sequence[tuple[Tabulated, Case]], search: Search, length: int) -> tuple[int, int]:
    """How many random words were tried, and how many are answered wrongly; every rival judges the same words."""
    ends = sorted({case.last for _, case in pairs}, key=lambda last: -1 if last is None else last)
    each = search.samples // len(ends)
    wrong = 0
    for last in ends:
        judges = [(tables, case.at, case.reads) for tables, case in pairs if case.last == last]
        wrong += _wrongly_answered(judges, each, [search.seed, length, 0 if last is None else last])
    return each * len(ends), wrong


def _wrongly_answered(
    judges: Sequence[tuple[Tabulated, AtLength, tuple[int, ...]]], samples: int, seed: int | list[int]
) -> int:
    """How many random words some judge finds wrong: half of them uniform, half with a random share of each symbol."""
    tokens, symbols = judges[0][0].tokens, judges[0][0].symbols
    rng = np.random.default_rng(seed)
    wrong, left = 0, samples
    while left:
        some = min(left, max(1, CHUNK // tokens))
        left -= some
        chances = rng.dirichlet(np.ones(symbols), some)
        chances[: some // 2] = 1 / symbols
        drawn = rng.random((some, tokens, 1)) > np.cumsum(chances, axis=1)[:, None, :-1]
        sequences = drawn.sum(axis=2)
        is_wrong = np.zeros(some, dtype=bool)
        for tables, at, reads in judges:
            words = np.zeros((some, at.length), dtype=np.int64)
            words[:, list(at.reads)] = sequences[:, list(reads)]
            true, spoken = at.answers(words)
            f = np.asarray(evaluate(tables, sequences))
            is_wrong |= spoken & np.where(true, f <= 0, f >= 0)
        wrong += int(is_wrong.sum())
    return wrong
