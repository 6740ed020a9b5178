"""`keyhole.learn`: one value with thresholds, laws, floors and runs, or a refusal before any run."""

import json
import subprocess
import sys
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole
from keyhole.api import learn as api_learn
from keyhole.boolean.families import FAMILIES
from keyhole.boolean.function import move
from keyhole.errors import ArgumentError, FormulaError
from keyhole.files.package_versions import versions
from keyhole.files.paths import home
from keyhole.sweeps.laws.floors import TOLERATED, task_floor, trivial_accuracy
from keyhole.sweeps.laws.growth_laws import LAWS, AffineLaw
from keyhole.sweeps.runs.engine import borrow
from keyhole.sweeps.runs.run import run
from keyhole.sweeps.runs.spec import RunSpec
from keyhole.sweeps.runs.store import PACKAGES, Store
from keyhole.sweeps.thresholds.threshold import estimate_threshold
from keyhole.training.learners import learner_named
from keyhole.training.learners.presets import preset
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.transformer import TransformerLearner
from keyhole.training.task import SparseTask

from helpers.lab_fakes import Coin, Inline


def learned(folder, *, contexts=(8, 16, 32, 64), **options):
    """A grid of coins, in this process."""
    options = {"samples": (20, 40, 80), "seeds": 6, "learner": Coin(), "executor": Inline(), **options}
    return keyhole.learn("and:2", contexts, workers=2, store=folder, **options)


def test_the_answer_holds_thresholds_laws_floors_and_runs(tmp_path):
    """One threshold per context, in order; floors below them; the laws ranked; every run counted."""
    found = learned(tmp_path, contexts=(64, 8, 16, 32, 8))
    assert [one.context for one in found.thresholds] == [8, 16, 32, 64] == list(found.floors)
    assert found.runs == 4 * 3 * 6 == found.sweep.made
    assert all(found.floors[one.context] < one.m for one in found.thresholds)
    weights = [law["weight"] for law in found.record()["laws"]]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1)
    lines = str(found).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0] == "and:2 by coin"
    assert "<p>and:2 by coin</p>" in found._repr_html_()


def test_figures_show_the_numbers(tmp_path):
    """The chief figure has a cell per size and context, with m*, laws and floor over it; the other m* and floor."""
    found = learned(tmp_path, contexts=(8, 16, 32, 64))
    figures = found.figures()
    assert list(figures) == ["success", "thresholds"]
    shares = {(row["context"], row["m"]): row["success"] for row in figures["success"].rows}
    assert shares == {(t.context, t.samples): t.successes / t.trials for t in found.sweep.tallies}
    curves, marks = figures["success"].over
    assert {row["context"]: row["m"] for row in marks.rows} == {one.context: one.m for one in found.thresholds}
    assert found.verdict.winner.formula in {row["of"] for row in curves.rows}
    (lines,) = figures["thresholds"].over
    floor = {row["context"]: row["m"] for row in lines.rows if row["of"].startswith("floor")}
    assert floor == found.floors
    (steps,) = learned(tmp_path, contexts=(8,), samples=(), online=True).figures().values()
    assert steps.rows[0]["context"] == 8


@pytest.mark.slow
def test_others_are_asked_the_same(tmp_path):
    """A learner beside another has the thresholds it has alone; the runs add up, and each is drawn under its name."""
    quick, slow, sizes = Coin(), Coin(level=20.0), (20, 40, 80, 160, 320)
    found = learned(tmp_path, beside=(slow,), samples=sizes)
    assert (found.by, *(other.by for other in found.beside)) == ("coin", "coin #2")
    assert found.thresholds == learned(tmp_path, learner=quick, samples=sizes).thresholds
    alone = learned(tmp_path, learner=slow, samples=sizes)
    assert found.beside[0].thresholds == alone.thresholds != found.thresholds
    assert (found.runs, found.made, alone.made) == (2 * alone.runs, 2 * alone.runs, 0)
    assert found.figure() == found.figures()["thresholds"]  # the chief figure shows all; of one learner, its runs
    assert alone.figure() == alone.figures()["success"]
    marks = {(row["of"], row["context"]): row["m"] for row in found.figure().rows}
    assert marks["coin", 64] == found.thresholds[-1].m
    assert marks["coin #2", 64] == alone.thresholds[-1].m
    assert str(found.beside[0].verdict).split(";")[0] in str(found).replace("\n  ", " ")
    assert found.record()["beside"][0]["thresholds"] == alone.record()["thresholds"]
    with pytest.raises(ArgumentError, match="named twice; name each once"):
        learned(tmp_path, beside=(Coin(),))


