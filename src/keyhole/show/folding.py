"""The width of the terminal, and texts made to fit: their middle or their end left out."""

import shutil
import sys

COLUMNS = 80


def columns() -> int:
    """Return the width of the terminal, or 80 columns in a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else COLUMNS


def shorten(text: str, longest: int = 300) -> str:
    """Return the text with its middle left out if it is long, from a blank to a blank if there is one.

    >>> shorten("x10, x11, x12, x13, x14, x15", 18)
    'x10, x11, … x14, x15'
    """
    if len(text) <= longest:
        return text
    half = longest // 2
    head, tail = text[:half], text[-half:]
    head = head.rpartition(" ")[0] or head if text[half] != " " else head
    tail = tail.partition(" ")[2] or tail if text[-half - 1] != " " else tail
    return f"{head} … {tail}"


def abbreviate(text: str, longest: int) -> str:
    """Return the beginning of a text that is longer, and an ellipsis; never the beginning of a number.

    >>> abbreviate("maj(x1, x22, x3)", 11), abbreviate("and:3", 11)
    ('maj(x1, x…', 'and:3')
    """
    if len(text) <= longest:
        return text
    end = longest - 1
    while end and text[end].isdigit() and text[end - 1].isdigit():
        end -= 1
    return f"{text[:end]}…"
