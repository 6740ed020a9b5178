"""`keyhole prove --claim` answers in words or JSON, with exit code 1 for a wrong word and a sentence for bad input."""

import json

import pytest
from typer.testing import CliRunner

from keyhole.api import length_verdict
from keyhole.cli.app import app

from helpers.tiny_gpt2 import write_gpt2


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
        codes[answer.exit_code] = {row["status"] for row in found["lengths"]}
    assert codes == {0: {"PROVED"}, 1: {"COUNTEREXAMPLE"}}


def test_rows_come_one_by_one(folder):
    """With --rows each length is a line of JSON, and the last line has the summary."""
    asked = ("--claim", "at least 9 of 1", "--lengths", "3..4", "--read-at", "SEP")
    lines = [json.loads(line) for line in run(folder, *asked, "--rows").stdout.splitlines()]
    assert [list(line) for line in lines] == [["length"], ["length"], ["verified"]]
    assert [line["length"]["length"] for line in lines[:-1]] == [3, 4]


def test_an_answer_is_short(folder):
    """Within 80 columns and ten lines and a table; with -v a wrong word comes with what shows it in transformers."""
    asked = [("--claim", f"at least {n} of 1", "--lengths", "4", "--read-at", "SEP") for n in (0, 9)]
    printed = [run(folder, *words).stdout for words in asked]
    assert sorted("WRONG INPUT" in text for text in printed) == [False, True]
    assert max(len(line) for text in printed for line in text.splitlines()) <= 80
    assert max(len(text.splitlines()) for text in printed) <= 11
    assert sum("AutoModelForCausalLM" in run(folder, *words, "-v").stdout for words in asked) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--claim", "majority of 7"), "'7' is not in the alphabet"),
        (("--claim", "perhaps"), "neither a formula, such as x3 & x7 or majority:5, nor"),
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


def test_after_ctrl_c_the_lengths_done_are_kept(folder, monkeypatch):
    """Interrupted at the second length, exit code 130; the first is found again."""
    searched, search = [], length_verdict.prove_on_words

    def stops(*given, **named):
        searched.append(1)
        if len(searched) == 2:
            raise KeyboardInterrupt
        return search(*given, **named)

    monkeypatch.setattr(length_verdict, "prove_on_words", stops)
    first = run(folder, "--claim", "majority", "--lengths", "3,4", "--samples", "7")
    assert first.exit_code == 130
    again = run(folder, "--claim", "majority", "--lengths", "3", "--samples", "7")
    assert again.exit_code in (0, 1)
    assert len(searched) == 2
