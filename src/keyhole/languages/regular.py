"""Regular expressions over an alphabet of single characters, as complete deterministic automata.

The syntax is the usual one: a symbol, `.` for any symbol, `[ab]` and `[^ab]` for some, `|`, `*`, `+`, `?`, `{n}`,
`{n,m}` and brackets; the whole word must match. An expression is read as Python's `re` reads it, or refused: lazy and
possessive quantifiers, ranges and escapes are not taken. States are derivatives: what may still follow once a symbol
was read.
"""

import re
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from keyhole.errors import FormulaError
from keyhole.languages.automata import Automaton

MOST_STATES = 4096
MOST_COPIES = 256  # of what stands before {n,m}
SPECIAL = frozenset("|*+?(){}[].^,$\\")
QUANTIFIERS = "*+?{"


@dataclass(frozen=True)
class Symbols:
    """One symbol out of a set; the empty set matches nothing."""

    some: frozenset[int]


@dataclass(frozen=True)
class Empty:
    """The empty word."""


@dataclass(frozen=True)
class Sequence:
    """One expression, then another."""

    first: "Expression"
    then: "Expression"


@dataclass(frozen=True)
class Either:
    """Any of some expressions."""

    options: frozenset["Expression"]


@dataclass(frozen=True)
class Repeat:
    """Any number of times."""

    inner: "Expression"


Expression = Symbols | Empty | Sequence | Either | Repeat
NOTHING, EMPTY = Symbols(frozenset()), Empty()


def sequence(first: Expression, then: Expression) -> Expression:
    """One, then the other, in a form that is the same for the same languages more often."""
    if NOTHING in (first, then):
        return NOTHING
    if first == EMPTY:
        return then
    if then == EMPTY:
        return first
    if isinstance(first, Sequence):
        return sequence(first.first, sequence(first.then, then))
    return Sequence(first, then)


def either(*options: Expression) -> Expression:
    """Any of some expressions; sets of symbols are united, nothing and repetitions dropped."""
    flat: set[Expression] = set()
    symbols: frozenset[int] = frozenset()
    for option in options:
        for choice in option.options if isinstance(option, Either) else (option,):
            if isinstance(choice, Symbols):
                symbols |= choice.some
            else:
                flat.add(choice)
    if symbols:
        flat.add(Symbols(symbols))
    if not flat:
        return NOTHING
    return next(iter(flat)) if len(flat) == 1 else Either(frozenset(flat))


def repeat(inner: Expression) -> Expression:
    """Any number of times."""
    if inner in (NOTHING, EMPTY):
        return EMPTY
    return inner if isinstance(inner, Repeat) else Repeat(inner)


def takes_nothing(expression: Expression) -> bool:
    """Return whether the empty word matches."""
    match expression:
        case Empty() | Repeat():
            return True
        case Symbols():
            return False
        case Sequence(first, then):
            return takes_nothing(first) and takes_nothing(then)
        case Either(options):
            return any(takes_nothing(option) for option in options)


def derivative(expression: Expression, symbol: int) -> Expression:
    """Return the expression of all that may follow the symbol (Brzozowski)."""
    match expression:
        case Empty():
            return NOTHING
        case Symbols(some):
            return EMPTY if symbol in some else NOTHING
        case Repeat(inner):
            return sequence(derivative(inner, symbol), expression)
        case Either(options):
            return either(*(derivative(option, symbol) for option in options))
        case Sequence(first, then):
            after = sequence(derivative(first, symbol), then)
            return either(after, derivative(then, symbol)) if takes_nothing(first) else after


def automaton_of(text: str, alphabet: tuple[str, ...]) -> Automaton:
    """The automaton of an expression over symbols of one character each.

    >>> import numpy as np
    >>> automaton_of("(ab)*", ("a", "b")).accepts(np.array([[0, 1, 0, 1], [0, 1, 1, 0]])).tolist()
    [True, False]
    """
    long = [symbol for symbol in alphabet if len(symbol) != 1]
    if long:
        raise FormulaError(
            f"A regular expression needs symbols of one character, and the alphabet has {long[0]!r}; "
            "rename it, or give an automaton."
        )
    try:
        start = _Parser(text, alphabet).read()
        index, order, moves = {start: 0}, [start], []  # the states are the derivatives of the expression
        for expression in order:
            row = []
            for symbol in range(len(alphabet)):
                after = derivative(expression, symbol)
                if after not in index:
                    index[after] = len(order)
                    order.append(after)
                    if len(order) > MOST_STATES:
                        raise FormulaError(
                            f"The expression {text!r} needs more than {MOST_STATES} states; use a shorter one."
                        )
                row.append(index[after])
            moves.append(row)
        accepting = np.array([takes_nothing(expression) for expression in order])
        return minimal(Automaton(np.array(moves), 0, accepting))
    except RecursionError as error:
        raise FormulaError(f"The expression of {len(text):,} letters is too long or nested too deep.") from error


