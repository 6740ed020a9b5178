"""Verify: is a claim about somebody else's model true on every word of every length?"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from hashlib import sha256
from json import dumps, loads
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole import __version__
from keyhole.api.certify import read_source
from keyhole.api.result import Result
from keyhole.attention import Model, evaluate, forward
from keyhole.boolean import Levels, SparseFunction, check_context, parse, tabulate
from keyhole.certifier import WordVerification, verify_words
from keyhole.certifier.read import CertifiableModel, certifiable
from keyhole.errors import ArgumentError, AssumptionError, CheckpointError, FormulaError
from keyhole.figure import Axis, Figure
from keyhole.files.atomic import write_file
from keyhole.files.paths import home
from keyhole.files.safetensors_in import is_ours
from keyhole.languages import (
    FORMS,
    AtLength,
    CountProperty,
    Property,
    Restricted,
    TableProperty,
    read_property,
    with_last,
)
from keyhole.pretrained import (
    Checkpoint,
    Frame,
    Vocabulary,
    framed_model,
    load_checkpoint,
    logit_difference,
    read_vocabulary,
)
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.document import Document
from keyhole.show.verification import verification_document

LONGEST = 4096  # of a word in a checkpoint's position table
MOST_LENGTHS = 4096
CHUNK = 2**22  # symbols of random words held at once
FORMATS = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


@dataclass(frozen=True)
class LengthVerdict:
    """What is known of all words of one length.

    `margin` is a certified lower bound of the distance from the wrong answer, over all words (PROVED). A wrong word is
    given in the model's own tokens, with the answer that was wanted and by how much the model prefers the other one, in
    exact arithmetic and, as computed, in the format of its weights. `bound` is the best lower bound (UNDECIDED).
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


@dataclass(frozen=True, repr=False)
class Verified(Result):
    """The verdict for every length, and what was taken for granted."""

    schema: ClassVar[str] = "verify/1"
    has_figure: ClassVar[bool] = True

    source: str
    claim: str
    where: str | None
    alphabet: tuple[str, ...]
    shown_as: str
    answers: str
    assumed: tuple[str, ...]
    rows: tuple[LengthVerdict, ...]

    @property
    def counts(self) -> Counter[str]:
        """How many lengths have each status."""
        return Counter(row.status for row in self.rows)

    @property
    def shortest_wrong(self) -> LengthVerdict | None:
        """The shortest wrong word over all lengths."""
        return next((row for row in self.rows if row.status == "COUNTEREXAMPLE"), None)

    @property
    def summary(self) -> str:
        """Up to which length the claim is proved, from where it is wrong, and where random words first show it."""
        lengths = [row.length for row in self.rows]
        proved = [row.length for row in self.rows if row.status == "PROVED"]
        wrong = [row.length for row in self.rows if row.status == "COUNTEREXAMPLE"]
        unbroken = 0
        for row in self.rows:
            if row.status != "PROVED":
                break
            unbroken = row.length
        parts = []
        if len(proved) == len(lengths):
            parts.append(f"proved for all {len(lengths)} lengths from {lengths[0]} to {lengths[-1]}")
        else:
            parts.append(f"proved to T = {unbroken}" if unbroken else "proved at no length from the first")
            more = [length for length in proved if length > unbroken]
            parts += [f"proved at {len(more)} longer lengths too"] if more else []
        parts += [f"wrong from T = {wrong[0]}"] if wrong else []
        undecided = self.counts["UNDECIDED"]
        parts += [f"undecided at {undecided} length{'' if undecided == 1 else 's'}"] if undecided else []
        seen = next((row.length for row in self.rows if row.sampled_wrong), None)
        if wrong and self.rows[0].sampled:
            tried = f"{self.rows[0].sampled:,} random words a length"
            parts.append(f"{tried} find nothing" + ("" if seen is None else f" before T = {seen}"))
        return f"{self.claim}: " + "; ".join(parts)

    def record(self) -> dict[str, Any]:
        """Every field as plain values, for JSON."""
        return {
            "source": self.source,
            "claim": self.claim,
            "where": self.where,
            "alphabet": list(self.alphabet),
            "shown_as": self.shown_as,
            "answers": self.answers,
            "assumed": list(self.assumed),
            "summary": self.summary,
            "lengths": [_plain(row) for row in self.rows],
        }

    def document(self) -> Document:
        """The summary, a row for each length, the shortest wrong word, what is assumed."""
        return verification_document(self.record())

    def figure(self) -> Figure:
        """The margin against the length: proved from below, wrong words by how far they are wrong."""
        rows: list[dict[str, Any]] = []
        for row in self.rows:
            height = {"PROVED": row.margin, "COUNTEREXAMPLE": row.output, "UNDECIDED": row.bound}[row.status]
            if height is not None:
                wrong = row.status == "COUNTEREXAMPLE"
                rows.append(
                    {"T": row.length, "margin": -abs(height) if wrong else height, "verdict": _named(row.status)}
                )
        if not rows:
            raise AssumptionError("No length has a margin, a wrong word or a bound, so there is nothing to draw.")
        return Figure(
            title=f"{self.claim} on {Path(self.source).name}, length by length",
            subtitle="proved: a certified margin; wrong: by how much the model prefers the wrong answer on a word",
            kind="points",
            rows=tuple(rows),
            x=Axis("T", "length of the word T"),
            y=Axis("margin", "margin of the right answer"),
            colour=Axis("verdict", "", "category"),
        )


