"""The formula language: text in, a sparse function out, or an error that points at the place.

    x3 & ~x17 | maj(x1, x2, x5) ^ x9

Python's precedence: ~ before & before ^ before |. Positions count from 0. Constants are 0 and 1. Functions:
and(…), or(…), parity(…), maj(…), atleast(2; …), symmetric(0110; …) with one value per number of true arguments,
and table(0110; x4, x9), whose entries run over the arguments with the first as least significant bit; a long
table may be hexadecimal, table(0x96; …). Arguments may be formulas themselves.

Many functions joined into one: by operators, by counting how many are true, by looking their values up.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

import numpy as np

from keyhole.boolean.function import (
    MAX_LEVELS,
    MAX_TABLE,
    Levels,
    SparseFunction,
    Values,
    constant,
    from_levels,
    from_table,
    literal,
    spread,
)
from keyhole.errors import FormulaError

Operation = Callable[[SparseFunction, SparseFunction], SparseFunction]
OPERATIONS: dict[str, Operation] = {
    "&": SparseFunction.__and__,
    "^": SparseFunction.__xor__,
    "|": SparseFunction.__or__,
}


V = TypeVar("V")


class Algebra(ABC, Generic[V]):
    """The values that a formula's parts stand for: functions, or the gates of a circuit."""

    @abstractmethod
    def variable(self, position: int) -> V:
        """The bit at a position."""

    @abstractmethod
    def constant(self, value: bool) -> V:  # noqa: FBT001  (the value is the function)
        """The constant 0 or 1."""

    @abstractmethod
    def negation(self, value: V) -> V:
        """The opposite."""

    @abstractmethod
    def operation(self, sign: str, values: list[V]) -> V:
        """One of &, ^ and | over all values."""

    @abstractmethod
    def count(self, arguments: list[V], levels: tuple[bool, ...]) -> V:
        """The entry of `levels` for the number of true arguments."""

    @abstractmethod
    def look_up(self, arguments: list[V], values: Values) -> V:
        """The entry of a table, the first argument being the least significant bit."""

    def named(self, name: str) -> V | None:  # noqa: ARG002  (a formula has no names)
        """The value of a name, or None if nothing has the name."""
        return None


class Functions(Algebra[SparseFunction]):
    """A formula as one sparse function of the context."""

    def variable(self, position: int) -> SparseFunction:
        """A literal."""
        return literal(position)

    def constant(self, value: bool) -> SparseFunction:  # noqa: FBT001
        """A function of no position."""
        return constant(value)

    def negation(self, value: SparseFunction) -> SparseFunction:
        """The negated function."""
        return ~value

    def operation(self, sign: str, values: list[SparseFunction]) -> SparseFunction:
        """The functions joined in a tree of logarithmic depth."""
        return balanced(OPERATIONS[sign], values)

    def count(self, arguments: list[SparseFunction], levels: tuple[bool, ...]) -> SparseFunction:
        """The joint function, as `count` gives it."""
        return count(arguments, levels)

    def look_up(self, arguments: list[SparseFunction], values: Values) -> SparseFunction:
        """The joint function, as `look_up` gives it."""
        return look_up(arguments, values)


def join(algebra: Algebra[V], operands: list[V], operators: list[str], binding: str = "|^&") -> V:
    """Operands and the operators between them, the loosest operator taken apart first."""
    if not operators:
        return operands[0]
    loosest, groups, start = binding[0], [], 0
    for stop in [*(i + 1 for i, sign in enumerate(operators) if sign == loosest), len(operands)]:
        groups.append(join(algebra, operands[start:stop], operators[start : stop - 1], binding[1:]))
        start = stop
    return groups[0] if len(groups) == 1 else algebra.operation(loosest, groups)


