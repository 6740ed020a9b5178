"""Proofs of one step: the heads' outputs in boxes, cut until the right symbol wins on each, class by class."""

from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np

from keyhole.arrays import Bool, Float, Int
from keyhole.attention import StepModel
from keyhole.prover.steps.forms import after, constant, coordinates, linear, scaled_logits
from keyhole.prover.steps.supports import Supports
from keyhole.prover.steps.tables import images
from keyhole.prover.steps.walks import Classes, Step
from keyhole.rigorous import GROW, UNIT, Ball, between, exact, inverse

LEVELS = 14  # bisections of a box
MOST_CELLS = 200_000
MOST_CUTS = 20_000  # gradient directions at a level
CUT_LEVELS = 3  # levels at which the gradient's own support is computed
FINEST = 3  # columns that are fixed besides the answer's
ROUND = 16  # directions of a polygon
RIVALS = 2  # of each class that the attack follows


@dataclass(frozen=True, eq=False)
class Gaps:
    """Right logit less each rival's less τ, times a positive number, on each box: plane, radius, lower bound."""

    mid: Float[np.ndarray, "n V"]
    slope: Float[np.ndarray, "n V R"]
    rad: Float[np.ndarray, "n V"]
    low: Float[np.ndarray, "n V"]  # +∞ for the right symbol itself

    @property
    def holds(self) -> Bool[np.ndarray, "n"]:
        """Return where every rival is certainly beaten."""
        return np.asarray((self.low > 0).all(axis=1))


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of one step: the classes that were searched, and those on which the target is still open."""

    step: Step
    target: float
    classes: int
    cells: int
    open: tuple[Classes, ...]

    @property
    def words_open(self) -> int:
        """The number of words in open classes."""
        return sum(sum(self.step.words_in(each)) for each in self.open)


class Prover:
    """Proofs about one step of a model, for one target after another."""

    def __init__(self, model: StepModel, step: Step) -> None:
        self.model, self.step, self.supports = model, step, Supports(step)
        self._row = exact(model.embedding[step.place, step.last])
        self._box = self._bounded(step.classes)

    def _bounded(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        """Return centres and half-widths of boxes around the heads' outputs, class by class."""
        width, n = self.supports.width, len(classes.state)
        axes = np.vstack([np.eye(width), -np.eye(width)])
        ends = self._reach(classes, np.arange(n), axes)
        bounded = np.isfinite(ends).all(axis=1)[:, None]  # else nothing is known, and the class stays open
        low, high = np.where(bounded, ends[:, :width], -1.0), np.where(bounded, -ends[:, width:], 1.0)
        centre = (low + high) / 2
        return centre, np.where(bounded, np.maximum(high - centre, centre - low) * GROW, np.inf)

    def _reach(self, classes: Classes, which: np.ndarray, directions: np.ndarray) -> Float[np.ndarray, "m D"]:
        index = np.repeat(which, len(directions))
        return self.supports.below(classes, index, np.tile(directions, (len(which), 1))).reshape(len(which), -1)

    def gaps(self, answer: Int[np.ndarray, "n"], centre: np.ndarray, half: np.ndarray, target: float) -> Gaps:
        """Bound the gaps on boxes."""
        z, row = coordinates(centre, half), constant(self._row, half)
        for group in self.step.view.groups:
            part = linear(z.take(slice(group.first, group.first + group.width)), group.back)
            for layer in self.model.heads[group.heads[0]].output:
                part = after(layer, part)
            row = row + part
        for branch in self.model.branches:
            row = row + reduce(lambda image, layer: after(layer, image), branch, row)
        logits, length = scaled_logits(self.model.readout, row)
        ar = np.arange(len(answer))
        right, size = logits.mid[ar, answer][:, None], logits.size
        mid = right - logits.mid - target * length.mid
        slope = logits.slope[ar, answer][:, None] - logits.slope - target * length.slope
        rad = logits.rad[ar, answer][:, None] + logits.rad + abs(target) * length.rad
        rad = (rad + 8 * UNIT * (size + size[ar, answer][:, None] + abs(target) * length.size)) * GROW
        low = mid - (np.einsum("nvr,nr->nv", np.abs(slope), half) + rad) * GROW
        low[ar, answer] = np.inf
        return Gaps(mid, slope, rad, np.where(np.isnan(low), -np.inf, low))

    def prove(self, target: float, *, finest: int = FINEST) -> Outcome:
        """Prove that every word of every class has a margin above the target, or return the classes left open.

        Statement  No class is open ⇒ every word's margin at this step exceeds the target.
        Proof      The cells of a class cover the part of its box in which its words lie; on each the gaps are positive,
                   or the plane less the radius is, at the support of the class in the direction of the plane's slope.
        Source     Ours.
        """
        classes, box = self.step.classes, self._box
        looked, cells = 0, 0
        while True:
            looked += len(classes.state)
            number, failing = self._searched(classes, box, target)
            cells += number
            fixed = self.step.number - classes.first
            if not len(failing):
                return Outcome(self.step, target, looked, cells, ())
            if fixed >= finest or classes.first == 0:
                return Outcome(self.step, target, looked, cells, (classes.take(failing),))
            classes = self.step.finer(classes, failing)
            box = self._bounded(classes)

    def _searched(self, classes: Classes, box: tuple[np.ndarray, np.ndarray], target: float) -> tuple[int, np.ndarray]:
        """Return the number of cells, and the classes on which the target is open."""
        owner = np.flatnonzero(np.isfinite(box[1]).all(axis=1))
        unknown = np.setdiff1d(np.arange(len(box[1])), owner)
        centre, half, cells = box[0][owner], box[1][owner], 0
        width = self.supports.width
        directions: np.ndarray | None = None
        reach = np.zeros(0)
        for level in range(LEVELS):
            cells += len(owner)
            gaps = self.gaps(classes.answer[owner], centre, half, target)
            low = gaps.low
            if width > 1 and level < CUT_LEVELS:
                low = self._cut(classes, owner, centre, gaps)
            left = np.flatnonzero(~(low > 0).all(axis=1))
            if not len(left) or level == LEVELS - 1 or cells + 2 * len(left) > MOST_CELLS:  # at last none may be left
                return cells, np.union1d(unknown, owner[left])
            if directions is None and width > 1:
                directions = round_directions([group.width for group in self.step.view.groups])
                failing = np.unique(owner[left])
                reach = np.full((len(classes.state), len(directions)), -np.inf)
                reach[failing] = self._reach(classes, failing, directions)
            worst = low[left].argmin(axis=1)
            centre, half = halved(centre[left], half[left], np.abs(gaps.slope[left, worst]) * half[left])
            owner = np.concatenate([owner[left]] * 2)
            if directions is not None:
                top = centre @ directions.T + half @ np.abs(directions).T
                size = (np.abs(centre) + half) @ np.abs(directions).T
                outside = (top + 16 * width * UNIT * size < reach[owner]).any(axis=1)
                owner, centre, half = owner[~outside], centre[~outside], half[~outside]
        return cells, unknown

    def _cut(self, classes: Classes, owner: np.ndarray, centre: np.ndarray, gaps: Gaps) -> Float[np.ndarray, "n V"]:
        """Bound the gaps that are open by the support of the whole class in the direction of their own slope."""
        low = gaps.low.copy()
        cell, rival = np.nonzero(~(low > 0))
        if not 0 < len(cell) <= MOST_CUTS:
            return low
        u = gaps.slope[cell, rival]
        reach = self.supports.below(classes, owner[cell], u)
        offset = np.einsum("nr,nr->n", u, centre[cell])
        size = np.abs(reach) + np.einsum("nr,nr->n", np.abs(u), np.abs(centre[cell]))
        bound = gaps.mid[cell, rival] - gaps.rad[cell, rival] * GROW + reach - offset
        bound = bound - 8 * (u.shape[1] + 4) * UNIT * (size + np.abs(gaps.mid[cell, rival]) + gaps.rad[cell, rival])
        low[cell, rival] = np.maximum(low[cell, rival], np.where(np.isfinite(bound), bound, -np.inf))
        return low

    def wrong(self, classes: Classes) -> Bool[np.ndarray, "n"]:
        """Return which classes have one rival that certainly beats the right symbol on every word."""
        gaps = self.gaps(classes.answer, *self._bounded(classes), 0.0)
        half = np.maximum(gaps.mid - gaps.low, 0.0)  # low = mid − half
        return np.asarray((gaps.mid + half * GROW + 4 * UNIT * np.abs(gaps.mid) < 0).any(axis=1))

    def logit_margin(self, word: Int[np.ndarray, "T"], answer: int) -> Ball:
        """Return a ball of the right logit less the largest other one after a word, its last symbol the step's."""
        features = self.step.view.features
        seen = features[np.arange(len(word)), word]
        sums = Ball(seen.mid.T, seen.rad.T).total()
        row = self._row
        for group in self.step.view.groups:
            total = exact(np.zeros(group.width))
            for head in group.heads:
                first = self.supports.first[head]
                total = total + sums[first : first + group.width] * inverse(sums[first + group.width])
            row = row + images(self.model.heads[group.heads[0]].output, (total[None] @ group.back))[0]
        for branch in self.model.branches:
            row = row + images(branch, row[None])[0]
        logits = images(self.model.readout, row[None])[0]
        others = np.arange(len(logits.mid)) != answer
        gaps = logits[np.full(others.sum(), answer)] - logits[others]
        return between(gaps.low.min(), gaps.high.min())

    def attack(self, classes: Classes | None = None) -> Int[np.ndarray, "m C"]:
        """Return words of each class that are least, nearly, in the directions of its smallest gaps."""
        box = self._box if classes is None else self._bounded(classes)
        classes = self.step.classes if classes is None else classes
        gaps = self.gaps(classes.answer, *box, 0.0)
        rivals = gaps.low.argsort(axis=1)[:, :RIVALS]
        index = np.repeat(np.arange(len(rivals)), rivals.shape[1])
        slope = gaps.slope[index, rivals.reshape(-1)]
        usable = np.isfinite(slope).all(axis=1)
        return self.supports.words(classes, index[usable], slope[usable])


