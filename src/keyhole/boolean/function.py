"""A sparse function: its value depends on the bits at a few positions of a context of any length.

A rule gives the value for the relevant bits: by a table of patterns, or by counting true literals. Equal functions have
equal positions and equal rules: positions that do not matter are dropped, and the rest sorted. A function that only
counts its literals has `Levels`, any other a `Table`. The literals of a counting function are determined up to negating
all of them (which reverses the levels), and for a parity up to anything at all; so the first literal is taken positive,
and every literal of a parity.

A function is written as a formula that reads back as the same function.

Functions that count literals have names of their own. A table of few positions is taken apart where it is a
disjunction, a conjunction or a sum of functions of disjoint positions; what resists is written as a table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from keyhole.arrays import Bool, Integer
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


Operator = Literal["|", "^", "&"]
BINDING: dict[Operator, int] = {"|": 1, "^": 2, "&": 3}  # Python's precedence; a name or a bracket binds at 4
ATOM = 4
MAX_SPLIT = 10  # positions of a table that is taken apart: 2^9 ways to cut it in two
MAX_BITS = 6  # positions of a table written bit by bit; a longer one is written in hexadecimal

Text = tuple[str, int]  # a formula and how tightly it binds


def _text(positions: tuple[int, ...], rule: Rule) -> Text:
    """The formula of a canonical rule at these positions."""
    if isinstance(rule, Levels):
        return _counting_text(positions, rule)
    if len(positions) <= MAX_SPLIT:
        for operator in BINDING:
            parts = split(rule.values, len(positions), operator)
            if len(parts) > 1:
                canonical = (canonical_table(tuple(positions[i] for i in places), part) for places, part in parts)
                return _joined(operator, [_text(*each) for each in canonical])
    names = ", ".join(f"x{place}" for place in positions)
    return f"table({table_digits(rule.values)}; {names})", ATOM


def _joined(operator: Operator, parts: list[Text]) -> Text:
    if len(parts) == 1:
        return parts[0]
    binding = BINDING[operator]
    texts = [text if inner > binding else f"({text})" for text, inner in parts]
    return f" {operator} ".join(texts), binding


def _counting_text(positions: tuple[int, ...], rule: Levels) -> Text:
    """A counting rule by its name, with as few negations as its literals allow."""
    levels, negated = rule.levels, rule.negated
    if not positions:
        return str(int(levels[0])), ATOM
    if sum(levels) == 1 and (levels[0] or levels[-1]):
        return _joined("&", _literals(positions, negated if levels[-1] else _opposite(negated)))
    if sum(levels) == len(levels) - 1 and not (levels[0] and levels[-1]):
        return _joined("|", _literals(positions, negated if levels[-1] else _opposite(negated)))
    if rule.alternating:
        literals = _literals(positions, (levels[0], *negated[1:]))
        return _joined("^", literals) if len(positions) <= 3 else _call("parity", literals)
    if sum(negated) > len(negated) / 2:
        levels, negated = levels[::-1], _opposite(negated)
    literals = _literals(positions, negated)
    count = levels.index(not levels[0])  # the first level that differs from the one at zero
    if len(set(levels[count:])) > 1:
        return _call("symmetric", literals, table_bits(levels))
    named = _call("maj", literals) if count == len(positions) // 2 + 1 else _call("atleast", literals, str(count))
    return (f"~{named[0]}", ATOM) if levels[0] else named


def _opposite(negated: tuple[bool, ...]) -> tuple[bool, ...]:
    return tuple(not flip for flip in negated)


def _literals(positions: tuple[int, ...], negated: tuple[bool, ...]) -> list[Text]:
    return [(f"{'~' * flip}x{place}", ATOM) for place, flip in zip(positions, negated, strict=True)]


def _call(name: str, arguments: list[Text], header: str = "") -> Text:
    inside = ", ".join(text for text, _ in arguments)
    return f"{name}({header}{'; ' * bool(header)}{inside})", ATOM


def table_bits(values: Values | tuple[bool, ...]) -> str:
    """The entries as a string of 0 and 1, the first entry first."""
    return "".join("1" if value else "0" for value in values)


def table_digits(values: Values) -> str:
    """The entries bit by bit, or in hexadecimal as the number whose binary digit of weight 2^i is entry i."""
    if len(values) <= 1 << MAX_BITS:
        return table_bits(values)
    return f"0x{int.from_bytes(np.packbits(values, bitorder='little').tobytes(), 'little'):x}"


def split(values: Values, size: int, operator: Operator) -> list[tuple[tuple[int, ...], Values]]:
    """The finest way to write a table as `operator` of tables on disjoint positions: each with its indices.

    >>> [indices for indices, _ in split(np.array([False, False, False, True]), 2, "&")]
    [(0,), (1,)]
    """
    everything = tuple(range(size))
    for count in range(1, size):
        for others in combinations(everything[1:], count - 1):
            first = (0, *others)
            rest = tuple(i for i in everything if i not in first)
            parts = _cut(values, size, first, rest, operator)
            if parts is not None:
                remaining = split(parts[1], len(rest), operator)
                return [
                    (first, parts[0]),
                    *((tuple(rest[i] for i in inner), part) for inner, part in remaining),
                ]
    return [(everything, values)]


def _cut(
    values: Values, size: int, first: tuple[int, ...], rest: tuple[int, ...], operator: Operator
) -> tuple[Values, Values] | None:
    """The two tables whose `operator` is the given one, or None: a rank-one test of the table as a matrix."""
    axes = [size - 1 - i for i in (*reversed(first), *reversed(rest))]
    matrix = values.reshape((2,) * size).transpose(axes).reshape(1 << len(first), 1 << len(rest))
    if operator == "^":
        rows, columns = matrix[:, 0], np.logical_xor(matrix[0], matrix[0, 0])
        return (rows, columns) if np.array_equal(matrix, rows[:, None] ^ columns) else None
    flip = operator == "|"  # a | b is ~(~a & ~b)
    product = matrix ^ flip
    rows, columns = np.asarray(product.any(axis=1)), np.asarray(product.any(axis=0))
    return (
        (np.asarray(rows ^ flip), np.asarray(columns ^ flip))
        if np.array_equal(product, rows[:, None] & columns)
        else None
    )


@dataclass(frozen=True)
class SparseFunction:
    """A function {0,1}^T → {0,1} of the bits at `positions`; the context length T is nowhere stored.

    Always in canonical form: made by `from_table`, `from_levels`, a family, a formula, or from others by
    `&`, `|`, `^`, `~`. Two functions are equal exactly when they agree on every input.
    """

    positions: tuple[int, ...]
    rule: Rule

    @property
    def sparsity(self) -> int:
        """The number of positions that matter: s."""
        return len(self.positions)

    @property
    def table(self) -> Values:
        """The value of every pattern; the first position is the least significant bit."""
        return tabulate(self.rule)

    def __call__(self, bits: Bool[np.ndarray, "... T"] | Integer[np.ndarray, "... T"]) -> Bool[np.ndarray, "..."]:
        """The values on inputs of shape (…, T)."""
        check_context(self, bits.shape[-1])
        return decide(self.rule, bits[..., list(self.positions)].astype(bool))

    def __invert__(self) -> "SparseFunction":
        if isinstance(self.rule, Table):
            return SparseFunction(self.positions, Table(~self.rule.values))
        levels = tuple(not level for level in self.rule.levels)
        return from_levels(self.positions, levels, self.rule.negated)

    def __and__(self, other: "SparseFunction") -> "SparseFunction":
        ours, theirs, never = conjunction_pattern(self.rule), conjunction_pattern(other.rule), constant(value=False)
        if ours is None or theirs is None:
            return never if never in (self, other) else _pointwise(self, other, np.logical_and)
        wanted = dict(zip(self.positions, ours, strict=True))
        for place, bit in zip(other.positions, theirs, strict=True):
            if wanted.setdefault(place, bit) != bit:
                return never
        places = tuple(wanted)
        return from_levels(places, (False,) * len(places) + (True,), tuple(not wanted[place] for place in places))

    def __or__(self, other: "SparseFunction") -> "SparseFunction":
        return ~(~self & ~other)

    def __xor__(self, other: "SparseFunction") -> "SparseFunction":
        ours, theirs = self.rule, other.rule
        if not (isinstance(ours, Levels) and isinstance(theirs, Levels) and ours.alternating and theirs.alternating):
            return _pointwise(self, other, np.logical_xor)
        places = tuple(set(self.positions) ^ set(other.positions))
        start = ours.levels[0] ^ theirs.levels[0]
        return from_levels(places, tuple(start ^ (count % 2 == 1) for count in range(len(places) + 1)))

    def __str__(self) -> str:
        return _text(self.positions, self.rule)[0]

    def __repr__(self) -> str:
        text = str(self)
        return f"SparseFunction({text if len(text) <= 200 else text[:197] + '...'!r})"


def from_table(positions: tuple[int, ...], values: Values) -> SparseFunction:
    """The function with this table; the first listed position is the least significant bit.

    >>> from_table((4, 9), np.array([False, True, True, False]))
    SparseFunction('x4 ^ x9')
    """
    check_positions(positions)
    if len(positions) > MAX_TABLE or len(values) != 1 << len(positions):
        raise FormulaError(
            f"A table of {len(values)} entries on {len(positions)} positions was asked for; "
            f"{len(positions)} positions need 2^{len(positions)} entries, and at most {MAX_TABLE} positions fit."
        )
    return SparseFunction(*canonical_table(positions, values))


def from_levels(
    positions: tuple[int, ...], levels: tuple[bool, ...], negated: tuple[bool, ...] | None = None
) -> SparseFunction:
    """The function whose value depends on how many literals are true.

    >>> from_levels((1, 2, 5), (False, False, True, True))
    SparseFunction('maj(x1, x2, x5)')
    """
    check_positions(positions)
    if len(positions) > MAX_LEVELS:
        raise FormulaError(
            f"A function of {len(positions)} positions was asked for; at most {MAX_LEVELS} are held. Use fewer."
        )
    signs = (False,) * len(positions) if negated is None else negated
    if len(levels) != len(positions) + 1 or len(signs) != len(positions):
        raise FormulaError(
            f"{len(levels)} levels and {len(signs)} signs were given for {len(positions)} positions; "
            f"they need {len(positions) + 1} levels, one for each possible count, and one sign each."
        )
    return SparseFunction(*canonical_levels(positions, Levels(levels, signs)))


def literal(position: int) -> SparseFunction:
    """The bit at one position."""
    return from_levels((position,), (False, True))


def constant(value: bool) -> SparseFunction:  # noqa: FBT001  (the value is the function)
    """The function that ignores its input."""
    return from_levels((), (value,))


def check_positions(positions: tuple[int, ...]) -> None:
    """Positions are distinct and count from 0."""
    if len(set(positions)) != len(positions):
        raise FormulaError(f"The positions {positions} repeat one; name each position once.")
    if any(position < 0 for position in positions):
        raise FormulaError(f"The positions {positions} hold a negative one; positions count from 0.")


def check_context(function: SparseFunction, context: int) -> None:
    """A context must reach every position the function reads."""
    if context < 1:
        raise FormulaError(f"A context of length {context} was asked for; a context has at least 1 position.")
    if function.positions and function.positions[-1] >= context:
        last = function.positions[-1]
        raise FormulaError(
            f"The function reads position {last}, but a context of length {context} ends at position "
            f"{context - 1}. Use a context of at least {last + 1}, or move the function onto earlier positions."
        )


def decide(rule: Rule, relevant: Bool[np.ndarray, "... s"]) -> Bool[np.ndarray, "..."]:
    """The values of a rule on the relevant bits, in the order of its positions."""
    if isinstance(rule, Levels):
        literals = relevant ^ np.array(rule.negated, dtype=bool)
        return np.asarray(np.array(rule.levels)[literals.sum(axis=-1)])
    weights = np.left_shift(1, np.arange(relevant.shape[-1], dtype=np.int64))
    return np.asarray(rule.values[relevant @ weights])


def move(function: SparseFunction, positions: tuple[int, ...]) -> SparseFunction:
    """The same rule read at other positions, the first old position going to the first new one."""
    if len(positions) != function.sparsity:
        raise FormulaError(
            f"{len(positions)} new positions were given for a function of {function.sparsity}; name one for each."
        )
    if isinstance(function.rule, Levels):
        return from_levels(positions, function.rule.levels, function.rule.negated)
    return from_table(positions, function.rule.values)


def conjunction_pattern(rule: Rule) -> tuple[bool, ...] | None:
    """The one pattern of relevant bits on which the rule is true, or None if it is not a conjunction.

    >>> conjunction_pattern((literal(0) & ~literal(1)).rule)
    (True, False)
    """
    if not isinstance(rule, Levels) or sum(rule.levels) != 1:
        return None
    if rule.levels[-1]:
        return tuple(not flip for flip in rule.negated)
    return rule.negated if rule.levels[0] else None


def _pointwise(
    left: SparseFunction, right: SparseFunction, joined: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> SparseFunction:
    """Two functions joined value by value: level by level where they count the same literals, else by table."""
    for one, other in ((left, right), (right, left)):  # both & and ^ commute
        ours, theirs = one.rule, other.rule
        if not isinstance(ours, Levels) or not isinstance(theirs, Levels):
            break
        if not other.positions:
            aligned = theirs.levels * len(ours.levels)
        elif one.positions == other.positions and theirs.alternating:  # any literals will do
            start = theirs.levels[0] ^ (sum(ours.negated) % 2 == 1)  # the value where none of ours is true
            aligned = tuple(start ^ (count % 2 == 1) for count in range(len(ours.levels)))
        elif one.positions == other.positions and ours.negated == theirs.negated:
            aligned = theirs.levels
        else:
            continue
        levels = joined(np.array(ours.levels), np.array(aligned))
        return from_levels(one.positions, tuple(levels.tolist()), ours.negated)
    places = tuple(sorted({*left.positions, *right.positions}))
    if len(places) > MAX_TABLE:
        raise FormulaError(
            f"The function joins {len(places)} positions and is neither a conjunction, a disjunction, a parity "
            "nor a function that counts one set of literals, so it needs a table, which holds at most "
            f"{MAX_TABLE} positions. Use fewer positions."
        )
    return from_table(places, joined(spread(left, places), spread(right, places)))


def spread(function: SparseFunction, positions: tuple[int, ...]) -> Values:
    """The function's table over more positions, in increasing order."""
    table = function.table.reshape((2,) * function.sparsity)
    shape = tuple(2 if place in function.positions else 1 for place in reversed(positions))
    full = np.broadcast_to(table.reshape(shape), (2,) * len(positions))
    return np.ascontiguousarray(full).reshape(-1)
