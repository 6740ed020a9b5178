"""The named families of the field, on positions of one's choice; and what a person may type for a function."""

import re
from collections.abc import Callable

import numpy as np

from keyhole.boolean.formula import parse
from keyhole.boolean.function import MAX_LEVELS, MAX_TABLE, SparseFunction, from_levels, from_table
from keyhole.errors import FormulaError


def conjunction(positions: tuple[int, ...]) -> SparseFunction:
    """AND: true when every bit is 1."""
    return threshold(len(positions), positions)


def disjunction(positions: tuple[int, ...]) -> SparseFunction:
    """OR: true when some bit is 1."""
    return threshold(1, positions)


def threshold(count: int, positions: tuple[int, ...]) -> SparseFunction:
    """The function that is 1 when at least `count` bits are 1."""
    return from_levels(positions, tuple(ones >= count for ones in range(len(positions) + 1)))


def majority(positions: tuple[int, ...]) -> SparseFunction:
    """The function that is 1 when more than half of the bits are 1."""
    return threshold(len(positions) // 2 + 1, positions)


def parity(positions: tuple[int, ...]) -> SparseFunction:
    """The function that is 1 when an odd number of bits is 1."""
    return from_levels(positions, tuple(ones % 2 == 1 for ones in range(len(positions) + 1)))


def random_junta(positions: tuple[int, ...], rng: np.random.Generator) -> SparseFunction:
    """A table drawn uniformly among those in which every position matters."""
    if len(positions) > MAX_TABLE:
        raise FormulaError(
            f"A random table on {len(positions)} positions was asked for; a table holds at most {MAX_TABLE}."
        )
    while True:
        drawn = from_table(positions, rng.integers(0, 2, size=1 << len(positions), dtype=np.uint8).astype(bool))
        if drawn.sparsity == len(positions):
            return drawn


FAMILIES: dict[str, Callable[[tuple[int, ...]], SparseFunction]] = {
    "and": conjunction,
    "or": disjunction,
    "parity": parity,
    "majority": majority,
}


def read_function(text: str, seed: int = 0) -> SparseFunction:
    """The function that a formula stands for, or a name such as `and:3`, `threshold:2:5` or `random:3`.

    A name gives the member of its family on the first positions; the seed draws the table of `random:s`.

    >>> read_function("and:3"), read_function("x3 | x4"), read_function("threshold:2:3")
    (SparseFunction('x0 & x1 & x2'), SparseFunction('x3 | x4'), SparseFunction('maj(x0, x1, x2)'))
    """
    if not re.fullmatch(r"\s*[A-Za-z]+\s*:.*", text, re.DOTALL):
        return parse(text)
    text = text.strip()
    name, *numbers = text.split(":")
    wanted = 2 if name == "threshold" else 1
    if name not in (*FAMILIES, "threshold", "random"):
        known = ", ".join(f"{family}:3" for family in (*FAMILIES, "random"))
        raise FormulaError(f"{name!r} is not a family; use one of {known}, threshold:2:3, or a formula.")
    if len(numbers) != wanted or not all(number.isascii() and number.isdigit() for number in numbers):
        example = "threshold:2:5 (at least 2 of 5)" if wanted == 2 else f"{name}:3"
        raise FormulaError(f"{text!r} does not name a family member; write it like {example}.")
    counts = [int(number) if len(number) < 10 else MAX_LEVELS + 1 for number in numbers]
    if not 1 <= counts[-1] <= MAX_LEVELS:
        raise FormulaError(f"{text!r} asks for {numbers[-1]} positions; a family has 1 to {MAX_LEVELS}.")
    positions = tuple(range(counts[-1]))
    if name == "random":
        return random_junta(positions, np.random.default_rng(seed))
    return threshold(counts[0], positions) if name == "threshold" else FAMILIES[name](positions)
