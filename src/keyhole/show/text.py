"""Documents as plain text for a terminal: rich sets the tables, and no line is longer than the width."""

from io import StringIO

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from keyhole.show.document import Bars, Document, Element, Facts, Gap, Grid, Lines
from keyhole.show.folding import folded

COLUMNS = 80
BAR = 24  # letters of the longest bar


def to_text(document: Document, width: int = COLUMNS) -> str:
    """The document as lines of at most `width` letters, without blanks at their ends.

    >>> print(to_text((Facts([("sparsity", "s = 3")]), Gap(), Lines("proved"))))
    sparsity  s = 3
    <BLANKLINE>
    proved
    """
    return "\n".join(_text_of(element, width) for element in document)


def _text_of(element: Element, width: int) -> str:
    match element:
        case Facts():
            return _set(_facts(element), width)
        case Grid():
            return _set(_grid(element), width)
        case Bars():
            rows = (
                f"{name:>10}  {number:<9}  {'█' * round(share * BAR)}".rstrip() for name, number, share in element.rows
            )
            return "\n".join((element.title, *rows))
        case Lines():
            return folded(element.text, width)
        case Gap():
            return ""


def _bar(name: str, number: str, share: float) -> str:
    return f"{name:>10}  {number:<9}  {'█' * round(share * BAR)}".rstrip()


def _facts(facts: Facts) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.rows:
        table.add_row(escape(name), escape(value))
    return table


def _grid(grid: Grid) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in grid.columns:
        table.add_column(escape(column.heading), justify=column.align, overflow="fold")
    for row in grid.rows:
        table.add_row(*(escape(entry) for entry in row))
    return table


def _set(table: Table, width: int) -> str:
    """A table as text."""
    console = Console(file=StringIO(), width=width, highlight=False, soft_wrap=False, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
