"""A construction of a user's own is compiled, proved, saved and checked as the library's are, and is found by name."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import keyhole
from keyhole.api.norm_sources import file_norms
from keyhole.attention import profile
from keyhole.boolean.families import conjunction
from keyhole.compiler.compiled import Compiled
from keyhole.compiler.constructions import registry
from keyhole.compiler.constructions.additive import AdditiveConstruction, CodeConstruction, CodeLayout, PositionLayout
from keyhole.compiler.constructions.pairs import PairConstruction, PairLayout
from keyhole.compiler.constructions.plan import Construction, HeadPlan, Plan, TheoremNorm
from keyhole.compiler.constructions.registry import construction_of, register_construction, registered_constructions
from keyhole.compiler.distractors import Distractor, add_distractor
from keyhole.compiler.export.model_file import save_model
from keyhole.compiler.norms import named_norms
from keyhole.compiler.proof import prove
from keyhole.errors import ArgumentError, CheckpointError, CompileError

EXAMPLE = Path(__file__).parents[3] / "examples" / "own_construction.py"
EvenAttention = runpy.run_path(str(EXAMPLE))["EvenAttention"]


@pytest.fixture
def own_registry(monkeypatch):
    """A registry of this test's own."""
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize("output", ["signs", "bits"])
def test_own_construction(output, tmp_path):
    """Given as an object: proved, with its theorem's norms; by name too once registered, and its file checks."""
    compiled = keyhole.compile("x1 & ~x4", 9, construction=EvenAttention(), output=output)
    assert compiled.exact
    assert set(compiled.theorem) == {"score_frobenius", "readout"}
    assert all(figure.holds(compiled.norms[name]) for name, figure in compiled.theorem.items())
    assert compiled.norms == pytest.approx(named_norms(profile(compiled.model)), rel=1e-12)
    with pytest.raises(CompileError, match="construction 'even'"):
        keyhole.compile("x1 & ~x4", 9, construction="even")
    register_construction(EvenAttention())
    named = keyhole.compile("x1 & ~x4", 9, construction="even", output=output)
    assert np.array_equal(named.plan.readout, compiled.plan.readout)
    path = save_model(named, tmp_path / "a.safetensors")
    assert keyhole.check(path).record()["failures"] == []
    assert keyhole.bound(file_norms(path), samples=1000).smallest.value > 0
    assert keyhole.prove(path).record()["function"] == "x1 & ~x4"


def test_own_construction_does_not_compete():
    """A construction that is registered only by name does not enter the choice of the cheapest."""
    assert [known.name for known in registered_constructions()] == [
        "pair",
        "additive",
        "codes",
        "heads",
        "veto",
        "least",
    ]
    assert not EvenAttention().competes


@pytest.mark.usefixtures("own_registry")
def test_own_construction_with_distractors(tmp_path):
    """Distractors are added to it, and its file with them is made anew by the check."""
    register_construction(EvenAttention())
    plan = add_distractor(keyhole.compile("x1 & ~x4", 9, construction="even").plan, Distractor((0, 5), 0.2))
    path = save_model(Compiled(plan, prove(plan), EvenAttention()), tmp_path / "a.safetensors")
    assert keyhole.check(path).record()["failures"] == []


def test_a_file_of_a_construction_that_is_not_registered(tmp_path):
    """Check names the construction and says what to do; nothing is proved of the file, and no bound is given."""
    path = save_model(keyhole.compile("x1 & x4", 9, construction=EvenAttention()), tmp_path / "a.safetensors")
    checked = keyhole.check(path)
    assert not checked.holds
    assert "even conjunction" in "; ".join(checked.failures)
    with pytest.raises(CheckpointError, match="not registered"):
        file_norms(path)


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize("name", ["auto", "pair", "A2", "mine with 2 distractors"])
def test_names_that_are_taken(name):
    """A name of the library's, of a plan of its, or of a plan with distractors is refused; twice the same is not."""
    with pytest.raises(ArgumentError, match=name):
        register_construction(type("Mine", (EvenAttention,), {"name": name})())
    with pytest.raises(ArgumentError, match=name):
        register_construction(type("Mine", (EvenAttention,), {"targets": ("mine", name)})())
    with pytest.raises(ArgumentError, match="names no target"):
        register_construction(type("Mine", (EvenAttention,), {"targets": ()})())
    register_construction(EvenAttention())
    register_construction(EvenAttention())


