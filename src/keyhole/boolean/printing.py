"""A function written as a formula that reads back as the same function.

Functions that count literals have names of their own. A table of few positions is taken apart where it is a
disjunction, a conjunction or a sum of functions of disjoint positions; what resists is written as a table.
"""

from itertools import combinations
from typing import Literal

import numpy as np

from keyhole.boolean.rules import Levels, Rule, Values, canonical_table

Operator = Literal["|", "^", "&"]
BINDING: dict[Operator, int] = {"|": 1, "^": 2, "&": 3}  # Python's precedence; a name or a bracket binds at 4
ATOM = 4
MAX_SPLIT = 10  # positions of a table that is taken apart: 2^9 ways to cut it in two
MAX_BITS = 6  # positions of a table written bit by bit; a longer one is written in hexadecimal

Text = tuple[str, int]  # a formula and how tightly it binds


def write(positions: tuple[int, ...], rule: Rule) -> str:
    """The formula of a canonical rule at these positions.

    >>> write((1, 2, 5), Levels((False, False, True, True), (False, False, False)))
    'maj(x1, x2, x5)'
    """
    return _text(positions, rule)[0]


def _text(positions: tuple[int, ...], rule: Rule) -> Text:
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
    if operator == "|":
        parts = _cut_product(~matrix)
        return None if parts is None else (~parts[0], ~parts[1])
    if operator == "&":
        return _cut_product(matrix)
    rows, columns = matrix[:, 0], np.logical_xor(matrix[0], matrix[0, 0])
    return (rows, columns) if np.array_equal(matrix, rows[:, None] ^ columns) else None


def _cut_product(matrix: np.ndarray) -> tuple[Values, Values] | None:
    rows, columns = np.asarray(matrix.any(axis=1)), np.asarray(matrix.any(axis=0))
    return (rows, columns) if np.array_equal(matrix, rows[:, None] & columns) else None