def halved(centre: np.ndarray, half: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut each box in two across its axis of the largest weight; the halves overlap by rounding."""
    ar, axis = np.arange(len(centre)), weight.argmax(axis=1)
    move = half[ar, axis] / 2
    thin = half.copy()
    thin[ar, axis] = (move + 2 * UNIT * (np.abs(centre[ar, axis]) + half[ar, axis])) * GROW
    low, high = centre.copy(), centre.copy()
    low[ar, axis] -= move
    high[ar, axis] += move
    return np.concatenate([low, high]), np.concatenate([thin, thin])


def round_directions(widths: list[int]) -> Float[np.ndarray, "D R"]:
    """Return directions in the plane or the space of each group."""
    total, first, rows = sum(widths), 0, []
    if total <= 3:
        widths = [total]
    for width in widths:
        if width == 2:
            angles = 2 * np.pi * np.arange(ROUND) / ROUND
            own = np.column_stack([np.cos(angles), np.sin(angles)])
        elif width == 3:
            own = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
        else:
            own = np.vstack([np.eye(width), -np.eye(width)])
        own = own[(np.abs(own) > 1e-9).sum(axis=1) > 1]
        part = np.zeros((len(own), total))
        part[:, first : first + width] = own
        rows.append(part)
        first += width
    return np.vstack(rows)
