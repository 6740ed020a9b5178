"""Is a claim about a model true on every word of each length?"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.length_verdict import LengthVerdict, Search, at_length, of_tables
from keyhole.api.old_result import OldResult as Result
from keyhole.api.prove import Effort, read_source
from keyhole.api.stated_claim import read_alphabet, stated_property
from keyhole.api.word_question import WordQuestion, answer_pairs
from keyhole.checkpoints import (
    Checkpoint,
    Frame,
    Vocabulary,
    compared_with_own_code,
    load_checkpoint,
    read_vocabulary,
)
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.figure import Axis, Figure
from keyhole.files.paths import home
from keyhole.files.safetensors_in import is_ours
from keyhole.languages import Property
from keyhole.progress import Progress, Watch, ignore
from keyhole.prover import FLOAT_ASSUMED
from keyhole.show.document import Document
from keyhole.show.verification import verification_document

LONGEST = 4096  # of a word in a checkpoint's position table
MOST_LENGTHS = 4096
SAMPLES = 100_000  # random words of each length, if not said
ASSUMED = (
    (
        "a proof is about the function that the weights define in exact arithmetic; only the sums of token and "
        "position vectors, and the differences of logits, are formed in double precision first; where such a sum was "
        "rounded, a line for that length says so"
    ),
    "dropout is off; the model sees the tokens shown and no others",
    FLOAT_ASSUMED,
)


@dataclass(frozen=True, repr=False)
class ClaimProof(Result):
    """The verdict for every length, and what was taken for granted."""

    schema: ClassVar[str] = "prove-claim/1"
    has_figure: ClassVar[bool] = True

    source: str
    claim: str
    where: str | None
    alphabet: tuple[str, ...]
    shown_as: str
    answers: str
    loader: str | None  # the class of transformers that reads the model; None for a model of keyhole's own
    read_first: bool
    assumed: tuple[str, ...]
    rows: tuple[LengthVerdict, ...]
    compared: str | None = None  # with the code of the model's family; None for a model of keyhole's own

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
        """Up to which length the claim is proved, where it is first wrong, and where random words first show it."""
        asked = [row for row in self.rows if row.status != "VACUOUS"]
        if not asked:
            return f"{self.claim}: no word of these lengths is asked about"
        proved = [row.length for row in asked if row.status == "PROVED"]
        wrong = [row.length for row in asked if row.status == "COUNTEREXAMPLE"]
        unbroken = 0
        for row in asked:
            if row.status != "PROVED":
                break
            unbroken = row.length
        parts = []
        if len(proved) == len(asked):
            parts.append(f"proved for {_lengths_said(proved)}")
        else:
            more = [length for length in proved if length > unbroken]
            parts += [f"proved up to T = {unbroken}"] if unbroken else []
            parts += [f"{'also ' * bool(unbroken)}proved for {_lengths_said(more)}"] if more else []
            parts += [] if proved else ["proved for no length"]
        kept = [row.length for row in asked if row.float_keeps]
        parts += [f"also proved as it runs in {self._format} for {_lengths_said(kept)}"] if kept else []
        parts += [f"the first length with a wrong word is T = {wrong[0]}"] if wrong else []
        undecided = [row.length for row in asked if row.status == "UNDECIDED"]
        parts += [f"undecided for {_lengths_said(undecided)}"] if undecided else []
        seen = next((row.length for row in asked if row.sampled_wrong), None)
        if wrong and asked[0].sampled and seen != asked[0].length:
            tried = f"{asked[0].sampled:,} random words of each length show no error"
            parts.append(tried + ("" if seen is None else f" before T = {seen}"))
        return f"{self.claim}: " + "; ".join(parts)

    @property
    def _format(self) -> str:
        return next((row.float_format for row in self.rows if row.float_format is not None), "")

    def record(self) -> dict[str, Any]:
        """Every field as plain values, for JSON."""
        return {
            "source": self.source,
            "claim": self.claim,
            "where": self.where,
            "alphabet": list(self.alphabet),
            "shown_as": self.shown_as,
            "answers": self.answers,
            "loader": self.loader,
            "read_first": self.read_first,
            "assumed": list(self.assumed),
            "compared": self.compared,
            "summary": self.summary,
            "lengths": [row.record() for row in self.rows],
        }

    def document(self) -> Document:
        """The summary, a row for each length, the shortest wrong word, what is assumed."""
        return verification_document(self.record())

    def figure(self) -> Figure:
        """The margin against the length: proved from below, wrong words by how far they are wrong."""
        rows: list[dict[str, Any]] = []
        for row in self.rows:
            height = row.margin if row.status == "PROVED" else row.bound
            if row.status == "COUNTEREXAMPLE" and row.output is not None:
                height = -abs(row.output)
            if height is not None:
                rows.append({"T": row.length, "margin": height, "verdict": row.name})
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


@dataclass(frozen=True)
class Words:
    """How a word is shown to a model, and where and how its answer is read.

    A word is shown as `before`, its symbols, `read_at`; the answer is read at `read_at`, or at the last symbol where
    that is None. Where `read_at` is the first token of `before`, such as [CLS], the answer is read there. `answers` are
    the tokens for false and true, by default the first and the last symbol; several tokens of one answer are written
    "no|No", and their mean logit counts. Further tokens are rivals, against which the right answer must win, too.
    """

    alphabet: Sequence[str] = ("0", "1")
    before: Sequence[str] = ()
    read_at: str | None = None
    answers: Sequence[str] | None = None
    where: str | Property | None = None  # the claim is about the words with this property


def prove_claim(
    model: str | Path | Checkpoint,
    claim: str | Property,
    lengths: Sequence[int] | None = None,
    *,
    words: Words = Words(),  # noqa: B008  (a frozen value)
    effort: Effort = Effort(),  # noqa: B008  (a frozen value)
    store: str | Path | None = None,
    watch: Watch = ignore,
) -> ClaimProof:
    """Prove a claim about a one-layer model on every word of each length, or find a word on which it is wrong.

    `model` is a checkpoint's folder or file, or a model compiled by keyhole, whose context is then the only length.
    `claim` is a property in words (`keyhole.languages.FORMS`), a formula of positions counted from 0 such as "x3 & x7",
    or a value. A tie of two answers counts as wrong. `watch` hears of each length when it is done; the detail of the
    event is its `LengthVerdict`. Verdicts are kept in the store, so that a second call goes on where the first one
    ended. Before anything is proved, the logits of some words of a folder are compared with those of transformers,
    where it is installed.
    """
    symbols = read_alphabet(words.alphabet)
    samples = SAMPLES if effort.samples is None else effort.samples
    if samples < 0 or not effort.time_limit > 0:
        raise ArgumentError(
            f"{samples} random words and {effort.time_limit} seconds were asked for; give 0 or more, and more than 0."
        )
    folder = home(None if store is None else Path(store)) / "verify"
    search = Search(samples, float(effort.time_limit), effort.seed, folder)
    if not isinstance(model, Checkpoint) and Path(model).is_file() and is_ours(Path(model)):
        return _own(Path(model), claim, lengths, symbols, words.where, search, watch)
    checkpoint = model if isinstance(model, Checkpoint) else load_checkpoint(model)
    vocabulary = Vocabulary({}) if isinstance(model, Checkpoint) else read_vocabulary(model)
    before, read_at, where = words.before, words.read_at, words.where
    read_first = bool(before) and read_at == before[0]
    after = () if read_at is None or read_first else (read_at,)
    listed = _lengths(lengths)
    frame = Frame(
        tuple(vocabulary.number(symbol) for symbol in symbols),
        tuple(vocabulary.number(token) for token in before),
        tuple(vocabulary.number(token) for token in after),
        read_first,
    )
    stated = stated_property(claim, symbols, where, shortest=listed[0])
    pairs, said = answer_pairs(checkpoint, vocabulary, symbols, words.answers)
    question = WordQuestion(checkpoint, vocabulary, frame, stated, pairs)
    origin = None if isinstance(model, Checkpoint) else Path(model)
    compared = compared_with_own_code(checkpoint, origin, frame, listed, effort.seed)
    rows = []
    for done, length in enumerate(listed):
        row = at_length(question, length, search)
        rows.append(row)
        watch(Progress(done + 1, len(listed), f"T = {length}: {row.name}; lengths done", detail=row, milestone=True))
    source = checkpoint.source if isinstance(model, Checkpoint) else str(model)
    shown = " ".join([*before, "x1 … xT", *after])
    return ClaimProof(
        source,
        _called(claim),
        None if where is None else _called(where),
        symbols,
        f"{shown}, read at {read_at or 'the last symbol'}",
        said,
        "AutoModelForCausalLM" if checkpoint.causal else "AutoModelForMaskedLM",
        read_first,
        ASSUMED,
        tuple(rows),
        compared,
    )


def _own(
    path: Path,
    claim: str | Property,
    lengths: Sequence[int] | None,
    symbols: tuple[str, ...],
    where: str | Property | None,
    search: Search,
    watch: Watch,
) -> ClaimProof:
    """A model compiled or stored by keyhole: its context is the only length, and its sign the answer."""
    read = read_source(path)
    length = read.tables.tokens
    if lengths and list(lengths) != [length]:
        raise ArgumentError(
            f"{path.name} is a model of {length} positions; only words of that length can be asked about."
        )
    if len(symbols) != read.tables.symbols:
        raise ArgumentError(
            f"{path.name} has {read.tables.symbols} symbols, and the alphabet {len(symbols)}; name as many."
        )
    stated = stated_property(claim, symbols, where, shortest=length)
    row = of_tables(read, stated.at(length), symbols, search)
    watch(Progress(1, 1, f"T = {length}: {row.name}; lengths done", detail=row, milestone=True))
    return ClaimProof(
        str(path),
        _called(claim),
        None if where is None else _called(where),
        symbols,
        "x0 … xT−1",
        "true where the output is above 0",
        loader=None,
        read_first=False,
        assumed=ASSUMED[:1],
        rows=(row,),
    )


def _called(claim: str | Property) -> str:
    return claim if isinstance(claim, str) else type(claim).__name__


def _lengths_said(lengths: Sequence[int]) -> str:
    if len(lengths) == 1:
        return f"T = {lengths[0]}"
    return f"{len(lengths)} lengths from {lengths[0]} to {lengths[-1]}"


def _lengths(lengths: Sequence[int] | None) -> list[int]:
    if not lengths:
        raise ArgumentError("No `lengths` were given; say which lengths of words to prove it for, such as 1 to 50.")
    if any(not 1 <= length <= LONGEST for length in lengths) or len(lengths) > MOST_LENGTHS:
        raise ArgumentError(f"Lengths from 1 to {LONGEST} can be proved; got {min(lengths)} to {max(lengths)}.")
    return sorted(set(lengths))
