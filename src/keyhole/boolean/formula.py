"""The formula language: text in, a sparse function out, or an error that points at the place.

    x3 & ~x17 | maj(x1, x2, x5) ^ x9

Python's precedence: ~ before & before ^ before |. Positions count from 0. Constants are 0 and 1. Functions:
and(…), or(…), parity(…), maj(…), atleast(2; …), symmetric(0110; …) with one value per number of true arguments,
and table(0110; x4, x9), whose entries run over the arguments with the first as least significant bit; a long
table may be hexadecimal, table(0x96; …). Arguments may be formulas themselves.

Many functions joined into one: by operators, by counting how many are true, by looking their values up.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from keyhole.boolean.function import SparseFunction, constant, from_levels, from_table, literal, spread
from keyhole.boolean.rules import MAX_LEVELS, MAX_TABLE, Levels, Values
from keyhole.errors import FormulaError

Operation = Callable[[SparseFunction, SparseFunction], SparseFunction]
OPERATIONS: dict[str, Operation] = {
    "&": SparseFunction.__and__,
    "^": SparseFunction.__xor__,
    "|": SparseFunction.__or__,
}


def join(operands: list[SparseFunction], operators: list[str], binding: str = "|^&") -> SparseFunction:
    """Operands and the operators between them, the loosest operator taken apart first."""
    if not operators:
        return operands[0]
    loosest, groups, start = binding[0], [], 0
    for stop in [*(i + 1 for i, sign in enumerate(operators) if sign == loosest), len(operands)]:
        groups.append(join(operands[start:stop], operators[start : stop - 1], binding[1:]))
        start = stop
    return balanced(OPERATIONS[loosest], groups)


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
    r"(?P<space>[ \t\r\n]+)|x(?P<position>[0-9]+)|(?P<name>[a-z]+)"
    r"|(?P<word>[0-9][0-9a-fx]*)|(?P<sign>[&|^~(),;])"
)
PLAIN = ("and", "or", "parity", "maj", "majority")
HEADED = ("atleast", "symmetric", "table")
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
    def shown(self) -> str:
        """The piece as it was typed."""
        return f"x{self.text}" if self.kind == "position" else self.text


@dataclass
class Frame:
    """An open bracket being read: the formula so far, and the arguments already complete."""

    opening: Token | None = None
    name: str = ""
    header: Token | None = None
    arguments: list[SparseFunction] = field(default_factory=list)
    operands: list[SparseFunction] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    negations: int = 0

    @property
    def wants_operand(self) -> bool:
        """True if a variable or bracket must come next."""
        return len(self.operands) == len(self.operators)

    def take(self, operand: SparseFunction) -> None:
        """Add an operand, with the negations that stood before it."""
        self.operands.append(~operand if self.negations % 2 else operand)
        self.negations = 0

    def finish(self) -> SparseFunction:
        """The value of the operands and operators read so far, which are then forgotten."""
        value = join(self.operands, self.operators)
        self.operands, self.operators = [], []
        return value


def parse(text: str) -> SparseFunction:
    """The function a formula stands for.

    >>> parse("x3 & ~x17 | maj(x1, x2, x5)").positions
    (1, 2, 3, 5, 17)
    """
    if not text.strip():
        raise FormulaError("The formula is empty; write one such as 'x3 & ~x17 | maj(x1, x2, x5)'.")
    return Reader(text).read()


class Reader:
    """One pass over the tokens with a stack of open brackets; no recursion, so depth costs nothing."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokenise()
        self.next = 0
        self.stack = [Frame()]

    def read(self) -> SparseFunction:
        """The value of the whole text."""
        while self.next < len(self.tokens):
            token = self.tokens[self.next]
            self.next += 1
            if self.stack[-1].wants_operand:
                self._operand(token)
            else:
                self._operator(token)
        end = Token("end", "", len(self.text.rstrip()))
        frame = self.stack[-1]
        if frame.wants_operand:
            self._refuse(end, f"Expected {OPERAND}, but the formula ends")
        if frame.opening is not None:
            self._refuse(frame.opening, "This bracket is never closed")
        return frame.finish()

    def _operand(self, token: Token) -> None:
        """Read a token where a variable, a constant, a bracket or a function may begin."""
        frame = self.stack[-1]
        if token.kind == "position":
            digits = token.text.lstrip("0") or "0"  # int refuses thousands of digits, zeros included
            if len(digits) > MAX_POSITION_DIGITS:
                self._refuse(token, f"A position has at most {MAX_POSITION_DIGITS} digits, but this has more")
            frame.take(literal(int(digits)))
        elif token.text == "~":
            frame.negations += 1
        elif token.text == "(":
            self._open(token)
        elif token.text in PLAIN + HEADED and (token.text not in WORDS or self._opens()):
            self._call(token)
        elif token.text in ("0", "1"):
            frame.take(constant(token.text == "1"))
        elif token.kind == "name" and token.text.startswith("x"):
            self._refuse(token, NO_POSITION)
        elif token.kind == "name":
            known = f"There is no function {token.text!r}; there are {', '.join(PLAIN + HEADED)}"
            self._refuse(token, WRITTEN.get(token.text, known))
        elif token.text == ")" and frame.name and not frame.arguments and not frame.operators:
            self._refuse(token, f"{frame.name} needs at least one argument, such as {frame.name}{_example(frame.name)}")
        else:
            self._refuse(token, f"Expected {OPERAND}, but found {token.shown!r}")

    def _opens(self) -> bool:
        """Return True if the next sign opens a bracket: `and` is then a function's name, and else a word for &."""
        return self.next < len(self.tokens) and self.tokens[self.next].text == "("

    def _operator(self, token: Token) -> None:
        """Read a token where an operator, a comma, a closing bracket or the end may stand."""
        frame = self.stack[-1]
        if token.text in ("&", "|", "^"):
            frame.operators.append(token.text)
        elif token.text == "," and frame.name:
            frame.arguments.append(frame.finish())
        elif token.text == ")" and frame.opening is not None:
            value = frame.finish()
            self.stack.pop()
            self.stack[-1].take(self._apply(frame, [*frame.arguments, value]) if frame.name else value)
        elif token.text == ")":
            self._refuse(token, "This bracket was never opened")
        elif token.text in WRITTEN:
            self._refuse(token, WRITTEN[token.text])
        else:
            ending = "a comma or a closing bracket" if frame.name else "a closing bracket"
            self._refuse(token, f"Expected &, |, ^ or {ending if frame.opening else 'the end'}, found {token.shown!r}")

    def _open(self, token: Token, name: str = "", header: Token | None = None) -> None:
        if len(self.stack) > MAX_DEPTH:
            self._refuse(token, f"Brackets may be nested {MAX_DEPTH} deep, but here they go deeper")
        self.stack.append(Frame(opening=token, name=name, header=header))

    def _call(self, name: Token) -> None:
        """Read a function's opening bracket, and its header where it has one."""
        opening = self._expect(
            name, "(", f"Expected a bracket after {name.text}, as in {name.text}{_example(name.text)}"
        )
        header = None
        if name.text in HEADED:
            what = f"{name.text} begins with its values and a semicolon, as in {name.text}{_example(name.text)}"
            header = self._expect(opening, "word", what)
            self._expect(header, ";", what)
        self._open(opening, name.text, header)

    def _expect(self, after: Token, wanted: str, complaint: str) -> Token:
        """The next token if it is the wanted sign or kind."""
        token = self.tokens[self.next] if self.next < len(self.tokens) else Token("end", "", len(self.text.rstrip()))
        if wanted not in (token.kind, token.text):
            self._refuse(token if token.kind != "end" else after, complaint)
        self.next += 1
        return token

    def _apply(self, frame: Frame, arguments: list[SparseFunction]) -> SparseFunction:
        """The value of a function call whose bracket has just closed."""
        if frame.header is None:
            operator = {"and": "&", "or": "|", "parity": "^"}.get(frame.name)
            if operator is not None:
                return balanced(OPERATIONS[operator], arguments)
            half = len(arguments) // 2 + 1
            return count(arguments, tuple(ones >= half for ones in range(len(arguments) + 1)))
        if frame.name == "atleast":
            if not frame.header.text.isdigit() or len(frame.header.text) > 9:
                self._refuse(frame.header, "atleast begins with a number, as in atleast(2; x1, x2, x5)")
            least = int(frame.header.text)
            return count(arguments, tuple(ones >= least for ones in range(len(arguments) + 1)))
        if frame.name == "symmetric":
            needed = len(arguments) + 1
            values = self._bits(frame.header, needed, f"{len(arguments)} arguments need {needed}, one for each count")
            return count(arguments, tuple(values.tolist()))
        if len(arguments) > MAX_TABLE:
            self._refuse(frame.header, f"A table holds at most {MAX_TABLE} arguments, but this has {len(arguments)}")
        needed = 1 << len(arguments)
        return look_up(arguments, self._bits(frame.header, needed, f"{len(arguments)} arguments need {needed}"))

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

    def _tokenise(self) -> list[Token]:
        tokens, place = [], 0
        while place < len(self.text):
            match = TOKEN.match(self.text, place)
            if match is None:
                stray = Token("stray", self.text[place], place)
                after_x = place > 0 and self.text[place - 1] == "x"
                self._refuse(stray, NO_POSITION if after_x else f"{stray.text!r} is not part of a formula")
            kind = str(match.lastgroup)
            if kind != "space":
                tokens.append(Token(kind, match[kind], place))
            place = match.end()
        return tokens

    def _refuse(self, token: Token, complaint: str) -> NoReturn:
        """Raise the complaint with the text around the place, and a caret under it."""
        start = max(0, token.place - 36)
        window = self.text[start : token.place + 36]
        shown = "".join(letter if letter.isprintable() else " " for letter in window)
        before, after = "… " * (start > 0), " …" * (token.place + 36 < len(self.text))
        caret = " " * (len(before) + token.place - start) + "^"
        raise FormulaError(f"{complaint} (at character {token.place + 1}):\n  {before}{shown}{after}\n  {caret}")


def _example(name: str) -> str:
    return {"atleast": "(2; x1, x2, x5)", "symmetric": "(0110; x1, x2, x5)", "table": "(0110; x4, x9)"}.get(
        name, "(x1, x2, x5)"
    )
