"""Runs certified in a row: what cannot be certified is refused before training or told apart, never the end of all."""

from dataclasses import replace

import numpy as np
import pytest

import keyhole
from keyhole.api import prove_runs as settling
from keyhole.api.learn import Execution, Schedule, learn, learn_certified
from keyhole.api.prove import TrainingSet, prove
from keyhole.api.prove_runs import is_target, mistakes, prove_runs
from keyhole.api.run_certificate import shares
from keyhole.api.trained_run import TrainedRun
from keyhole.boolean.junta import Junta, uniform_law
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.prover.certificate import Terms, certificate_of
from keyhole.prover.extraction.extraction import CertifiableModel
from keyhole.sweeps.runs.store import RunSummary
from keyhole.training.task import Instance, SparseTask

from helpers.planted import junta_of, planted, random_symbol_junta
from helpers.random_models import Plan, random_model

TARGET = junta_of("x1 & x5")


def row(name):
    """A finished run in short."""
    return RunSummary(name, "and:2", "transformer", 20, 80, 0, True, True, 1.0, 100, 1.0, "")  # noqa: FBT003  (it won)


def instance(task=None, seed=0):
    """A drawing of a task."""
    return (task or SparseTask("and:2")).instance(20, np.random.default_rng(seed))


def run(**changes):
    """A run, and the tables its weights are taken to have: a planted model of its own hidden target."""
    hidden = changes.pop("instance", instance())
    junta = junta_of(hidden.function)
    inputs = np.random.default_rng(0).integers(0, 2, (80, 20), dtype=np.uint8)
    made = TrainedRun(
        name="a",
        identity="a",
        model=random_model(Plan(tokens=20)),
        sample=(inputs, junta(inputs)),
        law=uniform_law(2),
        conditioned=hidden.balanced_sets,
        instance=hidden,
    )
    return replace(made, **changes), planted(junta, 20)


@pytest.fixture
def shelf(monkeypatch):
    """Runs by name; one that is a sentence is refused with it."""
    runs = {}

    def read(name, *_):
        if isinstance(runs[name], str):
            raise AssumptionError(runs[name])
        return runs[name][0]

    def tables(model):
        return CertifiableModel(
            next(made[1] for made in runs.values() if not isinstance(made, str) and made[0].model is model)
        )

    monkeypatch.setattr(settling, "read_run", read)
    monkeypatch.setattr(settling, "certifiable", tables)
    monkeypatch.setattr(settling, "FRESH", 1000)
    return runs


def test_one_bad_run_does_not_end_the_others(shelf, tmp_path):
    """A diverged run, and one of redrawn sets: undecided with their reasons; the good one is proved."""
    shelf.update({"good": run(), "diverged": "it diverged", "redrawn": run(conditioned=True)})
    found = prove_runs(
        [row(name) for name in ("diverged", "good", "redrawn")], Execution(tmp_path, workers=0), assume_junta=2
    )
    assert [one.status for one in found] == ["UNDECIDED", "PROVED", "UNDECIDED"]
    assert [one.right for one in found] == [None, True, None]
    assert found[0].reason == "it diverged"
    assert found[1].reason == ""
    assert "how likely a set is kept" in found[2].reason
    assert [one.clean for one in found] == [False, True, False]
    assert [one.identified_by for one in found] == ["", "enumeration", ""]
    (share,) = shares(found)
    assert (share["settled"], share["proved"], share["clean"], share["identified"]) == (3, 1, 1, 1)


def test_the_median_of_an_even_number_lies_between(shelf, tmp_path):
    """Of two bounds it is their mean; runs without a bound do not count."""
    shelf.update({"good": run(), "diverged": "it diverged"})
    good, bad = prove_runs([row(name) for name in ("good", "diverged")], Execution(tmp_path, workers=0))
    assert shares([good, bad])[0]["error_bound"] == good.error_bound
    pair = [replace(good, error_bound=bound) for bound in (0.1, 0.3, 0.7, 0.2)]
    assert shares(pair)[0]["error_bound"] == pytest.approx(0.25)
    assert shares([bad])[0]["error_bound"] is None