def test_a_preset_of_its_own(tmp_path):
    """A transformer may name its preset, and then takes its law of the bits too, if it is the one asked."""
    options = {"samples": (4,), "seeds": 1, "executor": Inline(), "learner": "elimination"}
    found = learned(tmp_path, contexts=(6,), **options)
    assert found.title == "and:2 by elimination"
    with pytest.raises(ArgumentError, match="There is no preset 'papers'"):
        learned(tmp_path, beside=("transformer:papers",))
    with pytest.raises(ArgumentError, match=r"transformer \(default\) was named twice"):
        learned(tmp_path, learner="transformer", beside=("transformer:default",))


@pytest.mark.slow
def test_the_slope_stands_beside_the_floors(tmp_path):
    """The logarithmic law's slope is told with the floor's, s/ln 2 per unit of ln T, where the task has a floor."""
    assert "the floor rises by 2/ln 2 = 2.885" in str(learned(tmp_path)).replace("\n  ", " ")
    assert "the floor rises" not in str(
        keyhole.learn(
            "and:8", (8, 16, 32, 64), samples=(20, 40, 80), seeds=6, learner=Coin(), executor=Inline(), store=tmp_path
        )
    )


def test_each_threshold_is_estimated_once(tmp_path, monkeypatch):
    """Thresholds, verdict, text, record and figures share one estimate per context: an interval takes a bootstrap."""
    contexts = []

    def counted(context, *rest, **options):
        contexts.append(context)
        return estimate_threshold(context, *rest, **options)

    monkeypatch.setattr("keyhole.sweeps.thresholds.sweeps.estimate_threshold", counted)
    found = learned(tmp_path)
    assert found.verdict is not None
    assert str(found)
    assert found.record()
    assert found.figures()
    assert contexts == [8, 16, 32, 64]


@pytest.mark.slow
def test_growth_laws_of_ones_own_are_compared(tmp_path):
    """Laws given by name or as objects take part, and no others; each is in the record under its name."""
    mine = AffineLaw("log log", "a + b ln ln T", lambda contexts: np.log(np.log(contexts)))
    found = learned(tmp_path, laws=("log", mine))
    assert {law["name"]: law["formula"] for law in found.record()["laws"]} == {
        "log": "a + b ln T",
        "log log": "a + b ln ln T",
    }
    assert {law["name"] for law in learned(tmp_path, laws=(*LAWS, mine)).record()["laws"]} == {
        *(law.name for law in LAWS),
        "log log",
    }


def test_few_contexts_have_no_law(tmp_path):
    """Below four contexts no law is named."""
    found = learned(tmp_path, contexts=(8, 16))
    assert found.verdict is None
    assert found.record()["laws"] == []
    assert found.record()["verdict"] is None


def test_online_says_how_many_succeed(tmp_path):
    """Without training sets there is a line per context with successes and steps."""
    found = learned(tmp_path, contexts=(8, 16), samples=(), online=True)
    assert found.thresholds == ()
    assert str(found).splitlines()[4].split()[:3] == ["8", "6", "6"]


