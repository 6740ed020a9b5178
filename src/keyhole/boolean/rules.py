"""A rule decides the value from the relevant bits: by a table of patterns, or by counting true literals.

Canonical form: equal functions have equal positions and equal rules.

Positions that do not matter are dropped and the rest sorted. A function that only counts its literals is held
as `Levels`, any other as `Table`. The literals of a counting function are determined up to negating all of them
(which reverses the levels), and for a parity up to anything at all; so the first literal is taken positive, and
every literal of a parity.
"""

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
        """Return True if every level has one value."""
        return len(set(self.levels)) == 1

    @property
    def alternating(self) -> bool:
        """Return True if each further true literal flips the value: parity, or its negation."""
        return all(here != there for here, there in zip(self.levels, self.levels[1:], strict=False))


Rule = Table | Levels


def pattern_counts(negated: tuple[bool, ...]) -> np.ndarray:
    """The number of true literals in each of the 2^s patterns."""
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


Canonical = tuple[tuple[int, ...], Rule]


def canonical_levels(positions: tuple[int, ...], rule: Levels) -> Canonical:
    """Canonical form of a counting rule on distinct positions."""
    if rule.constant:
        return (), Levels(rule.levels[:1], ())
    order = sorted(range(len(positions)), key=positions.__getitem__)
    places = tuple(positions[i] for i in order)
    negated = tuple(rule.negated[i] for i in order)
    if rule.alternating:  # negating one literal flips the value, whatever the others are
        start = rule.levels[0] ^ (sum(negated) % 2 == 1)
        levels = tuple(start ^ (count % 2 == 1) for count in range(len(rule.levels)))
        return places, Levels(levels, (False,) * len(places))
    if negated[0]:
        return places, Levels(rule.levels[::-1], tuple(not flip for flip in negated))
    return places, Levels(rule.levels, negated)


def canonical_table(positions: tuple[int, ...], values: Values) -> Canonical:
    """Canonical form of a table on distinct positions."""
    order = sorted(range(len(positions)), key=positions.__getitem__)
    if order != list(range(len(positions))):
        axes = [len(positions) - 1 - i for i in reversed(order)]  # the last axis is the first position
        values = np.ascontiguousarray(values.reshape((2,) * len(positions)).transpose(axes)).reshape(-1)
    places = [positions[i] for i in order]
    for index in reversed(range(len(places))):
        zero, one = halves(values, index)
        if np.array_equal(zero, one):
            values = zero.reshape(-1)
            del places[index]
    levels = counting_rule(values, len(places))
    return tuple(places), levels or Table(values.copy())


def counting_rule(values: Values, size: int) -> Levels | None:
    """The function as a counting rule with first literal positive, or None if it is not one.

    Statement  A function is symmetric in some literals ℓ_i ∈ {x_i, ~x_i} with ℓ_0 = x_0 if and only if for every
               i ≥ 1 it is unchanged by exchanging x_0 with x_i, or by exchanging x_0 with ~x_i.
    Proof      The exchanges of ℓ_0 with each ℓ_i generate all permutations of the literals.
    Source     Standard (switching theory); the choice is unique but for parities, where both exchanges hold.
    """
    negated = [False] * size
    for index in range(1, size):
        pair = values.reshape(-1, 2, 1 << (index - 1), 2)  # (higher, b_index, between, b_0)
        if np.array_equal(pair[:, 0, :, 1], pair[:, 1, :, 0]):
            continue
        if not np.array_equal(pair[:, 0, :, 0], pair[:, 1, :, 1]):
            return None
        negated[index] = True
    pattern = sum(flip << i for i, flip in enumerate(negated))  # no literal true
    levels = [bool(values[pattern])]
    for index in range(size):
        pattern ^= 1 << index
        levels.append(bool(values[pattern]))
    return Levels(tuple(levels), tuple(negated))
