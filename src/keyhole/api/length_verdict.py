"""Is a claim true on all words of one length? Proved, a wrong word, undecided, or no word to ask about."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from json import dumps, loads
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np

from keyhole import __version__
from keyhole.api.verdict_cache import question_key
from keyhole.api.word_cases import Case, WordQuestion, output_as_computed
from keyhole.attention import Model, evaluate
from keyhole.decimals import at_least, at_most, margin
from keyhole.files.atomic import write_file
from keyhole.files.record import record_of
from keyhole.prover import FLOAT_UNITS, Verification, float_error, prove_on_words
from keyhole.prover.extraction import exact_output
from keyhole.verdicts import CertificateStatus

BELOW = 0.99  # of the margin: a float error as small as that needs no closer look
CHUNK = 2**22  # symbols of random words held at once
LETTERS = 32  # of a word shown in a row


@dataclass(frozen=True)
class LengthVerdict:
    """The verdict on all words of one length.

    `margin` is a certified lower bound of the distance from the wrong answer, over all words (PROVED). A wrong word is
    given in the model's own tokens, with the answer that was wanted and by how much the model prefers the other one, in
    exact arithmetic and, as computed, in the format of its weights. `bound` is the best lower bound (UNDECIDED). With
    VACUOUS the claim is about no word of that length. `float_error` bounds how far a plain forward pass in
    `float_format` is from exact arithmetic on any word; `float_keeps` is true where the margin is larger, so that the
    model as it runs answers rightly too. Both are None where no bound is known.
    """

    length: int
    status: CertificateStatus | Literal["VACUOUS"]
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
        """The status as it is printed."""
        return {"COUNTEREXAMPLE": "WRONG INPUT", "VACUOUS": "no words"}.get(self.status, self.status)

    @property
    def cut(self) -> bool:
        """Return whether time ended before the answer: more of it, or a less busy machine, may settle the rest."""
        unsettled = self.status == "UNDECIDED" or (self.float_format is not None and not self.float_keeps)
        return unsettled and self.seconds >= self.time_limit

    @property
    def word(self) -> str:
        """The wrong word: its tokens one after another, with blanks where a name has more than one letter."""
        tokens = self.wrong_tokens or ()
        return ("" if all(len(token) == 1 for token in tokens) else " ").join(tokens)

    @property
    def known(self) -> str:
        """The margin, the beginning of a wrong word, or the bound."""
        late = f"; {self.time_limit:g} s used up" if self.cut else ""
        if self.margin is not None:
            kept = f", {self.float_format} error ≤ {at_most(self.float_error or 0.0, 2)}" if self.float_keeps else ""
            open_ = self.float_format is not None and self.float_error is None
            bounded = f", {self.float_format} error not bounded" if open_ else ""
            return f"margin {margin(self.margin)}{kept}{bounded}{late}"
        if self.wrong_tokens is not None:
            return self.word if len(self.word) <= LETTERS else f"{self.word[: LETTERS - 1]}…"
        return f"{self.reason if self.bound is None else f'not below {at_least(self.bound)}'}{late}"


@dataclass(frozen=True)
class Search:
    """Limits of the search at each length, and the folder of verdicts."""

    samples: int
    time_limit: float
    seed: int
    folder: Path


def at_length(question: WordQuestion, length: int, search: Search) -> LengthVerdict:
    """Return the verdict for one length, from the store or made now."""
    cases = list(question.cases(question.stated.at(length)))
    path = search.folder / f"{question_key(question.identity(), cases, search.seed, search.samples)}.json"
    row = _stored(path, search.time_limit)
    if row is not None:
        return row
    if not cases:
        return LengthVerdict(length, "VACUOUS", reason=f"no word of length {length} is asked about")
    verdicts: list[Verification] = []
    for case in cases:
        verdicts.append(_searched(case, search.time_limit / len(cases)))
        if verdicts[-1].status == "COUNTEREXAMPLE":
            break
    row = _joined(question, length, cases, verdicts)
    if row.margin is not None and question.plain:
        row = _with_float_error(row, row.margin, question.formats, cases, search.time_limit)
    ends = sorted({case.last for case in cases}, key=lambda last: -1 if last is None else last)
    each = search.samples // len(ends)
    wrong = sum(
        _wrongly_answered([case for case in cases if case.last == last], each, [search.seed, length, last or 0])
        for last in ends
    )
    rounded = sum(case.rounded for case in cases)
    if rounded:
        says = f"{rounded} sums of stored numbers (tokens and positions, logits) were rounded to double precision"
        row = replace(row, reason="; ".join(filter(None, (row.reason, says))))
    row = replace(row, sampled=each * len(ends), sampled_wrong=wrong, time_limit=search.time_limit)
    write_file(path, f"{dumps({'keyhole': __version__, 'verdict': record_of(row)}, indent=2)}\n".encode())
    return row


def _stored(path: Path, time_limit: float) -> LengthVerdict | None:
    """Return the verdict of an earlier call, unless time cut it short, or more time could settle what it left open."""
    known = {part.name for part in fields(LengthVerdict)}
    try:
        stored: dict[str, Any] = loads(path.read_bytes())["verdict"]
        for name, value in stored.items():
            stored[name] = tuple(value) if isinstance(value, list) else value
        row = LengthVerdict(**{name: value for name, value in stored.items() if name in known})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    unsettled = row.status == "UNDECIDED" or (row.float_format is not None and not row.float_keeps)
    return None if row.cut or (unsettled and row.time_limit < time_limit) else row


def _searched(case: Case, time_limit: float, above: float = 0.0) -> Verification:
    read = case.read
    exact = None if read.given is None else exact_output(read.given)
    return prove_on_words(
        read.tables, case.reads, case.at.classes, drifts=read.drifts, exact=exact, above=above, time_limit=time_limit
    )


def _joined(
    question: WordQuestion, length: int, cases: Sequence[Case], verdicts: Sequence[Verification]
) -> LengthVerdict:
    """Join the verdicts of all cases: a wrong word of any, else undecided if any is, else proved."""
    case, last = cases[len(verdicts) - 1], verdicts[-1]
    undecided = [verdict for verdict in verdicts if verdict.status == "UNDECIDED"]
    row = LengthVerdict(
        length,
        "PROVED",
        parts=sum(verdict.parts for verdict in verdicts),
        seconds=sum(verdict.seconds for verdict in verdicts),
    )
    if last.counterexample is not None:
        numbers, names = question.tokens(case, last.counterexample)
        return replace(
            row,
            status="COUNTEREXAMPLE",
            wrong_numbers=numbers,
            wrong_tokens=names,
            wanted=last.wanted if case.answer is None else case.answer,
            output=last.output,
            output_as_computed=output_as_computed(case, last.counterexample, question.formats),
        )
    if undecided:
        worst = min(undecided, key=lambda verdict: -np.inf if verdict.bound is None else verdict.bound)
        return replace(row, status="UNDECIDED", bound=worst.bound, reason=worst.reason)
    return replace(row, margin=min(verdict.margin for verdict in verdicts if verdict.margin is not None))


def _with_float_error(
    row: LengthVerdict, margin: float, formats: Sequence[str], cases: Sequence[Case], time_limit: float
) -> LengthVerdict:
    """Return a proved row with the float error of a pass in the format of the weights, where that is known.

    It takes the time limit once more at most: the rest of it is for a proof with a margin above that error.
    """
    units = {name: FLOAT_UNITS[name] for name in formats if name in FLOAT_UNITS}
    if len(units) < len(formats) or not units:
        return row
    coarsest, started = max(units, key=lambda name: units[name]), perf_counter()

    def error_of(case: Case) -> float:
        """Return the float error on the words of a case, in its share of the time."""
        if not isinstance(case.model, Model) or case.gross is None:
            return np.inf
        begun = perf_counter()
        return float_error(
            case.model,
            case.read.tables,
            replace(case.at, reads=case.reads),
            case.gross,
            unit=units[coarsest],
            drifts=case.read.drifts,
            enough=BELOW * margin,
            late=lambda: perf_counter() - begun > time_limit / len(cases),
        )

    error = max(map(error_of, cases))
    if np.isfinite(error) and margin <= error:  # the search stopped at the first margin above 0
        left = max(time_limit - (perf_counter() - started), 0.0) / len(cases)
        margins = [verdict.margin for case in cases for verdict in [_searched(case, left, error)]]
        if None not in margins:
            margin = min(each for each in margins if each is not None)
    row = replace(row, margin=margin, seconds=row.seconds + perf_counter() - started, float_format=coarsest)
    if np.isfinite(error):
        return replace(row, float_error=error, float_keeps=margin > error)
    why = f" in {time_limit:g} seconds" if perf_counter() - started > time_limit else ""
    return replace(row, reason=f"the error of a pass in {coarsest} was not bounded{why}")


def _wrongly_answered(cases: Sequence[Case], samples: int, seed: list[int]) -> int:
    """Count random words that some case finds wrong: half uniform, half with a random share of each symbol."""
    tokens, symbols = cases[0].read.tables.tokens, cases[0].read.tables.symbols
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
        for case in cases:
            words = np.zeros((some, case.at.length), dtype=np.int64)
            words[:, list(case.at.reads)] = sequences[:, list(case.reads)]
            true, spoken = case.at.answers(words)
            f = np.asarray(evaluate(case.read.tables, sequences))
            is_wrong |= spoken & np.where(true, f <= 0, f >= 0)
        wrong += int(is_wrong.sum())
    return wrong