def test_online_a_learner_of_training_sets_beside_gets_those(tmp_path):
    """Beside a learner on fresh samples one that reads training sets has its m*, and the floor is said of both."""
    found = learned(tmp_path, contexts=(8,), samples=(), online=True, beside=("gf2",), budget=20)
    assert found.thresholds == ()
    assert found.beside[0].thresholds[0].context == 8
    assert "with fewer than" in " ".join(str(found).split())


def test_a_time_limit_is_for_fresh_samples(tmp_path):
    """With training sets it is refused, with what limits those; on fresh samples it must be above 0."""
    with pytest.raises(ArgumentError, match=r"60 s was asked for with training sets.*number of runs \(`budget`\)"):
        learned(tmp_path, time_limit=60.0)
    for seconds in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ArgumentError, match="give seconds above 0"):
            learned(tmp_path, samples=(), online=True, time_limit=seconds)


def test_the_table_is_that_of_the_schedule(tmp_path):
    """A sweep over training sets shows m*, not steps, even where it has not a single run."""
    whole = learned(tmp_path, contexts=(8,))
    none = replace(whole, sweep=replace(whole.sweep, rows=(), made=0), thresholds=())
    for found in (whole, none):
        assert "m*" in str(found).splitlines()[3]
        assert "median steps" not in str(found)


def test_runs_of_other_versions_are_said(tmp_path):
    """A sweep that finds runs made with another jax says so in one line; one that does not, says nothing."""
    found = learned(tmp_path, contexts=(8,))
    assert "warning" not in str(found)
    with Store(tmp_path) as store:
        text = json.dumps(versions(PACKAGES) | {"jax": "0.0.1"})
        store.connection.execute("UPDATE runs SET versions = ? WHERE samples = 20", (text,))
    lines = str(learned(tmp_path, contexts=(8,))).splitlines()
    said = "warning: 6 of these runs were made with jax 0.0.1, not the present"
    assert [line for line in lines if "warning" in line] == [said]


def test_a_higher_quantile_takes_more_samples(tmp_path):
    """m* grows with the share of runs that are to succeed, from the same runs; the table names the share."""
    found = {q: learned(tmp_path, contexts=(8,), quantile=q, seeds=20) for q in (0.2, 0.5, 0.8)}
    places = [one.thresholds[0].m for one in found.values()]
    assert places == sorted(places)
    assert len(set(places)) == 3
    assert [one.sweep.made for one in found.values()] == [60, 0, 0]
    assert "with which 80 % of runs answer" in str(found[0.8])
    assert found[0.8].record()["quantile"] == 0.8


@pytest.mark.parametrize(
    ("samples", "side", "shown"),
    [((1, 2), "above", ["> 2", "2 to ∞"]), ((900, 999), "below", ["< 900", "up to 900"])],
)
def test_a_threshold_out_of_reach_is_shown_as_such(tmp_path, samples, side, shown):
    """Where every run fails, or none does, the table says beyond which size m* lies, and no number is made up."""
    found = learned(tmp_path, contexts=(8,), samples=samples)
    (row,) = found.record()["thresholds"]
    assert (row["m"], row["censored"]) == (None, side)
    line = str(found).splitlines()[4]
    assert all(word in line for word in shown), line


def test_any_executor_will_do(tmp_path):
    """A pool that is lent gives the numbers of this process, and is not shut down."""
    here = learned(tmp_path / "here", contexts=(8,))
    with ThreadPoolExecutor(2) as pool:
        there = learned(tmp_path / "there", contexts=(8,), executor=pool)
        pool.submit(int).result()
    assert there.thresholds == here.thresholds


