"""Every place that prints a promise prints one that was proved: read back exactly, it is on the safe side."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

from keyhole.api.bound import bound
from keyhole.api.check import check
from keyhole.api.compile import compile as compile_function
from keyhole.api.describe import describe
from keyhole.apps.ledger.generalization import floor
from keyhole.apps.ledger.ledger import find
from keyhole.boolean.junta import uniform_law
from keyhole.checkpoints.probes import Agreement
from keyhole.checkpoints.torch_encoder import _tested_words
from keyhole.cli.app import app
from keyhole.compiler.constructions import TheoremNorm
from keyhole.compiler.export.model_file import save_model
from keyhole.compiler.precision.rounding import FormatVerdict
from keyhole.errors import DataError
from keyhole.latent.inference.attentions import make_attention
from keyhole.latent.inference.problem import Settings
from keyhole.latent.inference.rates import PowerOfT
from keyhole.latent.models.registry import find_model
from keyhole.prover.certificate import Terms, _require_samples, certificate_of
from keyhole.prover.proof.lower_bound import Verification
from keyhole.prover.sample.repeats import Repeats, shared_rows
from keyhole.prover.sample.sample_bound import Disagreement, HeldOut, Identification
from keyhole.show.answer import Show, Table

from helpers.planted import junta_of, planted
from helpers.proofs import text

NUMBER = r"([-+]?\d[\d.]*(?:e[-+]\d+)?)"
AND = junta_of("x3 & x17 & x20")


def read(pattern, words):
    """The numbers that stand after a pattern, as exact fractions; at least one."""
    found = [Fraction(number.rstrip(".")) for number in re.findall(pattern + NUMBER, " ".join(words.split()))]
    assert found, (pattern, words)
    return found


@pytest.mark.parametrize("margin", [0.6226, 1.6069343910872167, 0.9999999999999891, 5e-324, 0.0995000001])
def test_margins_of_certificates(margin):
    """A margin, and the distance that any implementation may keep, are rounded down."""
    found = certificate_of(planted(AND, 30, noise=0.1), terms=Terms(uniform_law(2), fresh=1000))
    found = replace(found, verification=Verification("PROVED", margin=margin))
    assert all(shown <= Fraction(margin) for shown in read("(?:margin |within )", text(found)))
    assert len(read("(?:margin |within )", text(found))) == 2


@pytest.mark.parametrize("delta", [0.01, 0.0123456789, 1e-300])
def test_errors_of_certificates(delta):
    """Error bounds, the held-out ceiling and every chance of failure are rounded up."""
    rng = np.random.default_rng(0)
    inputs = rng.integers(0, 2, (200, 100))
    terms = Terms(uniform_law(2), fresh=1000, delta=delta, assume_junta=3)
    found = certificate_of(planted(AND, 100, noise=0.1), (inputs, AND(inputs)), terms=terms)
    found = replace(found, held_out=HeldOut(0.030234640891750653, "measured", 0, 150))
    words = text(found)
    assert all(shown >= Fraction(found.error_bound) for shown in read("error ≤ ", words))
    assert read("held out at most ", words)[0] >= Fraction(found.held_out.bound)
    assert read("δ = ", words)[0] >= Fraction(repr(delta))


@pytest.mark.parametrize("kind", ["sampled", "proved rare"])
def test_rates_of_disagreement(kind):
    """A rate at which model and function disagree at most is rounded up, and so is its chance of failure."""
    shown = Disagreement(0.0121, kind, 3, 1000, 1.23456789e-5)
    assert read("at most ", str(shown))[0] >= Fraction(0.0121)
    assert kind != "sampled" or read("fails with probability ", str(shown))[0] >= Fraction("1.23456789e-5")


@pytest.mark.parametrize(("error", "margin"), [(0.33749, 0.9999999999999891), (0.99941, 0.99949), (2.0301e-14, 1.0)])
def test_number_formats(error, margin):
    """A rounding bound is rounded up, the margin down, and the first is still below the second."""
    verdict = FormatVerdict("float16", "float32", "proved", error, margin, 0, None, None)
    above, below = read("bound ", str(verdict))[0], read("margin ", str(verdict))[0]
    assert Fraction(error) <= above < below <= Fraction(margin)


def test_compiled_functions(tmp_path):
    """Margin, error and leak of a compiled function, in its table, its name and the check of its file."""
    made = compile_function("and:3", context=64)
    margin, error, leak = (Fraction(value) for value in (made.proof.margin, made.proof.error, made.proof.leak))
    words = " ".join(made.text(verbose=True).split())
    path = save_model(made, tmp_path / "and.safetensors")
    for told in (words, repr(made), str(check(path).record())):
        assert all(shown <= margin for shown in read("margin ", told))
    assert read("off by at most ", words)[0] >= error
    assert read("leak at most ", words)[0] >= leak


@pytest.mark.slow
def test_bounds():
    """Gaps and Occam's error are rounded up, the information floor down, and no chance is printed as 1."""
    found = bound("and:3", samples=1e6, context=1000)
    for stated in found.guarantees:
        assert read("gap ≤ ", str(stated))[0] >= Fraction(stated.value)
    shown = found.text(1000, verbose=True)
    for each in found.finite_classes:
        printed = read(re.escape(f"{each.name}: "), shown)[0]
        assert printed <= Fraction(each.value) if each.from_below else printed >= Fraction(each.value)
    for rival in found.rivals:
        if rival.value is not None:
            assert read(re.escape(f"{rival.name}: {rival.quantity} "), shown)[0] >= Fraction(rival.value)


