"""Bounds of trained runs, models and formulas: the best that applies, or the reason why none does."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyhole
from keyhole.api import bound_runs as bounding
from keyhole.api import norm_sources
from keyhole.api.bound import bound
from keyhole.api.margin_bound import margin_bound
from keyhole.api.norm_sources import file_norms, run_norms
from keyhole.api.stored_run import TrainedRun
from keyhole.attention import evaluate, profile, tabulate
from keyhole.boolean.junta import biased_bits, uniform_law
from keyhole.bounds import PRODUCT_LISTS, ROUTES, guarantee, layer_guarantee, tabulated_profile
from keyhole.checkpoints import save_tabulated
from keyhole.compiler import plan_profile
from keyhole.errors import AssumptionError, KeyholeError
from keyhole.sweeps.runs.store import RunSummary
from keyhole.training.task import SparseTask

from helpers.random_models import Plan, random_model

PLAIN = Plan(tokens=12, norms=False)
NAMES = {
    "aaaa0001": {"model": random_model(PLAIN)},
    "aaaa0002": {"model": random_model(replace(PLAIN, norms=True))},
    "aaaa0003": {"conditioned": True},
    "aaaa0004": {"sample": None},
    "aaaa0005": {"law": biased_bits(0.8)},
    "aaaa0006": {"model": random_model(replace(PLAIN, gelu=True))},
}


@pytest.fixture(autouse=True)
def store(monkeypatch):
    """A store of runs by name, none of which had to be trained."""

    def read(name, *_args, **_options):
        inputs = np.random.default_rng(0).integers(0, 2, (80, 12), dtype=np.uint8)
        hidden = SparseTask("and:2").instance(12, np.random.default_rng(0))
        model = NAMES["aaaa0001"]["model"]
        sample = (inputs, inputs[:, 0] == 1)
        made = TrainedRun(name, name, model, sample, uniform_law(2), conditioned=False, instance=hidden)
        return replace(made, **NAMES[name])

    monkeypatch.setattr(norm_sources, "read_run", read)


def test_a_run_without_layernorm_has_a_bound():
    """Its own number of samples, its law, its norms peeled: Theorem L for independent symbols, whatever its scores."""
    answer = bound(run_norms("aaaa0001"))
    norms = replace(profile(NAMES["aaaa0001"]["model"], trained=True), least_probability=0.5)
    found = next(one for one in answer.guarantees if one.theorem is PRODUCT_LISTS)
    assert found.value == guarantee(PRODUCT_LISTS, norms, 80, delta=0.01 / 6, measured=True).value
    assert answer.smallest.value <= found.value
    assert all(one.measured and one.samples == 80 for one in answer.guarantees)
    assert bound(run_norms("aaaa0005")).guarantees[0].profile.least_probability == pytest.approx(0.2)
    assert bound(run_norms("aaaa0001"), 80).smallest.value == answer.smallest.value
    assert bound(run_norms("aaaa0006")).guarantees[0].profile.activation_lipschitz == 1.128905


def test_a_run_that_fits_gets_a_promise_on_its_error(monkeypatch):
    """From the margins of its training set and P_∞; it stands first. Wrong labels leave none, nor does a LayerNorm."""
    assert bound(run_norms("aaaa0001")).by_margin is None
    assert bound(run_norms("aaaa0002")).by_margin is None
    model = NAMES["aaaa0001"]["model"]
    inputs = np.random.default_rng(0).integers(0, 2, (80, 12), dtype=np.uint8)
    f = np.asarray(evaluate(tabulate(model), inputs))
    monkeypatch.setitem(NAMES, "aaaa0001", {"model": model, "sample": (inputs, f > 0)})
    answer = bound(run_norms("aaaa0001"))
    norms = replace(profile(model, trained=True), least_probability=0.5)
    assert answer.by_margin == margin_bound(norms, np.abs(f), 0.01)
    assert str(answer).startswith("error on new inputs ≤ ")
    assert answer.by_margin.vacuous


def test_a_layernorm_after_attention_is_the_reason_for_no_bound():
    """The answer says so, for every theorem; asked for its best guarantee it refuses."""
    answer = bound(run_norms("aaaa0002"))
    assert not answer.guarantees
    assert answer.vacuous
    assert "LayerNorm" in answer.refused[1].reason
    assert "LayerNorm" in answer.summary
    assert answer.best is None
    with pytest.raises(AssumptionError, match="No theorem applies to aaaa0002"):
        _ = answer.smallest


def test_redrawn_training_sets_are_paid_for():
    """Refused without the probability of being kept; with it δ is multiplied by it."""
    with pytest.raises(AssumptionError, match="Give that probability"):
        bound(run_norms("aaaa0003"))
    plain, kept = bound(run_norms("aaaa0001")).smallest, bound(run_norms("aaaa0003"), accepted=0.25).smallest
    assert kept.delta_spent == pytest.approx(plain.delta_spent / 4)
    assert kept.value > plain.value
    for wrong in (0.0, 1.5):
        with pytest.raises(AssumptionError, match="is kept with a probability"):
            bound(run_norms("aaaa0003"), accepted=wrong)


def test_kept_training_sets_are_promised_no_more_than_delta(monkeypatch):
    """With margins, and sets kept with probability .001: computed at δ/1000, promised at 1 − δ, in every form."""
    model = NAMES["aaaa0001"]["model"]
    inputs = np.random.default_rng(0).integers(0, 2, (80, 12), dtype=np.uint8)
    f = np.asarray(evaluate(tabulate(model), inputs))
    monkeypatch.setitem(NAMES, "aaaa0003", {"model": model, "sample": (inputs, f > 0), "conditioned": True})
    answer = bound(run_norms("aaaa0003"), accepted=0.001)
    norms = replace(profile(model, trained=True), least_probability=0.5)
    assert answer.by_margin.gap == margin_bound(norms, np.abs(f), 0.01 * 0.001).gap
    assert (answer.by_margin.delta, answer.by_margin.delta_spent) == (0.01, 0.01 * 0.001)
    for stated in answer.guarantees:
        spent = 0.01 * 0.001 / len(ROUTES)
        assert (stated.delta, stated.delta_spent) == (0.01, spent)
        assert stated.value == guarantee(stated.theorem, norms, 80, delta=spent, measured=True).value
    said = re.findall(r"probability ≥ (\S+)", answer.text(verbose=True))
    assert len(said) > len(answer.guarantees)
    assert {each.rstrip(";") for each in said} == {"0.99"}


def test_what_stands_beside_the_theorems_pays_for_redrawn_sets_too():
    """Finite classes and rivals beside sets kept with probability .001 are those of δ/1000, promised at 1 − δ."""
    kept, plain = bound("and:2", 1e5, 50, accepted=0.001), bound("and:2", 1e5, 50, delta=1e-5)
    assert kept.rivals == plain.rivals
    assert [each.value for each in kept.finite_classes] == [each.value for each in plain.finite_classes]
    assert "probability ≥ 0.99" in kept.finite_classes[0].name
    assert {one.delta for one in kept.guarantees} == {0.01}


def test_asked_again_a_promise_stays_the_same():
    """Other samples, or the samples for a gap, are computed at the share that was spent, and promise the same δ."""
    stated = bound(run_norms("aaaa0001")).smallest
    again = stated.again(samples=160)
    assert (again.delta, again.delta_spent) == (0.01, 0.01 / len(ROUTES))
    assert again.value == guarantee(stated.theorem, stated.profile, 160, delta=again.delta_spent, measured=True).value


def test_a_run_that_cannot_have_one_is_refused():
    """Fresh samples have no training set; a context that is not the run's is no question."""
    with pytest.raises(AssumptionError, match="learned from fresh samples"):
        bound(run_norms("aaaa0004"))
    with pytest.raises(AssumptionError, match="have a context of 12, and 13 was given"):
        bound(run_norms("aaaa0001"), context=13)
    with pytest.raises(AssumptionError, match="was trained on 80 samples, and 1e"):
        bound(run_norms("aaaa0001"), 1e9)
    with pytest.raises(AssumptionError, match="has the law its inputs were drawn from"):
        bound(run_norms("aaaa0001"), law=0.1)
    with pytest.raises(AssumptionError, match="a model have a context of 12, and 13 was given"):
        bound(NAMES["aaaa0001"]["model"], 100, 13)
    with pytest.raises(AssumptionError, match="without a number of samples"):
        bound("and:3", context=10)


