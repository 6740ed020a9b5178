"""Claims about trained networks: what is concluded from given runs, clause by clause, and one of them in earnest."""

import re
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from keyhole.api.run_certificate import RunCertificate
from keyhole.apps.ledger import kept_runs
from keyhole.apps.ledger.training import certified_runs as settled
from keyhole.apps.ledger.training import conjunctions, parity, sparse_heads
from keyhole.apps.ledger.training.conjunctions import Growth
from keyhole.bounds import pair_construction
from keyhole.bounds.finite.binomial import clopper_pearson
from keyhole.bounds.theorems import TABULATED, guarantee
from keyhole.sweeps.laws.decision import compare_laws
from keyhole.sweeps.runs.run import RunResult
from keyhole.sweeps.thresholds.threshold import Threshold

CONTEXTS = (25, 50, 100, 200, 400, 800)


def threshold(context, m, width=0.1):
    """A threshold with an interval of this relative half-width."""
    ends = {"low": m * (1 - width), "high": m * (1 + width)}
    fixed = {"quantile": 0.5, "censored": "no", "plateau": 1.0, "slope": 0.2, "trials": 40, "unfitted": 0.0}
    return Threshold(context=context, m=m, **ends, **fixed, smallest=8, largest=4096, empirical=None)


def grown(law, width=0.1):
    """What a learner of this growth shows."""
    points = tuple(threshold(context, law(context), width) for context in CONTEXTS)
    return Growth("a setting", points, dict.fromkeys(CONTEXTS, 10.0), compare_laws(points, resamples=50))


@pytest.mark.parametrize(
    ("law", "width", "verdict"),
    [
        (lambda T: 20 * T**0.1, 0.1, "holds"),
        (lambda T: -22.6 + 22 * np.log(T), 0.2, "holds"),
        (lambda T: 5 + 2 * T, 0.02, "fails here"),
        (lambda T: 3 * T**0.7, 0.2, "fails here"),
        (lambda T: 20 * T**0.45, 0.3, "undecided at this scale"),
    ],
)
def test_conjunctions(law, width, verdict):
    """Growth slower than √T holds, faster growth fails, T^0.7 too, and wide intervals decide nothing."""
    outcome = conjunctions.conclude((grown(law, width),), "uniform")
    assert outcome.verdict == verdict
    assert outcome.caveats  # 25 to 800 does not separate the laws, and the page says so


@pytest.mark.parametrize(
    ("law", "verdict"),
    [(lambda T: -22.6 + 22 * np.log(T), "holds"), (lambda T: 3 * T**0.7, "fails here"), (lambda T: T, "fails here")],
)
def test_conjunctions_can_be_decided_at_quick_scale(law, verdict):
    """With 15 % noise a point the right verdict comes in most of 40 data sets, and the wrong one in none."""
    rng, found = np.random.default_rng(8), []
    for _ in range(40):
        points = tuple(threshold(T, law(T) * np.exp(0.15 * rng.standard_normal()), 0.15 * 1.645) for T in CONTEXTS)
        one = Growth("a setting", points, dict.fromkeys(CONTEXTS, 10.0), None)
        found.append(conjunctions.conclude((one,), "uniform").verdict)
    assert found.count(verdict) >= 30
    assert set(found) <= {verdict, "undecided at this scale"}


def test_conjunctions_tell_their_power():
    """How often a logarithm would hold and T^0.7 would fail, with errors such as these, stands in the measurement."""
    outcome = conjunctions.conclude((grown(lambda T: -22.6 + 22 * np.log(T), 0.2),), "uniform")
    assert outcome.numbers["holds, were m* = a + b ln T as fitted"] > 0.9
    assert outcome.numbers["fails, were m* = a T^0.7"] > 0.5


