"""Is a claim about a model true on every word of each length?"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.claim_property import stated_property
from keyhole.api.length_verdict import LengthVerdict, Search, at_length
from keyhole.api.prove import Effort, read_source
from keyhole.api.result import Result
from keyhole.api.word_cases import CheckpointQuestion, TablesQuestion, WordQuestion, answer_pairs
from keyhole.checkpoints import (
    Checkpoint,
    Frame,
    Vocabulary,
    compared_with_own_code,
    load_checkpoint,
    read_vocabulary,
)
from keyhole.decimals import margin
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.figure import Axis, Figure
from keyhole.files.atomic import home, write_file
from keyhole.files.model import is_ours
from keyhole.files.record import hidden
from keyhole.languages import Property
from keyhole.progress import Progress, Watch, ignore
from keyhole.prover import FLOAT_ASSUMED
from keyhole.show.answer import Show

LONGEST = 4096  # of a word in a checkpoint's position table
MOST_LENGTHS = 4096
SAMPLES = 100_000  # random words of each length, if not said
GROUPS = 5  # rows that are shown without -v
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
    properties: ClassVar[tuple[str, ...]] = ("summary",)
    endings: ClassVar[tuple[str, ...]] = (".cert",)

    source: str
    claim: str
    where: str | None
    alphabet: tuple[str, ...]
    shown_as: str
    answers: str
    loader: str | None  # the class of transformers that reads the model; None for a model of keyhole's own
    read_first: bool
    assumed: tuple[str, ...]
    compared: str | None  # with the code of the model's family; None for a model of keyhole's own
    lengths: tuple[LengthVerdict, ...]
    question: WordQuestion | None = hidden(default=None)

    def save(self, path: str | Path) -> Path:
        """Write the answer or its figure, or as .cert the certificates of all lengths, one after another."""
        if Path(path).suffix.lower() not in self.endings or self.question is None:
            return super().save(path)
        from keyhole.api.proof_file import of_length

        question = self.question
        texts = [
            of_length(row, list(question.cases(question.stated.at(row.length))), self.source) for row in self.lengths
        ]
        return write_file(Path(path), "".join(texts).encode())

    @property
    def shortest_wrong(self) -> LengthVerdict | None:
        """The shortest wrong word over all lengths."""
        return next((row for row in self.lengths if row.status == "COUNTEREXAMPLE"), None)

    @property
    def summary(self) -> str:
        """The verdicts of all lengths in one line."""
        groups = "; ".join(f"{lengths} {verdict} {known}".rstrip() for lengths, verdict, known in self._groups())
        return f"{self.claim}: {groups}"

    def _groups(self) -> list[tuple[str, str, str]]:
        """Join neighbouring lengths of one status; all that follow the first few are counted together."""
        groups = [list(rows) for _, rows in groupby(self.lengths, lambda row: row.status)]
        shown = [_group(rows) for rows in groups[: GROUPS if len(groups) > GROUPS + 1 else None]]
        rest = [row for rows in groups[len(shown) :] for row in rows]
        if rest:
            names = list(dict.fromkeys(row.name for row in rest))
            counts = ", ".join(f"{sum(row.name == name for row in rest)} {name}" for name in names)
            shown.append((_span(rest), counts, ""))
        return shown

    @property
    def answer_is_no(self) -> bool:
        """Return whether a wrong input was found."""
        return self.shortest_wrong is not None

    def lines(self, show: Show) -> None:
        """Set a row for each run of lengths, then the shortest wrong word."""
        of_words = "" if self.where is None else f", of words with {self.where}"
        show.line(f"{self.claim}{of_words}: {self.shown_as}, {self.answers}")
        if show.verbose:
            show.table(
                {"T": ">", "verdict": "<", "margin, or a wrong word": "<", "random words wrong": ">", "seconds": ">"},
                [
                    (
                        str(row.length),
                        row.name,
                        row.known,
                        f"{row.sampled_wrong:,} of {row.sampled:,}",
                        f"{row.seconds:.1f}",
                    )
                    for row in self.lengths
                ],
            )
        else:
            show.table({"length": "<", "verdict": "<", "margin, or a wrong word": "<"}, self._groups())
        if self.compared is not None:
            show.line(f"reading of the weights: {self.compared}")
        wrong = self.shortest_wrong
        if wrong is not None:
            self._say_wrong(show, wrong)
        if show.verbose:
            reasons = [(f"T = {row.length}", row.reason) for row in self.lengths if row.reason]
            show.facts([*reasons, *(("assumed", each) for each in self.assumed)])

    def _say_wrong(self, show: Show, wrong: LengthVerdict) -> None:
        """Say the shortest wrong word, by how much it is wrong, and how to see it."""
        show.line(wrong.word)
        wanted, output = "true" if wrong.wanted else "false", wrong.output or 0.0
        found = f"{wrong.sampled_wrong:,} of {wrong.sampled:,} random words are wrong"
        show.line(f"The answer should be {wanted}, and the other one wins by {abs(output):.4g}; {found}.")
        if show.verbose and self.loader is not None and wrong.output_as_computed is not None:
            show.line(f"A pass in the format of the weights prefers it by {abs(wrong.output_as_computed):.4g}:")
            show.line("import torch, transformers")
            show.line(f"model = transformers.{self.loader}.from_pretrained({self.source!r})")
            place = 0 if self.read_first else -1
            show.line(f"print(model(torch.tensor([{list(wrong.wrong_numbers or ())}])).logits[0, {place}])")

    def figure(self) -> Figure:
        """Draw the margin against the length: proved from below, wrong words by how far they are wrong."""
        rows: list[dict[str, Any]] = []
        for row in self.lengths:
            height = row.margin if row.status == "PROVED" else row.bound
            if row.output is not None:
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


def _span(rows: Sequence[LengthVerdict]) -> str:
    first, last = rows[0].length, rows[-1].length
    return f"T = {first}" if first == last else f"T = {first} … {last}"


def _group(rows: Sequence[LengthVerdict]) -> tuple[str, str, str]:
    """Return the lengths, the verdict and what is known of some lengths of one status."""
    known = rows[0].known
    margins = [(row.margin, row.length) for row in rows if row.margin is not None]
    if len(margins) > 1:
        least, length = min(margins)
        kept = [row for row in rows if row.float_keeps]
        formats = f"; {len(kept)} also in {kept[0].float_format}" if kept else ""
        known = f"least margin {margin(least)} at T = {length}{formats}"
    return _span(rows), rows[0].name, known


@dataclass(frozen=True)
class Words:
    """The form in which a word is shown to a model, and the place and tokens of its answer.

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

    def __post_init__(self) -> None:
        if len(self.alphabet) < 2 or len(set(self.alphabet)) < len(self.alphabet) or not all(self.alphabet):
            raise ArgumentError(f"The alphabet {', '.join(self.alphabet)!r} needs two or more different symbols.")


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
    symbols = tuple(words.alphabet)
    samples = SAMPLES if effort.samples is None else effort.samples
    if samples < 0 or not effort.time_limit > 0:
        raise ArgumentError(
            f"{samples} random words and {effort.time_limit} seconds were asked for; give 0 or more, and more than 0."
        )
    search = Search(samples, float(effort.time_limit), effort.seed, home(store) / "verify")
    where = words.where
    named = (_called(claim), None if where is None else _called(where), symbols)
    if not isinstance(model, Checkpoint) and Path(model).is_file() and is_ours(Path(model)):
        read = read_source(Path(model))
        context = read.tables.tokens
        if lengths and list(lengths) != [context]:
            raise ArgumentError(f"{Path(model).name} has {context} positions; give no lengths, or only that one.")
        if len(symbols) != read.tables.symbols:
            raise ArgumentError(
                f"{Path(model).name} has {read.tables.symbols} symbols, and the alphabet {len(symbols)}; name as many."
            )
        tables = TablesQuestion(read, stated_property(claim, symbols, where, shortest=context), symbols)
        proved = _proved(tables, [context], search, watch)
        return ClaimProof(
            str(model),
            *named,
            shown_as="x0 … xT−1",
            answers="true where the output is above 0",
            loader=None,
            read_first=False,
            assumed=ASSUMED[:1],
            compared=None,
            lengths=proved,
            question=tables,
        )
    checkpoint = model if isinstance(model, Checkpoint) else load_checkpoint(model)
    vocabulary = Vocabulary({}) if isinstance(model, Checkpoint) else read_vocabulary(model)
    if not lengths:
        raise ArgumentError("No `lengths` were given; say which lengths of words to prove it for, such as 1 to 50.")
    if any(not 1 <= length <= LONGEST for length in lengths) or len(lengths) > MOST_LENGTHS:
        raise ArgumentError(f"Lengths from 1 to {LONGEST} can be proved; got {min(lengths)} to {max(lengths)}.")
    listed = sorted(set(lengths))
    read_first = bool(words.before) and words.read_at == words.before[0]
    after = () if words.read_at is None or read_first else (words.read_at,)
    frame = Frame(
        tuple(vocabulary.number(symbol) for symbol in symbols),
        tuple(vocabulary.number(token) for token in words.before),
        tuple(vocabulary.number(token) for token in after),
        read_first,
    )
    stated = stated_property(claim, symbols, where, shortest=listed[0])
    pairs, answers = answer_pairs(checkpoint, vocabulary, symbols, words.answers)
    folder = None if isinstance(model, Checkpoint) else Path(model)
    question = CheckpointQuestion(checkpoint, vocabulary, frame, stated, pairs)
    return ClaimProof(
        checkpoint.source if isinstance(model, Checkpoint) else str(model),
        *named,
        shown_as=f"{' '.join([*words.before, 'x1 … xT', *after])}, read at {words.read_at or 'the last symbol'}",
        answers=answers,
        loader="AutoModelForCausalLM" if checkpoint.causal else "AutoModelForMaskedLM",
        read_first=read_first,
        assumed=ASSUMED,
        compared=compared_with_own_code(checkpoint, folder, frame, listed, effort.seed),
        lengths=_proved(question, listed, search, watch),
        question=question,
    )


def _proved(question: WordQuestion, lengths: list[int], search: Search, watch: Watch) -> tuple[LengthVerdict, ...]:
    """Return the verdict of each length."""
    rows = []
    for done, length in enumerate(lengths, 1):
        rows.append(at_length(question, length, search))
        says = f"T = {length}: {rows[-1].name}; lengths done"
        watch(Progress(done, len(lengths), says, detail=rows[-1], milestone=True))
    return tuple(rows)


def _called(claim: str | Property) -> str:
    return claim if isinstance(claim, str) else type(claim).__name__
