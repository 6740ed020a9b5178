"""Is a step model right on every word of a claim? Proved with a margin, wrong on words that are shown, or open."""

from dataclasses import dataclass, replace

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.attention import FeedForward, GatedFeedForward, StepModel, applied
from keyhole.errors import AssumptionError, ShapeError
from keyhole.languages import NOWHERE, Columns
from keyhole.progress import Progress, Watch, ignore
from keyhole.prover.proof.curves import require_known
from keyhole.prover.steps.cells import Prover
from keyhole.prover.steps.tables import Tables
from keyhole.prover.steps.walks import Step, last_symbols
from keyhole.verdicts import StepStatus

SHARE = 0.995  # of the least margin that a word attains: the first target
FURTHER = (0.9, 0.5, 0.0)  # shares of it, tried in turn where a step stays open
NEIGHBOURHOODS = 12  # rounds of the search for a word of a smaller margin
POLISHED = 4  # words that it starts from
SHOWN = 8  # wrong words that are kept
MOST_ATTACKED = 512  # open classes of a step
MOST_WRONG = 256  # words that are checked in balls
MOST_AROUND = 12  # symbols of a column in a set of wrong words


@dataclass(frozen=True)
class WrongWord:
    """A word that the model gets wrong: the prompt's tokens, what is right, and what it writes."""

    prompt: tuple[int, ...]
    right: tuple[int, ...]
    written: tuple[int, ...]
    step: int  # the first wrong one
    margin: float  # there, an upper bound: negative


@dataclass(frozen=True)
class StepVerdict:
    """The verdict on one step after one last symbol."""

    step: int
    last: int
    margin: float | None  # certified for all its words; None where some are open
    attained: float  # the least margin that was met
    classes: int
    cells: int
    open_words: int  # an upper bound of the wrong ones
    wrong_words: int  # in classes that are certainly wrong as a whole


@dataclass(frozen=True)
class ColumnsProof:
    """The verdict over all words of a claim."""

    status: StepStatus
    words: int
    margin: float | None
    attained: float
    closest: tuple[int, ...]  # the prompt of the word that attains it
    wrong: tuple[WrongWord, ...]
    wrong_at_least: int
    wrong_at_most: int
    steps: tuple[StepVerdict, ...]


def prove_columns(model: StepModel, claim: Columns, watch: Watch = ignore) -> ColumnsProof:
    """Prove that the model writes the claim's answers on every word, or show words on which it does not.

    Statement  PROVED with margin μ: on each word the right symbol's logit exceeds every other by more than μ at every
               step, in exact arithmetic on the model's numbers.
    Proof      By induction on the step: earlier answers are right, so that a step sees a word of one of its classes;
               there every rival is beaten by more than μ. The classes of a step hold all its words.
    Source     Ours.
    """
    _require_fit(model, claim)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite proves nothing
        tables = Tables(model, claim.prompt + len(claim.columns) - 1)
        asked = [(number, last) for number in range(len(claim.columns)) for last in last_symbols(claim, number)]
        search, provers = _Search(model, claim), {}
        for done, (number, last) in enumerate(asked):
            watch(Progress(done, 2 * len(asked), f"attacking step {number} after symbol {last}"))
            view = tables.view(claim.prompt + number - 1, last)
            prover = provers[number, last] = Prover(model, Step(claim, number, last, view, tables.same))
            search.look(number, prover.attack())
        search.polish()
        verdicts = []
        for done, prover in enumerate(provers.values(), len(asked)):
            verdicts.append(_proved(prover, search))
            says = f"step {prover.step.number} after symbol {prover.step.last}"
            watch(Progress(done + 1, 2 * len(asked), says, detail=verdicts[-1]))
        wrong = search.certainly_wrong(provers)
        around = search.wrong_around(provers) if wrong else 0
    opened = sum(verdict.open_words for verdict in verdicts)
    margins = [verdict.margin for verdict in verdicts if verdict.margin is not None]
    return ColumnsProof(
        status="WRONG" if wrong else "UNDECIDED" if opened else "PROVED",
        words=claim.count,
        margin=None if opened or wrong else min(margins),
        attained=search.least,
        closest=search.closest,
        wrong=wrong[:SHOWN],
        wrong_at_least=max(len(wrong), around, *(verdict.wrong_words for verdict in verdicts)),
        wrong_at_most=min(opened, claim.count),
        steps=tuple(verdicts),
    )