def test_a_model_out_of_scope_is_undecided(shelf, tmp_path, monkeypatch):
    """What `certifiable` refuses is a reason, not an end."""

    def refuse(_model):
        raise AssumptionError("scores too far apart")

    shelf["good"] = run()
    monkeypatch.setattr(settling, "certifiable", refuse)
    (found,) = prove_runs([row("good")], Execution(tmp_path, workers=0))
    assert (found.status, found.reason, found.error_bound) == ("UNDECIDED", "scores too far apart", None)
    with pytest.raises(ArgumentError, match="depends on 0 positions or more"):  # no run could be asked this
        prove_runs([row("good")], Execution(tmp_path, workers=0), assume_junta=-1)


@pytest.mark.parametrize("noise", [{"label_noise": 0.1}, {"feature_noise": 0.3}])
def test_noisy_runs_identify_nothing(shelf, tmp_path, noise):
    """The same sample and model: identified from a clean run, not from a noisy one."""
    for rates, identified in (({}, True), (noise, False)):
        shelf["run"] = run(instance=instance(SparseTask("and:2", **rates)))
        (found,) = prove_runs([row("run")], Execution(tmp_path, workers=0), assume_junta=2)
        assert (found.status, found.right, found.identified) == ("PROVED", True, identified)


def test_repeated_rows_of_a_run_count_once(shelf, tmp_path):
    """A run whose training set holds its rows three times: the bound of the rows once, and a warning."""
    made, tables = run()
    tripled = (np.tile(made.sample[0], (3, 1)), np.tile(made.sample[1], 3))
    shelf.update({"once": (made, tables), "thrice": (replace(made, sample=tripled), tables)})
    once, thrice = prove_runs(
        [row(name) for name in ("once", "thrice")], Execution(tmp_path, workers=0), assume_junta=2
    )
    assert thrice.error_bound == once.error_bound
    assert (once.warnings, len(thrice.warnings)) == ((), 1)
    assert "80 of 240" in thrice.warnings[0]


def test_mistakes_are_counted_whatever_was_read_off():
    """A model proved to be the target makes none; any other is asked on fresh inputs, read or not."""
    made, tables = run()
    right = certificate_of(tables, terms=Terms(uniform_law(2)))
    assert (right.status, mistakes(tables, made.instance, right)) == ("PROVED", 0)
    unread = replace(right, extraction=replace(right.extraction, junta=None))
    assert mistakes(tables, made.instance, unread) == 0
    turned = replace(tables, readout=replace(tables.readout, weight=-tables.readout.weight, bias=-tables.readout.bias))
    other = certificate_of(turned, terms=Terms(uniform_law(2)))
    assert (other.status, mistakes(turned, made.instance, other)) == ("PROVED", settling.FRESH)


def test_a_proof_of_a_run_knows_the_noise(monkeypatch):
    """The function takes a run's noise with its sample, and not with another's."""
    noisy, tables = run(instance=instance(SparseTask("and:2", label_noise=0.1, feature_noise=0.2)))
    assert all(rate in noisy.noise for rate in ("0.1", "0.2"))
    monkeypatch.setattr("keyhole.api.prove.certifiable", lambda _: CertifiableModel(tables))
    assert prove(noisy, assume_junta=2).record()["identified"] is False
    assert prove(noisy, noisy.sample, assume_junta=2).record()["identified"] is True


def test_noise_of_ones_own_sample_is_declared(tmp_path):
    """Declared, nothing is identified and the certificate says why; undeclared, an error is not put to the target."""
    model = keyhole.compile("x0 & x2", 8).save(tmp_path / "and.safetensors")
    rng = np.random.default_rng(0)
    inputs = rng.integers(0, 2, size=(300, 8))
    clean = inputs[:, 0] & inputs[:, 2] == 1
    noisy = clean ^ (np.arange(300) < 9)
    assert prove(model, (inputs, clean), assume_junta=2).record()["identified"] is True
    for labels in (clean, noisy):
        told = prove(model, TrainingSet((inputs, labels), label_noise=0.03), assume_junta=2).record()
        assert told["identified"] is False
        assert told["noise"] == "label noise 0.03"
        assert any("label noise 0.03" in each for each in told["assumptions"])
    assert prove(model, (inputs, noisy), assume_junta=2).identified is False


