"""Facts on a terminal: names in one column, words in the other."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table


def show_facts(rows: list[tuple[str, str]]) -> None:
    """Print named facts."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(escape(name), escape(value))
    show_table(table)


def show_table(table: Table) -> None:
    """Print a table, as wide as the terminal or 80 columns, with no blanks at the ends of lines."""
    console = Console(soft_wrap=False, highlight=False)
    with console.capture() as captured:
        console.print(table)
    print(*(line.rstrip() for line in captured.get().splitlines()), sep="\n")  # noqa: T201  (this is the keyboard)
