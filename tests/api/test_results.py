"""Answers about runs display, record and save themselves in the same ways as all others."""

import csv
import json
from dataclasses import replace

import pytest

import keyhole
from keyhole.errors import OutputError

from helpers.lab_fakes import Coin

pytestmark = pytest.mark.slow
HOSTILE = "<script>alert('x')</script> [bold]&[/bold]"
DRAWN = ("learn/1", "run/1")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """An answer of every kind, by its schema."""
    here = keyhole.Execution(tmp_path_factory.mktemp("answers"), workers=0)
    schedule = keyhole.Schedule(samples=(20, 40, 80), seeds=6)
    learned = keyhole.learn("and:2", (8, 16, 32, 64), (Coin(), Coin(level=20.0)), schedule=schedule, execution=here)
    runs = keyhole.runs(store=here.folder)
    run = keyhole.show_run(runs.runs[0].identity, store=here.folder)
    return {each.schema: each for each in (learned, runs, run, keyhole.run_plan(learned.plan, execution=here))}


@pytest.mark.parametrize("schema", ["learn/1", "runs/1", "run/1", "plan/1"])
def test_an_answer_is_shown_and_saved(answers, schema, tmp_path):
    """A short repr, text within 80 columns, JSON in its envelope, and figures where there are any."""
    answer = answers[schema]
    assert len(repr(answer)) < 200
    assert max(map(len, str(answer).splitlines())) <= 80
    record = json.loads(answer.save(tmp_path / "a.json").read_text("utf8"))
    assert (record["schema"], record) == (schema, json.loads(answer.to_json()))
    assert answer.save(tmp_path / "a.txt").read_text("utf8").startswith(str(answer).splitlines()[0])
    with pytest.raises(OutputError, match=r"must end in \.json, \.txt, \.html"):
        answer.save(tmp_path / "a.docx")
    if schema in DRAWN:
        rows = csv.DictReader(answer.save(tmp_path / "a.csv").read_text("utf8").splitlines())
        assert set(answer.figure().rows[0]) <= set(rows.fieldnames)
        assert answer.save(tmp_path / "a.svg").read_text("utf8").startswith("<svg")


def test_no_answer_is_read_as_markup(answers):
    """Texts with angle brackets come out escaped in HTML and as they are in text."""
    runs = answers["runs/1"]
    hostile = [
        replace(answers["learn/1"], what=HOSTILE),
        replace(runs, newest=(replace(runs.runs[0], task=HOSTILE),)),
        replace(answers["run/1"], task=HOSTILE),
    ]
    for answer in hostile:
        assert "<script>" not in answer._repr_html_()
        assert "<" in str(answer)


def test_an_answer_without_success_has_no_figure(answers, tmp_path):
    """A sweep in which nothing succeeds refuses to draw, with a sentence."""
    answer = answers["learn/1"]
    none = replace(answer, cells=(), thresholds=(), verdict=None)
    with pytest.raises(OutputError, match="no run succeeded; there is none to draw"):
        none.save(tmp_path / "figure.csv")