def test_conditions_are_no_weaker_than_assumed():
    """A norm that inputs are assumed to keep is rounded down."""
    found = bound("and:3", samples=1e6, context=1000)
    radius = found.guarantees[1].profile.token_radius
    shown = [line for one in found.guarantees for line in one.valid_if if "‖x_t‖" in line]
    assert all(read("‖x_t‖ ≤ ", line)[0] <= Fraction(radius) for line in shown)
    assert shown


def test_tiny_chances_are_not_nothing():
    """With δ = 1e-300 a bound does not hold with probability 1."""
    found = bound("and:3", samples=1e6, context=1000, delta=1e-300)
    assert "probability ≥ 1 − 1e-300 at" in str(found.guarantees[0])


def test_floors():
    """What no learner goes below is rounded down."""
    floor = describe("and:3", context=30).information_floor
    shown = CliRunner().invoke(app, ["describe", "and:3", "--context", "30"]).stdout
    assert read("at least ", shown)[0] <= Fraction(floor)


def test_growth():
    """The samples that are needed at each context are rounded up."""
    answer, show = bound("and:3", samples=1e6, context=1000, contexts=(100, 333, 1000, 31_623)), Show()
    answer.lines(show)
    *_, table = (part for part in show.parts if isinstance(part, Table))
    samples = [needed for grown in answer.growth for needed in grown.samples]
    for needed, (*_, shown, _) in zip(samples, table.rows, strict=True):
        assert Fraction(shown) >= Fraction(needed)


@pytest.mark.parametrize("value", [1.2345674999, 1.23456751, 3.0])
def test_figures_of_theorems(value):
    """A logit scale that is needed is rounded down, a theorem's upper bound up."""
    made = compile_function("and:3", context=64)
    vars(made).update(logit_floor=value, theorem={"path": TheoremNorm("≤", value)})  # both are cached
    words = made.text(verbose=True)
    assert read("output norms needs ", words)[0] <= Fraction(value)
    assert read("path +[0-9.]+ +≤ ", words)[0] >= Fraction(value)


@pytest.mark.parametrize("copies", [1, 2])
def test_chances_of_repeats(copies):
    """A chance that repeats are no accident is rounded up."""
    words = Repeats(10, 5, 1.234e-9, refuted=True, owners=np.arange(10), copies=copies).says(uniform_law(2))
    assert read("probability at most ", words)[0] >= Fraction(1.234e-9)


def test_chances_of_shared_inputs():
    """The chance that inputs set aside are training inputs too is rounded up."""
    rows = np.random.default_rng(0).integers(0, 2, (50, 30))
    shared, chance = shared_rows(rows, rows[:3], uniform_law(2), 1.0)
    assert shared == 3
    sample, held_out, model = (rows, rows[:, 0] == 1), (rows[:3], rows[:3, 0] == 1), planted(AND, 30)
    with pytest.raises(DataError) as refused:
        _require_samples(model, sample, held_out, Terms(uniform_law(2)))
    assert read("probability at most ", str(refused.value))[0] >= Fraction(chance)


@pytest.mark.parametrize("delta", [0.01, 0.0123454321])
def test_chances_of_identification(delta):
    """The chance that an identified function is wrong is rounded up."""
    found = Identification(identified=True, by="sample size", assumption="", why="", delta=delta)
    assert read("at most δ = ", str(found))[0] >= Fraction(repr(delta))


def test_deviations_of_probes():
    """The largest deviation from the original model is rounded up."""
    assert read("by at most ", _tested_words(Agreement(3, 1.234e-6)))[0] >= Fraction(1.234e-6)


@pytest.mark.parametrize("settings", [Settings(), Settings(ridge=PowerOfT(0.3, 1.0))], ids=["own ridge", "ridge 0.3 T"])
def test_least_errors_of_inference(settings):
    """An error that attention on the sphere has at least is rounded down."""
    model = find_model("gp")
    chosen = make_attention("cme", model, settings).settings
    for tokens in range(64, 74):
        found = model.predict("cme", chosen, tokens)
        assert read("(?:/T = |ridge, )", found.words)[0] <= Fraction(found.floor)


@pytest.mark.parametrize("name", ["joined", "sharpness", "representation"])
def test_findings(name):
    """Proved errors in a finding are rounded up, margins down."""
    found = find(name).measure("quick", 0)
    if "largest proved error" in found.numbers:
        assert read("argest proved error ", found.measurement)[0] >= Fraction(found.numbers["largest proved error"])
    else:
        assert read("with margin ", found.measurement)[0] < 1


def test_findings_by_enumeration():
    """Losses and drifts that are at most so much are rounded up, a loss that is at least so much down."""
    found = find("sufficiency").measure("quick", 0)
    lost, drift, missed, apart = (
        found.numbers[name]
        for name in ("lost by the posterior", "martingale drift", "lost with one token", "softmax apart from Bayes")
    )
    assert read("posterior at most ", found.measurement)[0] >= Fraction(lost)
    assert read("drift at most ", found.measurement)[0] >= Fraction(drift)
    assert read("as Bayes within ", found.measurement)[0] >= Fraction(apart)
    assert read("token at least ", found.measurement)[0] <= Fraction(missed)


def test_findings_with_intervals(monkeypatch):
    """The floor and a lower end are rounded down, an upper end up, whatever was counted."""
    monkeypatch.setattr(floor, "count_fitting", lambda bits, *_: 1 + int(bits[0, 0]))
    found = find("floor").measure("quick", 0)
    floors = read("floor ", found.measurement)
    assert all(
        shown <= Fraction(found.numbers[f"floor at T = {T}"]) for T, shown in zip((100, 400), floors, strict=True)
    )
    assert read("T = 100: ", found.interval)[0] <= Fraction(found.numbers["lower end at T = 100"])
    assert read(" to ", found.interval)[0] >= Fraction(found.numbers["upper end at T = 100"])
