"""Answers of compile, check, bound and certify display, record and save themselves in the same ways."""

import json

import pytest

import keyhole
from keyhole.api.result import Result
from keyhole.errors import AssumptionError, OutputError

from helpers.planted import junta_of, planted

pytestmark = pytest.mark.slow

JUNTA = junta_of("x3 & x7 & x11")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """One answer of each kind."""
    compiled = keyhole.compile("x3 & x17", 64)
    path = compiled.save(tmp_path_factory.mktemp("answers") / "and.safetensors")
    return {
        "compile/1": compiled,
        "check/1": keyhole.check(path),
        "bound/1": keyhole.bound("and:3", 1e5, 100, contexts=[100, 1000]),
        "prove/1": keyhole.prove(planted(JUNTA, 30)),
    }


SCHEMAS = ["compile/1", "check/1", "bound/1", "prove/1"]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_an_answer_is_a_result_with_a_short_repr(answers, schema):
    """The repr is one line of fewer than 200 letters; text stays within 80 columns; a page has no script."""
    answer = answers[schema]
    assert isinstance(answer, Result)
    assert len(repr(answer)) < 200
    assert "\n" not in repr(answer)
    assert max(map(len, str(answer).splitlines())) <= 80 or schema == "check/1"  # a path is not folded
    assert "<script" not in answer._repr_html_()


@pytest.mark.parametrize("schema", SCHEMAS)
def test_an_answer_saves_what_it_shows(answers, schema, tmp_path):
    """.json has the record in its envelope, .txt the text, .html the page; another ending is refused."""
    answer = answers[schema]
    assert json.loads(answer.save(tmp_path / "a.json").read_text("utf8")) == json.loads(answer.to_json())
    assert json.loads(answer.to_json())["schema"] == schema
    assert answer.save(tmp_path / "a.txt").read_text("utf8").startswith(str(answer).splitlines()[0])
    assert answer.save(tmp_path / "a.html").read_text("utf8").lower().startswith("<!doctype html>")
    for name in ("a.doc", "a"):
        with pytest.raises(OutputError, match=r"\.json, \.txt, \.html"):
            answer.save(tmp_path / name)


def test_long_functions_have_a_short_repr():
    """A function of a hundred positions is named by its number of positions or its beginning."""
    formula = " & ".join(f"x{place}" for place in range(40))
    assert len(repr(keyhole.compile(formula, 10**6))) < 200
    certified = keyhole.prove(planted(junta_of("table(0110100110010111; x100, x101, x102, x103)"), 120))
    assert len(repr(certified)) < 200


def test_a_compiled_model_saves_its_weights_and_its_figure(answers, tmp_path):
    """.safetensors passes the check, .py names its function, and .svg draws the attention."""
    compiled = answers["compile/1"]
    assert keyhole.check(compiled.save(tmp_path / "a.safetensors")).holds
    assert "x3 & x17" in compiled.save(str(tmp_path / "a.py")).read_text("utf8")
    assert compiled.save(tmp_path / "a.svg").read_text("utf8").startswith("<svg")


def test_a_certified_model_is_saved_and_certified_again(answers, tmp_path):
    """.safetensors has the model that the certificate is about."""
    certified = answers["prove/1"]
    again = keyhole.prove(certified.save(tmp_path / "a.safetensors"))
    assert (again.status, again.function) == (certified.status, certified.function) == ("PROVED", "x3 & x7 & x11")


def test_a_bound_saves_growth_and_derivations(answers, tmp_path):
    """.csv has a line per context and theorem, .txt the derivations."""
    grown = answers["bound/1"]
    rows = grown.save(tmp_path / "a.csv").read_text("utf8").splitlines()
    assert len(rows) == 1 + 2 * len(grown.growth)
    with pytest.raises(AssumptionError, match="without contexts"):
        keyhole.bound("and:3", 1e5, 100).save(tmp_path / "b.svg")
    assert grown.save(tmp_path / "a.txt").read_text("utf8") == f"{grown.text(verbose=True)}\n"
