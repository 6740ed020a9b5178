"""Documents as plain text for a terminal: rich sets the tables, and no line is longer than the width."""

from dataclasses import fields, is_dataclass, replace
from io import StringIO
from textwrap import wrap
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from keyhole.errors import printable
from keyhole.show.document import Bars, Column, Document, Element, Facts, Gap, Grid, Heading, Lines, Paragraphs
from keyhole.show.folding import COLUMNS, folded

BAR = 24  # letters of the longest bar
BOLD = Style(bold=True)
TONES = {"good": Style(color="green"), "mild": Style(color="yellow"), "bad": Style(color="red")}


def to_text(document: Document, width: int = COLUMNS, *, styled: bool = False) -> str:
    """The document as lines of at most `width` letters, without blanks at their ends; bold and coloured if asked.

    >>> print(to_text((Facts([("sparsity", "s = 3")]), Gap(), Lines("proved"))))
    sparsity  s = 3
    <BLANKLINE>
    proved
    """
    return "\n".join(_text_of(_harmless(element), width, styled=styled) for element in document)


def _harmless(part: Any) -> Any:
    """A part of a document whose words steer no terminal: names of runs and files may be written by others."""
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, list | tuple):
        return tuple(map(_harmless, part))
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{each.name: _harmless(getattr(part, each.name)) for each in fields(part)})
    return part


def _text_of(element: Element, width: int, *, styled: bool) -> str:  # noqa: PLR0911  (a return for each kind)
    match element:
        case Facts():
            return _render(_facts(element), width, styled=styled)
        case Grid():
            return _grid(element, width, styled=styled)
        case Bars():
            title = _styled(element.title, BOLD, styled=styled)
            return "\n".join((f"{title} {element.remark}".rstrip(), *(_bar(*row) for row in element.rows)))
        case Lines():
            return folded(element.text, width, element.hang)
        case Paragraphs():
            return _paragraphs(element, width, styled=styled)
        case Heading():
            return _styled(folded(element.text, width), BOLD, styled=styled)
        case Gap():
            return ""


def _paragraphs(paragraphs: Paragraphs, width: int, *, styled: bool) -> str:
    """Each paragraph folded beside its name; the last column stays free."""
    names = 2 + max([paragraphs.at_least, *(cell_len(name) for name, _ in paragraphs.rows)])
    lines = []
    for name, sentences in paragraphs.rows:
        folds = [line for paragraph in sentences for line in wrap(paragraph, width - 1 - names, break_on_hyphens=False)]
        blanks = " " * (names - cell_len(name))
        begun = (_styled(name, BOLD, styled=styled) if name else "") + blanks
        lines += [f"{begun if i == 0 else ' ' * names}{line}".rstrip() for i, line in enumerate(folds)]
    return "\n".join(lines)


def _bar(name: str, number: str, share: float) -> str:
    """A row with its bar, which has a letter at least where the share is not 0."""
    return f"{name:>10}  {number:<9}  {'█' * (max(1, round(BAR * share)) if share else 0)}".rstrip()


def _styled(text: str, style: Style, *, styled: bool) -> str:
    return style.render(text) if styled else text


def _facts(facts: Facts) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style=BOLD, no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.rows:
        table.add_row(Text(name), Text(value))
    return table


def _grid(grid: Grid, width: int, *, styled: bool) -> str:
    """A grid as text: put together line by line where it fits, which is quick; folded by rich where it does not."""
    widths = [
        max([column.at_least, cell_len(column.heading), *(cell_len(row[i]) for row in grid.rows)])
        for i, column in enumerate(grid.columns)
    ]
    whole = grid.indent + sum(widths) + sum(column.gap for column in grid.columns[:-1])
    if whole > width or any("\n" in entry for row in grid.rows for entry in row):
        return _render(_table(grid), width, styled=styled)
    lines = [_line([(column.heading, BOLD) for column in grid.columns], grid, widths, styled=styled)]
    for row in grid.rows:
        entries = [(entry, _tone(column, entry)) for column, entry in zip(grid.columns, row, strict=True)]
        lines.append(_line(entries, grid, widths, styled=styled))
    return "\n".join(lines)


def _line(entries: list[tuple[str, Style | None]], grid: Grid, widths: list[int], *, styled: bool) -> str:
    """The entries of a row, each set to its side of its column."""
    line = " " * grid.indent
    for (text, style), column, width in zip(entries, grid.columns, widths, strict=True):
        blanks = " " * (width - cell_len(text))
        shown = text if style is None else _styled(text, style, styled=styled)
        line += (blanks + shown if column.align == "right" else shown + blanks) + " " * column.gap
    return line.rstrip()


def _tone(column: Column, entry: str) -> Style | None:
    return TONES[column.tones[entry]] if entry in column.tones else None


def _table(grid: Grid) -> Table:
    """The grid for rich, which folds what is too wide; the blanks between columns belong to the entries."""
    table = Table(box=None, pad_edge=False, padding=0)
    for i, column in enumerate(grid.columns):
        indent = grid.indent if i == 0 else 0
        heading = Padding(Text(column.heading, BOLD), (0, column.gap, 0, indent))
        least = indent + column.at_least + column.gap if column.at_least else None
        table.add_column(heading, justify=column.align, overflow="fold", min_width=least)
    for row in grid.rows:
        entries = [Text(entry, _tone(column, entry) or "") for column, entry in zip(grid.columns, row, strict=True)]
        table.add_row(
            *(
                Padding(entry, (0, column.gap, 0, 0 if i else grid.indent))
                for i, (entry, column) in enumerate(zip(entries, grid.columns, strict=True))
            )
        )
    return table


def _render(table: Table, width: int, *, styled: bool) -> str:
    """A table as text."""
    console = Console(
        file=StringIO(),
        width=width,
        highlight=False,
        soft_wrap=False,
        color_system="standard" if styled else None,
        force_terminal=styled,
        legacy_windows=False,
    )
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
