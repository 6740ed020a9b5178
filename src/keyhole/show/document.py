"""A document: what a result says, as values without widths or markup. `text` and `html` render it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Align = Literal["left", "right"]
Tone = Literal["good", "mild", "bad"]


@dataclass(frozen=True)
class Facts:
    """Named facts, one per row; a row without a name continues the fact above it."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Column:
    """A column of a grid: its heading, the side its entries are set to, and which entries have a tone.

    `at_least` and `gap` are for text alone: letters that the column takes even where its entries are shorter, so that
    grids below each other line up, and blanks between it and the next.
    """

    heading: str
    align: Align = "left"
    tones: Mapping[str, Tone] = field(default_factory=dict)
    at_least: int = 0
    gap: int = 2


@dataclass(frozen=True)
class Grid:
    """Rows of entries under headings; text may set it a few letters in."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    indent: int = 0


@dataclass(frozen=True)
class Bars:
    """Named shares, each drawn as a bar: name, number as text, and share of the longest bar; a remark on the title."""

    title: str
    rows: Sequence[tuple[str, str, float]]
    remark: str = ""


@dataclass(frozen=True)
class Lines:
    """Sentences, one paragraph per line of the text; what is folded stands `hang` letters in."""

    text: str
    hang: int = 2


@dataclass(frozen=True)
class Paragraphs:
    """Names, and the paragraphs said under each; text sets the names in a column of `at_least` letters or more."""

    rows: Sequence[tuple[str, Sequence[str]]]
    at_least: int = 0


@dataclass(frozen=True)
class Heading:
    """A line that names what follows."""

    text: str


@dataclass(frozen=True)
class Gap:
    """An empty line."""


Element = Facts | Grid | Bars | Lines | Paragraphs | Heading | Gap
Document = tuple[Element, ...]
