"""`keyhole.learn`: one value with thresholds, laws, floors and runs, or a refusal before any run."""

import json
import subprocess
import sys
from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole
from keyhole.api.learn import learn_certified, plan_sweeps
from keyhole.boolean.families import FAMILIES
from keyhole.boolean.function import move
from keyhole.errors import ArgumentError, AssumptionError, FormulaError
from keyhole.files.atomic import home
from keyhole.files.reading import versions
from keyhole.sweeps import Execution, Schedule
from keyhole.sweeps.laws.fit import TOLERATED, task_floor, trivial_accuracy
from keyhole.sweeps.laws.growth_laws import LAWS, AffineLaw
from keyhole.sweeps.runs.run import RunSpec, run
from keyhole.sweeps.runs.store import PACKAGES, Store
from keyhole.sweeps.thresholds.threshold import estimate_threshold
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.transformer import TransformerLearner, preset
from keyhole.training.task import SparseTask

from helpers.lab_fakes import Coin

COIN = Coin()


def learned(folder, contexts=(8, 16, 32, 64), learner=COIN, *, execution=None, settings=None, laws=LAWS, **schedule):
    """A grid of coins, in this process."""
    rounds = Schedule(**{"samples": (20, 40, 80), "seeds": 6, **schedule})
    here = execution or Execution(folder, workers=0)
    return keyhole.learn(
        "and:2", contexts, learner, schedule=rounds, execution=here, settings=settings or {}, laws=laws
    )


ONLINE = {"samples": (), "online": True}


def test_the_answer_holds_thresholds_laws_floors_and_runs(tmp_path):
    """One threshold per context, in order; floors below them; the laws ranked; every run counted."""
    found = learned(tmp_path, (64, 8, 16, 32, 8))
    assert [each.context for each in found.thresholds] == [8, 16, 32, 64] == [each.context for each in found.floors]
    assert found.runs == 4 * 3 * 6 == found.made
    assert all(each.floor < each.m for each in found.thresholds)
    weights = [law["weight"] for law in found.record()["laws"]]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1)
    lines = str(found).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert len(lines) <= 15


def test_figures_show_the_numbers(tmp_path):
    """The chief figure has a cell per size and context, with m*, laws and floor over it; the other m* and floor."""
    found = learned(tmp_path)
    figures = found.figures()
    assert list(figures) == ["success", "thresholds"]
    shares = {(row["context"], row["m"]): row["success"] for row in figures["success"].rows}
    assert shares == {(cell.context, cell.samples): cell.successes / cell.trials for cell in found.cells}
    curves, marks = figures["success"].over
    assert {row["context"]: row["m"] for row in marks.rows} == {each.context: each.m for each in found.thresholds}
    assert found.laws[0].formula in {row["of"] for row in curves.rows}
    (lines,) = figures["thresholds"].over
    floor = {row["context"]: row["m"] for row in lines.rows if row["of"].startswith("floor")}
    assert floor == {each.context: each.floor for each in found.floors}
    (steps,) = learned(tmp_path, (8,), **ONLINE).figures().values()
    assert steps.rows[0]["context"] == 8


