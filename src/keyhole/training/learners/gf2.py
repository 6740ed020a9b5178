"""Gaussian elimination over GF(2): a parity learned as the solution of linear equations, one for each example."""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Bool, UInt8
from keyhole.boolean.fitting import Words, pack, unpack
from keyhole.training.learners.base import ExactLearner, Fitted, as_bits, register_learner
from keyhole.training.task import Examples, ProblemSize

ONE = np.uint64(1)


@dataclass(frozen=True)
class Solution:
    """One solution drawn uniformly from all; whether there is one, and how many equations were independent."""

    parity: Bool[np.ndarray, "T"]
    consistent: bool
    rank: int


@dataclass(frozen=True)
class ParityOf:
    """The parity of the bits at the chosen positions, or its negation."""

    chosen: Bool[np.ndarray, "T"]
    negated: bool = False

    def __call__(self, inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n"]:
        """Return whether an odd number of them is 1; negated, whether an even number is."""
        return np.asarray(np.logical_xor.reduce(as_bits(inputs)[:, self.chosen], axis=1) ^ self.negated)


def solve(equations: Bool[np.ndarray, "n T"], labels: Bool[np.ndarray, "n"], rng: np.random.Generator) -> Solution:
    """A uniformly random w with Xw = y over GF(2); equations that contradict earlier ones are passed over.

    Statement  From m = T + k uniform samples w is unique with probability Π_{j=k+1}^{k+T} (1 − 2^{−j}),
               which is about 1 − 2^{−k}.
    Proof      Column by column: column i + 1 of a uniform m × T matrix lies in the span of i independent ones
               with probability 2^{i−m}.
    Source     Textbook; the free bits are drawn by fair coins, and each choice of them gives one solution.
    """
    width = equations.shape[1]
    rows = pack(np.concatenate([equations, labels[:, None]], axis=1))
    pivots = _reduce(rows, width)
    bits = unpack(rows, width + 1)
    rank = len(pivots)
    parity = rng.integers(0, 2, width).astype(bool)
    parity[pivots] = False
    if rank:
        free = bits[:rank, :width] & parity  # a pivot's row holds its own column and free ones
        parity[pivots] = bits[:rank, width] ^ np.logical_xor.reduce(free, axis=1)
    return Solution(parity, not bits[rank:, width].any(), rank)


def _reduce(rows: Words, width: int) -> list[int]:
    """Bring the rows, in place, to reduced echelon form; the columns of the pivots in order."""
    pivots: list[int] = []
    for column in range(width):
        word, shift = divmod(column, 64)
        holds = (rows[:, word] >> np.uint64(shift)) & ONE != 0
        top = len(pivots)
        below = np.flatnonzero(holds[top:])
        if not len(below):
            continue
        pivot = top + int(below[0])
        if pivot != top:
            rows[[top, pivot]] = rows[[pivot, top]]
            holds[[top, pivot]] = holds[[pivot, top]]
        holds[top] = False
        rows[holds] ^= rows[top]
        pivots.append(column)
        if len(pivots) == len(rows):
            break
    return pivots


@dataclass(frozen=True)
class LinearParity(ExactLearner):
    """Any parity of any number of positions that fits all examples, each such parity being equally likely.

    `affine` admits negated parities: the equations have a constant term, one unknown more.
    """

    affine: bool = False

    @property
    def name(self) -> str:
        """Return the name that a person types."""
        return "gf2:affine" if self.affine else "gf2"

    @property
    def remark(self) -> str:
        """Return what it takes the labels for."""
        if self.affine:
            return (
                "gf2:affine assumes that labels are a parity of some bits or its negation, without noise; one wrong "
                "label spoils the answer"
            )
        return (
            "gf2 assumes that labels are a parity of some bits, not negated and without noise; one wrong label spoils "
            "the answer, and a negated parity is not fitted (gf2:affine fits it)"
        )

    def fit(self, size: ProblemSize, examples: Examples, seed: np.random.SeedSequence) -> Fitted:
        """Solve the equations; where they contradict each other the answer does not fit, and says so."""
        equations = as_bits(examples.inputs)
        if self.affine:
            equations = np.concatenate([equations, np.ones((len(equations), 1), dtype=bool)], axis=1)
        solution = solve(equations, examples.labels, np.random.default_rng(seed))
        numbers = {"consistent": float(solution.consistent), "rank": float(solution.rank)}
        chosen = solution.parity[: size.context]
        return Fitted(ParityOf(chosen, self.affine and bool(solution.parity[-1])), numbers=numbers)


register_learner("gf2", LinearParity)
register_learner("gf2:affine", lambda: LinearParity(affine=True))