def balanced(operation: Operation, functions: list[SparseFunction]) -> SparseFunction:
    """An associative operation over many functions, in a tree of logarithmic depth."""
    while len(functions) > 1:
        pairs = [operation(*functions[i : i + 2]) for i in range(0, len(functions) - 1, 2)]
        functions = pairs + functions[2 * len(pairs) :]
    return functions[0]


def count(arguments: list[SparseFunction], levels: tuple[bool, ...]) -> SparseFunction:
    """The function whose value depends on how many arguments are true."""
    places = _distinct_variables(arguments)
    if places is not None and len(places) <= MAX_LEVELS:
        return from_levels(places, levels, tuple(_negative(argument) for argument in arguments))
    return _composed(arguments, lambda tables: np.asarray(np.array(levels)[np.sum(tables, axis=0, dtype=np.int64)]))


def look_up(arguments: list[SparseFunction], values: Values) -> SparseFunction:
    """The function whose value is looked up in a table by its arguments."""
    places = _distinct_variables(arguments)
    if places is not None and not any(map(_negative, arguments)):
        return from_table(places, values)

    def rule(tables: list[Values]) -> Values:
        patterns = np.zeros(tables[0].shape, dtype=np.int64)
        for weight, row in enumerate(tables):
            patterns += row.astype(np.int64) << weight
        return np.asarray(values[patterns])

    return _composed(arguments, rule)


def _distinct_variables(arguments: list[SparseFunction]) -> tuple[int, ...] | None:
    """The arguments' positions where each argument is a literal of its own position, else None."""
    places = tuple(argument.positions[0] for argument in arguments if argument.sparsity == 1)
    return places if len(set(places)) == len(arguments) else None


def _negative(argument: SparseFunction) -> bool:
    """Return True if a function of one position is a negated literal."""
    return isinstance(argument.rule, Levels) and argument.rule.levels[0]


def _composed(arguments: list[SparseFunction], rule: Callable[[list[Values]], Values]) -> SparseFunction:
    """A rule applied to the tables of its arguments over all their positions."""
    places = tuple(sorted({place for argument in arguments for place in argument.positions}))
    if len(places) > MAX_TABLE:
        raise FormulaError(
            f"A function of formulas on {len(places)} positions was asked for; it needs a table, which holds at most "
            f"{MAX_TABLE}. Use fewer positions, or distinct variables as arguments."
        )
    return from_table(places, rule([spread(argument, places) for argument in arguments]))


MAX_DEPTH = 200  # open brackets at once
MAX_POSITION_DIGITS = 18  # positions are 64-bit integers

TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)|x(?P<position>[0-9]+)|(?P<name>[a-z][a-z0-9_]*)"
    r"|(?P<word>[0-9][0-9a-fx]*)|(?P<sign>[&|^~(),;])"
)
PLAIN = ("and", "or", "parity", "maj", "majority")
EXAMPLES = dict.fromkeys(PLAIN, "(x1, x2, x5)") | {
    "atleast": "(2; x1, x2, x5)",
    "symmetric": "(0110; x1, x2, x5)",
    "table": "(0110; x4, x9)",
}
NO_POSITION = "x must be followed by its position in digits, such as x3 (positions count from 0)"
WORDS = {"and": "&", "or": "|", "not": "~", "xor": "^"}
WRITTEN = {
    word: f"{word!r} is written {sign} in a formula, as in 'x3 & ~x17 | x5 ^ x9'" for word, sign in WORDS.items()
}
OPERAND = "a variable such as x3, a bracket or a function"


@dataclass(frozen=True)
class Token:
    """A piece of the text and where it begins."""

    kind: str
    text: str
    place: int

    @property
    def typed(self) -> str:
        """The piece as it was typed."""
        return f"x{self.text}" if self.kind == "position" else self.text


def parse(text: str) -> SparseFunction:
    """The function a formula stands for.

    >>> parse("x3 & ~x17 | maj(x1, x2, x5)").positions
    (1, 2, 3, 5, 17)
    """
    if not text.strip():
        raise FormulaError("The formula is empty; write one such as 'x3 & ~x17 | maj(x1, x2, x5)'.")
    return Reader(text, Functions()).read()[0]