def test_weights_are_kept_when_asked(tmp_path):
    """With keep_weights every new run has a file; without, none."""
    learned(tmp_path / "none", contexts=(8,))
    assert not (tmp_path / "none" / "weights").exists()
    learned(tmp_path / "all", contexts=(8,), keep_weights=True)
    assert len(list((tmp_path / "all" / "weights").iterdir())) == 18


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"task": "nand:3"}, FormulaError, "There is no family 'nand'"),
        ({"learner": "oracle"}, ArgumentError, "There is no learner 'oracle'"),
        ({"preset": "best"}, ArgumentError, "There is no preset 'best'"),
        ({"contexts": (2, 10)}, FormulaError, "a context of 2 has fewer"),
        ({"contexts": ()}, ArgumentError, "at no context"),
        ({"samples": (10**13,)}, ArgumentError, "GB are free"),
        ({"samples": (5,), "online": True}, ArgumentError, "choose one"),
        ({"samples": (), "seeds": 3}, ArgumentError, r"Give sizes \(`samples`\), or ask for fresh samples"),
        ({"laws": ("log", "cubic")}, ArgumentError, "There is no growth law 'cubic'"),
        ({"law": "skewed"}, ArgumentError, "law 'skewed' is not known"),
        ({"precision": 2.0}, ArgumentError, "such as 0.2"),
        ({"quantile": 1.5}, ArgumentError, "A quantile of success of 1.5"),
        ({"quantile": 1.5, "samples": (20,)}, ArgumentError, "A quantile of success of 1.5"),
        ({"confidence": 0.0, "samples": (20,)}, ArgumentError, "A confidence of 0.0"),
        ({"budget": 0}, ArgumentError, "A budget of 0 runs"),
        ({"online": True, "preset": "paper"}, ArgumentError, "settings with a batch of at least 1"),
        (
            {"online": True, "learner": TransformerLearner(TransformerSettings(batch=0))},
            ArgumentError,
            "settings with a batch of at least 1",
        ),
        ({"online": True, "feature_noise": 0.1}, ArgumentError, "feature noise needs a training set"),
        ({"online": True, "learner": "gf2"}, ArgumentError, "gf2 was asked to learn online"),
        ({"online": True, "learner": "sklearn:tree"}, ArgumentError, "sklearn:tree was asked to learn online"),
        ({"symbols": 4, "learner": "elimination"}, ArgumentError, "elimination reads bits"),
        ({"symbols": 4, "learner": "consistent:and"}, ArgumentError, "consistent:and reads bits"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_any_run(tmp_path, change, error, sentence):
    """Each refusal is a sentence, and nothing was run."""
    asked = {"task": "and:3", "contexts": (10,), "learner": "transformer", **change}
    with pytest.raises(error, match=sentence):
        keyhole.learn(asked.pop("task"), asked.pop("contexts"), executor=Idle(), store=tmp_path, **asked)


class Idle(Executor):
    """Nothing reaches it."""

    def submit(self, fn, /, *args, **kwargs):
        """Nothing."""
        pytest.fail(f"{fn} was to be run with {args} and {kwargs}")


@pytest.mark.slow
def test_a_finished_sweep_wakes_no_framework(tmp_path):
    """The second time, nothing is trained, and jax sleeps."""
    task = SparseTask("and:2")
    with Store(tmp_path) as store:
        for seed in range(2):
            result = run(RunSpec(task, Coin(), 8, 50, seed))
            store.add([(RunSpec(task, TransformerLearner(preset("default")), 8, 50, seed), result)])
    program = (
        "import sys; from pathlib import Path; import keyhole\n"
        f"found = keyhole.learn('and:2', [8], samples=[50], seeds=2, store=Path({str(tmp_path)!r}))\n"
        "print(found.runs, found.sweep.made, *{'jax', 'optax', 'sklearn', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "0"]


def test_the_folder_is_asked_for_or_named_or_here(monkeypatch, tmp_path):
    """--store, then KEYHOLE_HOME, then .keyhole."""
    monkeypatch.setenv("KEYHOLE_HOME", str(tmp_path))
    assert home() == tmp_path
    assert home(tmp_path / "asked") == tmp_path / "asked"
    monkeypatch.delenv("KEYHOLE_HOME")
    assert str(home()) == ".keyhole"


@given(st.sampled_from(sorted(FAMILIES)), st.integers(1, 4), st.floats(0.1, 0.9), st.data())
def test_where_there_is_a_floor_places_differ_by_more_than_success_forgives(family, size, p, data):
    """Two placements of the function disagree on more than 2ε of the inputs, counted over all of them."""
    if task_floor(SparseTask(f"{family}:{size}", str(p)), 10) is None:
        return
    places = st.lists(st.integers(0, 7), min_size=size, max_size=size, unique=True).map(sorted).map(tuple)
    here, there = data.draw(places), data.draw(places)
    if here == there:
        return
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    chance = np.where(bits == 1, p, 1 - p).prod(axis=1)
    base = FAMILIES[family](tuple(range(size)))
    values = [np.asarray(move(base, place)(bits.astype(bool))) for place in (here, there)]
    assert chance[values[0] != values[1]].sum() > 2 * TOLERATED


@pytest.mark.parametrize(
    ("task", "floor"),
    [
        (SparseTask("and:3"), 16.303),
        (SparseTask("and:3", "balanced"), 16.303),
        (SparseTask("random:3"), 16.303),
        (SparseTask("and:3", balanced_sets=True), None),  # its inputs tell of the positions
        (SparseTask("and:8"), None),  # the constant 0 succeeds
        (SparseTask("parity:3", "0.99"), None),
    ],
)
def test_floors_of_the_named_tasks(task, floor):
    """log₂ C(100, 3) − 1 where success names the positions, and none where it does not."""
    assert task_floor(task, 100) == (None if floor is None else pytest.approx(floor, abs=1e-3))


@given(st.sampled_from(sorted(FAMILIES)), st.integers(1, 4), st.floats(0.1, 0.9))
def test_the_trivial_accuracy_is_that_of_the_better_constant(family, size, p):
    """The larger share of zeros and ones, counted over all inputs, whatever noise the training sets have."""
    bits = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    ones = np.where(bits == 1, p, 1 - p).prod(axis=1) @ FAMILIES[family](tuple(range(size)))(bits.astype(bool))
    found = trivial_accuracy(SparseTask(f"{family}:{size}", str(p), label_noise=0.3))
    assert found == pytest.approx(max(ones, 1 - ones))


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (SparseTask("parity:2"), ["a constant answer is correct on 50 % of inputs"]),
        (SparseTask("and:6"), ["a constant answer is correct on 98.4 % of inputs"]),
        (SparseTask("and:7", "balanced"), ["a constant answer is correct on 50 % of inputs"]),
        (SparseTask("random:2"), []),
        (
            SparseTask("and:7"),
            [
                "a constant answer is correct on 99.2 % of inputs",
                "warning: a constant answer is a success here (99.2 % is 99 % or more); draw the",
                "  bits so that both answers are as likely (the law balanced)",
            ],
        ),
        (
            SparseTask("x1 & ~x2", "0.999"),
            [
                "a constant answer is correct on 99.9 % of inputs",
                "warning: a constant answer is a success here (99.9 % is 99 % or more); draw the",
                "  bits by another law",
            ],
        ),
    ],
)
def test_the_trivial_accuracy_is_said(tmp_path, task, said):
    """Below the question: how often one answer to all is right, and a warning where that succeeds."""
    options = {"samples": (20,), "seeds": 1, "learner": Coin(), "executor": Inline(), "workers": 1}
    found = keyhole.learn(task, (8,), store=tmp_path, **options)
    lines = str(found).splitlines()
    assert lines[2 : 2 + len(said)] == said
    assert lines[2 + len(said)].split()[:2] == ["T", "m*"]
    assert found.record()["trivial_accuracy"] == trivial_accuracy(task)