class Handmade(Construction):
    """One plan, as it is given."""

    name, targets = "handmade", ("handmade",)

    def __init__(self, layout, head):
        self.made, self.layout = (layout, head), type(layout)

    def plans(self, function, context, mass, output, seed=0):  # noqa: ARG002
        """The head that was given."""
        layout, head = self.made
        width = head.rest_values.shape[1]
        return [Plan(function, layout, output, "handmade", (head,), np.ones(width), ("unit",) * width, {"gamma": mass})]


def test_plans_that_are_not_announced():
    """A plan under a name, or in a layout, that its construction does not announce could not be found again."""
    head = HeadPlan(np.zeros(2), np.ones((2, 2, 1)), 0.0, np.ones((2, 1)))
    for name, value in (("targets", ("mine",)), ("layout", PositionLayout)):
        maker = Handmade(PairLayout(9), head)
        setattr(maker, name, value)
        with pytest.raises(CompileError, match="let them agree"):
            keyhole.compile("x1 & x4", 9, construction=maker)


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"parameter": "beta"}, "parameter 'beta'"),
        ({"theorem_norms": lambda _self, _plan: {"spectral": TheoremNorm("=", 1.0)}}, "norm 'spectral'"),
        ({"plans": lambda *_: []}, "made no plan"),
        ({"plans": lambda *_: EvenAttention().plans(conjunction((1, 3)), 9, 0.5, "signs")}, "another function"),
    ],
)
def test_own_constructions_that_do_not_add_up(entries, says):
    """What could not be checked later is refused when it is compiled."""
    with pytest.raises(CompileError, match=says):
        keyhole.compile("x1 & x4", 9, construction=type("Mine", (EvenAttention,), entries)())


def test_tables_that_do_not_fit():
    """A table of another shape is refused with the shapes."""
    head = HeadPlan(np.zeros(3), np.ones((3, 2, 1)), 0.0, np.ones((2, 1)))
    with pytest.raises(CompileError, match=r"focus of head 0 .*\(3,\)"):
        keyhole.compile("x1 & x4", 9, construction=Handmade(PairLayout(9), head))


def test_heads_that_have_no_matrices():
    """What is proved of tables is said of weights: a head that the layout's matrices cannot have is refused."""
    function, values = conjunction((1, 3)), np.ones((2, 2, 1))
    by_place = HeadPlan(np.zeros(2), values, 0.0, np.zeros((2, 1)))
    with pytest.raises(CompileError, match="depend on the position"):
        keyhole.compile(function, 6, construction=Handmade(PositionLayout(6), by_place))
    by_logit = HeadPlan(np.ones(2), values, np.zeros(4), np.ones((2, 1)))
    with pytest.raises(CompileError, match="not those that the random codes give"):
        keyhole.compile(function, 6, construction=Handmade(CodeLayout(6, 400, 0), by_logit))


@pytest.mark.parametrize(
    ("name", "maker", "layout"),
    [
        ("A4", PairConstruction, PairLayout),
        ("B2", AdditiveConstruction, PositionLayout),
        ("B1 with codes", CodeConstruction, CodeLayout),
        ("A2 with 12 distractors", PairConstruction, PairLayout),
    ],
)
def test_names_of_plans(name, maker, layout):
    """The name in a file leads to the construction and to its layout."""
    assert type(construction_of(name)) is maker
    assert construction_of(name).layout is layout
