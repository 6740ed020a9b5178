"""What is asked of a checkpoint, and the cases it falls into: one for each rival logit and each last symbol."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from keyhole.attention import Model
from keyhole.checkpoints import Checkpoint, Frame, Vocabulary, framed_model, logit_difference
from keyhole.errors import ArgumentError, CheckpointError
from keyhole.languages import AtLength, Property, with_last

STROKE = "|"  # between tokens of one answer
# an answer (None: both), the tokens whose mean logit must win, and those of its rival (None: the sign decides)
Pair = tuple[bool | None, tuple[int, ...], tuple[int, ...] | None]


@dataclass(frozen=True, eq=False)
class WordQuestion:
    """All that is asked of a checkpoint, but for the length."""

    checkpoint: Checkpoint
    vocabulary: Vocabulary
    frame: Frame
    stated: Property
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, eq=False)
class Case:
    """One model with its own query, and the classes it must answer: a rival logit, or a last symbol, makes a case."""

    model: Model
    at: AtLength
    reads: tuple[int, ...]  # positions of the model that hold what the property reads
    last: int | None
    rounded: int
    gross: tuple[np.ndarray, float]  # the absolute numbers of the logits that are compared


def cases(question: WordQuestion, at: AtLength) -> Iterator[Case]:
    """Every case with at least one word."""
    for answer, wanted, rival in question.pairs:
        weight, bias = logit_difference(question.checkpoint, wanted, rival)
        gross, inexact = _gross(question.checkpoint, wanted, rival)
        for last in range(len(question.frame.alphabet)) if question.frame.at_symbol else (None,):
            left = at if last is None else with_last(at, last)
            classes = tuple(
                (word_class if answer is None else True, words)
                for word_class, words in left.classes
                if answer is None or word_class == answer
            )
            if not classes:
                continue
            framed = framed_model(question.checkpoint, question.frame, at.length, weight, bias, last=last)
            reads = tuple(framed.positions[place] for place in left.reads)
            yield Case(framed.model, replace(left, classes=classes), reads, last, framed.rounded + inexact, gross)


def _gross(
    checkpoint: Checkpoint, wanted: tuple[int, ...], rival: tuple[int, ...] | None
) -> tuple[tuple[np.ndarray, float], int]:
    """The absolute numbers of both logits, and how many of their differences are rounded in double precision."""
    single = [np.append(*logit_difference(checkpoint, logit, None)) for logit in (wanted, rival) if logit is not None]
    total = np.sum(np.abs(single), axis=0)
    if max(len(wanted), len(rival or ())) > 1:  # means of several logits are rounded, every one
        return (total[:-1], float(total[-1])), total.size
    if len(single) == 1:
        return (total[:-1], float(total[-1])), 0
    one, other = single[0], -single[1]
    back = (one + other) - one  # Knuth's two-sum: what a sum of doubles loses is a double itself
    lost = (one - ((one + other) - back)) + (other - back)
    return (total[:-1], float(total[-1])), int(np.count_nonzero(lost))


def answer_pairs(
    checkpoint: Checkpoint,
    vocabulary: Vocabulary,
    alphabet: tuple[str, ...],
    answers: Sequence[str] | None,
) -> tuple[tuple[Pair, ...], str]:
    """Which logit must win against which, and the same in words; tokens between strokes share one answer."""
    out = checkpoint.unembedding
    if out is None:
        raise CheckpointError(f"{checkpoint.source} has no map to logits, so there is no answer to read.")
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
    said = f"false is {chosen[0]}, true is {chosen[1]}, whichever has the larger logit"
    said += ", of several tokens their mean" if max(len(false), len(true)) > 1 else ""
    if not others:
        return ((None, true, false),), said
    pairs = [(True, true, rival) for rival in (false, *others)] + [(False, false, rival) for rival in (true, *others)]
    return tuple(pairs), f"{said}, {', '.join(among)} among the rivals"


def _numbers(names: Vocabulary, answer: str) -> tuple[int, ...]:
    """The tokens of an answer: one, or several between strokes."""
    alone = answer in names.numbers or STROKE not in answer
    numbers = tuple(names.number(name.strip()) for name in ((answer,) if alone else answer.split(STROKE)))
    if len(set(numbers)) < len(numbers):
        raise ArgumentError(f"The answer {answer} names a token twice; name each once.")
    return numbers