@dataclass(frozen=True, eq=False)
class _Question:
    """All that is asked of a checkpoint, but for the length."""

    checkpoint: Checkpoint
    vocabulary: Vocabulary
    frame: Frame
    stated: Property
    pairs: tuple[tuple[bool | None, int, int | None], ...]  # answer, the logit that must win, its rival; None: both


def verify(
    model: str | Path | Checkpoint,
    claim: str | Property,
    lengths: Sequence[int] | None = None,
    *,
    alphabet: Sequence[str] = ("0", "1"),
    before: Sequence[str] = (),
    read_at: str | None = None,
    read_first: bool = False,
    answers: Sequence[str] | None = None,
    among: Sequence[str] = (),
    where: str | Property | None = None,
    samples: int = 100_000,
    time_limit: float = 10.0,
    seed: int = 0,
    store: str | Path | None = None,
    watch: Watch = ignore,
) -> Verified:
    """Whether a one-layer model answers as claimed on every word, length by length: PROVED, a wrong word, or UNDECIDED.

    `model` is a checkpoint's folder or file, or a model compiled by keyhole, whose context is then the only length.
    `claim` is a property in words (`keyhole.languages.FORMS`), a formula of positions counted from 0 such as "x3 & x7",
    or a value. A word is shown as `before`, its symbols, `read_at`; the answer is read at that last token, or at the
    last symbol where `read_at` is None, or at the first token of `before` with `read_first`. `answers` are the tokens
    for false and true (the first and the last of the alphabet, if not said); the right one must win against the other
    one and all of `among`. A tie counts as wrong. `where` restricts the claim to the words of another property.
    Verdicts are kept in the store, so that a second call goes on where the first one ended.
    """
    symbols = _alphabet(alphabet)
    if samples < 0 or not time_limit > 0:
        raise ArgumentError(
            f"{samples} random words and {time_limit} seconds were asked for; give 0 or more, and more than 0."
        )
    kept = home(None if store is None else Path(store)) / "verify"
    if not isinstance(model, Checkpoint) and Path(model).is_file() and is_ours(Path(model)):
        return _compiled(Path(model), claim, lengths, symbols, where, samples, time_limit, seed, kept, watch)
    checkpoint = model if isinstance(model, Checkpoint) else load_checkpoint(model)
    vocabulary = Vocabulary({}) if isinstance(model, Checkpoint) else read_vocabulary(model)
    if not lengths:
        raise ArgumentError("No lengths were given; say which lengths of words to verify, such as 1 to 50.")
    frame = Frame(
        tuple(vocabulary.number(symbol) for symbol in symbols),
        tuple(vocabulary.number(token) for token in before),
        () if read_at is None else (vocabulary.number(read_at),),
        read_first,
    )
    stated = _property(claim, symbols, where, shortest=min(lengths))
    pairs, said = _pairs(checkpoint, vocabulary, symbols, answers, among)
    question = _Question(checkpoint, vocabulary, frame, stated, pairs)
    rows = []
    for done, length in enumerate(_lengths(lengths)):
        row = _at_length(question, length, samples, time_limit, seed, kept)
        rows.append(row)
        watch(Progress(done + 1, len(lengths), f"T = {length}: {_named(row.status)}", milestone=True))
    source = checkpoint.source if isinstance(model, Checkpoint) else str(model)
    shown = " ".join([*before, "x1 … xT", *([] if read_at is None else [read_at])])
    where_read = read_at if read_at is not None else before[0] if read_first and before else "the last symbol"
    return Verified(
        source,
        claim if isinstance(claim, str) else type(claim).__name__,
        where if where is None or isinstance(where, str) else type(where).__name__,
        symbols,
        f"{shown}, read at {where_read}",
        said,
        ASSUMED,
        tuple(rows),
    )