@pytest.mark.parametrize(("error", "side"), [(0.02, ", below ½."), (0.3, ", below ½ or above, left open.")])
def test_conjunctions_say_what_each_setting_leaves_open(error, side):
    """The side of ½ is said of the setting that is judged and of the other; that an offset lowers p is said, too."""
    judged, other = grown(lambda T: -22.6 + 22 * np.log(T), 0.02), grown(lambda T: 20 * T**0.45, error)
    outcome = conjunctions.conclude((judged, other), "uniform")
    first = outcome.measurement.splitlines()[0]
    assert outcome.verdict == "holds"
    assert side in first
    assert "does not exclude a + b √T" in first


def test_conjunctions_are_drawn_with_floor_laws_and_bound():
    """Beside m* lie the floor, two laws, and at every context the samples from which Theorem T promises the gap."""
    outcome = conjunctions.conclude((grown(lambda T: 20 * T**0.3),), "uniform")
    (figure,) = outcome.figures
    curves = [row for layer in figure.over for row in layer.rows]
    bound = {row["context"]: row["m"] for row in curves if row["of"].startswith("Theorem T")}
    assert list(bound) == list(CONTEXTS)
    for context, m in bound.items():
        stated = guarantee(TABULATED, pair_construction("and", context, 3), m, delta=0.01)
        assert stated.value <= 0.1 < stated.again(samples=m - 1).value
    assert any(row["of"].startswith("floor") for row in curves)
    assert len({row["of"] for row in curves}) == 4
    assert any("Theorem T" in caveat for caveat in outcome.caveats)


def test_conjunctions_are_judged_by_the_default_settings():
    """Another setting without thresholds, or of fast growth, is reported and decides nothing."""
    slow, fast = grown(lambda T: 20 * T**0.1), grown(lambda T: 5 + 2 * T)
    none = Growth("another", (), {}, None)
    assert conjunctions.conclude((slow, none), "uniform").verdict == "holds"
    assert conjunctions.conclude((slow, replace(fast, setting="other")), "uniform").verdict == "holds"
    assert conjunctions.conclude((none, slow), "uniform").verdict == "undecided at this scale"


def test_censored_thresholds_decide_nothing():
    """A longest context at which no size sufficed leaves the claim open, however slowly the others grow."""
    one = grown(lambda T: 20 * T**0.1)
    last = replace(one.thresholds[-1], m=None, high=None, censored="above")
    cut = replace(one, thresholds=(*one.thresholds[:-1], last))
    assert conjunctions.conclude((cut,), "uniform").verdict == "undecided at this scale"


def result(*, success=True, steps=100, readings=(), numbers=None, accuracy=None, fitted=True):
    """One run."""
    right = (1.0 if success else 0.5) if accuracy is None else accuracy
    fixed = {"fitted": fitted, "train_accuracy": 1.0, "seconds": 1.0, "function": "x0", "positions": (0, 1, 2)}
    return RunResult(success, accuracy=right, steps=steps, numbers=numbers or {}, readings=tuple(readings), **fixed)


def reading(step, accuracy, fourier):
    """What the parity experiment reads."""
    return {"step": float(step), "accuracy": accuracy, "fourier": fourier, "mass_best": 0.1}


SUDDEN = [reading(10, 0.5, 0.001), reading(20, 0.5, 0.02), reading(100, 0.7, 0.4), reading(110, 1.0, 0.99)]
SLOW = [reading(10, 0.5, 0.001), reading(20, 0.7, 0.02), reading(100, 0.8, 0.4), reading(110, 1.0, 0.99)]
UNANNOUNCED = [reading(10, 0.5, 0.001), reading(90, 0.5, 0.001), reading(100, 0.7, 0.4), reading(110, 1.0, 0.99)]
TOGETHER = [reading(10, 0.5, 0.001), reading(20, 0.55, 0.02), reading(100, 0.7, 0.4), reading(110, 1.0, 0.99)]
BLIP = [reading(10, 0.5, 0.1), reading(90, 0.5, 0.001), reading(100, 0.7, 0.4), reading(110, 1.0, 0.99)]


