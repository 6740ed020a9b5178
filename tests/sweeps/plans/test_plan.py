"""Plans: every setting in a file, read back equal, refused where it would not mean the same."""

import tomllib
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.errors import ArgumentError, KeyholeError
from keyhole.sweeps.plans import Plan, read_plan, write_plan
from keyhole.sweeps.plans.plan import plan_from_record
from keyhole.sweeps.thresholds import Design, Grid, Online, SweepPlan
from keyhole.training.learners import learner_named, transformer_with_preset
from keyhole.training.learners.scikit import Estimator
from keyhole.training.task import SparseTask

LEARNERS = [
    transformer_with_preset("default"),
    transformer_with_preset("paper"),
    learner_named("elimination"),
    Estimator("tree", (("max_depth", None), ("min_samples_leaf", 2))),
]
SCHEDULES = [Design(precision=0.12, budget=60), Grid((10, 20), 3), Online(4)]
DATA = Path(__file__).parents[3] / "data"
DOUBLED = tuple(25 * 2**i for i in range(10))


def plan_of(learner, schedule=SCHEDULES[0], notes=""):
    """A plan of one sweep."""
    sweep = SweepPlan(SparseTask("and:3", "balanced"), learner, (10, 20), schedule, 0.4, 0.8, 7)
    return Plan({"one": sweep}, ("log", "power"), "a title", notes)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: one.name)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: type(one).__name__)
def test_a_plan_is_read_as_it_was_written(tmp_path, learner, schedule):
    """A plan that goes through its file is the same plan, with the same hash: every setting is in the file."""
    plan = plan_of(learner, schedule)
    path = tmp_path / "plan.toml"
    path.write_text(write_plan(plan), "utf8")
    assert read_plan(path) == plan
    assert read_plan(path).hash == plan.hash


def test_widths_that_are_apart_may_be_named_or_left_out(tmp_path):
    """Both are the plan that was written before there were shared ones, with its hash; another word is refused."""
    apart = plan_of(LEARNERS[2], Design(precision=0.12, budget=60, widths="apart"))
    text, path = write_plan(plan_of(LEARNERS[2])), tmp_path / "plan.toml"
    assert 'widths = "shared"\n' in text
    for line in ('widths = "apart"\n', ""):
        path.write_text(text.replace('widths = "shared"\n', line), "utf8")
        assert read_plan(path) == apart
        assert read_plan(path).hash == apart.hash
    path.write_text(text.replace('widths = "shared"', 'widths = "alone"'), "utf8")
    with pytest.raises(ArgumentError, match="they are shared or apart"):
        read_plan(path)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x7f")))
def test_any_words_survive_the_file(tmp_path_factory, notes):
    """Notes of any letters, quotes and line ends come back as they were."""
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_text(write_plan(plan_of(LEARNERS[2], notes=notes)), "utf8", newline="")
    assert read_plan(path).notes == notes


def test_the_hash_is_of_the_values(tmp_path):
    """Comments and spacing change no hash; a seed, a law or a word of the notes does."""
    plan = plan_of(LEARNERS[0])
    path = tmp_path / "plan.toml"
    path.write_text("# a remark\n\n" + write_plan(plan).replace(" = ", "  =  "), "utf8")
    assert read_plan(path).hash == plan.hash
    sweep = plan.sweeps["one"]
    others = [
        replace(plan, notes="x"),
        replace(plan, laws=("log", "linear")),
        replace(plan, sweeps={"one": replace(sweep, first_seed=8)}),
        replace(plan, sweeps={"one": replace(sweep, learner=LEARNERS[1])}),
    ]
    assert len({plan.hash, *(one.hash for one in others)}) == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("plan = 1", "plan = 2"), "not a plan of format 1"),
        (lambda text: text.replace("numerics = 1", "numerics = 0"), "numerics 0"),
        (lambda text: text.replace("odds = 6.0", "odds = 2.0", 1), "was fixed with the rule"),
        (lambda text: text.replace("first_seed = 7\n", ""), "lacks 'first_seed'"),
        (lambda text: text.replace("width = 64", "width = 64\nbreadth = 3"), "another kind"),
        (lambda text: text.replace("first_seed = 7", "first_seed = 7\nspeed = 3"), "not those of a plan: sweep.speed"),
        (lambda text: text.replace('kind = "adaptive"', 'kind = "random"'), "schedule of kind .random."),
        (lambda text: text.replace("budget =", "budgt ="), "schedule has no field 'budgt'; it has quantile, precision"),
        (lambda text: text + text[text.index("[[sweep]]") :], "two sweeps of one name"),
        (lambda text: text + "=", "is not TOML"),
    ],
)
def test_a_plan_that_would_mean_something_else_is_refused(tmp_path, change, message):
    """Another format, other numerics, another rule, a missing, strange or doubled field: one sentence."""
    path = tmp_path / "plan.toml"
    path.write_text(change(write_plan(plan_of(LEARNERS[0]))), "utf8")
    with pytest.raises(ArgumentError, match=message):
        read_plan(path)


