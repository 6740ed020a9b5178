"""Long lines folded at blanks, so that text stays within a terminal, or within 80 columns where it is piped."""

import re
import shutil
import sys
from textwrap import wrap

COLUMNS = 80
LEAF = str.maketrans("├└─", "│  ")  # below a branch of a tree its trunk goes on
TIED = "\u00a0=\u00a0"  # an equation of two words stays on one line


def columns() -> int:
    """The width of the terminal; 80 where nobody watches."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else COLUMNS


def folded(text: str, width: int = COLUMNS, hang: int = 2) -> str:
    r"""The text with every longer line folded; what is folded stands `hang` columns further in than its line began.

    >>> print(folded("├─  95 %  complexity   [P = 4, L = 1]\n  · no more", width=30))
    ├─  95 %  complexity   [P = 4,
    │           L = 1]
      · no more
    """
    return "\n".join(part for line in text.split("\n") for part in _folded(line, width, hang))


def _folded(line: str, width: int, hang: int) -> list[str]:
    if len(line) <= width:
        return [line]
    start = re.match(r"[ │├└─]*(\d+ %  |· )?", line)
    begun = start[0] if start else ""
    below = re.sub(r"[\d%·]", " ", begun).translate(LEAF) + ("" if "·" in begun else " " * hang)
    whole = line[len(begun) :].replace(" = ", TIED)
    parts = wrap(
        whole, width, initial_indent=begun, subsequent_indent=below, break_long_words=False, break_on_hyphens=False
    )
    return [part.replace(TIED, " = ") for part in parts]


def shorten(text: str, longest: int = 300) -> str:
    """The text, with its middle left out when it is long; what is left out begins and ends at a blank if there is one.

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
    """The beginning of a text that is longer, and an ellipsis; never the beginning of a number.

    >>> abbreviate("maj(x1, x22, x3)", 11), abbreviate("and:3", 11)
    ('maj(x1, x…', 'and:3')
    """
    if len(text) <= longest:
        return text
    end = longest - 1
    while end and text[end].isdigit() and text[end - 1].isdigit():
        end -= 1
    return f"{text[:end]}…"