def test_noise_that_is_no_share_is_refused(tmp_path):
    """A rate beyond one half, or without a sample of one's own, is refused in a sentence."""
    model = keyhole.compile("x0 & x2", 8).save(tmp_path / "and.safetensors")
    with pytest.raises(ArgumentError, match=r"A label noise of 0\.6 was given"):
        prove(model, TrainingSet((np.zeros((1, 8), dtype=int), np.zeros(1, dtype=int)), label_noise=0.6))
    with pytest.raises(ArgumentError, match="without a training set of one's own"):
        prove(model, TrainingSet(label_noise=0.1))


@pytest.mark.parametrize("symbols", [2, 3, 6])
def test_right_over_any_alphabet(symbols):
    """The target's own table is right, with an ignored position too; one cell changed, or a place moved, is not."""
    hidden = instance(SparseTask("and:2", symbols=symbols))
    first, second = sorted(hidden.function.positions)
    digits = (np.arange(symbols**2)[:, None] // symbols ** np.arange(2)) % symbols
    table = hidden.letters[digits].all(axis=1)
    assert is_target(Junta((first, second), symbols, table), hidden) is True
    other = table.copy()
    other[0] ^= True
    assert is_target(Junta((first, second), symbols, other), hidden) is False
    assert is_target(Junta((first, 19 if second != 19 else 18), symbols, table), hidden) is False
    assert is_target(Junta((first,), symbols, table[:symbols]), hidden) is False
    assert is_target(random_symbol_junta((0, 2, 3), symbols), hidden) is False


def test_unknown_where_too_many_cells(monkeypatch):
    """Beyond the cells that are compared nothing is said."""
    monkeypatch.setattr(settling, "MOST_CELLS", 3)
    assert (
        is_target(TARGET, Instance(20, TARGET.function(), SparseTask("and:2").bits_law(), np.array([False, True])))
        is None
    )


def test_larger_alphabets_are_told(shelf, tmp_path):
    """Three symbols: the function has its formula, and a right model is called right."""
    hidden = instance(SparseTask("and:2", symbols=3))
    digits = (np.arange(9)[:, None] // np.array([1, 3])) % 3
    junta = Junta(tuple(sorted(hidden.function.positions)), 3, hidden.letters[digits].all(axis=1))
    made, _ = run()
    shelf["three"] = (replace(made, sample=None, law=uniform_law(3), instance=hidden), planted(junta, 20, focus=8.0))
    (found,) = prove_runs([row("three")], Execution(tmp_path, workers=0))
    assert (found.status, found.right, found.clean) == ("PROVED", True, True)
    assert found.function.startswith(f"(x{junta.positions[0]}, x{junta.positions[1]}) in {{")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"learner": "consistent:and"}, "it has no weights. Train the transformer"),
        ({"settings": {"balanced_sets": "yes"}}, "how likely a set is kept. Take training sets as they are drawn"),
        ({"learner": "transformer:paper"}, "how likely a set is kept. Take training sets as they are drawn"),
        ({"settings": {"symbols": 65}}, "over 65 symbols at a context of 20 were to be certified; up to 64 symbols"),
        ({"contexts": (20, 20_001)}, "at a context of 20001 were to be certified"),
        ({"assume_junta": -1}, "depends on 0 positions or more"),
    ],
)
def test_learn_refuses_before_the_sweep(monkeypatch, tmp_path, options, sentence):
    """What could not be certified is refused with `certify` before anything is trained, and only with it."""
    monkeypatch.setattr("keyhole.api.learn.sweep", lambda *_args, **_options: 1 / 0)
    here = {"schedule": Schedule(samples=(40,)), "execution": Execution(tmp_path)}
    asked = {"contexts": (20,), **here} | options
    with pytest.raises((AssumptionError, ArgumentError), match=sentence):
        learn_certified("and:2", **asked)
    asked.pop("assume_junta", None)
    with pytest.raises(ZeroDivisionError):
        learn("and:2", **asked)
