"""A document: what a result says, as values without widths or markup. `text` and `html` render it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Align = Literal["left", "right"]


@dataclass(frozen=True)
class Facts:
    """Named facts, one per row; a row without a name continues the fact above it."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Column:
    """A column of a grid: its heading, and the side its entries are set to."""

    heading: str
    align: Align = "left"


@dataclass(frozen=True)
class Grid:
    """Rows of entries under headings."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Bars:
    """Named shares, each drawn as a bar: name, number as text, and share of the longest bar."""

    title: str
    rows: Sequence[tuple[str, str, float]]


@dataclass(frozen=True)
class Lines:
    """Sentences, one paragraph per line of the text; long ones are folded with a hanging indent."""

    text: str


@dataclass(frozen=True)
class Gap:
    """An empty line."""


Element = Facts | Grid | Bars | Lines | Gap
Document = tuple[Element, ...]
