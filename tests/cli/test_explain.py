"""`keyhole explain` and `keyhole tour`."""

import json
import re

import pytest
from typer.testing import CliRunner

from keyhole.cli import output
from keyhole.cli.app import app
from keyhole.glossary import glossary, meaning


def ask(*words):
    """A command run in this process."""
    return CliRunner().invoke(app, words)


def test_every_row_of_the_notation_is_explained():
    """Each term, and each name in it, finds its own entry."""
    assert len(glossary()) > 100
    for term in glossary():
        for name in (term.term, *re.split("[,;] ", term.term)):
            assert term in [
                type(term)(**each) for each in json.loads(ask("explain", "--json", "--", name).stdout)["terms"]
            ]


def test_a_letter_with_two_meanings_has_both():
    """Capitals and small letters differ where both are explained."""
    kappa = ask("explain", "κ").stdout
    assert all(part in kappa for part in ("bounds/", "compiler/", "prover/"))
    assert {term["term"] for term in json.loads(ask("explain", "T", "--json").stdout)["terms"]} == {"T"}


def test_an_unknown_word_is_refused_with_one_that_is_near():
    """A misspelt word is bad input."""
    answer = ask("explain", "magrin")
    assert (answer.exit_code, "Did you mean margin?" in answer.stderr) == (2, True)


def test_exit_codes_are_explained_as_they_are():
    """The glossary has the codes of the program."""
    codes = {0, 1, output.INPUT, output.FAULT, output.INTERRUPTED, output.UNREAD}
    assert set(map(int, re.findall(r"(\d+):", meaning("exit code")))) == codes


@pytest.mark.long
def test_the_tour_answers(tmp_path, monkeypatch):
    """Five commands are printed and answered, and nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    answer = ask("tour")
    assert answer.exit_code == 0
    assert len(re.findall(r"^\$ keyhole", answer.stdout, re.MULTILINE)) == 5
    assert answer.stdout.count("PROVED") == 2
    assert not list(tmp_path.iterdir())
