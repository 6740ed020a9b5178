"""A property in words: "majority", "even number of a", "at least 3 of 1", "first is 1", "regex:(ab)*"."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from keyhole.errors import FormulaError, ShapeError
from keyhole.languages.automata import Automaton
from keyhole.languages.properties import CountProperty, EqualCounts, Property, RegularProperty
from keyhole.languages.regular import automaton_of

Alphabet = tuple[str, ...]

FORMS = (
    "majority",
    "majority of S",
    "at least half of S",
    "even number of S",
    "odd number of S",
    "at least N of S",
    "at most N of S",
    "exactly N of S",
    "equal numbers of S and S",
    "first is S",
    "last is S",
    "regex:EXPRESSION",
    "automaton:FILE",
)
MOST_STATES = 4096
LONGEST = 80  # letters of a claim that a refusal repeats


def read_property(text: str, alphabet: Alphabet) -> Property | None:
    """The property that the words name, or None where they are none of `FORMS`; S is a symbol, or "a or b".

    >>> read_property("at least 3 of 1", ("0", "1")).decide(4, 9)
    True
    """
    for pattern, made in READERS:
        if match := re.fullmatch(pattern, text.strip()):
            return made(alphabet, text, *match.groups())
    return None


def read_automaton(path: Path, alphabet: Alphabet) -> Automaton:
    """A complete deterministic automaton from JSON: {"start": 0, "accepting": [1], "moves": [{"a": 1, "b": 0}, …]}.

    A file with anything else, or with an entry that is written twice, is refused.
    """
    try:
        described: Any = json.loads(path.read_bytes(), object_pairs_hook=_entries)
    except (OSError, ValueError, RecursionError) as error:
        raise FormulaError(f"The automaton {str(path)!r} cannot be read: {error}.") from error
    try:
        moves, accepting, start = _exactly(described, ("moves", "accepting", "start"))
        moves, accepting = _list(moves), _list(accepting)
        if not 1 <= len(moves) <= MOST_STATES:
            raise FormulaError(f"The automaton {str(path)!r} has {len(moves)} states; 1 to {MOST_STATES} are taken.")
        table = np.array([[_state(state) for state in _exactly(row, alphabet)] for row in moves])
        final = np.zeros(len(moves), dtype=bool)
        final[[_state(state) for state in accepting]] = True
        return Automaton(table, _state(start), final)
    except (KeyError, TypeError, IndexError, ShapeError) as error:
        raise FormulaError(
            f'The automaton {str(path)!r} is not of the form {{"start": 0, "accepting": [1], "moves": [{{"a": 1, …}}, '
            "…]} with a move for every state and symbol of the alphabet, and nothing else."
        ) from error


def _entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the entries of an object of JSON; raise where one is written twice."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("an entry is written twice in one object")
    return entries


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _exactly(entries: Any, names: Sequence[str]) -> list[Any]:
    """The values of these entries, in their order; a KeyError where one is absent or there are others."""
    if set(entries) != set(names):
        raise KeyError(names)
    return [entries[name] for name in names]


def _state(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise TypeError(number)
    return number


def _count(alphabet: Alphabet, text: str, rule: str, names: str | None, number: int = 0) -> Property:
    return CountProperty(alphabet, _kind(names or alphabet[-1], alphabet, text), " ".join(rule.split()), number)


def _equal(alphabet: Alphabet, text: str, *names: str) -> Property:
    first, second = (_symbol(name, alphabet, text) for name in names)
    if first == second:
        _refuse(text, "it compares a symbol with itself")
    return EqualCounts(alphabet, first, second)


def _end(alphabet: Alphabet, text: str, which: str, names: str) -> Property:
    kind = _kind(names, alphabet, text)
    if which == "last":
        accepted = Automaton(np.array([[int(belongs) for belongs in kind]] * 2), 0, np.array([False, True]))
    else:
        moves = [[1 if belongs else 2 for belongs in kind], [1] * len(kind), [2] * len(kind)]
        accepted = Automaton(np.array(moves), 0, np.array([False, True, False]))
    return RegularProperty(alphabet, accepted)


READERS: tuple[tuple[str, Callable[..., Property]], ...] = (
    (r"regex:\s*(.*)", lambda alphabet, _, rest: RegularProperty(alphabet, automaton_of(rest, alphabet))),
    (r"automaton:\s*(.*)", lambda alphabet, _, path: RegularProperty(alphabet, read_automaton(Path(path), alphabet))),
    (r"(majority)(?:\s+of\s+(.+))?", _count),
    (
        r"(even|odd)\s+number\s+of\s+(.+)",
        lambda alphabet, text, which, names: _count(alphabet, text, "remainder", names, int(which == "odd")),
    ),
    (r"(at\s+least\s+half)\s+of\s+(.+)", _count),
    (
        r"(at\s+least|at\s+most|exactly)\s+0*([0-9]{1,9})\s+of\s+(.+)",
        lambda alphabet, text, rule, number, names: _count(alphabet, text, rule, names, int(number)),
    ),
    (r"equal\s+numbers\s+of\s+(.+)\s+and\s+(.+)", _equal),
    (r"(first|last)\s+is\s+(.+)", _end),
)


def _kind(names: str, alphabet: Alphabet, text: str) -> tuple[bool, ...]:
    listed = {_symbol(name, alphabet, text) for name in names.split(" or ")}
    if len(listed) == len(alphabet):
        _refuse(text, "it names every symbol")
    return tuple(symbol in listed for symbol in range(len(alphabet)))


def _symbol(name: str, alphabet: Alphabet, text: str) -> int:
    forms = [form for form in (name, name.removesuffix("'s"), name.removesuffix("s")) if form in alphabet]
    if forms:
        return alphabet.index(forms[0])
    return _refuse(text, f"{name!r} is not in the alphabet {', '.join(alphabet)}")


def _refuse(text: str, complaint: str) -> NoReturn:
    whole = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    raise FormulaError(f"The claim {whole!r} does not fit: {complaint}.")
