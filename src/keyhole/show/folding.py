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


def folded(text: str, width: int = COLUMNS) -> str:
    r"""The text with every longer line folded; what is folded stands two columns further in than its line began.

    >>> print(folded("├─  95 %  complexity   [P = 4, L = 1]\n  · no more", width=30))
    ├─  95 %  complexity   [P = 4,
    │           L = 1]
      · no more
    """
    return "\n".join(part for line in text.split("\n") for part in _folded(line, width))


def _folded(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    start = re.match(r"[ │├└─]*(\d+ %  |· )?", line)
    begun = start[0] if start else ""
    below = re.sub(r"[\d%·]", " ", begun).translate(LEAF) + ("" if "·" in begun else "  ")
    whole = line[len(begun) :].replace(" = ", TIED)
    parts = wrap(
        whole, width, initial_indent=begun, subsequent_indent=below, break_long_words=False, break_on_hyphens=False
    )
    return [part.replace(TIED, " = ") for part in parts]