ASSUMED = (
    (
        "a proof is of the real-number function that the weights define; token and position vectors are added in "
        "double precision first, and the reason of a row says where such a sum was rounded"
    ),
    "dropout is off; the model sees the tokens shown and no others",
)


def _compiled(
    path: Path,
    claim: str | Property,
    lengths: Sequence[int] | None,
    symbols: tuple[str, ...],
    where: str | Property | None,
    samples: int,
    time_limit: float,
    seed: int,
    kept: Path,
    watch: Watch,
) -> Verified:
    """A model compiled or stored by keyhole: its context is the only length, and its sign the answer."""
    read = read_source(path)
    length = read.tables.tokens
    if lengths and list(lengths) != [length]:
        raise ArgumentError(f"{path.name} is a model of {length} positions; only words of that length can be verified.")
    if len(symbols) != read.tables.symbols:
        raise ArgumentError(
            f"{path.name} has {read.tables.symbols} symbols, and the alphabet {len(symbols)}; name as many."
        )
    stated = _property(claim, symbols, where, shortest=length)
    at = stated.at(length)
    key = _key("compiled", read.tables, at, seed, samples)
    row = _kept(kept / f"{key}.json", time_limit)
    if row is None:
        found = verify_words(read.tables, at.reads, at.classes, drifts=read.drifts, time_limit=time_limit)
        row = _row(length, found, time_limit)
        if found.counterexample is not None:
            numbers = tuple(int(symbol) for symbol in found.counterexample)
            row = replace(row, wrong_tokens=tuple(symbols[symbol] for symbol in numbers), wrong_numbers=numbers)
        wrong = _random_errors(read, at, at.reads, samples, seed)
        row = replace(row, sampled=samples, sampled_wrong=wrong)
        _keep(kept / f"{key}.json", row)
    watch(Progress(1, 1, f"T = {length}: {_named(row.status)}", milestone=True))
    named = claim if isinstance(claim, str) else type(claim).__name__
    return Verified(
        str(path),
        named,
        None if where is None else str(where),
        symbols,
        "x0 … xT−1",
        "the sign of f",
        ASSUMED[:1],
        (row,),
    )


