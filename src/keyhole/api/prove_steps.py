"""Is a model that answers step by step right on every word of a claim?"""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import ClassVar

from keyhole.api.result import Result
from keyhole.attention import StepModel
from keyhole.checkpoints import read_step_model
from keyhole.decimals import brief, margin
from keyhole.errors import ArgumentError
from keyhole.languages import Columns, Prompt, read_columns
from keyhole.progress import Watch, ignore
from keyhole.prover import StepVerdict, WrongWord, prove_columns
from keyhole.show.answer import Show
from keyhole.verdicts import StepStatus

ASSUMED = (
    (
        "the proof is about the model that the description makes of the weights, in exact arithmetic on its numbers in "
        "double precision; each answer is the symbol of the largest logit, and a tie counts as wrong"
    ),
)
WRONG_SHOWN = 3


@dataclass(frozen=True, repr=False)
class StepProof(Result):
    """The verdict over all words of a claim, with the least margin proved and the least that was met."""

    schema: ClassVar[str] = "prove-steps/1"

    source: str
    claim: str
    status: StepStatus
    words: int
    margin: float | None  # every right logit exceeds all others by more
    attained: float  # on the closest word
    closest: tuple[int, ...]
    wrong: tuple[WrongWord, ...]
    wrong_at_least: int
    wrong_at_most: int
    float32: str  # what is known of a pass in single precision
    assumed: tuple[str, ...]
    steps: tuple[StepVerdict, ...]
    seconds: float

    @property
    def answer_is_no(self) -> bool:
        """Return whether a wrong word was found."""
        return self.status == "WRONG"

    def lines(self, show: Show) -> None:
        """Say the verdict, then words that are wrong or the steps that are open."""
        words, classes = counted_words(self.words), sum(step.classes for step in self.steps)
        if self.status == "PROVED":
            closest = f"the closest word has {brief(self.attained)}"
            show.line(f"PROVED right on all {words} words, margin {margin(self.margin or 0.0)} ({closest})")
        elif self.status == "WRONG":
            show.line(f"WRONG on {_between(self.wrong_at_least, self.wrong_at_most)} of {words} words")
            for word in self.wrong[: None if show.verbose else WRONG_SHOWN]:
                shown = " ".join(map(str, word.prompt))
                show.line(
                    f"{shown}: writes {' '.join(map(str, word.written))}, right is {' '.join(map(str, word.right))}"
                )
        else:
            show.line(f"UNDECIDED on at most {counted_words(self.wrong_at_most)} of {words} words, right on all others")
        opened = [step for step in self.steps if step.open_words]
        if opened:
            show.line(f"Open: {', '.join(f'step {step.step} after {step.last}' for step in opened[:6])}")
        show.line(f"{classes:,} classes, {self.seconds:.1f} s; in float32: {self.float32}")
        if show.verbose:
            show.table(
                {"step": ">", "after": ">", "margin": ">", "met": ">", "classes": ">", "cells": ">", "open words": ">"},
                [
                    (
                        step.step,
                        step.last,
                        None if step.margin is None else margin(step.margin),
                        brief(step.attained),
                        step.classes,
                        step.cells,
                        counted_words(step.open_words),
                    )
                    for step in self.steps
                ],
            )
            show.facts([("assumed", each) for each in self.assumed])


def counted_words(number: int) -> str:
    """Return a number of words; a large one is a power, or rounded to it.

    >>> counted_words(10**20), counted_words(1234), counted_words(2 * 10**20)
    ('10^20', '1,234', 'about 2.0e+20')
    """
    if number < 10**9:
        return f"{number:,}"
    digits = str(number)
    return f"10^{len(digits) - 1}" if digits.strip("0") == "1" else f"about {number:.1e}"


def _between(low: int, high: int) -> str:
    return counted_words(low) if low == high else f"{counted_words(low)} to {counted_words(high)}"


def prove_steps(
    model: str | Path | StepModel,
    claim: str | Columns,
    *,
    architecture: str | Path | None = None,
    prompt: Prompt | None = None,
    watch: Watch = ignore,
) -> StepProof:
    """Prove that a model writes the right symbols on every word of a claim, or find words on which it does not.

    `model` is a file of weights, with the description that reads it as `architecture`, or a `StepModel`, with the
    `prompt` it is shown. `claim` is one of `keyhole.languages.CLAIMS`, or a value. `watch` hears of every step after
    each symbol that may stand there; the detail of the event is its `StepVerdict`.
    """
    start = perf_counter()
    if isinstance(model, StepModel):
        read, shown, source = model, Prompt() if prompt is None else prompt, "a model in memory"
    elif architecture is None:
        raise ArgumentError(f"{str(model)!r} needs a description of its tensors; name a Python file as `architecture`.")
    else:
        read, described = read_step_model(Path(model), Path(architecture))
        shown, source = described if prompt is None else prompt, str(model)
    columns = claim if isinstance(claim, Columns) else read_columns(claim, shown)
    proof = prove_columns(read, columns, watch)
    return StepProof(
        source,
        claim if isinstance(claim, str) else "columns",
        proof.status,
        proof.words,
        proof.margin,
        proof.attained,
        proof.closest,
        proof.wrong,
        proof.wrong_at_least,
        proof.wrong_at_most,
        "open",
        ASSUMED,
        proof.steps,
        perf_counter() - start,
    )