def _proved(prover: Prover, search: "_Search") -> StepVerdict:
    """Prove a step for the largest share of the least margin met that can be proved; attack what stays open."""
    number = prover.step.number
    refuted = search.least <= 0
    for share in (0.0,) if refuted else (SHARE, *FURTHER):
        target = max(search.least, 0.0) * share
        outcome = prover.prove(target)
        if not outcome.open:
            break
        for classes in outcome.open:
            search.look(number, prover.attack(classes.take(_spread(len(classes.state)))))
        if search.least <= 0:
            if not refuted:
                target, outcome = 0.0, prover.prove(0.0)
            break
        if search.least * SHARE < target and not (outcome := prover.prove(search.least * SHARE)).open:
            target = search.least * SHARE
            break
    wrong = 0
    for classes in outcome.open:
        certain = np.flatnonzero(prover.wrong(classes))
        wrong += sum(prover.step.words_in(classes.take(certain)))
    return StepVerdict(
        number,
        prover.step.last,
        None if outcome.open else target,
        search.least_at.get(number, np.inf),
        outcome.classes,
        outcome.cells,
        outcome.words_open,
        wrong,
    )


def _spread(count: int) -> Int[np.ndarray, "m"]:
    """Return places of classes to attack, over all of them."""
    return np.unique(np.linspace(0, count - 1, min(count, MOST_ATTACKED)).astype(np.int64))