@pytest.mark.parametrize(
    ("wins", "verdict"), [(20, "holds"), (15, "holds"), (14, "undecided at this scale"), (5, "fails here")]
)
def test_parity_is_learned_by_most_runs(wins, verdict):
    """The whole 95 % interval of the success rate must lie above one half, whatever the course of the runs."""
    for readings in (SUDDEN, SLOW, UNANNOUNCED):
        runs = [(15 if i % 2 else 20, result(success=i < wins, readings=readings)) for i in range(20)]
        assert parity.conclude_learned(runs).verdict == verdict


@pytest.mark.parametrize(
    ("readings", "sudden", "foretold"),
    [
        (SUDDEN, "holds", "holds"),
        (SLOW, "fails here", "fails here"),
        (UNANNOUNCED, "holds", "fails here"),
        (TOGETHER, "holds", "fails here"),  # accuracy is as far from its noise as the Fourier weight, as early
        (BLIP, "holds", "fails here"),  # noise that passes the mark once foretells nothing
    ],
)
def test_the_course_of_parity_is_judged_apart(readings, sudden, foretold):
    """A jump, and Fourier weight that moves first and for good, are claims of their own, about successful runs."""
    runs = [(15, result(readings=readings)) for _ in range(20)]
    assert parity.conclude_share("sudden", runs).verdict == sudden
    assert parity.conclude_share("foretold", runs).verdict == foretold
    few = runs[:5] + [(15, result(success=False, readings=readings))] * 15
    assert parity.conclude_share("sudden", few).verdict == "undecided at this scale"  # five of five: from .47 on
    assert parity.conclude_share("foretold", few[5:]).verdict == "undecided at this scale"  # no success says nothing


@pytest.mark.parametrize(
    ("control", "verdict"), [(SLOW, "holds"), (SUDDEN, "fails here"), ([], "undecided at this scale")]
)
def test_what_is_sudden_of_every_task_says_nothing_of_parity(control, verdict):
    """The control must rise slowly in most of its successes; without any, nothing is decided."""
    outcome = parity.conclude_share("sudden", [(15, result(readings=SUDDEN)) for _ in range(20)])
    runs = [(15, result(success=bool(control), readings=control or SLOW)) for _ in range(20)]
    assert parity.beside_control(outcome, runs).verdict == verdict


@pytest.mark.parametrize("wins", range(1, 12))
def test_ends_of_intervals_are_rounded_outwards(wins):
    """The printed Clopper–Pearson interval holds the computed one."""
    low, high = clopper_pearson(wins, 12, 0.05)
    runs = [(15, result(success=i < wins, readings=SUDDEN)) for i in range(12)]
    every = (GOOD,) * wins + (replace(GOOD, status="UNDECIDED"),) * (12 - wins)
    for found in (parity.conclude_learned(runs), settled.conclude([settled.Group("twice", 50, 140, every)])):
        ends = re.search(r": (0\.\d\d) to ([01]\.\d\d)[.;] ", found.interval)
        assert Fraction(ends[1]) <= low < high <= Fraction(ends[2])


def test_parity_medians_count_every_run():
    """A run that never succeeds is later than any that does: of three, one success has no median."""
    runs = [(15, result(success=i < 2, steps=100 * (i + 1), readings=SUDDEN)) for i in range(3)]
    runs += [(40, result(success=i < 1, steps=100, readings=SUDDEN)) for i in range(3)]
    found = parity.conclude_learned(runs)
    assert found.numbers["median steps at T = 15"] == 200
    assert "median steps at T = 40" not in found.numbers
    assert "T = 40: 1 of 3, no median" in found.measurement


