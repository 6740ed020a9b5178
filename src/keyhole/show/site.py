"""Figures on disk, in the format their file name asks for."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

from keyhole.errors import OutputError
from keyhole.figure import Figure
from keyhole.files.atomic import write_file
from keyhole.show.chart import to_html, to_pdf, to_png, to_svg


def to_csv(figure: Figure) -> str:
    """The figure's rows, and those of the figures over it, as a table that any program reads."""
    text = io.StringIO()
    rows = [row for each in (figure, *figure.over) for row in each.rows]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    table = csv.DictWriter(text, fieldnames=columns, lineterminator="\n")
    table.writeheader()
    table.writerows(dict(row) for row in rows)
    return text.getvalue()


FORMATS: dict[str, Callable[[Figure], str | bytes]] = {
    ".csv": to_csv,
    ".html": to_html,
    ".pdf": to_pdf,
    ".png": to_png,
    ".svg": to_svg,
}


def save_figure(figure: Figure, path: Path) -> Path:
    """Write the figure in the format of the path's ending, and return the path."""
    if path.suffix.lower() not in FORMATS:
        raise OutputError(f"A figure was asked for as {path.name!r}; its name must end in {', '.join(FORMATS)}.")
    content = FORMATS[path.suffix.lower()](figure)
    return write_file(path, content.encode() if isinstance(content, str) else content)
