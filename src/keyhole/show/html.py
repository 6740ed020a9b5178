"""Answers as HTML for notebooks and pages, without scripts."""

from html import escape

from keyhole.show.answer import Bars, Line, Show, Table

SIDES = {"<": "left", ">": "right"}


def to_html(show: Show) -> str:
    """Return an answer as HTML.

    >>> show = Show()
    >>> show.line("a < b")
    >>> to_html(show)
    '<p>a &lt; b</p>'
    """
    return "".join(map(_html, show.parts))


def _html(part: Line | Table | Bars) -> str:
    match part:
        case Line():
            return "".join(f"<p>{escape(line)}</p>" for line in part.text.split("\n") if line)
        case Bars():
            rows = (
                f"<tr><th>{escape(name)}</th><td>{escape(number)}</td>"
                f'<td><meter min="0" max="1" value="{share}"></meter></td></tr>'
                for name, number, share in part.rows
            )
            return f"<table>{''.join(rows)}</table>"
        case Table():
            sides = [f"text-align:{SIDES[side]}" for side in part.columns.values()]
            head = "".join(
                f'<th style="{side}">{escape(name)}</th>' for name, side in zip(part.columns, sides, strict=True)
            )
            body = "".join(
                "<tr>"
                + "".join(
                    f'<{cell} style="{side}">{escape(entry)}</{cell}>'
                    for cell, entry, side in zip(_cells(part), row, sides, strict=True)
                )
                + "</tr>"
                for row in part.rows
            )
            return f"<table>{f'<tr>{head}</tr>' if part.headed else ''}{body}</table>"


def _cells(table: Table) -> list[str]:
    """The element of each column: the first one names the row where there are no headings."""
    return ["td" if table.headed else "th", *["td"] * (len(table.columns) - 1)]