def test_a_model_is_measured():
    """A model as a value: its norms are paid for; without a law only the spread helps."""
    answer = bound(NAMES["aaaa0001"]["model"], 1e9)
    assert all(one.measured for one in answer.guarantees)
    assert "product-lists" not in {one.route for one in answer.guarantees}
    assert bound(NAMES["aaaa0001"]["model"], 1e9, law="uniform").smallest.value < answer.smallest.value


def test_tables_are_enough(tmp_path):
    """The tables of a model, and a file of them, have the bounds by Theorems T and L that the model has."""
    model = NAMES["aaaa0001"]["model"]
    path = save_tabulated(tabulate(model), tmp_path / "tables.safetensors", {})
    asked = {"law": "uniform", "samples": 1e9}
    whole, tables, file = (bound(source, **asked) for source in (model, tabulate(model), file_norms(path)))
    assert [one.value for one in file.guarantees] == [one.value for one in tables.guarantees]
    values = {one.route: one.value for one in whole.guarantees}
    for one in tables.guarantees:
        assert one.measured
        assert one.value == pytest.approx(values[one.route], rel=1e-9)
    assert {one.route for one in tables.guarantees} == {"tabulated", "lists", "product-lists"}
    assert not bound(tabulate(NAMES["aaaa0002"]["model"]), **asked).guarantees