@pytest.mark.slow
def test_others_are_asked_the_same(tmp_path):
    """A learner beside another has the thresholds it has alone; the runs add up, and each is drawn under its name."""
    slow, sizes = Coin(level=20.0), (20, 40, 80, 160, 320)
    found = learned(tmp_path, learner=(COIN, slow), samples=sizes)
    assert (found.by, *(other.by for other in found.beside)) == ("coin", "coin #2")
    assert found.thresholds == learned(tmp_path, samples=sizes).thresholds
    alone = learned(tmp_path, learner=slow, samples=sizes)
    assert found.beside[0].thresholds == alone.thresholds != found.thresholds
    assert (found.runs, found.made, alone.made) == (2 * alone.runs, 2 * alone.runs, 0)
    assert found.figure() == found.figures()["thresholds"]  # the chief figure shows all; of one learner, its runs
    assert alone.figure() == alone.figures()["success"]
    marks = {(row["of"], row["context"]): row["m"] for row in found.figure().rows}
    assert marks["coin", 64] == found.thresholds[-1].m
    assert marks["coin #2", 64] == alone.thresholds[-1].m
    assert found.record()["beside"][0]["thresholds"] == alone.record()["thresholds"]
    for ratio, ours, theirs in zip(found.beside[0].ratios, found.thresholds, alone.thresholds, strict=True):
        assert (ratio.ratio, ratio.low, ratio.high) == (
            ours.m / theirs.m,
            ours.low / theirs.high,
            ours.high / theirs.low,
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


def test_few_contexts_have_no_law(tmp_path):
    """Below four contexts no law is named."""
    record = learned(tmp_path, (8, 16)).record()
    assert (record["laws"], record["verdict"]) == ([], None)


def test_online_a_learner_of_training_sets_beside_gets_those(tmp_path):
    """Beside a learner on fresh samples one that reads training sets has its m*."""
    found = learned(tmp_path, (8,), (COIN, "gf2"), budget=20, **ONLINE)
    assert found.thresholds == ()
    assert (found.cells[0].trials, found.cells[0].successes) == (6, 6)
    assert found.beside[0].thresholds[0].context == 8


def test_a_time_limit_tries_with_few_steps_first(tmp_path):
    """On fresh samples the record says which budgets of steps were tried; a sweep over training sets tries none."""
    execution = Execution(tmp_path, workers=0, time_limit=60.0)
    found = learned(tmp_path, (8,), execution=execution, **ONLINE)
    assert (found.time_limit, [each.successes for each in found.attempts]) == (60.0, [6])
    assert learned(tmp_path, (8,)).attempts == ()


def test_runs_of_other_versions_are_counted(tmp_path):
    """A sweep that finds runs made with another jax says so."""
    assert learned(tmp_path, (8,)).other_versions == {}
    with Store(tmp_path) as store:
        text = json.dumps(versions(PACKAGES) | {"jax": "0.0.1"})
        store.connection.execute("UPDATE runs SET versions = ? WHERE samples = 20", (text,))
    found = learned(tmp_path, (8,))
    assert found.other_versions == {"jax 0.0.1": 6}
    assert "jax 0.0.1" in str(found)


def test_a_higher_quantile_takes_more_samples(tmp_path):
    """m* grows with the share of runs that are to succeed, from the same runs."""
    found = {q: learned(tmp_path, (8,), quantile=q, seeds=20) for q in (0.2, 0.5, 0.8)}
    places = [each.thresholds[0].m for each in found.values()]
    assert places == sorted(places)
    assert len(set(places)) == 3
    assert [each.made for each in found.values()] == [60, 0, 0]
    assert found[0.8].record()["quantile"] == 0.8


@pytest.mark.parametrize(
    ("samples", "side", "shown"),
    [((1, 2), "above", ["> 2", "2 to ∞"]), ((900, 999), "below", ["< 900", "up to 900"])],
)
def test_a_threshold_out_of_reach_is_shown_as_such(tmp_path, samples, side, shown):
    """Where every run fails, or none does, the table says beyond which size m* lies, and no number is made up."""
    found = learned(tmp_path, (8,), samples=samples)
    (row,) = found.thresholds
    assert (row.m, row.censored) == (None, side)
    assert all(word in str(found) for word in shown)


def test_any_executor_will_do(tmp_path):
    """A pool that is lent gives the numbers of this process, and is not shut down."""
    here = learned(tmp_path / "here", (8,))
    with ThreadPoolExecutor(2) as pool:
        there = learned(tmp_path, (8,), execution=Execution(tmp_path / "there", executor=pool))
        pool.submit(int).result()
    assert there.thresholds == here.thresholds


def test_weights_are_kept_when_asked(tmp_path):
    """With keep_weights every new run has a file; without, none."""
    learned(tmp_path / "none", (8,))
    assert not (tmp_path / "none" / "weights").exists()
    learned(tmp_path, (8,), execution=Execution(tmp_path / "all", workers=0, keep_weights=True))
    assert len(list((tmp_path / "all" / "weights").iterdir())) == 18


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"task": "nand:3"}, FormulaError, "'nand' is not a family"),
        ({"learner": "oracle"}, ArgumentError, "'oracle' is not a learner"),
        ({"learner": "transformer:best"}, ArgumentError, "'best' is not a preset"),
        ({"learner": ("gf2", "gf2")}, ArgumentError, "named twice; name each once"),
        ({"learner": "elimination", "settings": {"width": 3}}, ArgumentError, "width was given"),
        ({"task": SparseTask("and:3"), "settings": {"law": "balanced"}}, ArgumentError, "law was given beside a task"),
        ({"settings": {"label_noise": "much"}}, ArgumentError, "is not a number"),
        ({"settings": {"balanced_sets": "perhaps"}}, ArgumentError, "true or false"),
        ({"settings": {"law": "skewed"}}, ArgumentError, "law 'skewed' is not known"),
        ({"contexts": (2, 10)}, FormulaError, "a context of 2 has fewer"),
        ({"contexts": ()}, ArgumentError, "at no context"),
        ({"contexts": (10**7,)}, ArgumentError, "each is from 1 to 1,000,000"),
        ({"samples": (5,), "online": True}, ArgumentError, "choose one"),
        ({"seeds": 3}, ArgumentError, "no sizes of training sets"),
        ({"laws": ("log", "cubic")}, ArgumentError, "'cubic' is not a growth law"),
        ({"precision": 2.0}, ArgumentError, "A precision of 2"),
        ({"quantile": 1.5, "samples": (20,)}, ArgumentError, "A quantile of success of 1.5"),
        ({"confidence": 0.0, "samples": (20,)}, ArgumentError, "A confidence of 0.0"),
        ({"budget": 0}, ArgumentError, "A budget of 0 runs"),
        ({"first_seed": -1}, ArgumentError, "The first seed -1"),
        ({"online": True, "learner": "transformer:paper"}, ArgumentError, "settings with a batch of at least 1"),
        (
            {"online": True, "learner": TransformerLearner(TransformerSettings(batch=0))},
            ArgumentError,
            "settings with a batch of at least 1",
        ),
        ({"online": True, "settings": {"feature_noise": 0.1}}, ArgumentError, "feature noise needs a training set"),
        ({"online": True, "learner": "gf2"}, ArgumentError, "gf2 was asked to learn online"),
        ({"settings": {"symbols": 4}, "learner": "elimination"}, ArgumentError, "elimination reads bits"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_any_run(tmp_path, change, error, sentence):
    """Each refusal is a sentence, and nothing was run."""
    asked = {"task": "and:3", "contexts": (10,), **change}
    rounds = {
        name: asked.pop(name)
        for name in ("samples", "online", "seeds", "precision", "quantile", "confidence", "budget", "first_seed")
        if name in asked
    }
    with pytest.raises(error, match=sentence):
        keyhole.learn(
            asked.pop("task"),
            asked.pop("contexts"),
            schedule=Schedule(**rounds),
            execution=Execution(tmp_path, executor=Idle()),
            **asked,
        )


class Idle(Executor):
    """Nothing reaches it."""

    def submit(self, fn, /, *args, **kwargs):
        """Nothing."""
        pytest.fail(f"{fn} was to be run with {args} and {kwargs}")


def test_what_could_not_be_certified_is_not_trained(tmp_path):
    """A learner without weights, and training sets that are redrawn, are refused before any run."""
    asked = {"schedule": Schedule(samples=(8,)), "execution": Execution(tmp_path, executor=Idle())}
    with pytest.raises(AssumptionError, match="it has no weights"):
        learn_certified("and:3", (8,), "elimination", **asked)
    with pytest.raises(AssumptionError, match="were redrawn until balanced"):
        learn_certified("and:3", (8,), "transformer:paper", **asked)


@pytest.mark.slow
def test_a_finished_sweep_wakes_no_framework(tmp_path):
    """The second time, nothing is trained: neither jax nor the prover is imported."""
    task = SparseTask("and:2")
    with Store(tmp_path) as store:
        for seed in range(2):
            result = run(RunSpec(task, Coin(), 8, 50, seed))
            store.add([(RunSpec(task, TransformerLearner(preset("default")), 8, 50, seed), result)])
    program = (
        "import sys; from pathlib import Path; import keyhole\n"
        f"here = keyhole.Execution(Path({str(tmp_path)!r}))\n"
        "found = keyhole.learn('and:2', [8], schedule=keyhole.Schedule(samples=[50], seeds=2), execution=here)\n"
        "print(found.runs, found.made, *{'jax', 'optax', 'sklearn', 'torch'} & set(sys.modules))\n"
        "print(*(name for name in sys.modules if name.startswith('keyhole.prover')))"
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
    ("task", "remedy"),
    [
        (SparseTask("and:6"), None),
        (SparseTask("and:7"), "balanced"),
        (SparseTask("and:7", "balanced"), None),
        (SparseTask("random:2"), None),
        (SparseTask("x1 & ~x2", "0.999"), "another"),
    ],
)
def test_a_constant_answer_that_succeeds_is_warned_of(tmp_path, task, remedy):
    """The record says how often one answer to all is right, and which law of the bits would help."""
    options = {"schedule": Schedule(samples=(20,), seeds=1), "execution": Execution(tmp_path, workers=0)}
    found = keyhole.learn(task, (8,), COIN, **options)
    assert (found.trivial_accuracy, found.trivial_remedy) == (trivial_accuracy(task), remedy)
    assert ("a constant answer" in str(found)) == (remedy is not None)


def test_the_inputs_are_drawn_as_the_settings_say(tmp_path):
    """Law, noise, alphabet and training sets reach the task, as text too; the answer says them."""
    settings = {"law": "balanced", "label_noise": "0.1", "feature_noise": 0.2, "symbols": "4", "balanced_sets": "yes"}
    found = learned(tmp_path, (8,), seeds=1, settings=settings)
    expected = {"law": "balanced", "label_noise": 0.1, "feature_noise": 0.2, "symbols": 4, "balanced_sets": True}
    assert {name: found.task[name] for name in expected} == expected
    for word in ("0.707", "label noise 0.1", "feature noise 0.2", "4 symbols", "balanced sets"):
        assert word in found.what


@pytest.mark.parametrize(
    ("learner", "settings", "law", "redrawn"),
    [
        ("transformer:paper", {}, "balanced", True),
        ("transformer:paper", {"law": "uniform"}, "uniform", False),
        ("transformer:paper", {"balanced_sets": "no"}, "balanced", False),
        ("transformer", {}, "uniform", False),
    ],
)
def test_the_paper_preset_brings_its_law(learner, settings, law, redrawn):
    """Its bits are balanced and its sets redrawn; settings say otherwise."""
    (plan,) = plan_sweeps("and:3", (8,), learner, settings=settings).values()
    assert (plan.task.law, plan.task.balanced_sets) == (law, redrawn)


def test_seeds_count_from_the_first(tmp_path):
    """Another first seed gives other runs, numbered from it."""
    learned(tmp_path, (8,))
    found = learned(tmp_path, (8,), first_seed=100)
    assert found.made == found.runs
    assert {row.seed for row in found.sweep.rows} == set(range(100, 106))


def test_settings_reach_every_transformer():
    """Settings change the transformers that are named, of one layer, of several and from a start; no other learner."""
    names = ("transformer", "deep:3", "started:random", "elimination")
    plans = plan_sweeps("and:2", (8,), names, settings={"width": "32", "heads": 2})
    assert list(plans) == [
        "transformer (default, width = 32, heads = 2)",
        "deep:3 (width = 32, heads = 2)",
        "started:random (width = 32, heads = 2)",
        "elimination",
    ]
    assert [plan.learner.settings.width for plan in list(plans.values())[:3]] == [32, 32, 32]
