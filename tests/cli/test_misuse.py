"""Words the command line does not understand: one sentence, exit code 2, and the help to ask."""

import pytest
from typer.testing import CliRunner

from keyhole.cli.app import COMMANDS, TAKEN, app, load_command


@pytest.mark.parametrize(
    ("words", "asked", "helping"),
    [
        (("--nonsense",), "No such option: --nonsense", "keyhole --help"),
        (("nonsense",), "No such command 'nonsense'", "keyhole --help"),
        (("bound", "--nonsense"), "No such option: --nonsense", "keyhole bound --help"),
        (("bound", "and:3", "--delta", "small"), "Invalid value for '--delta'", "keyhole bound --help"),
        (
            ("describe", "x1", "--context", "1__0"),
            "'--context': '1__0' is not a whole number",
            "keyhole describe --help",
        ),
        (("describe", "x1", "x2"), "(x2)", "keyhole describe --help"),
        (("describe", "x1", "--context"), "'--context' requires an argument", "keyhole describe --help"),
        (("describe", "x1", "--lists", "-3"), "Invalid value for '--lists'", "keyhole describe --help"),
        (("runs", "nonsense"), "No such command 'nonsense'", "keyhole runs --help"),
        (("runs", "show"), "Missing argument", "keyhole runs show --help"),
    ],
)
def test_misuse_is_one_sentence_and_exit_code_two(words, asked, helping):
    """On stderr, alone: what was asked, and which help shows what to write."""
    answer = CliRunner().invoke(app, words)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert len(answer.stderr.splitlines()) == 1
    assert answer.stderr.startswith("keyhole: ")
    assert asked in answer.stderr
    assert answer.stderr.endswith(f"; `{helping}` shows what to write.\n")


@pytest.mark.parametrize("words", [("lern",), ("bound", "and:3", "--sample", "9")])
def test_a_question_about_what_was_meant_is_one_sentence_of_its_own(words):
    """After a question mark no other mark follows."""
    told = CliRunner().invoke(app, words).stderr
    assert "?;" not in told
    assert told.endswith("shows what to write.\n")


def test_no_words_ask_for_help():
    """The bare command shows what there is."""
    answer = CliRunner().invoke(app, [])
    assert "describe" in answer.output
    assert "keyhole: " not in answer.output.splitlines()[0]


def test_completion_is_shown_for_a_shell_that_has_it(monkeypatch):
    """The script for the shell that gave the command."""
    monkeypatch.setattr("typer._completion_shared._get_shell_name", lambda: "bash")
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: "bash")
    answer = CliRunner().invoke(app, ["--show-completion"])
    assert answer.exit_code == 0
    assert "complete -o default" in answer.stdout


@pytest.mark.parametrize(
    ("words", "able"),
    [
        (("check", "x.safetensors", "--out", "x.json"), "bound"),
        (("--out=x.json", "runs", "compare", "other"), "runs show"),
        (("describe", "and:3", "--store", "s"), "runs compare"),
        (("checkpoint", "order", "x", "--store", "s"), "serve"),
    ],
)
def test_a_shared_option_without_use_is_refused(words, able, tmp_path, monkeypatch):
    """One sentence names the commands that can use it, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(app, words)
    assert (answer.exit_code, answer.stdout, len(answer.stderr.splitlines())) == (2, "", 1)
    assert able in answer.stderr.split(" it is for ")[1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("--out", "x.json", "describe", "and:3"),
        ("describe", "--out", "x.json", "and:3"),
        ("describe", "and:3", "--json", "--out=x.json"),
    ],
)
def test_a_shared_option_stands_anywhere(words, tmp_path, monkeypatch):
    """Before, within and after a command, with its value after a blank or an equals sign."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, words).exit_code == 0
    assert (tmp_path / "x.json").is_file()


def test_every_command_that_writes_lists_what():
    """The help of a command that takes --out says which endings it writes."""
    for name in COMMANDS:
        load_command(name)
    for name, options in TAKEN.items():
        shown = CliRunner().invoke(app, [*name.split(), "--help"]).stdout
        shown += CliRunner().invoke(app, [name.split()[0], "--help"]).stdout
        assert ("--out" in options) <= ("--out" in shown), name
