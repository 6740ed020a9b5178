"""The likeliest way to fail: tokens redrawn with other chances, as near to the law as can be, that turn the model.

Nothing here is part of a proof. It finds a direction in which inputs are sorted; what is proved of that order holds for
any direction.
"""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.attention import Evaluator, from_terms
from keyhole.boolean import SymbolLaw

ROUNDS = 12
STEPS = 64  # strengths looked at together
STRONGEST = 4000.0
NUDGE = 1e-5  # of a sum of terms, for its slope
SMALLEST = 1e-300  # 0 log 0 is 0
SPREAD = 4096  # the largest value of the statistic, about


@dataclass(frozen=True, eq=False)
class DominatingPoint:
    """A direction over tokens, and the mean of each token's symbols where the model turns along it, if it does."""

    direction: Float[np.ndarray, "n A"]  # larger: nearer to failing
    chances: Float[np.ndarray, "n A"] | None

    def weights(self) -> Int[np.ndarray, "n A"]:
        """The direction as whole numbers from 0 on; inputs near to failing have a small sum."""
        lacking = self.direction.max(axis=1, keepdims=True) - self.direction
        total = lacking.max(axis=1).sum()
        return np.asarray(np.rint(lacking * (SPREAD / total if total > 0 else 0.0)), dtype=np.int64)


def dominating_point(
    evaluator: Evaluator,
    law: SymbolLaw,
    free: Int[np.ndarray, "n"],
    fixed: Float[np.ndarray, "columns"],
    sign: float,
    near: Int[np.ndarray, "n"] | None = None,
) -> DominatingPoint:
    """Return the point of least divergence from the law at which sign · f turns negative, in a cell with these terms.

    The search starts from `near`, an input of the cell that fails, if one is known, and from steps down the slope.
    Symbols then have chances proportional to p_a exp(λ g_a), g the slope of −sign · f there, which is stationary for
    the divergence where f is 0 on average.
    """
    cell = _Cell(evaluator, np.asarray(law.chances), evaluator.terms_by_position.table[free], fixed, sign)
    symbols = np.eye(law.symbols)
    corners = [] if near is None else [symbols[near]]
    here = cell.ordinary
    for _ in range(ROUNDS // 2):
        corners.append(symbols[cell.slope(here).argmax(axis=1)])
        here = (here + corners[-1]) / 2
    along = np.linspace(0.0, 1.0, STEPS)[:, None, None]
    for corner in corners:
        path = cell.ordinary + along * (corner - cell.ordinary)
        index = cell.first_turned(path)
        if index is None:
            continue
        weights, least, way = path[index], np.inf, np.zeros_like(cell.ordinary)
        best: DominatingPoint | None = None
        for _ in range(ROUNDS):  # follow the slope from chances at which the model turns
            way = way + cell.slope(weights)
            way = way / max(float(np.linalg.norm(way)), SMALLEST)
            turned = cell.turning(way)
            if turned is None:
                break
            weights = turned
            divergence = float((weights * np.log(np.maximum(weights, SMALLEST) / cell.chances)).sum())
            if divergence < least:
                best, least = DominatingPoint(way, weights), divergence
        if best is not None:
            return best
    return DominatingPoint(cell.slope(cell.ordinary), None)


@dataclass(frozen=True, eq=False)
class _Cell:
    """The model on one cell, as a function of the chances with which each free token shows its symbols."""

    evaluator: Evaluator
    chances: Float[np.ndarray, "A"]
    table: Float[np.ndarray, "n A columns"]
    fixed: Float[np.ndarray, "columns"]
    sign: float

    @property
    def ordinary(self) -> Float[np.ndarray, "n A"]:
        """The law's own chances."""
        return np.tile(self.chances, (len(self.table), 1))

    def averaged(self, weights: Float[np.ndarray, "*paths n A"]) -> Float[np.ndarray, "*paths columns"]:
        """The terms on average."""
        return np.asarray(self.fixed + np.tensordot(weights, self.table, axes=([-2, -1], [0, 1])))

    def signed(self, totals: Float[np.ndarray, "paths columns"]) -> Float[np.ndarray, "paths"]:
        """The model's number for sums of terms, times the sign."""
        return self.sign * np.asarray(from_terms(self.evaluator.model, totals))

    def slope(self, weights: Float[np.ndarray, "n A"]) -> Float[np.ndarray, "n A"]:
        """The slope of −sign · f by the symbol each token shows, of length one."""
        scale = np.abs(self.table).max(axis=1).sum(axis=0) + np.abs(self.fixed)
        steps, at = np.diag(NUDGE * scale), self.averaged(weights)
        values = self.signed(np.concatenate([at + steps, at - steps]))
        down = self.table @ ((values[len(scale) :] - values[: len(scale)]) / (2 * NUDGE * scale))
        down = down - (down * self.chances).sum(axis=1, keepdims=True)
        length = float(np.linalg.norm(down))
        return np.asarray(down / length if length > 0 else down)

    def tilted(
        self, strengths: Float[np.ndarray, "paths"], direction: Float[np.ndarray, "n A"]
    ) -> Float[np.ndarray, "paths n A"]:
        """Chances proportional to p_a exp(strength · direction)."""
        powers = strengths[:, None, None] * direction
        weights = self.chances * np.exp(powers - powers.max(axis=2, keepdims=True))
        return np.asarray(weights / weights.sum(axis=2, keepdims=True))

    def first_turned(self, paths: Float[np.ndarray, "paths n A"]) -> int | None:
        """The first of some chances at which sign · f is not above 0."""
        turned = np.flatnonzero(self.signed(self.averaged(paths)) <= 0)
        return int(turned[0]) if len(turned) else None

    def turning(self, direction: Float[np.ndarray, "n A"]) -> Float[np.ndarray, "n A"] | None:
        """The chances at the least strength that turns the model along a direction."""
        strengths = np.concatenate([[0.0], np.geomspace(0.5, STRONGEST, STEPS - 1)])
        for _ in range(3):
            index = self.first_turned(self.tilted(strengths, direction))
            if index is None:
                return None
            strengths = np.linspace(strengths[max(index - 1, 0)], strengths[index], STEPS)
        sequence: np.ndarray = self.tilted(strengths[-1:], direction)[0]
        return sequence
