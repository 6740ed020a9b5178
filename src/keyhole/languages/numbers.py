"""Claims about numbers and words that a model writes out: sums, differences, residues, copies.

Each is made of columns (`keyhole.languages.columns`) for a `Prompt`, the way in which a model is shown its numbers.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.arrays import Int
from keyhole.errors import AssumptionError, DataError
from keyhole.languages.columns import NOWHERE, Column, Columns

CLAIMS = (
    "addition:N[:BASE], subtraction:N[:BASE], sum:NUMBERS:N[:BASE], modular:P, copy:N[:SYMBOLS], reverse:N[:SYMBOLS] "
    "or columns:FILE"
)
FORMS_OF_CLAIMS = {  # how many numbers follow
    **dict.fromkeys(("addition", "subtraction", "copy", "reverse"), (1, 2)),
    "sum": (2, 3),
    "modular": (1,),
}
MOST_SYMBOLS = 10_000  # of one column
MOST_TERMS = 13


@dataclass(frozen=True)
class Prompt:
    """How numbers are shown to a model: the tokens around them, the tokens of digits, and both orders of digits."""

    before: tuple[int, ...] = ()
    between: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    end: tuple[int, ...] = ()  # to be written after the answer's digits
    digits: tuple[int, ...] | None = None  # the token of each digit; None: the digit itself
    lowest_first: bool = True
    answer_lowest_first: bool = True

    def laid_out(self, numbers: int, length: int) -> tuple[list[list[int]], dict[int, int], int]:
        """Return the positions of each number's digits, lowest first; the fixed tokens; the length of the prompt."""
        tokens: list[int | None] = []
        places = []
        for number in range(numbers):
            tokens += self.between if number else self.before
            shown = list(range(len(tokens), len(tokens) + length))
            places.append(shown if self.lowest_first else shown[::-1])
            tokens += [None] * length
        tokens += self.after
        return places, {at: token for at, token in enumerate(tokens) if token is not None}, len(tokens)

    def tokens_of(self, base: int) -> Int[np.ndarray, "base"]:
        """Return the token of each digit."""
        if self.digits is not None and len(self.digits) < base:
            raise AssumptionError(f"the model has {len(self.digits)} digits; a claim in base {base} needs {base}")
        return np.arange(base) if self.digits is None else np.array(self.digits[:base])


def weighted_sum(weights: Sequence[int], length: int, base: int, prompt: Prompt) -> Columns:
    """Return the claim Σ_i weights[i] n_i for numbers of so many digits, written with all digits that it may need.

    Words whose sum is negative do not belong to the claim. Lowest digit first, the state is the carry into a column: it
    lies between the sum of the negative weights and that of the positive ones less 1. Highest digit first, the state is
    the carry that a column has to send up, and a symbol is its digits with the carry that the column below sends.
    """
    if length < 1 or base < 2 or base ** len(weights) > MOST_SYMBOLS:
        raise AssumptionError(
            f"numbers need a digit or more, in base 2 or more, and a column at most {MOST_SYMBOLS:,} symbols; got "
            f"{len(weights)} numbers of {length} digits in base {base}"
        )
    low, high = sum(min(w, 0) for w in weights), max(sum(max(w, 0) for w in weights), 1)
    carries = np.arange(low, high)
    places, fixed, shown = prompt.laid_out(len(weights), length)
    digits, tokens = np.array(list(product(range(base), repeat=len(weights)))), prompt.tokens_of(base)
    further = next(extra for extra in range(high + 1) if base**extra >= high)
    columns = []
    for at in range(length + further):
        inside = at < length
        shows, total = (
            (tokens[digits], digits @ np.array(weights)) if inside else (np.zeros((1, 0), int), np.zeros(1, int))
        )
        here = tuple(place[at] for place in places) if inside else ()
        summed = carries[:, None] + total
        sent, written = summed // base - low, tokens[summed % base]
        if not prompt.answer_lowest_first:
            symbols = [(carry, symbol) for carry in range(len(carries)) for symbol in range(len(total))]
            shows = shows[[symbol for _, symbol in symbols]]
            wanted = np.arange(len(carries))[:, None]
            moves = np.array([[carry for carry, _ in symbols]] * len(carries))
            sent = np.where(sent.reshape(1, -1) == wanted, moves, NOWHERE)
            written = np.repeat(written.reshape(1, -1), len(carries), axis=0)
        columns.append(Column(here, shows, sent, written))
    if not prompt.answer_lowest_first:
        columns.reverse()
    return _ended(columns, carries == 0, fixed, shown, prompt)


