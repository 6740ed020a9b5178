"""Lists as people type them: 25,50,100 or 25..800, which doubles."""

from math import isfinite

from keyhole.errors import DataError

MOST = 10_000  # more is a typing error


def whole_number(text: str) -> int:
    """A whole number, also as 1e6 or 1_000."""
    try:
        value = float(text.replace("_", ""))
    except ValueError:
        value = float("nan")
    if not isfinite(value) or value != int(value):
        raise DataError(f"{text!r} is not a whole number; write 100, 1_000 or 1e6.")
    return int(text.replace("_", "")) if text.replace("_", "").lstrip("+-").isdigit() else int(value)


def whole_numbers(text: str) -> list[int]:
    """The list: numbers between commas, or first..last by doublings, the last included.

    >>> whole_numbers("25,50,1e2"), whole_numbers("25..800"), whole_numbers("100..250")
    ([25, 50, 100], [25, 50, 100, 200, 400, 800], [100, 200, 250])
    """
    found: list[int] = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        found += _doublings(whole_number(first), whole_number(last), part) if dots else [whole_number(first)]
    if any(value < 1 for value in found):
        raise DataError(f"{text!r} holds a number below 1; sizes count from 1.")
    return found


def _doublings(first: int, last: int, text: str) -> list[int]:
    if first < 1 or last < first:
        raise DataError(
            f"{text!r} runs backwards or starts below 1; write the smaller size first, such as 25..800."
        )
    sizes: list[int] = []
    while first < last and len(sizes) < MOST:
        sizes.append(first)
        first *= 2
    return [*sizes, last]
