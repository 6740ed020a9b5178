"""`keyhole prove --claim` answers in words or JSON, with exit code 1 for a wrong word and a sentence for bad input."""

import json

import pytest
from typer.testing import CliRunner

from keyhole.api import length_verdict
from keyhole.cli.app import app

from helpers.tiny_gpt2 import write_gpt2

KEYS = [  # the golden keys of prove-claim/1: fields are only ever added
    "keyhole", "schema", "source", "claim", "where", "alphabet", "shown_as", "answers", "loader", "read_first",
    "assumed", "compared", "summary", "lengths",
]  # fmt: skip
ROW = [
    "length", "status", "margin", "wrong_tokens", "wrong_numbers", "wanted", "output", "output_as_computed", "bound",
    "reason", "sampled", "sampled_wrong", "parts", "seconds", "time_limit", "float_format", "float_error",
    "float_keeps",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny model that prefers one answer on every word."""
    place = tmp_path_factory.mktemp("claim")
    write_gpt2(place / "model", seed=3, width=4, scale=0.05)
    write_gpt2(place / "two", width=4, layers=2)
    return place


def run(folder, *arguments: str, model="model"):
    """The command run in this process, its verdicts kept in the folder."""
    quick = ("--store", str(folder / "store"), "--samples", "50", "--time-limit", "0.2")
    return CliRunner().invoke(app, ["prove", str(folder / model), *quick, *arguments])


@pytest.mark.slow
def test_json_and_exit_codes(folder):
    """One object with the promised keys; 0 where the claim is proved, 1 where a word is wrong."""
    codes = {}
    for claim in ("at least 0 of 1", "at least 9 of 1"):
        answer = run(folder, "--claim", claim, "--lengths", "3..4", "--read-at", "SEP", "--json")
        found = json.loads(answer.stdout)
        assert list(found) == KEYS
        assert all(list(row) == ROW for row in found["lengths"])
        codes[answer.exit_code] = {row["status"] for row in found["lengths"]}
    assert codes == {0: {"PROVED"}, 1: {"COUNTEREXAMPLE"}}


def test_rows_come_one_by_one(folder):
    """With --rows each length is a line of JSON, and the last line has the rest."""
    asked = ("--claim", "at least 9 of 1", "--lengths", "3..4", "--read-at", "SEP")
    lines = [json.loads(line) for line in run(folder, *asked, "--rows").stdout.splitlines()]
    assert [list(line) for line in lines] == [["length"], ["length"], ["verified"]]
    assert [line["length"]["length"] for line in lines[:-1]] == [3, 4]
    assert all(list(line["length"]) == ROW for line in lines[:-1])
    assert "lengths" not in lines[-1]["verified"]


def test_words(folder):
    """A table within 80 columns; a wrong word comes with the lines that show it in transformers."""
    said = [run(folder, "--claim", f"at least {n} of 1", "--lengths", "4", "--read-at", "SEP").stdout for n in (0, 9)]
    assert any("PROVED" in text for text in said)
    wrong = next(text for text in said if "WRONG INPUT" in text)
    assert "the shortest wrong word" in wrong
    assert "AutoModelForCausalLM" in wrong
    table = wrong.split("to see it in")[0]
    assert max(map(len, table.splitlines())) < 80


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--claim", "majority of 7"), "'7' is not in the alphabet"),
        (("--claim", "perhaps"), "neither a formula, such as x3 & x7, nor one of these"),
        (("--claim", "regex:(0"), "cannot be read"),
        (("--claim", "majority", "--read-at", "END"), "no token named 'END'"),
        (("--claim", "majority", "--lengths", "40"), "places"),
        (("--claim", "majority", "--lengths", "5..3"), "5..3"),
        (("--claim", "majority", "--alphabet", "0"), "two or more"),
        (("--claim", "majority", "--samples", "-1"), "-1"),
        (("--claim", "majority", "--out", "verdicts.xyz"), ".xyz"),
    ],
)
def test_bad_input_is_one_sentence(folder, arguments, says):
    """What does not fit is refused with exit code 2, on stderr, without a traceback."""
    given = arguments if "--lengths" in arguments else (*arguments, "--lengths", "4")
    answer = run(folder, *given)
    assert answer.exit_code == 2
    assert says in answer.stderr
    assert answer.stdout == ""


@pytest.mark.parametrize(("model", "says"), [("two", "2 layers"), ("nowhere", "nowhere")])
def test_a_model_that_is_not_verified_is_refused(folder, model, says):
    """Two layers, or no model at all: one sentence."""
    answer = run(folder, "--claim", "majority", "--lengths", "4", model=model)
    assert answer.exit_code == 2
    assert says in answer.stderr


@pytest.mark.slow
def test_the_figure_is_written(folder, tmp_path):
    """`--out` writes the margin against the length."""
    answer = run(folder, "--claim", "at least 0 of 1", "--lengths", "3..4", "--out", str(tmp_path / "margin.svg"))
    assert answer.exit_code in (0, 1)
    assert (tmp_path / "margin.svg").read_text().lstrip().startswith("<svg")


def test_ctrl_c_says_that_the_lengths_done_are_kept(folder, monkeypatch):
    """Interrupted at the second length, exit code 130 and a sentence; the first is found again."""
    searched, search = [], length_verdict.verify_words

    def stops(*given, **named):
        searched.append(1)
        if len(searched) == 2:
            raise KeyboardInterrupt
        return search(*given, **named)

    monkeypatch.setattr(length_verdict, "verify_words", stops)
    first = run(folder, "--claim", "majority", "--lengths", "3,4", "--samples", "7")
    assert first.exit_code == 130
    assert "the same command goes on" in first.stderr
    again = run(folder, "--claim", "majority", "--lengths", "3", "--samples", "7")
    assert again.exit_code in (0, 1)
    assert len(searched) == 2