def test_the_title_says_what_is_unusual(tmp_path):
    """Law, noise, alphabet and training sets stand beside the task, the preset beside the transformer."""
    circumstances = {"law": "balanced", "label_noise": 0.1, "feature_noise": 0.2, "symbols": 4, "balanced_sets": True}
    found = learned(tmp_path, contexts=(8,), seeds=1, **circumstances)
    expected = "and:2 (both labels equally likely, bits are 1 with probability 0.707, "
    expected += "label noise 0.1, feature noise 0.2, 4 symbols, balanced sets) by coin"
    assert found.title == expected
    task = found.record()["task"]
    assert {name: task[name] for name in circumstances} == circumstances


def test_seeds_count_from_the_first(tmp_path):
    """Another first seed gives other runs, numbered from it."""
    learned(tmp_path, contexts=(8,))
    found = learned(tmp_path, contexts=(8,), seed=100)
    assert found.sweep.made == found.runs
    assert {row.seed for row in found.sweep.rows} == set(range(100, 106))


@pytest.mark.slow
def test_the_certifier_is_imported_only_when_asked_for(tmp_path):
    """Learning without certificates imports nothing of the certifier."""
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from pathlib import Path; import keyhole; from helpers.lab_fakes import Inline\n"
        f"asked = dict(samples=[8], seeds=2, learner='elimination', executor=Inline(), store=Path({str(tmp_path)!r}))\n"
        "print(keyhole.learn('and:2', [6], **asked).made)\n"
        "print(*(name for name in sys.modules if name.startswith('keyhole.prover')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["2"], done.stderr