def minimal(automaton: Automaton) -> Automaton:
    """The smallest automaton that accepts the same words (Moore): states that no word tells apart are one."""
    kind = automaton.accepting.astype(np.int64)
    while True:
        signature = np.concatenate([kind[:, None], kind[automaton.moves]], axis=1)
        _, finer = np.unique(signature, axis=0, return_inverse=True)
        finer = finer.reshape(-1)
        if finer.max() == kind.max():
            break
        kind = finer
    first = np.array([int(np.argmax(kind == state)) for state in range(int(kind.max()) + 1)])
    return Automaton(kind[automaton.moves[first]], int(kind[automaton.start]), automaton.accepting[first])


class _Parser:
    """Reads an expression from left to right."""

    def __init__(self, text: str, alphabet: tuple[str, ...]) -> None:
        self.text, self.alphabet, self.at = text, alphabet, 0

    def read(self) -> Expression:
        expression = self._either()
        if self.at < len(self.text):
            self._refuse(f"{self.text[self.at]!r} has no partner")
        return expression

    def _either(self) -> Expression:
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        return either(*options)

    def _sequence(self) -> Expression:
        parts: list[Expression] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self._repeated())
        expression: Expression = EMPTY
        for part in reversed(parts):
            expression = sequence(part, expression)
        return expression

    def _repeated(self) -> Expression:
        expression = self._atom()
        mark = self._next()
        if not mark or mark not in QUANTIFIERS:
            return expression
        self.at += 1
        if mark == "*":
            expression = repeat(expression)
        elif mark == "+":
            expression = sequence(expression, repeat(expression))
        elif mark == "?":
            expression = either(EMPTY, expression)
        else:
            expression = self._counted(expression)
        second = self._next()
        if second and second in QUANTIFIERS:
            self._refuse(
                f"the quantifier {second!r} follows another, and lazy, possessive and stacked ones are not taken; put "
                "what it repeats in brackets"
            )
        return expression

    def _counted(self, inner: Expression) -> Expression:
        match = re.compile(r"0*([0-9]{1,4})(,0*([0-9]{0,4}))?}").match(self.text, self.at)
        if match is None:
            self._refuse(f"{{ needs one or two whole numbers of {MOST_COPIES} at most, as in {{2}} or {{2,4}}")
        least, comma, most = match.groups()
        low, high = int(least), int(most or least)
        if max(low, high) > MOST_COPIES:
            self._refuse(f"{{ counts to {MOST_COPIES} at most")
        if low > high:
            self._refuse(f"{{{low},{high}}} must count upwards")
        self.at = match.end()
        expression: Expression = repeat(inner) if comma and not most else EMPTY
        for _ in range(high - low):
            expression = either(EMPTY, sequence(inner, expression))
        for _ in range(low):
            expression = sequence(inner, expression)
        return expression

    def _atom(self) -> Expression:
        if self._take("("):
            expression = self._either()
            if not self._take(")"):
                self._refuse("a bracket ( is not closed")
            return expression
        if self._take("["):
            return self._some()
        if self._take("."):
            return Symbols(frozenset(range(len(self.alphabet))))
        return Symbols(frozenset({self._symbol()}))

    def _some(self) -> Expression:
        others, listed = self._take("^"), {self._symbol(listing=True)}
        while not self._take("]"):
            listed.add(self._symbol(listing=True))
        every = set(range(len(self.alphabet)))
        return Symbols(frozenset(every - listed if others else listed))

    def _symbol(self, *, listing: bool = False) -> int:
        if self.at >= len(self.text):
            self._refuse("it ends where a symbol is needed")
        symbol = self.text[self.at]
        if listing and symbol == "-":
            self._refuse("ranges such as [a-c] are not taken; list the symbols")
        if symbol in SPECIAL:
            self._refuse(f"{symbol!r} stands where a symbol is needed")
        if symbol not in self.alphabet:
            self._refuse(f"{symbol!r} is not in the alphabet {', '.join(self.alphabet)}")
        self.at += 1
        return self.alphabet.index(symbol)

    def _next(self) -> str:
        """The letter that comes next, or nothing at the end."""
        return self.text[self.at : self.at + 1]

    def _take(self, mark: str) -> bool:
        if self._next() == mark:
            self.at += 1
            return True
        return False

    def _refuse(self, complaint: str) -> NoReturn:
        raise FormulaError(
            f"The regular expression {self.text[:80]!r} cannot be read at place {self.at + 1}: {complaint}."
        )