@pytest.mark.parametrize("source", ["majority:5", "x1 & x2", "x0 ^ x3"])
def test_a_formula_has_the_bound_of_what_compile_makes_of_it(source):
    """The norms are those of the compiled plan, and finite classes stand beside them; a context is needed."""
    answer = bound(source, 1e6, 100)
    norms = plan_profile(keyhole.compile(source, 100).plan)
    assert answer.smallest.value == bound(norms, 1e6).smallest.value
    assert answer.finite_classes
    with pytest.raises(AssumptionError, match="give `context`"):
        bound(source, 1e6)


def test_a_text_that_is_nothing_is_refused():
    """Neither a run nor a file nor a function."""
    for text in ("nonsense", "majority:", "missing.json"):
        with pytest.raises(KeyholeError):
            bound(text, 1e6, 10)


def test_the_gap_of_a_trained_layer_from_its_numbers_alone():
    """P_∞, R, A, constant tokens and law give what the whole profile gives; both kinds of theorem share δ."""
    model = NAMES["aaaa0001"]["model"]
    norms = profile(model, trained=True)
    own = tabulated_profile(path_inf=norms.path_inf, context=12, spread=norms.spread)
    assert layer_guarantee(own, 1e8).value == layer_guarantee(norms, 1e8).value
    lawful = replace(own, least_probability=0.5)
    best = min(guarantee(route, lawful, 1e8, delta=0.005, measured=True).value for route in ROUTES[:3])
    assert layer_guarantee(lawful, 1e8).value == best
    assert layer_guarantee(lawful, 1e8).delta == 2 * layer_guarantee(lawful, 1e8).delta_spent == 0.01
    fixed = layer_guarantee(lawful, 1e8, measured=False)
    assert fixed.value < best
    assert fixed.delta == 0.01
    with pytest.raises(AssumptionError, match="needs the spread R of its scores, or the law"):
        layer_guarantee(replace(own, spread=None), 1e8)


class Shelf:
    """A store with a row for every name, whose weights are there but for one."""

    def __init__(self, *_args, **_options):
        """The folder is not looked at."""

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        """Nothing is open."""

    def rows(self, **_asked):
        """A run in short for every name, and one more."""
        outcome = {"success": True, "fitted": True, "accuracy": 1.0, "steps": 9, "seconds": 1.0, "created": ""}
        short = RunSummary("", "and:2", "transformer", 12, 80, 0, **outcome)
        return [replace(short, identity=name) for name in (*NAMES, "aaaa0009")]

    def weights_path(self, name):
        """A file that is there, or one that is not."""
        return Path(__file__ if name in NAMES else "/no/such/file")


def test_every_run_has_its_bound_or_its_reason(monkeypatch):
    """A row per run of the store, in its order; none stops the others; reasons are counted."""
    monkeypatch.setattr(bounding, "Store", Shelf)
    found = keyhole.bound_runs(accepted=0.25)
    rows = {row.identity: row for row in found.runs}
    assert list(rows) == [*NAMES, "aaaa0009"]
    assert rows["aaaa0001"].value == bound(run_norms("aaaa0001"), accepted=0.25).smallest.value
    assert rows["aaaa0001"].theorem.startswith("Theorem L, indep")
    assert "LayerNorm" in rows["aaaa0002"].reason
    assert rows["aaaa0003"].value is not None
    assert "fresh samples" in rows["aaaa0004"].reason
    assert "weights were not kept" in rows["aaaa0009"].reason
    assert sum(run.value is not None for run in found.runs) == 4
    assert all(run.vacuous for run in found.runs)
    assert sum(each.runs for each in found.reasons) == 3
    assert "redrawn" in keyhole.bound_runs().runs[2].reason
