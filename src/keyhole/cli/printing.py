"""Documents on stdout: as wide as the terminal, with bold and colour; 80 plain columns where there is none."""

import sys

import typer

from keyhole.show.document import Document
from keyhole.show.folding import columns
from keyhole.show.text import to_text


def print_document(document: Document) -> None:
    """Print what a result shows."""
    typer.echo(to_text(document, columns(), styled=sys.stdout.isatty()))