def residue(modulus: int, prompt: Prompt) -> Columns:
    """Return the claim (a + b) mod p, each number one token."""
    if not 2 <= modulus <= MOST_SYMBOLS**0.5:
        raise AssumptionError(f"a modulus is at least 2 and at most {int(MOST_SYMBOLS**0.5)}; got {modulus}")
    places, fixed, shown = prompt.laid_out(2, 1)
    pairs, tokens = np.array(list(product(range(modulus), repeat=2))), prompt.tokens_of(modulus)
    columns = [_stateless((places[0][0], places[1][0]), tokens[pairs], tokens[pairs.sum(axis=1) % modulus])]
    return _ended(columns, np.ones(1, dtype=bool), fixed, shown, prompt)


def copied(length: int, symbols: int, prompt: Prompt, *, reverse: bool = False) -> Columns:
    """Return the claim that a word is written again, or from its end."""
    if length < 1 or symbols < 2:
        raise AssumptionError(f"a word has a symbol or more, of at least two; got {length} of {symbols}")
    (places,), fixed, shown = prompt.laid_out(1, length)
    tokens = prompt.tokens_of(symbols)
    columns = [_stateless((place,), tokens[:, None], tokens) for place in sorted(places, reverse=reverse)]
    return _ended(columns, np.ones(1, dtype=bool), fixed, shown, prompt)


def read_columns(text: str, prompt: Prompt) -> Columns:
    """Return the claim that a text names.

    >>> read_columns("addition:10", Prompt(between=(10,), after=(11,))).count == 10**20
    True
    """
    kind, *rest = text.split(":")
    if kind == "columns" and rest:
        return columns_from_file(Path(":".join(rest)))
    known = FORMS_OF_CLAIMS.get(kind, ()) if all(n.isascii() and n.isdigit() and len(n) < 5 for n in rest) else ()
    if len(rest) not in known:
        raise AssumptionError(f"the claim {text!r} is not {CLAIMS}")
    numbers = [int(number) for number in rest]
    if kind == "modular":
        return residue(numbers[0], prompt)
    terms = numbers.pop(0) if kind == "sum" else 2
    length, size = (*numbers, 10)[:2]
    if kind in ("copy", "reverse"):
        return copied(length, size, prompt, reverse=kind == "reverse")
    if not 1 <= terms <= MOST_TERMS:
        raise AssumptionError(f"a sum has 1 to {MOST_TERMS} numbers; got {terms}")
    return weighted_sum((1, -1) if kind == "subtraction" else (1,) * terms, length, size, prompt)


def columns_from_file(path: Path) -> Columns:
    """Return a claim written as JSON.

    The record has `prompt`, the length; `fixed`, tokens by position; `start` and `final`, states; and `columns`, each
    with its `places` and `edges`: lists of a state, the tokens shown, the answer and the next state.
    """
    try:
        record = json.loads(path.read_text("utf8"))
        fixed = {int(place): int(token) for place, token in record.get("fixed", {}).items()}
        states = 1 + max(max(edge[0], edge[3]) for column in record["columns"] for edge in column["edges"])
        final = np.zeros(states, dtype=bool)
        final[record["final"]] = True
        columns = tuple(_from_edges(column, states) for column in record["columns"])
        start = range(states)[record["start"]]
        return Columns(columns, start, final, fixed, int(record["prompt"]))
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror}. Name a file with a claim.") from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise DataError(
            f"{str(path)!r} is not a claim ({error}); it needs prompt, start, final and columns of places and edges "
            "[state, tokens, answer, next state]."
        ) from error


def _from_edges(column: dict[str, Any], states: int) -> Column:
    places = tuple(int(place) for place in column["places"])
    shown = sorted({tuple(edge[1]) for edge in column["edges"]})
    moves = np.full((states, len(shown)), NOWHERE)
    answers = np.zeros_like(moves)
    for state, tokens, answer, after in column["edges"]:
        symbol = shown.index(tuple(tokens))
        if moves[state, symbol] != NOWHERE:
            raise DataError(f"the claim has two edges from state {state} on the tokens {tokens}; give one")
        moves[state, symbol], answers[state, symbol] = after, answer
    return Column(places, np.array(shown, dtype=np.int64).reshape(len(shown), len(places)), moves, answers)


def _stateless(places: tuple[int, ...], shows: np.ndarray, answers: np.ndarray) -> Column:
    return Column(places, shows, np.zeros((1, len(shows)), dtype=np.int64), answers[None])


def _ended(columns: list[Column], final: np.ndarray, fixed: dict[int, int], shown: int, prompt: Prompt) -> Columns:
    """Return the claim with the end symbols; its start is the state that is final, where no carry is left."""
    states, nothing = len(final), np.zeros((1, 0), dtype=np.int64)
    ends = [Column((), nothing, np.arange(states)[:, None], np.full((states, 1), token)) for token in prompt.end]
    return Columns((*columns, *ends), int(np.flatnonzero(final)[0]), final, fixed, shown)
