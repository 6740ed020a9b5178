"""The output of the command line: an answer on stdout, or an error as one sentence on stderr, with an exit code."""

import errno
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from keyhole.errors import KeyholeError, adding, printable
from keyhole.show.answer import columns

if TYPE_CHECKING:
    from keyhole.api.result import Result


Misuse: type[Exception] = typer.BadParameter.__bases__[0]  # click's UsageError, wherever typer keeps its click
INPUT, FAULT, INTERRUPTED, UNREAD = 2, 70, 130, 141
TRACEBACK = "KEYHOLE_TRACEBACK"  # set: where a fault of keyhole happened is printed in full
TOO_MUCH = {
    MemoryError: "takes more memory than there is; ask for less, or for smaller sizes",
    RecursionError: "nests deeper than can be followed; write it flatter",
    OverflowError: "leads to a number larger than can be computed with; use smaller ones",
}
EXTRAS = {  # packages that a plain install lacks, and the extra that adds each
    **dict.fromkeys(("jax", "jaxlib", "optax", "sklearn", "threadpoolctl"), "train"),
    **dict.fromkeys(("altair", "vl_convert"), "draw"),
    **dict.fromkeys(("anyio", "jinja2", "latex2mathml", "markupsafe", "starlette", "uvicorn"), "live"),
    "tokenizers": "hf",
    "PIL": "images",
    "transformer_lens": "lens",
    "torch": "torch",
    "transformers": "transformers",
}


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn an error into one sentence on stderr and an exit code of its own."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # a full disk is noticed here, where it can be said
    except (typer.Exit, typer.Abort, Misuse):
        raise
    except KeyboardInterrupt as stop:
        raise _exit("interrupted", INTERRUPTED) from stop
    except KeyholeError as error:
        raise _exit(str(error), INPUT) from error
    except BrokenPipeError as error:
        _forget_output()
        raise typer.Exit(UNREAD) from error
    except OSError as error:
        _forget_output()
        raise _exit(_of_the_system(error), INPUT) from error
    except tuple(TOO_MUCH) as error:
        why = next(words for kind, words in TOO_MUCH.items() if isinstance(error, kind))
        raise _exit(f"What was asked {why}.", INPUT, error) from error
    except Exception as error:
        package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if package in EXTRAS:
            needed = f"This command needs {package}, which is not installed"
            raise _exit(f"{needed}; run: {adding(EXTRAS[package])}", INPUT) from error
        place = traceback.extract_tb(error.__traceback__)[-1]
        words = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        fault = f"This is a fault of keyhole: {words} ({where}). Please report it; {TRACEBACK}=1 shows more."
        raise _exit(fault, FAULT, error) from error


def _exit(sentence: str, code: int, error: BaseException | None = None) -> typer.Exit:
    """Print a line on stderr, where nobody may be reading either; return the exit to raise."""
    with suppress(OSError, ValueError):
        typer.echo(f"keyhole: {printable(sentence)}", err=True)
    if error is not None and os.environ.get(TRACEBACK):
        typer.echo("".join(traceback.format_exception(error)), err=True)
    return typer.Exit(code)


def _of_the_system(error: OSError) -> str:
    """Say what the system refused, and of which file; without a file, the answer could not be printed."""
    why = error.strerror or str(error)
    if error.filename is not None:
        return f"{str(error.filename)!r} cannot be used: {why}. Choose another place."
    if error.errno in (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, errno.EBADF):
        return f"The answer cannot be printed: {why}. Send it elsewhere."
    return f"The system refused: {why}."


def _forget_output() -> None:
    """Send what is still to be printed nowhere, so that the interpreter does not stumble over it when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def require_streams() -> None:
    """Open what is closed of stdin and stderr on /dev/null, whose numbers files would take; refuse a closed stdout."""
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        number = ("stdin", "stdout", "stderr").index(name)
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
        setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115
    if "stdout" in closed:
        _exit("Standard output is closed, so no answer could be printed; send it to a file, or to /dev/null.", INPUT)
        raise SystemExit(INPUT)


def print_answer(answer: "Result | None", *, json: bool, verbose: bool, **_: object) -> None:
    """Print what a command returns as text or as JSON, with exit code 1 for a negative answer."""
    if answer is None:
        return
    typer.echo(answer.to_json() if json else answer.text(columns(), verbose=verbose, styled=sys.stdout.isatty()))
    if answer.answer_is_no:
        raise typer.Exit(1)