def spelt(schedule):
    """The record of a plan with this schedule, as its file spells it."""
    return tomllib.loads(write_plan(plan_of(transformer_with_preset("paper"), schedule, notes="a note")))


def places_of(value, path=()):
    """Every place in a record, its own parts after it."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from places_of(part, (*path, name))


WRONG = [True, "no", "", 3, 0.5, -1, 10**400, float("nan"), float("inf"), [], [True], ["no"], {}, {"a": 1}, None]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: type(schedule).__name__)
def test_no_value_of_another_kind_is_taken(schedule):
    """Every field of a plan, given a value of another kind, is refused; a whole number may stand for a number."""
    record = spelt(schedule)
    for *way, last in places_of(record):
        for wrong in WRONG:
            changed = deepcopy(record)
            place = changed
            for name in way:
                place = place[name]
            alike = type(wrong) is type(place[last]) or (type(wrong), type(place[last])) == (int, float)
            if (alike and not isinstance(wrong, list)) or (last == "weight_scale" and wrong is None):
                continue
            place[last] = wrong
            if changed != record and last != "unset":
                with pytest.raises(KeyholeError, match=" "):
                    plan_from_record(changed)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("plan",), True, "not those of a plan: plan"),
        (("plan",), 1.0, "not those of a plan: plan"),
        (("numerics",), 2.0, "not those of a plan: numerics"),
        (("laws",), ["log", "log"], "'log' was given twice"),
        (("laws",), ["log", "none"], "'none' is not a growth law"),
        (("title",), "\x1b[2J", "cannot be printed"),
        (("sweep",), [], "has no sweep"),
        (("sweep", 0, "name"), "", "cannot be printed"),
        (("sweep", 0, "name"), "a \x1b[31m name", "cannot be printed"),
        (("sweep", 0, "contexts"), [10, 10], "give each once"),
        (("sweep", 0, "contexts"), [0, 10], "from 1 to"),
        (("sweep", 0, "contexts"), [True, 10], "not those of a plan: sweep.contexts"),
        (("sweep", 0, "contexts"), [10.0, 20], "not those of a plan: sweep.contexts"),
        (("sweep", 0, "first_seed"), -1, "first seed -1"),
        (("sweep", 0, "first_seed"), True, "not those of a plan: sweep.first_seed"),
        (("sweep", 0, "task", "balanced_sets"), "no", "another kind"),
        (("sweep", 0, "task", "balanced_sets"), 1, "another kind"),
        (("sweep", 0, "task", "label_noise"), False, "another kind"),
        (("sweep", 0, "learner", "residual"), "no", "another kind"),
        (("sweep", 0, "learner", "heads"), 4.0, "another kind"),
        (("sweep", 0, "learner", "momentum"), float("nan"), "another kind"),
        (("sweep", 0, "schedule", "budget"), 60.0, "another kind"),
        (("sweep", 0, "learner", "unset"), 3, "another kind"),
    ],
)
def test_a_value_that_the_command_line_refuses_is_refused(place, value, message):
    """Truths, numbers and texts are not taken for each other; a context counts once; a name can be printed."""
    changed = spelt(SCHEDULES[0])
    *way, last = place
    part = changed
    for name in way:
        part = part[name]
    part[last] = value
    with pytest.raises(ArgumentError, match=message):
        plan_from_record(changed)


def test_a_plan_has_the_numerics_of_its_learners(tmp_path):
    """A plan of learners that drop weights of attention, fixed before these were drawn as now, is refused."""
    path = tmp_path / "plan.toml"
    text = write_plan(plan_of(learner_named("transformer:paper")))
    path.write_text(text, "utf8")
    assert read_plan(path).numerics == 2
    path.write_text(text.replace("numerics = 2", "numerics = 1"), "utf8")
    with pytest.raises(ArgumentError, match="fixed with numerics 1, and this version has 2"):
        read_plan(path)


def test_a_plan_that_is_not_there_is_refused(tmp_path):
    """A path without a file is refused in a sentence."""
    with pytest.raises(ArgumentError, match="cannot be read"):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(ArgumentError, match="not a plan of format"):
        plan_from_record({})


@pytest.mark.parametrize(
    ("folder", "digest", "contexts"),
    [
        ("registered", "a233a9af434714f59cb793c2b2799878120633a26d687ed22c6630a167a3b198", DOUBLED),
        (
            "registered-3200",
            "eaf7a95af3bce51adec67772f0063302306cb0266c35d57d136ba229a8870eb0",
            (10, 20, 40, 80, 160, 320, 640, 1280, 3200),
        ),
        ("registered-12800", "a4ce9cfea1251c5cb1d5d0404c27c720d6d5abc082dba9362c5206616b9cf6e0", DOUBLED),
    ],
)
def test_registered_plans_stand_as_they_were_fixed(folder, digest, contexts):
    """The plan of a registered experiment is the one that was fixed before its first run, letter by letter."""
    path = DATA / folder / "plan.toml"
    plan = read_plan(path)
    assert (plan.hash, plan.contexts) == (digest, contexts)
    assert write_plan(plan) == path.read_text("utf8")
