"""Results as a notebook shows them: a table with a row per fact."""

from collections.abc import Iterable
from html import escape


def to_table(rows: Iterable[tuple[object, ...]]) -> str:
    """An HTML table: the first entry of a row is its name, and no entry is read as markup.

    >>> to_table([("p", "<", 0.05)])
    "<table><tr><th style='text-align:left'>p</th><td>&lt;</td><td>0.05</td></tr></table>"
    """
    lines = (
        f"<tr><th style='text-align:left'>{escape(str(name))}</th>"
        f"{''.join(f'<td>{escape(str(entry))}</td>' for entry in entries)}</tr>"
        for name, *entries in rows
    )
    return f"<table>{''.join(lines)}</table>"
