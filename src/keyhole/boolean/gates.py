"""Reading a circuit: lines of formulas in, gates of small fan-in out; what two formulas share becomes one gate.

    a = x3 & x17; b = maj(x1, x2, a); a ^ b

A line, or what stands between semicolons, names a formula, which is a gate from then on; the last is the output. A
formula is cut into gates of at most s wires. Counting more than s bits goes through full adders, and a longer table
is taken apart bit by bit.
"""

import re
from collections import Counter, deque

import numpy as np

from keyhole.boolean.circuit import FIRST_GATE, MAX_GATES, Circuit
from keyhole.boolean.families import FAMILIES, read_function
from keyhole.boolean.formula import EXAMPLES, OPERATIONS, WORDS, Algebra, Reader, balanced, count, look_up
from keyhole.boolean.function import Levels, SparseFunction, Values, constant, literal
from keyhole.errors import FormulaError

MAX_FAN_IN = 12  # a gate of s wires has up to 2^s patterns
LINE = re.compile(r"\s*([a-z][a-z0-9_]*)\s*=\s*(.*)", re.DOTALL)
CHAIN = re.compile(r"\s*chain:([a-z]+):([0-9]{1,9})\s*")


class Gates(Algebra[SparseFunction]):
    """Values are functions of at most s wires, which become gates when something larger reads them."""

    def __init__(self, fan_in: int) -> None:
        if not 2 <= fan_in <= MAX_FAN_IN:
            raise FormulaError(
                f"Gates of fan-in {fan_in} were asked for; a gate joins 2 to {MAX_FAN_IN} wires. Choose one of these."
            )
        self.fan_in = fan_in
        self.gates: list[SparseFunction] = []
        self.titles: dict[int, str] = {}  # the names of gates that have one
        self.values: dict[str, SparseFunction] = {}
        self.wires: dict[SparseFunction, SparseFunction] = {}

    def variable(self, position: int) -> SparseFunction:
        """The wire of a context bit."""
        return literal(position)

    def constant(self, value: bool) -> SparseFunction:  # noqa: FBT001
        """A function of no wire."""
        return constant(value)

    def negation(self, value: SparseFunction) -> SparseFunction:
        """The negated function."""
        return ~value

    def named(self, name: str) -> SparseFunction | None:
        """What a line above has this name."""
        return self.values.get(name)

    def wire(self, function: SparseFunction) -> SparseFunction:
        """The function as at most one wire: a gate is added unless there is one for it, or for its opposite."""
        if function.sparsity <= 1:
            return function
        known = self.wires.get(function)
        return self.add(function) if known is None else known

    def add(self, function: SparseFunction) -> SparseFunction:
        """A new gate's wire."""
        if len(self.gates) >= MAX_GATES:
            raise FormulaError(f"This circuit has more than {MAX_GATES:,} gates; raise the fan-in, or split it.")
        self.gates.append(function)
        added = literal(FIRST_GATE + len(self.gates) - 1)
        self.wires[function], self.wires[~function] = added, ~added
        return added

    def operation(self, sign: str, values: list[SparseFunction]) -> SparseFunction:
        """Neighbours are merged while they read at most s wires together; then the largest become gates, and again."""
        while True:
            groups: list[list[SparseFunction]] = []
            read: set[int] = set()
            for value in values:
                joint = read.union(value.positions)
                if groups and len(joint) <= self.fan_in:
                    groups[-1].append(value)
                    read = joint
                else:
                    groups.append([value])
                    read = set(value.positions)
            joined = [balanced(OPERATIONS[sign], group) for group in groups]
            values = [self.wires.get(value, value) for value in joined]  # a gate there already is read
            if len(values) == 1:
                return values[0]
            uses = Counter(place for value in values for place in value.positions)
            for index in sorted(range(len(values)), key=lambda index: -values[index].sparsity):
                if len(uses) <= self.fan_in:
                    break
                uses.subtract(values[index].positions)
                values[index] = self.wire(values[index])
                uses.update(values[index].positions)
                uses = +uses if len(values) <= self.fan_in else uses  # of more values each must become a wire

    def count(self, arguments: list[SparseFunction], levels: tuple[bool, ...]) -> SparseFunction:
        """A function of the number of true arguments: in one gate, by an operation, or from the binary number."""
        if self._fits(arguments):
            return count(arguments, levels)
        rule = Levels(levels, (False,) * len(arguments))
        if rule.constant:
            return constant(levels[0])
        if rule.alternating:
            parity = self.operation("^", arguments)
            return ~parity if levels[0] else parity
        if sum(levels) == 1 and (levels[0] or levels[-1]):
            return self.operation("&", arguments if levels[-1] else [~argument for argument in arguments])
        if sum(levels) == len(arguments) and not (levels[0] and levels[-1]):
            return self.operation("|", arguments if levels[-1] else [~argument for argument in arguments])
        digits = self._binary(arguments)
        values = np.zeros(1 << len(digits), dtype=bool)
        values[: len(levels)] = levels
        return self.look_up(digits, values)

    def look_up(self, arguments: list[SparseFunction], values: Values) -> SparseFunction:
        """A table: in one gate, or taken apart by its last argument; equal parts are made once."""
        arguments, made = [self.wire(argument) for argument in arguments], dict[bytes, SparseFunction]()

        def part(values: Values) -> SparseFunction:
            key = values.tobytes()
            if key not in made:
                made[key] = whole(values)
            return made[key]

        def whole(values: Values) -> SparseFunction:
            size = len(values).bit_length() - 1
            if self._fits(arguments[:size]):
                return look_up(arguments[:size], values)
            zero, one = part(values[: 1 << (size - 1)]), part(values[1 << (size - 1) :])
            last = arguments[size - 1]
            if zero == one:
                return zero
            if zero == ~one:
                return self.operation("^", [zero, last])
            chosen = [self.operation("&", [~last, zero]), self.operation("&", [last, one])]
            return self.operation("|", chosen)

        return part(values)

    def function(self, function: SparseFunction) -> SparseFunction:
        """A sparse function of the context."""
        literals = [literal(place) for place in function.positions]
        if isinstance(function.rule, Levels):
            signed = [~one if flip else one for one, flip in zip(literals, function.rule.negated, strict=True)]
            return self.count(signed, function.rule.levels)
        return self.look_up(literals, function.rule.values)

    def circuit(self, output: SparseFunction) -> Circuit:
        """The gates made so far, the output last: added again where it is not."""
        last = FIRST_GATE + len(self.gates) - 1
        if not self.gates or literal(last) not in (output, self.wires.get(output)):
            self.add(output)
        unnamed, prefix = [index for index in range(len(self.gates)) if index not in self.titles], "g"
        while any(f"{prefix}{index + 1}" in self.values for index in unnamed):
            prefix += "g"
        return Circuit(tuple(self.gates), tuple(self.titles.get(i, f"{prefix}{i + 1}") for i in range(len(self.gates))))

    def _fits(self, arguments: list[SparseFunction]) -> bool:
        return len({place for argument in arguments for place in argument.positions}) <= self.fan_in

    def _binary(self, arguments: list[SparseFunction]) -> list[SparseFunction]:
        """The number of true arguments in binary, lowest digit first, by full adders."""
        digits, column = [], deque(self.wire(argument) for argument in arguments)
        while column:
            carries: deque[SparseFunction] = deque()
            while len(column) > 1:
                parts = [column.popleft() for _ in range(min(3, len(column)))]
                column.append(self.wire(self.operation("^", parts)))
                both = [self.operation("&", parts[:2])]
                if len(parts) == 3:
                    both.append(self.operation("&", [self.operation("^", parts[:2]), parts[2]]))
                carries.append(self.wire(self.operation("|", both) if len(both) > 1 else both[0]))
            digits.append(column[0])
            column = carries
        return digits