class Reader(Generic[V]):
    """One pass over the tokens by recursive descent: two calls for every open bracket."""

    def __init__(self, text: str, algebra: Algebra[V]) -> None:
        self.text, self.algebra, self.next, place = text, algebra, 0, 0
        self.tokens: list[Token] = []
        while place < len(text):
            match = TOKEN.match(text, place)
            if match is None:
                stray = Token("stray", text[place], place)
                after_x = place > 0 and text[place - 1] == "x"
                self._refuse(stray, NO_POSITION if after_x else f"{stray.text!r} is not part of a formula")
            kind = str(match.lastgroup)
            if kind != "space":
                self.tokens.append(Token(kind, match[kind], place))
            place = match.end()
        self.tokens.append(Token("end", "", len(text.rstrip())))

    def read(self, opening: Token | None = None, name: str = "", depth: int = 0) -> list[V]:
        """The arguments of a function up to its closing bracket; one formula in a plain bracket, or up to the end."""
        if opening is not None and depth > MAX_DEPTH:
            self._refuse(opening, f"Brackets may be nested {MAX_DEPTH} deep, but here they go deeper")
        arguments: list[V] = []
        operands: list[V] = []
        operators: list[str] = []
        while True:
            operands.append(self._operand("" if arguments or operators else name, depth))
            token = self._take()
            closes = token.kind == "end" if opening is None else token.text == ")"
            if token.text in OPERATIONS:
                operators.append(token.text)
            elif closes or (token.text == "," and name):
                arguments.append(join(self.algebra, operands, operators))
                operands, operators = [], []
                if closes:
                    return arguments
            elif opening is not None and token.kind == "end":
                self._refuse(opening, "This bracket is never closed")
            elif token.text == ")":
                self._refuse(token, "This bracket was never opened")
            elif token.text in WRITTEN:
                self._refuse(token, WRITTEN[token.text])
            else:
                ending = "the end" if opening is None else f"{'a comma or ' * bool(name)}a closing bracket"
                self._refuse(token, f"Expected &, |, ^ or {ending}, found {token.typed!r}")

    def _operand(self, empty: str, depth: int) -> V:
        """A variable, a constant, a bracket or a call, with the negations before it.

        `empty` names the function whose first argument this is.
        """
        flips = 0
        while (token := self._take()).text == "~":
            flips += 1
        if token.kind == "position":
            digits = token.text.lstrip("0") or "0"  # int refuses thousands of digits, zeros included
            if len(digits) > MAX_POSITION_DIGITS:
                self._refuse(token, f"A position has at most {MAX_POSITION_DIGITS} digits, but this has more")
            value = self.algebra.variable(int(digits))
        elif token.text == "(":
            (value,) = self.read(token, depth=depth + 1)
        elif token.text in EXAMPLES and (token.text not in WORDS or self.tokens[self.next].text == "("):
            opening, header = self._head(token)
            value = self._apply(token.text, header, self.read(opening, token.text, depth + 1))
        elif token.text in ("0", "1"):
            value = self.algebra.constant(token.text == "1")
        elif token.kind == "name" and (named := self.algebra.named(token.text)) is not None:
            value = named
        else:
            self._refuse(token, _complaint(token, empty))
        return self.algebra.negation(value) if flips % 2 else value

    def _take(self) -> Token:
        """The next token; after the last one its end again."""
        token = self.tokens[min(self.next, len(self.tokens) - 1)]
        self.next += 1
        return token

    def _head(self, name: Token) -> tuple[Token, Token | None]:
        """A function's opening bracket, and the values before its semicolon where it has some."""
        example = f"{name.text}{EXAMPLES[name.text]}"
        opening = self._expect(name, "(", f"Expected a bracket after {name.text}, as in {example}")
        if name.text in PLAIN:
            return opening, None
        complaint = f"{name.text} begins with its values and a semicolon, as in {example}"
        header = self._expect(opening, "word", complaint)
        self._expect(header, ";", complaint)
        return opening, header

    def _expect(self, after: Token, wanted: str, complaint: str) -> Token:
        """The next token if it is the wanted sign or kind."""
        token = self._take()
        if wanted not in (token.kind, token.text):
            self._refuse(after if token.kind == "end" else token, complaint)
        return token

    def _apply(self, name: str, header: Token | None, arguments: list[V]) -> V:
        """The value of a function at its arguments."""
        number = len(arguments)
        if header is None:
            operator = {"and": "&", "or": "|", "parity": "^"}.get(name)
            if operator is not None:
                return arguments[0] if number == 1 else self.algebra.operation(operator, arguments)
            return self.algebra.count(arguments, tuple(ones > number // 2 for ones in range(number + 1)))
        if name == "atleast":
            if not header.text.isdigit() or len(header.text) > 9:
                self._refuse(header, "atleast begins with a number, as in atleast(2; x1, x2, x5)")
            return self.algebra.count(arguments, tuple(ones >= int(header.text) for ones in range(number + 1)))
        if name == "symmetric":
            values = self._bits(header, number + 1, f"{number} arguments need {number + 1}, one for each count")
            return self.algebra.count(arguments, tuple(values.tolist()))
        if number > MAX_TABLE:
            self._refuse(header, f"A table holds at most {MAX_TABLE} arguments, but this has {number}")
        return self.algebra.look_up(
            arguments, self._bits(header, 1 << number, f"{number} arguments need {1 << number}")
        )

    def _bits(self, header: Token, needed: int, why: str) -> Values:
        """The values a header lists, one by one or in hexadecimal."""
        if re.fullmatch("0x[0-9a-f]+", header.text):
            number = header.text[2:].lstrip("0") or "0"
            if 4 * len(number) > needed + 3 or int(number, 16).bit_length() > needed:
                self._refuse(header, f"This hexadecimal number has more than {needed} binary digits; {why}")
            packed = np.frombuffer(int(number, 16).to_bytes((needed + 7) // 8, "little"), dtype=np.uint8)
            return np.unpackbits(packed, count=needed, bitorder="little").astype(bool)
        if not re.fullmatch("[01]+", header.text):
            self._refuse(header, "Expected values 0 and 1, or a hexadecimal number such as 0x96")
        if len(header.text) != needed:
            self._refuse(header, f"Here {len(header.text)} values are listed, but {why}")
        return np.asarray(np.frombuffer(header.text.encode(), dtype=np.uint8) == ord("1"))

    def _refuse(self, token: Token, complaint: str) -> NoReturn:
        """Raise the complaint with the text around the place, and a caret under it."""
        start = max(0, token.place - 36)
        window = self.text[start : token.place + 36]
        shown = "".join(letter if letter.isprintable() else " " for letter in window)
        before, after = "… " * (start > 0), " …" * (token.place + 36 < len(self.text))
        caret = " " * (len(before) + token.place - start) + "^"
        raise FormulaError(f"{complaint} (at character {token.place + 1}):\n  {before}{shown}{after}\n  {caret}")


def _complaint(token: Token, empty: str) -> str:
    """The reason why no operand begins with a token, after the bracket of a function or, where `empty` is "", not."""
    if token.kind == "end":
        return f"Expected {OPERAND}, but the formula ends"
    if token.kind == "name":
        known = f"{token.text!r} is not a function; there are {', '.join(EXAMPLES)}"
        return NO_POSITION if token.text.startswith("x") else WRITTEN.get(token.text, known)
    if token.text == ")" and empty:
        return f"{empty} needs at least one argument, such as {empty}{EXAMPLES[empty]}"
    return f"Expected {OPERAND}, but found {token.typed!r}"
