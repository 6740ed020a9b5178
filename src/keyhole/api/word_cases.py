"""The cases that a claim about words falls into at one length: one for each rival logit and each last symbol."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from keyhole.attention import Model, forward
from keyhole.checkpoints import Checkpoint, Frame, Vocabulary, framed_model, logit_difference, rounded_sum
from keyhole.errors import ArgumentError, CheckpointError
from keyhole.languages import AtLength, Property, with_last
from keyhole.prover.extraction import CertifiableModel, certifiable, in_format

STROKE = "|"  # between tokens of one answer
FORMATS = {"float16": np.float16, "float32": np.float32, "float64": np.float64}
# an answer (None: both), the tokens whose mean logit must win, and those of its rival (None: the sign decides)
Pair = tuple[bool | None, tuple[int, ...], tuple[int, ...] | None]


@dataclass(frozen=True, eq=False)
class Case:
    """A model whose sign is the answer, and the classes of words that it must answer."""

    model: Model | CertifiableModel
    at: AtLength
    reads: tuple[int, ...]  # positions of the model that hold what the property reads
    answer: bool | None = None  # of all its words, where its classes say only that the wanted logit wins
    last: int | None = None  # the last symbol, where the answer is read at it
    rounded: int = 0  # sums of stored numbers that are no doubles
    gross: tuple[np.ndarray, float] | None = None  # the absolute numbers of the logits that are compared

    @cached_property
    def read(self) -> CertifiableModel:
        """The tables of the model."""
        return self.model if isinstance(self.model, CertifiableModel) else certifiable(self.model)


@dataclass(frozen=True, eq=False)
class TablesQuestion:
    """A claim about a model of keyhole's own, of one length, whose sign is the answer."""

    read: CertifiableModel
    stated: Property
    symbols: tuple[str, ...]
    formats: Sequence[str] = ()
    plain: bool = False

    def cases(self, at: AtLength) -> Iterator[Case]:
        """Yield the only case, if it has a word."""
        if at.classes:
            yield Case(self.read, at, at.reads)

    def tokens(self, case: Case, sequence: np.ndarray) -> tuple[tuple[int, ...], tuple[str, ...]]:  # noqa: ARG002
        """Return the symbols of a wrong word by number and by name."""
        numbers = tuple(map(int, sequence))
        return numbers, tuple(self.symbols[number] for number in numbers)

    def identity(self) -> tuple[Any, ...]:
        """Return what the answer depends on besides the cases: the names of the symbols."""
        return self.symbols


