"""The content of an answer: lines, tables and bars, without widths or markup. `terminal` and `html` render it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


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
