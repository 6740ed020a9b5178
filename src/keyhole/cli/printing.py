"""Answers on stdout: as wide as the terminal, with colour; 80 plain columns where there is none."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from keyhole.show.folding import columns

if TYPE_CHECKING:
    from keyhole.api.result import Result


def print_answer(answer: "Result | None", *, json: bool, verbose: bool, **_: object) -> None:
    """Print what a command returns as text or as JSON, with exit code 1 where the answer is no."""
    if answer is None:
        return
    typer.echo(answer.to_json() if json else answer.text(columns(), verbose=verbose, styled=sys.stdout.isatty()))
    if answer.answer_is_no:
        raise typer.Exit(1)


def written(answer: "Result", out: Path | None) -> "Result":
    """Write an answer to a file, if one is named, and return it."""
    if out is not None:
        typer.echo(f"wrote {answer.save(out)}", err=True)
    return answer
