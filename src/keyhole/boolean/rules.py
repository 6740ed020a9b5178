"""A rule says how the relevant bits decide the value: by a table of patterns, or by counting true literals."""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Bool
from keyhole.errors import FormulaError

MAX_TABLE = 24  # positions of a table: 2^24 entries are 16 MB
MAX_LEVELS = 10_000  # positions of a counting rule

Values = Bool[np.ndarray, "_patterns"]  # entry Σ_i b_i 2^i: the first position is the least significant bit


@dataclass(frozen=True, eq=False)
class Table:
    """The value of every pattern of the relevant bits."""

    values: Values

    def __post_init__(self) -> None:
        self.values.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash(self.values.tobytes())


@dataclass(frozen=True)
class Levels:
    """The value as a function of how many of the literals are true; a negated literal is true at bit 0."""

    levels: tuple[bool, ...]  # for 0, 1, …, s true literals
    negated: tuple[bool, ...]  # one entry per position

    @property
    def constant(self) -> bool:
        """True if every level has one value."""
        return len(set(self.levels)) == 1

    @property
    def alternating(self) -> bool:
        """True if each further true literal flips the value: parity, or its negation."""
        return all(here != there for here, there in zip(self.levels, self.levels[1:], strict=False))


Rule = Table | Levels


def pattern_counts(negated: tuple[bool, ...]) -> np.ndarray:
    """How many literals are true, for each of the 2^s patterns."""
    counts = np.zeros(1, dtype=np.uint8)
    for flip in negated:
        counts = np.concatenate([counts + flip, counts + (not flip)])
    return counts


def tabulate(rule: Rule) -> Values:
    """The table of a rule.

    >>> tabulate(Levels((False, False, True), (False, True))).tolist()  # x & ~y
    [False, True, False, False]
    """
    if isinstance(rule, Table):
        return rule.values
    positions = len(rule.negated)
    if positions > MAX_TABLE:
        raise FormulaError(
            f"A table of {positions} positions was needed, but a table holds at most {MAX_TABLE}. "
            "Use fewer positions, or a function that only counts its literals."
        )
    return np.asarray(np.array(rule.levels)[pattern_counts(rule.negated)])


def halves(values: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
    """The table's two halves, where position number `index` reads 0 and where it reads 1."""
    split = values.reshape(-1, 2, 1 << index)
    return split[:, 0], split[:, 1]
