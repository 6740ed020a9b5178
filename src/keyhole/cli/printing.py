"""Answers on stdout: as wide as the terminal, with colour; 80 plain columns where there is none."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from keyhole.show.document import Document
from keyhole.show.folding import columns
from keyhole.show.text import to_text

if TYPE_CHECKING:
    from keyhole.api.result import Result


def print_answer(answer: "Result", *, as_json: bool = False, verbose: bool = False, out: Path | None = None) -> None:
    """Print an answer as text or as JSON; where a file is named, the answer goes there and its place is said."""
    if out is not None:
        typer.echo(f"wrote {answer.save(out)}", err=True)
    elif as_json:
        typer.echo(answer.to_json())
    else:
        typer.echo(answer.text(columns(), verbose=verbose, styled=sys.stdout.isatty()))


def print_document(document: Document) -> None:
    """Print what a result shows."""
    typer.echo(to_text(document, columns(), styled=sys.stdout.isatty()))
