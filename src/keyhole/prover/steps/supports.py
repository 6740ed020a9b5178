"""How far the heads' outputs reach in a direction: certified lower bounds over all words of a class."""

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.prover.steps.walks import Classes, Step
from keyhole.rigorous import GROW, UNDERFLOW, UNIT

ROUNDS = 40  # of Dinkelbach's method; it ends after about five
CLOSE = 1e-12  # of the size of values: a ratio that moves less has settled
SLACK = 1e-14  # of the size of values: what a ratio is lowered by before it is certified
ATTEMPTS = 6
BATCH = 4096  # directions at once
TINY = 1e-300


class Supports:
    """Lower bounds of u·z for one step, z the coordinates of all groups of heads."""

    def __init__(self, step: Step) -> None:
        self.step = step
        widths = step.view.widths
        self.first = np.concatenate([[0], np.cumsum([width + 1 for width in widths])]).tolist()  # of a head's features
        self.of_head = [(group.first, head) for group in step.view.groups for head in group.heads]
        self.width = sum(group.width for group in step.view.groups)

    def below(
        self, classes: Classes, index: Int[np.ndarray, "n"], u: Float[np.ndarray, "n R"]
    ) -> Float[np.ndarray, "n"]:
        """Return certified lower bounds of u·z over the words of each class.

        Statement  Several heads, one word: Σ_h u_h·z_h ≥ Σ_h t_h + max(0, min_w Σ_h c_h (u_h·N_h − t_h Z_h)), for t_h
                   a lower bound of head h alone and 0 < c_h ≤ 1/Z_h on the class.
        Proof      Each bracket is at least 0 on the class, so that dividing it by Z_h instead of multiplying by c_h
                   does not lower it.
        Source     Ours.
        """
        parts = [self._below(classes, index[i : i + BATCH], u[i : i + BATCH]) for i in range(0, len(u), BATCH)]
        return np.concatenate([np.zeros(0), *parts])

    def words(
        self, classes: Classes, index: Int[np.ndarray, "n"], u: Float[np.ndarray, "n R"]
    ) -> Int[np.ndarray, "n C"]:
        """Return a word of each class where u·z is near its least value."""
        costs = self._costs(classes, index, u)[0]
        return self.step.words(classes, index, self.step.least(classes, index, costs))

    def _below(self, classes: Classes, index: np.ndarray, u: np.ndarray) -> np.ndarray:
        costs, ratios = self._costs(classes, index, u)
        if len(ratios) == 1:
            return ratios[0]
        gained = np.maximum(self.step.least(classes, index, costs).value, 0.0)
        size = gained + np.sum(np.abs(ratios), axis=0)
        return np.asarray(np.sum(ratios, axis=0) + gained - 4 * (len(ratios) + 2) * UNIT * size)

    def _costs(self, classes: Classes, index: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return Σ_h c_h (u_h·N_h − t_h Z_h) as a functional of the features, and the least ratios t_h."""
        costs, ratios = np.zeros((len(u), self.first[-1])), []
        for first, head in self.of_head:
            at, width = self.first[head], self.step.view.widths[head]
            own = u[:, first : first + width]
            ratio = self._ratio(classes, index, head, own)
            ratios.append(ratio)
            largest = np.ones(len(u))
            if len(self.of_head) > 1:
                unit = np.zeros((len(classes.state), self.first[-1]))
                unit[:, at + width] = -1.0
                largest = -self.step.least(classes, np.arange(len(unit)), unit).value[index] * GROW
            costs[:, at : at + width] = own / largest[:, None]
            costs[:, at + width] = -np.where(np.isfinite(ratio), ratio, 0.0) / largest
        return costs, ratios

    def _ratio(self, classes: Classes, index: np.ndarray, head: int, u: np.ndarray) -> np.ndarray:
        """Bound u·N/Z of one head from below by Dinkelbach's method.

        Statement  λ ≤ u·N/Z on a class if min (u·N − λZ) ≥ 0 on it.
        Proof      Z > 0, as a sum of exponentials.
        Source     Textbook.
        """
        at, mass = self.first[head], self.first[head] + u.shape[1]
        costs = np.zeros((len(u), self.first[-1]))
        costs[:, at:mass] = u
        here = classes.sums.mid[index]
        ratio = np.einsum("nr,nr->n", u, here[:, at:mass]) / np.maximum(here[:, mass], TINY)
        values = self.step.view.features.mid
        values = values[..., at:mass] / np.maximum(values[..., mass : mass + 1], TINY)
        scale = np.abs(u).sum(axis=1) * np.abs(values).max() + TINY
        moving = np.arange(len(u))
        for _ in range(ROUNDS):
            costs[moving, mass] = -ratio[moving]
            least = self.step.least(classes, index[moving], costs[moving], mass)
            move = least.value / np.maximum(least.feature, TINY)
            ratio[moving] += move
            moving = moving[np.abs(move) > CLOSE * scale[moving]]
            if not len(moving):
                break
        certified = np.where(u.any(axis=1), -np.inf, 0.0)  # 0·z = 0
        open_ = np.flatnonzero(u.any(axis=1))
        for attempt in range(ATTEMPTS):
            costs[open_, mass] = -(ratio - scale * SLACK * 16**attempt)[open_]
            holds = self.step.least(classes, index[open_], costs[open_]).value > UNDERFLOW
            certified[open_[holds]] = -costs[open_[holds], mass]
            open_ = open_[~holds]
            if not len(open_):
                break
        return certified