def test_settings_reach_every_transformer():
    """Settings change the transformers that are named, of one layer, of several and from a start; no other learner."""
    named = api_learn._named(
        ("transformer", "deep:3", "started:random", "elimination"), "default", {"width": "32", "heads": 2}
    )
    assert list(named) == [
        "transformer (default, width = 32, heads = 2)",
        "deep:3 (width = 32, heads = 2)",
        "started:random (width = 32, heads = 2)",
        "elimination",
    ]
    assert [one.settings.width for one in list(named.values())[:3]] == [32, 32, 32]
    with pytest.raises(ArgumentError, match="no transformer is asked"):
        api_learn._named(("elimination",), "default", {"width": 32})
    with pytest.raises(ArgumentError, match="preset 'parity' was given"):
        api_learn._named(("deep:2",), "parity", {})


def test_laws_that_are_not_compared_are_said_to_be(tmp_path):
    """Of two contexts no law is compared, and the answer says what it takes; of one there is nothing to say."""
    options = {"learner": "elimination", "budget": 12, "store": tmp_path, "executor": Inline()}
    assert "no growth laws are compared" in str(keyhole.learn("and:2", [6, 12], **options))
    assert "no growth laws" not in str(keyhole.learn("and:2", [6], **options))


def test_each_learner_of_a_sweep_is_announced_by_itself(tmp_path, monkeypatch):
    """Who is beside a network is not said to be compiled."""
    asked = []
    monkeypatch.setattr(api_learn, "lanes_of", lambda *given: asked.append(given[-1]) or (lambda: borrow(Inline(), 1)))
    options = {"learner": "elimination", "beside": ["consistent:and"], "samples": [8], "seeds": 1}
    keyhole.learn("and:2", [6], **options, store=tmp_path, workers=1)
    assert [[each.name for each in learners] for learners in asked] == [["elimination"], ["consistent:and"]]


@pytest.mark.parametrize(("learners", "waits"), [(["elimination"], False), (["elimination", "transformer"], True)])
def test_only_who_trains_a_network_is_told_to_wait_for_jax(tmp_path, monkeypatch, learners, waits):
    """The first words of a sweep speak of compiling where some learner does."""
    monkeypatch.setattr(api_learn, "start_processes", lambda *_: [])
    heard = []
    named = [learner_named(name) for name in learners]
    api_learn.lanes_of(None, 2, tmp_path, lambda event: heard.append(event.what), named)()
    assert heard == ["starting 2 workers" + "; a network's first run takes longer: jax compiles it" * waits]