@dataclass(frozen=True, eq=False)
class CheckpointQuestion:
    """A claim about a checkpoint: how words are shown to it, and which logit must win."""

    checkpoint: Checkpoint
    vocabulary: Vocabulary
    frame: Frame
    stated: Property
    pairs: tuple[Pair, ...]

    @property
    def formats(self) -> Sequence[str]:
        """The number formats of the weights."""
        return self.checkpoint.number_formats

    @property
    def plain(self) -> bool:
        """The embedding is a plain sum, and no answer is a mean of several logits."""
        embedding = self.checkpoint.embedding
        single = all(len(wanted) == 1 and len(rival or (0,)) == 1 for _, wanted, rival in self.pairs)
        return single and embedding.norm is None and embedding.segments is None and embedding.widen is None

    def cases(self, at: AtLength) -> Iterator[Case]:
        """Yield every case with at least one word."""
        for answer, wanted, rival in self.pairs:
            weight, bias = logit_difference(self.checkpoint, wanted, rival)
            gross, inexact = _gross(self.checkpoint, wanted, rival)
            for last in range(len(self.frame.alphabet)) if self.frame.at_symbol else (None,):
                left = at if last is None else with_last(at, last)
                classes = tuple(
                    (word_class if answer is None else True, words)
                    for word_class, words in left.classes
                    if answer is None or word_class == answer
                )
                if not classes:
                    continue
                framed = framed_model(self.checkpoint, self.frame, at.length, weight, bias, last=last)
                reads = tuple(framed.positions[place] for place in left.reads)
                rounded = framed.rounded + inexact
                left = replace(left, classes=classes)
                yield Case(framed.model, left, reads, answer, last, rounded, gross)

    def tokens(self, case: Case, sequence: np.ndarray) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Return the whole input of a word, with the tokens before and after it."""
        first = len(self.frame.before) - int(self.frame.read_first)
        count = case.at.length
        word = [int(symbol) for symbol in sequence[first : first + count]]
        numbers = self.frame.tokens(tuple(word if case.last is None else [*word, case.last]))
        return numbers, tuple(self.vocabulary.name(number) for number in numbers)

    def identity(self) -> tuple[Any, ...]:
        """Return what the answer depends on besides the cases."""
        return self.frame, sorted(self.vocabulary.numbers.items()), self.formats


WordQuestion = TablesQuestion | CheckpointQuestion


def output_as_computed(case: Case, sequence: np.ndarray, formats: Sequence[str]) -> float | None:
    """Return the read-out of a plain dense forward pass in the format of the weights, where numpy has it."""
    kinds = [FORMATS[name] for name in formats if name in FORMATS]
    if not kinds or not isinstance(case.model, Model):
        return None
    smallest = min(kinds, key=lambda kind: np.dtype(kind).itemsize)
    return float(forward(in_format(case.model, smallest), sequence))


def _gross(
    checkpoint: Checkpoint, wanted: tuple[int, ...], rival: tuple[int, ...] | None
) -> tuple[tuple[np.ndarray, float], int]:
    """Return the absolute numbers of both logits, and how many of their differences are rounded in doubles."""
    single = [np.append(*logit_difference(checkpoint, logit, None)) for logit in (wanted, rival) if logit is not None]
    total = np.sum(np.abs(single), axis=0)
    if max(len(wanted), len(rival or ())) > 1:  # means of several logits are rounded, every one
        return (total[:-1], float(total[-1])), total.size
    if len(single) == 1:
        return (total[:-1], float(total[-1])), 0
    return (total[:-1], float(total[-1])), rounded_sum(single[0], -single[1])[1]


def answer_pairs(
    checkpoint: Checkpoint, vocabulary: Vocabulary, alphabet: tuple[str, ...], answers: Sequence[str] | None
) -> tuple[tuple[Pair, ...], str]:
    """Return which logit must win against which, and the same in words."""
    out = checkpoint.unembedding
    if out is None:
        raise CheckpointError(f"{checkpoint.source} has no map to logits; a claim needs one to read the answer.")
    if out.outputs == 1:
        if answers:
            raise ArgumentError("The model has a single output, whose sign is the answer; name no answers.")
        return ((None, (0,), None),), "true where the only output is above 0"
    table = checkpoint.embedding.tokens
    names = vocabulary if table is not None and out.outputs == len(table) else Vocabulary({})
    named = tuple(answers) if answers else (alphabet[0], alphabet[-1]) if names is vocabulary else ("0", "1")
    chosen, among = named[:2], named[2:]
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise ArgumentError(f"Two different answers are needed, the one for false first; got {', '.join(chosen)}.")
    false, true = (_numbers(names, name) for name in chosen)
    if set(false) & set(true):
        raise ArgumentError(f"The answers {chosen[0]} and {chosen[1]} share a token; name it for one of them.")
    others = [(names.number(name),) for name in among if names.number(name) not in (*false, *true)]
    words = f"false is {chosen[0]}, true is {chosen[1]}, by the larger logit"
    words += ", of several tokens their mean" if max(len(false), len(true)) > 1 else ""
    if not others:
        return ((None, true, false),), words
    pairs = [(True, true, rival) for rival in (false, *others)] + [(False, false, rival) for rival in (true, *others)]
    return tuple(pairs), f"{words}, {', '.join(among)} among the rivals"


def _numbers(names: Vocabulary, answer: str) -> tuple[int, ...]:
    """Return the tokens of an answer: one, or several between strokes."""
    alone = answer in names.numbers or STROKE not in answer
    numbers = tuple(names.number(name.strip()) for name in ((answer,) if alone else answer.split(STROKE)))
    if len(set(numbers)) < len(numbers):
        raise ArgumentError(f"The answer {answer} names a token twice; name each once.")
    return numbers