def read_circuit(text: str, fan_in: int = 3, seed: int = 0) -> Circuit:
    """The circuit of some lines, of a formula, of a family such as `parity:16`, or of a chain such as `chain:and:9`.

    `chain:parity:16` is y_1 = x_0 ^ … ^ x_{s−1} and then y_g = y_{g−1} ^ (the next s − 1 bits), and so for any family.
    The seed draws the table of `random:s`.

    >>> print(read_circuit("parity:4", fan_in=2))
    g1 = x0 ^ x1; g2 = x2 ^ x3; g1 ^ g2
    """
    gates = Gates(fan_in)
    chain = CHAIN.fullmatch(text)
    if chain is not None:
        return gates.circuit(_chain(gates, chain[1], int(chain[2])))
    if "=" not in text and ";" not in re.sub(r"\([^()]*\)", "", text) and re.match(r"\s*[A-Za-z]+\s*:", text):
        return gates.circuit(gates.function(read_function(text, seed)))
    lines = _lines(text)
    if not lines:
        raise FormulaError("The circuit is empty; write one such as 'a = x3 & x17; a ^ x40'.")
    later = Counter(match[1] for line in lines if (match := LINE.fullmatch(line)))
    output = constant(value=False)
    for line in lines:
        match = LINE.fullmatch(line)
        name, formula = (match[1], match[2]) if match else ("", line)
        if name:
            _check_name(name, later)
        elif line is not lines[-1]:
            raise FormulaError(f"{line.strip()!r} has no name and is not the last line; name it, as in 'a = x3 & x17'.")
        output = Lines(formula, gates, later).read()[0]
        if name:
            before = len(gates.gates)
            output = gates.wire(output)
            if len(gates.gates) > before:
                gates.titles[len(gates.gates) - 1] = name
            gates.values[name] = output
    return gates.circuit(output)


