"""Whatever goes wrong is one sentence on stderr with an exit code of its own, and never a traceback."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from keyhole.cli import output
from keyhole.errors import DataError

FULL = Path("/dev/full")


def run(words, **streams):
    """The command in a process of its own."""
    command = [sys.executable, "-m", "keyhole", *words]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **streams)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MemoryError(), 2, "takes more memory than there is"),
        (RecursionError(), 2, "nests deeper than can be followed"),
        (OverflowError(), 2, "leads to a number larger than can be computed with"),
        (OSError(28, "No space left on device"), 2, "cannot be printed: No space left on device"),
        (PermissionError(13, "Permission denied", "there"), 2, "'there' cannot be used: Permission denied"),
        (DataError("The table is empty."), 2, "The table is empty."),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ZeroDivisionError("division by zero"), 70, "This is a fault of keyhole: ZeroDivisionError: division by zero"),
    ],
)
def test_each_kind_of_error_has_a_sentence_and_an_exit_code(error, code, words, capsys):
    """One line on stderr says what is so; what is none of ours is called a fault, with its place."""
    with pytest.raises(typer.Exit) as left, output.one_sentence():
        raise error
    said = capsys.readouterr()
    assert left.value.exit_code == code
    assert said.out == ""
    assert said.err.startswith("keyhole: ")
    assert len(said.err.splitlines()) == 1
    assert words in said.err


def test_a_fault_is_shown_in_full_on_request(monkeypatch, capsys):
    """With KEYHOLE_TRACEBACK the traceback follows the sentence."""
    monkeypatch.setenv("KEYHOLE_TRACEBACK", "1")
    with pytest.raises(typer.Exit), output.one_sentence():
        raise ZeroDivisionError
    assert "Traceback" in capsys.readouterr().err


def test_answers_and_misuse_pass_through():
    """An answer of no stays exit code 1."""
    with pytest.raises(typer.Exit) as left, output.one_sentence():
        raise typer.Exit(1)
    assert left.value.exit_code == 1


@pytest.mark.slow
def test_a_reader_that_is_gone_is_no_answer():
    """A closed pipe exits with 141 and says nothing: 1 is the answer no."""
    reading, writing = os.pipe()
    os.close(reading)
    done = run(["describe", "and:3"], stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
def test_a_full_disk_behind_stdout_is_a_sentence():
    """What cannot be printed is refused with exit code 2."""
    with FULL.open("w") as full:
        done = run(["describe", "and:3"], stdout=full)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "No space left on device" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("closed", "words"), [(">&-", "Standard output is closed"), ("<&-", "There are no runs in 'none'")]
)
def test_closed_streams_are_sentences(closed, words):
    """Without stdout there is nobody to answer; without stdin nobody is asked."""
    command = shlex.join([sys.executable, "-m", "keyhole", "runs", "list", "--store", "none"])
    done = subprocess.run(["sh", "-c", f"{command} {closed}"], stderr=subprocess.PIPE, text=True, check=False)  # noqa: S607
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
