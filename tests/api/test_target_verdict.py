"""A run against its own counting target: proved where the model counts rightly, refuted with an input where not."""

import numpy as np
import pytest

import keyhole
from keyhole.api.target_verdict import against_target
from keyhole.attention import evaluate
from keyhole.boolean import UNIFORM, read_function, uniform_law
from keyhole.compiler import to_tabulated
from keyhole.compiler.assembly import to_model
from keyhole.prover.extraction import certifiable
from keyhole.training import Instance

BITS = np.array([False, True])


def model_of(formula, context):
    """The tables of a compiled function."""
    return certifiable(to_tabulated(keyhole.compile(formula, context).plan))


@pytest.mark.parametrize("formula", ["majority:101", "threshold:30:80", "and:90", "or:20"])
def test_a_model_that_counts_rightly_is_proved(formula):
    """Of up to 101 positions among 120, in less than a few seconds; the margin is that of the construction."""
    function = read_function(formula)
    found = against_target(model_of(formula, 120), Instance(120, function, UNIFORM, BITS), time_limit=20.0)
    assert (found.status, found.positions) == ("PROVED", function.sparsity)
    assert 0 < found.margin <= 1


def test_a_model_that_miscounts_is_refuted_by_an_input():
    """A majority whose threshold is off by one count is wrong on the input that is shown, at the boundary."""
    function = read_function("majority:31")
    wrong = model_of("threshold:17:31", 40)
    found = against_target(wrong, Instance(40, function, UNIFORM, BITS), time_limit=20.0)
    assert found.status == "COUNTEREXAMPLE"
    word = np.array([found.counterexample])
    assert word[0, list(function.positions)].sum() == 16
    assert np.asarray(evaluate(wrong.tables, word))[0] < 0


def test_symbols_that_stand_for_bits_are_counted_by_what_they_stand_for():
    """With the letters turned round the same model is wrong."""
    function = read_function("majority:31")
    turned = Instance(40, function, UNIFORM, ~BITS)
    assert against_target(model_of("majority:31", 40), turned, time_limit=20.0).status == "COUNTEREXAMPLE"


def test_what_does_not_only_count_has_no_such_verdict():
    """A function of a table is left to the certificate."""
    instance = Instance(10, read_function("x0 & (x1 | x2)"), UNIFORM, BITS)
    assert against_target(model_of("x0 & (x1 | x2)", 10), instance, time_limit=1.0) is None


def test_a_certificate_of_a_run_says_what_became_of_its_target():
    """Where no table can be read off, the target's verdict stands in text, summary and record."""
    function = read_function("majority:41")
    instance = Instance(41, function, UNIFORM, BITS)
    model = to_model(keyhole.compile("majority:41", 41).plan)
    sample = instance.examples(60, np.random.default_rng(0))
    data = sample.inputs, sample.labels
    run = keyhole.TrainedRun("abab", "abab", model, data, uniform_law(2), False, instance)  # noqa: FBT003
    found = keyhole.prove(run, effort=keyhole.Effort(samples=1000))
    assert found.record()["target"]["status"] == "PROVED"
    assert found.target.sentence("all inputs") in " ".join(str(found).split()) or "PROVED" in str(found)


def test_a_compiled_file_is_proved_against_its_own_function(tmp_path):
    """No table is read off 41 positions; the file names its function, and a family is a claim, too."""
    path = keyhole.compile("majority:41", 50).save(tmp_path / "majority.safetensors")
    for model in (path, keyhole.compile("majority:41", 50)):
        proof = keyhole.prove(model)
        assert (proof.function, proof.target.status, proof.target.positions) == (None, "PROVED", 41)
    rows = keyhole.prove_claim(path, "majority:41", store=tmp_path, effort=keyhole.Effort(samples=10)).lengths
    assert [row.status for row in rows] == ["PROVED"]
    wrong = keyhole.prove_claim(path, "threshold:22:41", store=tmp_path, effort=keyhole.Effort(samples=10)).lengths
    assert [row.status for row in wrong] == ["COUNTEREXAMPLE"]