class Lines(Reader[SparseFunction]):
    """A reader that explains names which are not defined yet."""

    def __init__(self, text: str, gates: Gates, later: Counter[str]) -> None:
        super().__init__(text, gates)
        for token in self.tokens:
            if token.kind == "name" and token.text in later and token.text not in gates.values:
                self._refuse(
                    token,
                    f"{token.text} is defined on this line or below it; a line reads names above it, so that a "
                    "circuit has no cycle",
                )


def _check_name(name: str, names: Counter[str]) -> None:
    if names[name] > 1:
        raise FormulaError(f"{name} is defined {names[name]} times; give each line a name of its own.")
    if name in EXAMPLES or name in WORDS or re.fullmatch("x[0-9]+", name):
        raise FormulaError(f"{name!r} has a meaning in formulas, so no line can have it as its name; choose another.")


def _lines(text: str) -> list[str]:
    """The text cut at semicolons and at ends of lines outside brackets; empty lines are left out."""
    lines, start, depth = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth <= 0 and letter in ";\n":
            lines.append(text[start:place])
            start = place + 1
    return [line for line in [*lines, text[start:]] if line.strip()]


def _chain(gates: Gates, family: str, size: int) -> SparseFunction:
    """A family's gate over the first s bits, then over the gate before and the next s − 1 bits, and so on."""
    if family not in FAMILIES:
        raise FormulaError(f"No chain is made of {family!r}; use one of {', '.join(FAMILIES)}, as in chain:parity:16.")
    step = gates.fan_in - 1
    if not 2 <= size <= step * MAX_GATES + 1:
        raise FormulaError(
            f"A chain of {size} bits was asked for; one of fan-in {gates.fan_in} has 2 to {step * MAX_GATES + 1}."
        )
    value = literal(0)
    for start in range(1, size, step):
        value = gates.wire(_gate(family, [value, *(literal(t) for t in range(start, min(start + step, size)))]))
    return value


def _gate(family: str, read: list[SparseFunction]) -> SparseFunction:
    gate = FAMILIES[family](tuple(range(len(read))))
    assert isinstance(gate.rule, Levels)  # noqa: S101  (all families count)
    return count(read, gate.rule.levels)
