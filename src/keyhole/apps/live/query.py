"""The words of a request, read one by one: every value has a kind, a range, and a sentence when it has neither."""

import math
import re
from collections.abc import Mapping

from keyhole.errors import ArgumentError, printable

LENGTHS = re.compile(r"([0-9]{1,6})(?:\.\.([0-9]{1,6}))?")


class Query:
    """The words of one question, by name."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = words

    def text(self, name: str, longest: int, default: str = "") -> str:
        """A text of at most so many letters."""
        value = self._words.get(name, default)
        if len(value) > longest:
            raise ArgumentError(f"The {name} has {len(value):,} letters; the lab takes at most {longest:,}.")
        return printable(value)

    def whole(self, name: str, low: int, high: int, default: int) -> int:
        """A whole number between two ends."""
        number = self.number(name, low, high, default)
        if number != int(number):
            raise ArgumentError(f"The {name} must be a whole number; {number:g} was given.")
        return int(number)

    def number(self, name: str, low: float, high: float, default: float) -> float:
        """A number between two ends."""
        given = self._words.get(name, "")
        if not given:
            return default
        try:
            number = float(given) if len(given) <= 40 else math.nan
        except ValueError:
            number = math.nan
        if not low <= number <= high:
            raise ArgumentError(
                f"The {name} must be a number from {low:g} to {high:g}; {printable(given[:40])!r} was given."
            )
        return number

    def places(self, name: str, most: int) -> list[int]:
        """Whole numbers between commas, at most so many."""
        words = [word for word in self._words.get(name, "").split(",") if word]
        if len(words) > most or not all(word.isdecimal() and len(word) <= 9 for word in words):
            raise ArgumentError(f"The {name} must be at most {most} positions between commas, such as 3,17.")
        return [int(word) for word in words]

    def lengths(self, name: str, most: int, longest: int) -> list[int]:
        """Lengths between commas, or first..last, each once in order; none where nothing is given."""
        found: set[int] = set()
        for part in self._words.get(name, "").replace(" ", "").split(",") if self._words.get(name) else []:
            spelled = LENGTHS.fullmatch(part)
            low, high = (int(spelled[1]), int(spelled[2] or spelled[1])) if spelled else (0, 0)
            if not 1 <= low <= high <= longest:
                raise ArgumentError(
                    f"The {name} must be numbers from 1 to {longest} between commas, or first..last; "
                    f"{printable(part[:40])!r} was given."
                )
            found.update(range(low, high + 1))
        if len(found) > most:
            raise ArgumentError(f"The {name} are {len(found)}; the lab takes at most {most}.")
        return sorted(found)

    def choice(self, name: str, of: tuple[str, ...], default: str) -> str:
        """One of several words."""
        value = self._words.get(name, "") or default
        if value not in of:
            raise ArgumentError(f"{printable(value[:40])!r} is not one of {name}; choose one of {', '.join(of)}.")
        return value
