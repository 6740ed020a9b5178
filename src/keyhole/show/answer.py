"""The content of an answer: lines, tables and bars, without widths or markup; and its text on a terminal.

No line of the text is longer than the width, and words that judge are coloured. `html` renders the same content.
"""

import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from rich.cells import cell_len
from rich.style import Style

from keyhole.errors import printable


@dataclass(frozen=True)
class Line:
    """A sentence; an empty one is an empty line. What is folded stands `hang` letters in."""

    text: str = ""
    hang: int = 2


@dataclass(frozen=True)
class Table:
    """Rows of entries. Columns are headings with "<" or ">", the side that their entries are set to."""

    columns: Mapping[str, str]
    rows: Sequence[Sequence[str]]
    headed: bool = True  # else the first column names the row


@dataclass(frozen=True)
class Bars:
    """Shares of the longest bar, each with a name and a number as text."""

    rows: Sequence[tuple[str, str, float]]


@dataclass
class Show:
    """Collects what an answer says. An answer leaves out what only some readers want unless `verbose` asks for it."""

    verbose: bool = False
    parts: list[Line | Table | Bars] = field(default_factory=list)

    def line(self, text: str = "", hang: int = 2) -> None:
        """Say a sentence."""
        self.parts.append(Line(text, hang))

    def facts(self, rows: Iterable[tuple[str, object]]) -> None:
        """Set named facts below each other."""
        self.parts.append(Table({"name": "<", "value": "<"}, _entries(rows), headed=False))

    def table(self, columns: Mapping[str, str], rows: Iterable[Sequence[object]]) -> None:
        """Set rows below headings: `show.table({"T": ">", "law": "<"}, [(25, "log")])`; None is a dash."""
        self.parts.append(Table(columns, _entries(rows)))

    def bars(self, rows: Iterable[tuple[str, str, float]]) -> None:
        """Draw a bar for each share."""
        self.parts.append(Bars(tuple(rows)))


def _entries(rows: Iterable[Sequence[object]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple("–" if entry is None else str(entry) for entry in row) for row in rows)


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


BAR = 24  # letters of the longest bar
BOLD = Style(bold=True)
GOOD, MILD, BAD = (Style(color=name, bold=True) for name in ("green", "yellow", "red"))
TONES = {
    **dict.fromkeys(("PROVED", "passed", "holds", "above"), GOOD),
    **dict.fromkeys(("VACUOUS", "vacuous", "UNDECIDED", "undecided", "mixed"), MILD),
    **dict.fromkeys(("WRONG INPUT", "WRONG", "FAILED", "NOT", "REFUTED", "below", "differs", "fails"), BAD),
}
JUDGED = re.compile(rf"^({'|'.join(TONES)})\b")  # the word of a line or an entry that carries a tone


def to_text(show: Show, width: int = COLUMNS, *, styled: bool = False) -> str:
    """Return an answer as lines of at most `width` letters without blanks at their ends.

    >>> show = Show()
    >>> show.facts([("sparsity", "s = 3")])
    >>> show.line()
    >>> show.line("PROVED on all inputs")
    >>> print(to_text(show))
    sparsity  s = 3
    <BLANKLINE>
    PROVED on all inputs
    """
    lines: list[str] = []
    for part in show.parts:
        match part:
            case Line():
                lines += [line for text in part.text.split("\n") for line in _folded(printable(text), width, part.hang)]
            case Table():
                lines += _table(part, width, styled=styled)
            case Bars():
                lines += [
                    printable(f"{name:>10}  {number:<9}  {_bar(share)}".rstrip()) for name, number, share in part.rows
                ]
    return "\n".join(_toned(line) if styled else line for line in lines)


def _folded(text: str, width: int, hang: int) -> list[str]:
    """A line folded at blanks; what is folded stands further in than the line began."""
    if cell_len(text) <= width:
        return [text]
    begun = text[: len(text) - len(text.lstrip())]
    parts = wrap(
        text.lstrip(),
        width,
        initial_indent=begun,
        subsequent_indent=begun + " " * hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return parts or [""]


def _bar(share: float) -> str:
    """A bar has a letter at least where the share is not 0."""
    return "█" * (max(1, round(BAR * share)) if share else 0)


def _table(table: Table, width: int, *, styled: bool) -> list[str]:
    """Columns with two blanks between; the widest one is folded where they do not fit."""
    rows = [tuple(map(printable, row)) for row in table.rows]
    if table.headed:
        rows = [tuple(table.columns), *rows]
    if not rows:
        return []
    widths = [max(cell_len(part) for row in rows for part in row[i].split("\n")) for i in range(len(table.columns))]
    excess = sum(widths) + 2 * (len(widths) - 1) - width
    if excess > 0:
        widest = max(range(len(widths)), key=widths.__getitem__)
        widths[widest] = max(8, widths[widest] - excess)
    lines = []
    for number, row in enumerate(rows):
        cells = [
            [part for text in entry.split("\n") for part in (wrap(text, wide, break_on_hyphens=False) or [""])]
            if cell_len(entry) > wide or "\n" in entry
            else [entry]
            for entry, wide in zip(row, widths, strict=True)
        ]
        for depth in range(max(map(len, cells))):
            line = ""
            for cell, wide, side in zip(cells, widths, table.columns.values(), strict=True):
                text = cell[depth] if depth < len(cell) else ""
                bold = styled and text and (number == 0 if table.headed else line == "")
                blanks = " " * (wide - cell_len(text))
                shown = BOLD.render(text) if bold else _toned(text) if styled else text
                line += (blanks + shown if side == ">" else shown + blanks) + "  "
            lines.append(line.rstrip())
    return lines


def _toned(text: str) -> str:
    """The text with its first word coloured, if that is a judgement."""
    return JUDGED.sub(lambda found: TONES[found[0]].render(found[0]), text)