def _at_length(
    question: _Question, length: int, samples: int, time_limit: float, seed: int, kept: Path
) -> LengthVerdict:
    """The verdict for one length, from the store or made now."""
    at = question.stated.at(length)
    cases = list(_cases(question, at))
    key = _key(question.frame, [(case.model, case.at) for case in cases], seed, samples)
    row = _kept(kept / f"{key}.json", time_limit)
    if row is not None:
        return row
    verdicts, rounded, wrong = [], 0, 0
    for case in cases:
        read = certifiable(case.model)
        rounded += case.rounded
        found = verify_words(
            read.tables, case.reads, case.at.classes, drifts=read.drifts, time_limit=time_limit / len(cases)
        )
        verdicts.append((case, found))
        if found.status == "COUNTEREXAMPLE":
            break
    if samples:
        wrong = sum(
            _random_errors(certifiable(case.model), case.at, case.reads, samples // len(cases), [seed, length, index])
            for index, case in enumerate(cases)
        )
    row = replace(_joined(question, length, verdicts, time_limit), sampled=samples, sampled_wrong=wrong)
    if rounded and not row.reason:
        row = replace(row, reason=f"{rounded} sums of token and position vectors were rounded to double precision")
    _keep(kept / f"{key}.json", row)
    return row


@dataclass(frozen=True, eq=False)
class _Case:
    """One model with its own query, and the classes it must answer: a rival logit, or a last symbol, makes a case."""

    model: Model
    at: AtLength
    reads: tuple[int, ...]  # positions of the model that hold what the property reads
    last: int | None
    rounded: int


def _cases(question: _Question, at: AtLength) -> Iterator[_Case]:
    for answer, wanted, rival in question.pairs:
        weight, bias = logit_difference(question.checkpoint, wanted, rival)
        for last in range(len(question.frame.alphabet)) if question.frame.at_symbol else (None,):
            left = at if last is None else with_last(at, last)
            classes = tuple(
                (found if answer is None else True, words)
                for found, words in left.classes
                if answer is None or found == answer
            )
            if not classes:
                continue
            framed = framed_model(question.checkpoint, question.frame, at.length, weight, bias, last=last)
            reads = tuple(framed.positions[place] for place in left.reads)
            yield _Case(framed.model, replace(left, classes=classes), reads, last, framed.rounded)


def _joined(
    question: _Question, length: int, verdicts: Sequence[tuple[_Case, WordVerification]], time_limit: float
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
    return float(forward(_cast(model, min(kinds, key=lambda kind: np.dtype(kind).itemsize)), sequence))


def _cast(value: Any, kind: Any) -> Any:
    """The same record with every array of numbers in another format."""
    if isinstance(value, np.ndarray):
        return value.astype(kind)
    if isinstance(value, tuple):
        return tuple(_cast(part, kind) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{part.name: _cast(getattr(value, part.name), kind) for part in fields(value)})
    return value


def _random_errors(
    read: CertifiableModel, at: AtLength, reads: tuple[int, ...], samples: int, seed: int | list[int]
) -> int:
    """How many random words are answered wrongly: half of them uniform, half with a random share of each symbol."""
    tabulated = read.tables
    rng = np.random.default_rng(seed)
    wrong, left = 0, samples
    while left:
        some = min(left, max(1, CHUNK // tabulated.tokens))
        left -= some
        chances = rng.dirichlet(np.ones(tabulated.symbols), some)
        chances[: some // 2] = 1 / tabulated.symbols
        drawn = rng.random((some, tabulated.tokens, 1)) > np.cumsum(chances, axis=1)[:, None, :-1]
        sequences = drawn.sum(axis=2)
        words = np.zeros((some, at.length), dtype=np.int64)
        words[:, list(at.reads)] = sequences[:, list(reads)]
        true, spoken = at.answers(words)
        f = np.asarray(evaluate(tabulated, sequences))
        wrong += int((spoken & np.where(true, f <= 0, f >= 0)).sum())
    return wrong


def _alphabet(alphabet: Sequence[str]) -> tuple[str, ...]:
    symbols = tuple(str(symbol) for symbol in alphabet)
    if len(symbols) < 2 or len(set(symbols)) < len(symbols) or not all(symbols):
        raise ArgumentError(f"The alphabet {', '.join(symbols)!r} needs two or more different symbols.")
    return symbols


def _lengths(lengths: Sequence[int]) -> list[int]:
    if any(not 1 <= length <= LONGEST for length in lengths) or len(lengths) > MOST_LENGTHS:
        raise ArgumentError(f"Lengths from 1 to {LONGEST} are verified; got {min(lengths)} to {max(lengths)}.")
    return sorted(set(lengths))


def _property(
    claim: str | Property, alphabet: tuple[str, ...], where: str | Property | None, *, shortest: int
) -> Property:
    """The claim as a value, restricted if that was asked."""
    stated = claim if isinstance(claim, Property) else _read(claim, alphabet, shortest)
    if stated.alphabet != alphabet:
        raise ArgumentError(f"The claim is about the symbols {', '.join(stated.alphabet)}; the alphabet has others.")
    if where is None:
        return stated
    domain = where if isinstance(where, Property) else _read(where, alphabet, shortest)
    return Restricted(stated, domain)


def _read(text: str, alphabet: tuple[str, ...], shortest: int) -> Property:
    found = read_property(text, alphabet)
    if found is not None:
        return found
    try:
        function = parse(text)
    except FormulaError as error:
        raise FormulaError(
            f"The claim {text!r} is neither a formula nor one of these: {', '.join(FORMS)}. ({error})"
        ) from error
    if len(alphabet) != 2:
        raise ArgumentError(f"The formula {text!r} is about bits, and the alphabet has {len(alphabet)} symbols.")
    check_context(function, shortest)
    return _of_function(function, alphabet)


def _of_function(function: SparseFunction, alphabet: tuple[str, ...]) -> Property:
    """A sparse function as a property of its positions: by counts where it only counts, else by its table."""
    rule = function.rule
    if isinstance(rule, Levels) and len(set(rule.negated)) <= 1 and function.positions:
        kind = (True, False) if rule.negated[0] else (False, True)
        return CountProperty(alphabet, kind, "levels", positions=function.positions, levels=rule.levels)
    return TableProperty(alphabet, function.positions, np.asarray(tabulate(rule)))


def _pairs(
    checkpoint: Checkpoint,
    vocabulary: Vocabulary,
    alphabet: tuple[str, ...],
    answers: Sequence[str] | None,
    among: Sequence[str],
) -> tuple[tuple[tuple[bool | None, int, int | None], ...], str]:
    """Which logit must win against which, and the same in words."""
    out = checkpoint.unembedding
    if out is None:
        raise CheckpointError(f"{checkpoint.source} has no map to logits, so there is no answer to read.")
    if out.outputs == 1:
        if answers or among:
            raise ArgumentError("The model has a single output, whose sign is the answer; name no answers.")
        return ((None, 0, None),), "true where the only output is above 0"
    table = checkpoint.embedding.tokens
    names = vocabulary if table is not None and out.outputs == len(table) else Vocabulary({})
    chosen = tuple(answers) if answers else (alphabet[0], alphabet[-1]) if names is vocabulary else ("0", "1")
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise ArgumentError(f"Two different answers are needed, the one for false first; got {', '.join(chosen)}.")
    false, true = (names.number(name) for name in chosen)
    others = [names.number(name) for name in among if names.number(name) not in (false, true)]
    said = f"false is {chosen[0]}, true is {chosen[1]}, whichever has the larger logit"
    if not others:
        return ((None, true, false),), said
    pairs = [(True, true, rival) for rival in (false, *others)] + [(False, false, rival) for rival in (true, *others)]
    return tuple(pairs), f"{said}, {', '.join(among)} among the rivals"


def _key(*parts: Any) -> str:
    """A name for a question: the digest of all that its answer depends on."""
    digest = sha256(__version__.encode())
    for piece in _pieces(parts):
        digest.update(piece)
    return digest.hexdigest()[:32]


def _pieces(value: Any) -> Iterator[bytes]:
    if isinstance(value, np.ndarray):
        yield f"{value.dtype}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, tuple | list):
        yield f"[{len(value)}".encode()
        for part in value:
            yield from _pieces(part)
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__.encode()
        for part in fields(value):
            yield part.name.encode()
            yield from _pieces(getattr(value, part.name))
    else:
        yield repr(value).encode()


def _kept(path: Path, time_limit: float) -> LengthVerdict | None:
    """A verdict of an earlier call; one that time ended is made again when there is more time."""
    try:
        found = loads(path.read_bytes())
        known = {part.name for part in fields(LengthVerdict)}
        stored: dict[str, Any] = {name: value for name, value in found["verdict"].items() if name in known}
        lists = {name: tuple(value) for name, value in stored.items() if isinstance(value, list)}
        row = LengthVerdict(**(stored | lists))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if row.status == "UNDECIDED" and row.time_limit < time_limit else row


def _keep(path: Path, row: LengthVerdict) -> None:
    write_file(path, f"{dumps({'keyhole': __version__, 'verdict': _plain(row)}, indent=2)}\n".encode())


def _plain(row: LengthVerdict) -> dict[str, Any]:
    values = {part.name: getattr(row, part.name) for part in fields(row)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _named(status: str) -> str:
    return {"PROVED": "proved", "COUNTEREXAMPLE": "WRONG INPUT", "UNDECIDED": "undecided"}[status]
