"""A circuit: gates in order, each a function of a few context bits and of gates before it; the last is the output.

A wire is a number: position p of the context is wire p, and gate g is wire FIRST_GATE + g. A gate is a sparse function
of wires, so that all that is said of sparse functions holds for it.
"""

import re
from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Bool, Integer
from keyhole.boolean.formula import OPERATIONS, balanced, count, look_up
from keyhole.boolean.function import Levels, SparseFunction, check_context, conjunction_pattern, decide, literal
from keyhole.errors import FormulaError

FIRST_GATE = 10**18  # above every position of a formula
MAX_GATES = 100_000
MAX_SETTLED = 16  # positions of a function that is found by tables
MAX_WORK = 10**7  # positions of all gates together, where the function is found by rules


@dataclass(frozen=True)
class Circuit:
    """Gates of a few wires each, with their names; the last gate is the output."""

    gates: tuple[SparseFunction, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.gates) <= MAX_GATES:
            raise FormulaError(f"A circuit of {len(self.gates)} gates was given; it has 1 to {MAX_GATES:,}.")
        if len(set(self.names)) != len(self.gates):
            raise FormulaError(f"{len(set(self.names))} names were given to {len(self.gates)} gates; name each once.")
        for index, gate in enumerate(self.gates):
            if gate.positions and gate.positions[-1] >= FIRST_GATE + index:
                raise FormulaError(
                    f"Gate {self.names[index]} reads itself or a later gate; each gate reads gates before it."
                )

    @property
    def fan_in(self) -> int:
        """s, the most wires that a gate reads."""
        return max(gate.sparsity for gate in self.gates)

    @property
    def levels(self) -> tuple[int, ...]:
        """The level of each gate: 1 more than the largest it reads, context bits having level 0."""
        levels: list[int] = []
        for gate in self.gates:
            read = [levels[wire - FIRST_GATE] for wire in gate.positions if wire >= FIRST_GATE]
            levels.append(1 + max(read, default=0))
        return tuple(levels)

    @property
    def depth(self) -> int:
        """L, the largest level."""
        return max(self.levels)

    @property
    def positions(self) -> tuple[int, ...]:
        """The context bits that some gate reads, in order."""
        return tuple(sorted({wire for gate in self.gates for wire in gate.positions if wire < FIRST_GATE}))

    def slots(self, context: int) -> tuple[SparseFunction, ...]:
        """Each gate as a function of the word of T context bits and all slots: gate g stands at position T + g."""
        if self.positions:
            check_context(literal(self.positions[-1]), context)
        shift = FIRST_GATE - context
        return tuple(
            SparseFunction(tuple(wire - shift * (wire >= FIRST_GATE) for wire in gate.positions), gate.rule)
            for gate in self.gates
        )

    def __call__(self, bits: Bool[np.ndarray, "... T"] | Integer[np.ndarray, "... T"]) -> Bool[np.ndarray, "... gates"]:
        """The values of all gates on inputs of shape (…, T)."""
        context = bits.shape[-1]
        slots = self.slots(context)
        word = np.concatenate([bits.astype(bool), np.zeros((*bits.shape[:-1], len(slots)), dtype=bool)], axis=-1)
        for index, slot in enumerate(slots):
            word[..., context + index] = decide(slot.rule, word[..., list(slot.positions)])
        return word[..., context:]

    def function(self) -> SparseFunction | None:
        """The output as one function of the context, or None where that takes too large a table.

        Parities of parities and conjunctions of conjunctions are found at any size; other gates by a table of at most
        16 positions.
        """
        functions: list[SparseFunction] = []
        work = 0
        for gate in self.gates:
            read = [functions[wire - FIRST_GATE] if wire >= FIRST_GATE else literal(wire) for wire in gate.positions]
            found = _substitute(gate, read)
            if found is None:
                return None
            functions.append(found)
            work += found.sparsity
            if work > MAX_WORK:
                return None
        return functions[-1]

    def __str__(self) -> str:
        def name(match: "re.Match[str]") -> str:
            wire = int(match[1])
            return self.names[wire - FIRST_GATE] if wire >= FIRST_GATE else match[0]

        texts = [re.sub(r"\bx([0-9]+)", name, str(gate)) for gate in self.gates]
        lines = [f"{name} = {text}" for name, text in zip(self.names[:-1], texts[:-1], strict=True)]
        return "; ".join([*lines, texts[-1]])


def _substitute(gate: SparseFunction, read: list[SparseFunction]) -> SparseFunction | None:
    """A gate of functions, or None where neither rules nor a small table give it."""
    rule = gate.rule
    if not read:
        return gate
    if isinstance(rule, Levels) and rule.alternating and all(map(_is_parity, read)):
        parity = balanced(OPERATIONS["^"], read)
        return ~parity if rule.levels[0] else parity
    for flipped in (False, True):
        pattern = conjunction_pattern((~gate if flipped else gate).rule)
        if pattern is None:
            continue
        parts = [part if bit else ~part for part, bit in zip(read, pattern, strict=True)]
        if all(conjunction_pattern(part.rule) is not None for part in parts):
            joint = balanced(OPERATIONS["&"], parts)
            return ~joint if flipped else joint
    if len({place for part in read for place in part.positions}) > MAX_SETTLED:
        return None
    if isinstance(rule, Levels):
        return count([~part if flip else part for part, flip in zip(read, rule.negated, strict=True)], rule.levels)
    return look_up(read, rule.values)


def _is_parity(function: SparseFunction) -> bool:
    """Return True of a parity, its opposite, a literal or a constant."""
    return isinstance(function.rule, Levels) and function.rule.alternating
