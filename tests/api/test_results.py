"""Every answer displays itself in a line, as text and as HTML, and is written as whatever the command line writes."""

import csv
import json
from dataclasses import replace

import pytest

import keyhole
from keyhole.api.old_result import OldResult as Result
from keyhole.api.runs import RunInFull, Runs
from keyhole.api.sample_complexity import SampleComplexity
from keyhole.errors import OutputError
from keyhole.show.runs import run_document, runs_document
from keyhole.show.sample_complexity import sample_complexity_document

from helpers.lab_fakes import Coin, Inline

pytestmark = pytest.mark.slow

KINDS = (
    SampleComplexity, Runs, RunInFull,
)  # fmt: skip
DRAWN = (SampleComplexity, RunInFull)
DOCUMENTS = {
    SampleComplexity: sample_complexity_document,
    Runs: runs_document,
    RunInFull: run_document,
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """An answer of every kind, by kind."""
    folder = tmp_path_factory.mktemp("answers")
    learned = keyhole.learn(
        "and:2", (8, 16, 32, 64), samples=(20, 40, 80), seeds=6, learner=Coin(), beside=(Coin(level=20.0),),
        executor=Inline(), store=folder / "store",
    )  # fmt: skip
    runs = keyhole.runs(store=folder / "store")
    found = [
        learned,
        runs,
        keyhole.show_run(runs[0].identity, store=folder / "store"),
    ]
    return {type(answer): answer for answer in found}


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_one_short_line_in_a_prompt(answers, kind):
    """`repr` names the type and the answer in less than 200 letters, whatever the answer holds."""
    answer = answers[kind]
    assert isinstance(answer, Result)
    assert repr(answer).startswith(f"<{kind.__name__}: ")
    assert len(repr(answer)) < 200
    assert "\n" not in repr(answer)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_text_within_80_columns(answers, kind):
    """`str` is what the command line prints in a pipe: no line over 80 columns, no blanks at ends, no flag named."""
    lines = str(answers[kind]).splitlines()
    assert len(lines) > 1
    assert all(len(line) <= 80 and line == line.rstrip() for line in lines)
    assert not any(" --" in line for line in lines)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_what_is_shown_follows_from_the_json(answers, kind):
    """The document of the record that `--json` prints, read back, is the answer's own."""
    assert _plain(DOCUMENTS[kind](json.loads(answers[kind].to_json()))) == _plain(answers[kind].document())


def _plain(document):
    """A document with lists for all its sequences."""
    return json.loads(json.dumps([vars(element) for element in document], default=vars))


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_saved_as_it_is_shown(answers, kind, tmp_path):
    """.json is the record with its schema, .txt the text; a name of another ending is refused, and nothing written."""
    answer = answers[kind]
    saved = answer.save(tmp_path / "answer.json")
    assert saved.read_text("utf8") == f"{answer.to_json()}\n"
    record = json.loads(saved.read_text("utf8"))
    assert (record["keyhole"], record["schema"]) == (keyhole.__version__, kind.schema)
    assert list(record)[2:] == [name for name in answer.record() if name in record]
    assert answer.save(str(tmp_path / "answer.txt")).read_text("utf8") == f"{answer}\n"
    assert (tmp_path / "answer.html").exists() is False
    assert answer.save(tmp_path / "answer.html").read_text("utf8").lower().startswith("<!doctype html>")
    with pytest.raises(OutputError, match=r"'answer\.docx'; its name must end in \.json, \.txt, \.html"):
        answer.save(tmp_path / "answer.docx")
    assert not (tmp_path / "answer.docx").exists()


@pytest.mark.parametrize("kind", DRAWN)
def test_figures_are_saved(answers, kind, tmp_path):
    """.csv has the rows of the chief figure, .svg a drawing, .png pixels."""
    answer = answers[kind]
    rows = csv.DictReader(answer.save(tmp_path / "figure.csv").read_text("utf8").splitlines())
    assert set(answer.figure().rows[0]) <= set(rows.fieldnames)
    assert answer.save(tmp_path / "figure.svg").read_text("utf8").startswith("<svg")
    assert answer.save(tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in DRAWN])
def test_who_has_no_figure_says_so(answers, kind, tmp_path):
    """An ending of figures is refused where there is none; runs have a table of their own as .csv."""
    with pytest.raises(OutputError, match=r"'figure\.svg'; its name must end in \.json, \.txt, \.html\."):
        answers[kind].save(tmp_path / "figure.svg")
    with pytest.raises(OutputError, match="has no figure"):
        answers[kind].figure()


def test_a_sweep_is_saved_to_a_folder(answers, tmp_path, monkeypatch):
    """A name without an ending is a folder, with every figure and learn.json."""
    monkeypatch.setattr("keyhole.api.sample_complexity.save_figure", lambda _figure, path: path.write_text("drawn"))
    (tmp_path / "all").mkdir()
    assert answers[SampleComplexity].save(tmp_path / "all") == tmp_path / "all"
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == [
        "learn.json", "success.html", "thresholds.html",
    ]  # fmt: skip


def test_runs_are_a_sequence_of_rows(answers, tmp_path):
    """Iterated, indexed, sliced and counted like a tuple; .csv has a line for each, with the settings."""
    runs = answers[Runs]
    assert len(runs) == len(list(runs)) == len(runs.rows) == 2 * 4 * 3 * 6
    assert runs[0] == runs.rows[0]
    assert runs[-1] in runs
    assert isinstance(runs[:5], Runs)
    assert [row.identity for row in runs[:5]] == [row.identity for row in runs.rows[:5]]
    table = list(csv.DictReader(runs[:5].save(tmp_path / "runs.csv").read_text("utf8").splitlines()))
    assert [row["identity"] for row in table] == [row.identity for row in runs[:5]]
    assert table == list(csv.DictReader(runs[:5].to_csv().splitlines()))
    assert repr(runs[:0]).startswith("<Runs: none in ")


HOSTILE = "<script>alert('x')</script> [bold]&[/bold]"


def test_no_answer_is_read_as_markup(answers):
    """Texts with angle brackets come out escaped in HTML and as they are in text, in every kind of answer."""
    row = replace(answers[Runs][0], task=HOSTILE)
    hostile = [
        replace(answers[SampleComplexity], what=HOSTILE),
        Runs((replace(row, learner="<i>"),), answers[Runs].store),
        RunInFull(replace(answers[RunInFull].run, cpu=HOSTILE), None),
    ]
    assert {type(answer) for answer in hostile} == set(KINDS)
    for answer in hostile:
        page = answer._repr_html_()
        assert "<script>" not in page
        assert "<i>" not in page
        assert "&lt;" in page
        assert "<" in str(answer)


def test_an_answer_without_success_has_no_figure(answers, tmp_path):
    """A sweep in which nothing succeeds refuses to draw, with a sentence."""
    answer = answers[SampleComplexity]
    none = replace(answer, sweep=replace(answer.sweep, rows=()), thresholds=(), verdict=None)
    with pytest.raises(OutputError, match="no run succeeded; there is none to draw"):
        none.save(tmp_path / "figure.csv")