class _Search:
    """Words of small margins, in double precision."""

    def __init__(self, model: StepModel, claim: Columns) -> None:
        self.model, self.claim = model, claim
        self.least, self.closest = np.inf, ()
        self.least_at: dict[int, float] = {}
        self._near: list[tuple[float, int, np.ndarray]] = []
        self._wrong: dict[bytes, tuple[float, int, np.ndarray]] = {}

    def look(self, number: int, words: Int[np.ndarray, "n C"]) -> Float[np.ndarray, "n"]:
        """Return the margins of words at a step, and remember the least and those that are wrong."""
        if not len(words):
            return np.zeros(0)
        prompts, answers = self.claim.shown(words)
        logits = self.model.logits(np.hstack([prompts, answers[:, :number]]))
        ar = np.arange(len(words))
        right = logits[ar, answers[:, number]].copy()
        logits[ar, answers[:, number]] = -np.inf
        margins = right - logits.max(axis=1)
        least = int(margins.argmin())
        self.least_at[number] = min(self.least_at.get(number, np.inf), float(margins[least]))
        self._near.append((float(margins[least]), number, words[least]))
        if margins[least] < self.least:
            self.least, self.closest = float(margins[least]), tuple(prompts[least].tolist())
        for i in np.flatnonzero(margins <= 0).tolist():
            self._wrong.setdefault(prompts[i].tobytes(), (float(margins[i]), number, words[i]))
        return np.asarray(margins)

    def polish(self) -> None:
        """Change the nearest words column by column while their margins fall."""
        nearest: dict[int, tuple[float, int, np.ndarray]] = {}
        for margin, number, word in sorted(self._near, key=lambda each: each[0]):
            nearest.setdefault(number, (margin, number, word))
        for margin, number, word in sorted(nearest.values(), key=lambda each: each[0])[:POLISHED]:
            least, here = margin, word
            for _ in range(NEIGHBOURHOODS):
                others = self._neighbours(here)
                margins = self.look(number, others)
                if not len(margins) or margins.min() >= least:
                    break
                least, here = float(margins.min()), others[margins.argmin()]

    def _neighbours(self, word: Int[np.ndarray, "C"]) -> Int[np.ndarray, "n C"]:
        """Return the words of the claim that differ in one column."""
        changed = []
        for place, column in enumerate(self.claim.columns):
            if len(column.places):
                words = np.tile(word, (len(column.shows), 1))
                words[:, place] = np.arange(len(column.shows))
                changed.append(words)
        words = np.vstack(changed)
        neighbours: np.ndarray = words[self.claim.contains(words)]
        return neighbours

    def wrong_around(self, provers: dict[tuple[int, int], Prover]) -> int:
        """Return the size of a set of words about the worst one that are all certainly wrong at one step.

        In each column the set has the k symbols with which the worst word stays wrong by most; k grows while one rival
        wins on all of them.
        """
        _, number, word = min(self._wrong.values(), key=lambda each: each[0])
        (prompt,), (right,) = self.claim.shown(word[None])
        prover = provers[number, int(np.concatenate([prompt, right])[self.claim.prompt + number - 1])]
        others = self._neighbours(word)
        margins = self.look(number, others)
        certain = 1
        for many in range(2, MOST_AROUND):
            columns = []
            for place, column in enumerate(self.claim.columns):
                changed = others[:, place] != word[place]
                own = others[changed][margins[changed].argsort()][: many - 1, place]
                outside = np.setdiff1d(np.arange(len(column.shows)), [word[place], *own])
                moves = column.moves.copy()
                moves[:, outside] = NOWHERE
                columns.append(replace(column, moves=moves))
            claim = replace(self.claim, columns=tuple(columns))
            step = Step(claim, number, prover.step.last, prover.step.view, prover.step.same)
            wrong = Prover(self.model, step).wrong(step.classes)
            words = sum(step.words_in(step.classes.take(np.flatnonzero(wrong))))
            if words <= certain:
                break
            certain = words
        return certain

    def certainly_wrong(self, provers: dict[tuple[int, int], Prover]) -> tuple[WrongWord, ...]:
        """Return words whose margin is certainly not above zero, at most one for each last symbol first."""
        rows, seen = [], set()
        for _, number, word in sorted(self._wrong.values(), key=lambda each: each[0])[:MOST_WRONG]:
            (prompt,), (right,) = self.claim.shown(word[None])
            shown = np.concatenate([prompt, right[:number]])
            margin = provers[number, int(shown[-1])].logit_margin(shown, int(right[number]))
            if not margin.high <= 0:
                continue
            written = self.model.written(prompt[None], len(right))[0]
            tokens = [tuple(map(int, each)) for each in (prompt, right, written)]
            first = (number, int(shown[-1])) not in seen
            seen.add((number, int(shown[-1])))
            rows.append((not first, WrongWord(tokens[0], tokens[1], tokens[2], number, float(margin.high))))
        return tuple(word for _, word in sorted(rows, key=lambda each: each[0]))


def _require_fit(model: StepModel, claim: Columns) -> None:
    """Refuse a model that is too small for the claim, or has parts that the prover does not know."""
    length = claim.prompt + len(claim.columns) - 1
    if model.positions < length:
        raise ShapeError(
            f"the claim's words have {length} positions with their answers, and the model has {model.positions}; claim "
            "fewer digits"
        )
    outputs = applied(model.readout, model.embedding[0, :1]).shape[-1]
    if min(model.symbols, outputs) < claim.tokens:
        raise ShapeError(
            f"the claim has tokens up to {claim.tokens - 1}, and the model knows {min(model.symbols, outputs)} tokens; "
            "describe the prompt with tokens of the model"
        )
    parts = [*model.norm, *(each for branch in model.branches for each in branch), *model.readout]
    for head in model.heads:
        parts += [*head.query, *head.key, *head.value]
    for part in parts:
        if isinstance(part, FeedForward | GatedFeedForward):
            require_known(part.activation)
    if not model.heads:
        raise AssumptionError("a step model without heads sees its last symbol only; describe one head or more")
