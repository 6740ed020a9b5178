"""Compiled weights as a start: exact before the first step, kept by training, and told to nobody else."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import keyhole
from keyhole.api.compiled_start import CompiledStart, StartedLearner, compiled_weights
from keyhole.attention import forward
from keyhole.boolean import read_function
from keyhole.errors import ArgumentError, CompileError
from keyhole.sweeps.runs import RunSpec
from keyhole.sweeps.runs.run import run
from keyhole.training import SparseTask
from keyhole.training.learners import change_settings, learner_from_record, learner_named, learner_names
from keyhole.training.network.network import apply, initial

pytestmark = pytest.mark.slow

CONTEXT = 7
SMALL = change_settings(StartedLearner().settings, {"heads": 2, "width": 8, "hidden": 12, "steps": 400, "batch": 16})
SHAPES = {k: a.shape for k, a in initial(SMALL, 2, CONTEXT, jax.random.key(0)).items()}
NETWORK = jax.jit(partial(apply, SMALL))
EVERY = np.array(list(itertools.product((0, 1), repeat=CONTEXT)), dtype=np.uint8)


@pytest.mark.parametrize(
    "formula", ["x1 & x3 & x6", "x0 | x5", "x2 ^ x4", "majority(x0, x1, x2)", "~x3", "x1 & ~x4", "x0 & (x1 | x6)"]
)
@pytest.mark.parametrize("rho", [0.3, 0.5])
def test_the_start_is_the_compiled_model(formula, rho):
    """On every input the network's number is that of the compiled model, whatever the other weights are."""
    function = read_function(formula)
    with jax.enable_x64(new_val=True):
        usual = {k: np.random.default_rng(0).normal(size=shape) for k, shape in SHAPES.items()}
        start = compiled_weights(SMALL, function, usual, rho)
        ours = np.asarray(NETWORK({k: jnp.asarray(a) for k, a in start.items()}, jnp.asarray(EVERY)))
    compiled = keyhole.compile(function, CONTEXT, construction="additive", leak=rho)
    assert np.abs(ours - forward(compiled.model, EVERY)).max() < 1e-9
    assert ((ours > 0) == function(EVERY)).all()
    assert {k: a.shape for k, a in start.items()} == {k: a.shape for k, a in usual.items()}


def test_training_keeps_more_often_than_it_finds():
    """From few samples of an AND training mostly keeps compiled weights, and seldom finds them from random ones."""
    task, seeds = SparseTask("and:3"), range(6)
    kept, found = (
        sum(run(RunSpec(task, one, 12, m, seed)).success for m in (12, 24) for seed in seeds)
        for one in (CompiledStart(SMALL), StartedLearner(SMALL))
    )
    assert kept >= 8
    assert found <= 4


def test_the_random_start_is_the_usual_transformer():
    """`started:random` with the same settings starts from the weights that it is given, and is told nothing it uses."""
    usual = {"positions": np.ones((3, 2))}
    assert StartedLearner(SMALL).with_target(read_function("x0")).starting_weights(usual) is usual


def test_only_it_is_told_the_function():
    """No other learner takes the hidden function; without it, compiled weights are refused."""
    function = read_function("x0")
    takers = {name for name in (*learner_names(), "started:random", "started:compiled")
              if vars(learner_named(name).with_target(function)).get("target") is function}  # fmt: skip
    assert takers == {"started:compiled"}
    with pytest.raises(ArgumentError, match="without a function"):
        learner_named("started:compiled").starting_weights({})


def test_records():
    """A record gives its learner back, with the leak ratio of its start; an unknown start is refused."""
    learner = CompiledStart(SMALL, rho=0.25)
    assert learner_from_record(learner.record()) == learner
    assert learner.record()["start"] == {"name": "compiled", "rho": 0.25}
    with pytest.raises(ArgumentError, match="is not a start"):
        learner_named("started:nowhere")


@pytest.mark.parametrize(
    "changes",
    [
        {"norm": "post"},
        {"residual": "true"},
        {"activation": "gelu"},
        {"hidden": 1},
        {"cls_position": "true"},
        {"heads": 8},
    ],
    ids=str,
)
def test_networks_without_room_are_refused(changes):
    """A network that cannot hold the construction is refused in a sentence."""
    settings = change_settings(SMALL, changes)
    usual = {k: np.asarray(a) for k, a in initial(settings, 2, CONTEXT, jax.random.key(0)).items()}
    with pytest.raises(ArgumentError, match="Compiled weights"):
        compiled_weights(settings, read_function("x0 & x1"), usual, 0.5)


def test_the_question_can_be_asked(tmp_path):
    """`train` from compiled weights keeps them; an unknown start, or another kind of learner, is refused."""
    small = {"heads": 2, "width": 8, "hidden": 8, "steps": 100, "batch": 16}
    answer = keyhole.train("and:2", 10, 8, learner="started:compiled", settings=small, store=tmp_path)
    assert answer.run.success
    assert answer.record()["started_from"] == "compiled"
    assert (
        max(sum(row[place] for place in answer.positions) for row in answer.start) > 0.5
    )  # attention is there at once
    for learner, reason in (("started:nowhere", "'nowhere' is not a start"), ("gf2", "gf2 was to be watched")):
        with pytest.raises(ArgumentError, match=reason):
            keyhole.train("and:2", 10, 8, learner, store=tmp_path)


def test_a_function_that_is_too_large_is_refused(tmp_path):
    """What Construction B cannot hold is refused as compiling it is."""
    with pytest.raises((CompileError, ArgumentError)):
        keyhole.train("random:11", 12, 8, "started:compiled", store=tmp_path)