@pytest.mark.slow
def test_both_marks_of_noise_are_as_unusual():
    """A network that knows nothing passes either mark on 1024 inputs with the chance of √5 standard deviations."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (20_000, 1024))
    means = signs.mean(axis=1)
    expected = 2 * NormalDist().cdf(-(5**0.5))
    tolerance = 4 * (expected / len(means)) ** 0.5
    assert np.mean(means**2 > parity.NOISE) == pytest.approx(expected, abs=tolerance)
    assert np.mean(np.abs(means / 2) > parity.CHANCE - 0.5) == pytest.approx(expected, abs=tolerance)


CURVE = [
    {"step": 100.0, "train_accuracy": 1.0, "accuracy": 0.5},
    {"step": 900.0, "train_accuracy": 1.0, "accuracy": 1.0},
]


def fixed_sets(algebra, few, many, fitted=6):
    """Runs from fixed sets: of 60 eliminations so many succeed, of 6 networks so many at 40 and at 1000."""
    wins = {40: few, 150: 0, 300: 3, 1000: many}
    network = {
        m: [result(success=i < n, readings=CURVE, fitted=m > 40 or i < fitted) for i in range(6)]
        for m, n in wins.items()
    }
    return {
        "network": network,
        "elimination over GF(2)": {m: [result(success=i < algebra) for i in range(60)] for m in wins},
    }


@pytest.mark.parametrize(
    ("algebra", "few", "many", "verdict"),
    [
        (60, 0, 6, "holds"),
        (60, 0, 0, "holds"),  # a thousand samples are reported, not predicted
        (60, 6, 6, "fails here"),
        (20, 0, 6, "fails here"),
        (35, 0, 6, "undecided at this scale"),
        (60, 1, 6, "undecided at this scale"),  # one of six: up to .65
        (60, 2, 6, "undecided at this scale"),
    ],
)
def test_parity_from_a_fixed_set(algebra, few, many, verdict):
    """Elimination must succeed in most runs where the network fails in most, by both intervals."""
    outcome = parity.conclude_success(fixed_sets(algebra, few, many))
    assert outcome.verdict == verdict
    assert outcome.numbers["longest delay"] == 800
    assert outcome.numbers["fitted and not generalising"] == 6 - few


@pytest.mark.parametrize(
    ("won", "lost", "verdict"),
    [
        ([0.9] * 16, [0.1] * 16, "holds"),
        ([0.9] * 11 + [0.1] * 5, [0.05] * 16, "undecided at this scale"),
        ([0.9] * 2 + [0.1] * 14, [0.05] * 16, "fails here"),
        ([0.9] * 5, [0.1] * 16, "undecided at this scale"),  # five of five: from .47 on
        ([0.9] * 16, [0.95] * 16, "holds"),  # runs that do not generalise are reported
    ],
)
def test_sparse_heads(won, lost, verdict):
    """Most generalising runs must look at the relevant positions, by the whole interval of their share."""
    runs = [result(success=False, numbers={"mass_best": mass}) for mass in lost]
    runs += [result(numbers={"mass_best": mass}) for mass in won]
    assert sparse_heads.conclude(runs).verdict == verdict


GOOD = RunCertificate(
    identity="a" * 64,
    context=50,
    samples=300,
    seed=0,
    function="x0 & x1 & x2",
    right=True,
    status="PROVED",
    margin=1.0,
    eta=0.0,
    disagreements=0,
    mistakes=0,
    error_bound=0.09,
    trivial_error=0.125,
    held_out_bound=0.03,
    identified=True,
    true_error=0.0,
    proof_seconds=0.1,
    seconds=0.5,
)


@pytest.mark.parametrize(
    ("others", "verdict"),
    [
        ({}, "holds"),
        ({"twice": [replace(GOOD, status="UNDECIDED")] * 40}, "fails here"),
        ({"twice": [replace(GOOD, status="UNDECIDED")] * 4}, "undecided at this scale"),  # 12 of 16: from .47 on
        ({"above": [replace(GOOD, status="UNDECIDED")] * 10}, "holds"),  # reported, not predicted
        ({"longer": [replace(GOOD, status="UNDECIDED")] * 10}, "holds"),
        ({"twice": [replace(GOOD, status="COUNTEREXAMPLE", mistakes=1)] * 10}, "holds"),  # not clean: they erred
        ({"twice": [replace(GOOD, status="UNDECIDED", function=None, right=None)] * 40}, "fails here"),  # unread, clean
        ({"below": [replace(GOOD, true_error=0.2, error_bound=0.15)]}, "fails here"),
        ({"longer": [replace(GOOD, true_error=0.2, error_bound=0.15)]}, "fails here"),
        ({"below": [replace(GOOD, true_error=0.2, error_bound=0.5, trivial_error=0.25)]}, "holds"),
    ],
)
def test_settled(others, verdict):
    """Clean models must be proved at m = 2 m*, and no promise may lie below the measured error, at any sample size."""
    groups = [settled.Group("twice", 50, 140, (GOOD,) * 12)]
    groups += [settled.Group(why, 50, 140, tuple(runs)) for why, runs in others.items()]
    assert settled.conclude(groups).verdict == verdict


def test_settled_tells_every_share():
    """Promises below the trivial error, models proved to be a wrong function, and the slack of every bound."""
    wrong = replace(GOOD, right=False, true_error=0.25, error_bound=0.6, trivial_error=0.25, held_out_bound=0.17)
    vacuous = replace(GOOD, error_bound=0.3)
    refuted = replace(GOOD, status="COUNTEREXAMPLE")
    found = settled.conclude(
        [
            settled.Group("twice", 50, 140, (GOOD, refuted)),
            settled.Group("above", 400, 300, (GOOD, GOOD, vacuous, refuted)),
            settled.Group("below", 50, 50, (wrong, vacuous, vacuous)),
        ]
    )
    assert "(T = 50, m = 140: 1 of 2)" in found.measurement
    assert "T = 400, m = 300: 2 of 4 runs" in found.measurement
    assert "of these 1 are proved" in found.measurement
    assert found.numbers["slack of the promise, T = 50, m = 50"] == pytest.approx(0.3)
    assert found.numbers["slack of the held-out half, T = 50, m = 50"] == pytest.approx(0.03)
    assert found.numbers["slack of the trivial error, T = 400, m = 300"] == pytest.approx(0.125)


@pytest.mark.slow
@pytest.mark.long
def test_an_experiment_in_earnest(tmp_path, monkeypatch):
    """A miniature of the settled experiment trains and certifies; its runs are kept and found again.

    The claim's prediction is tried at T = 8 with six runs at twice the threshold, on the experiment's own seeds. Every
    model without a mistake is proved. The verdict comes from a 95 % interval: n of n are more than half from n = 6 on,
    and fewer leave it undecided. Of 80 runs with other seeds (777000 to 777079) at m = 60, 59 were without a mistake,
    and all 59 were proved.
    """
    monkeypatch.setenv("KEYHOLE_HOME", str(tmp_path))
    monkeypatch.setitem(settled.CONTEXTS, "quick", (8,))
    monkeypatch.setitem(settled.BUDGET, "quick", 24)
    monkeypatch.setitem(settled.SEEDS, "quick", (1, 6, 1))
    monkeypatch.setattr(kept_runs, "core_count", lambda: 1)
    outcome = settled.experiment.measure("quick", 0)
    enough = outcome.numbers["models without a mistake"] >= 6
    assert outcome.verdict == ("holds" if enough else "undecided at this scale"), outcome.measurement
    assert outcome.numbers["runs below the threshold"] == 1
    assert outcome.numbers["proved"] == outcome.numbers["models without a mistake"] >= 1
    assert outcome.numbers["bounds below the measured error"] == 0
    again = settled.experiment.measure("quick", 0)
    timeless = {name for name in outcome.numbers if "seconds" not in name}
    assert {name: again.numbers[name] for name in timeless} == {name: outcome.numbers[name] for name in timeless}
    assert again.measurement == outcome.measurement
