"""A run is named by its configuration, and the name seeds it."""

import json
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from keyhole.errors import ArgumentError
from keyhole.sweeps.runs.run import FRESH, RunResult, RunSpec, data_of, run
from keyhole.training.learners import Fitted, Learner
from keyhole.training.learners.base import learner_named
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.transformer import PRESETS, TransformerLearner, preset
from keyhole.training.task import SparseTask

from helpers.lab_fakes import told_by

SPEC = RunSpec(SparseTask("and:3"), TransformerLearner(), 20, 100, 0)


def test_every_field_is_in_the_name():
    """Changing any one field of run, task or learner changes the identity; equal runs have equal names."""
    others = [replace(SPEC, context=21), replace(SPEC, samples=101), replace(SPEC, samples=None), replace(SPEC, seed=1)]
    changed_task = {"function": "and:4", "law": "balanced", "label_noise": 0.1, "feature_noise": 0.1, "symbols": 3}
    changed_task["balanced_sets"] = True
    assert set(changed_task) == {each.name for each in fields(SparseTask)}
    others += [replace(SPEC, task=replace(SPEC.task, **{name: value})) for name, value in changed_task.items()]
    for each in fields(TransformerSettings):
        value = getattr(SPEC.learner.settings, each.name)
        known = {"activation": "relu", "norm": "pre", "positions": "fixed", "optimizer": "sgd", "schedule": "cosine"}
        known |= {"decay_kind": "coupled", "residual": False, "heads": 8, "width": 32, "weight_scale": 0.5}
        known |= {"steps": 4000, "every": 100}  # readings divide the steps
        other = known.get(each.name, value + 0.5 if isinstance(value, float) else value)
        other = (not value if isinstance(value, bool) else value + 1) if other == value else other
        bare = {"norm": "none"} if each.name == "path_penalty" else {}  # a path norm needs that
        settings = replace(SPEC.learner.settings, **bare | {each.name: other})
        others.append(replace(SPEC, learner=TransformerLearner(settings)))
    names = [SPEC.identity, *(other.identity for other in others)]
    assert len(set(names)) == len(names)
    assert replace(SPEC, seed=0).identity == SPEC.identity


def test_a_cell_survives_its_record():
    """A run written as JSON and read again is the same run."""
    assert RunSpec.from_record(json.loads(json.dumps(SPEC.record()))) == SPEC
    with pytest.raises(ArgumentError, match="numerics 0"):
        RunSpec.from_record(SPEC.record() | {"numerics": 0})


def test_a_learner_may_state_numerics_of_its_own():
    """Which weights of attention are dropped was once drawn otherwise: such runs have another name, and are not remade.

    All other runs keep theirs.
    """
    dropping = replace(SPEC, learner=learner_named("transformer:paper"))
    assert (dropping.record()["numerics"], SPEC.record()["numerics"]) == (2, 1)
    assert RunSpec.from_record(json.loads(json.dumps(dropping.record()))) == dropping
    with pytest.raises(ArgumentError, match="made with numerics 1, and this is numerics 2"):
        RunSpec.from_record(dropping.record() | {"numerics": 1})
    numerics = {name: replace(SPEC, learner=learner_named(name)).record()["numerics"] for name in ("deep", "gf2")}
    assert numerics == {"deep": 2, "gf2": 1}


def test_data_are_seeded_by_the_name():
    """The same run draws the same data; another seed draws another hidden part or other samples."""
    one, two = data_of(SPEC), data_of(replace(SPEC, seed=0))
    assert one[0].function == two[0].function
    assert np.array_equal(one[1].inputs, two[1].inputs)
    other = data_of(replace(SPEC, seed=1))
    assert not np.array_equal(one[1].inputs, other[1].inputs)


@dataclass(frozen=True)
class Knows(Learner):
    """A learner that cheats on a share of the inputs: it exists to test the judge."""

    mistakes: int
    observer: Any = field(default=None, compare=False)
    name: ClassVar[str] = "knows"

    def with_observer(self, observer):
        """Take an observer, and break into it."""
        return Knows(self.mistakes, observer)

    def fit(self, _size, _data, _seed):
        """Answer rightly but for the first few of each block."""
        truth = told_by(self.observer)

        def predict(inputs):
            right = truth(inputs)
            right[: self.mistakes] ^= True
            return right

        return Fitted(predict)

    fit_online = fit


@pytest.mark.parametrize(("mistakes", "success"), [(0, True), (100, True), (101, False)])
def test_success_is_ninety_nine_in_a_hundred(mistakes, success):
    """A run succeeds when at least 99 % of 10,000 fresh inputs are answered rightly; one fewer and it does not."""
    result = run(RunSpec(SparseTask("parity:3"), Knows(mistakes), 10, None, 0))
    assert result.accuracy == 1 - mistakes / FRESH
    assert result.success is success
    assert RunResult.from_record(json.loads(json.dumps(result.record()))).record() == result.record()


def test_fitting_is_told_apart_from_generalising():
    """A learner with one mistake on its training set did not fit, whatever it does on fresh inputs."""
    result = run(RunSpec(SparseTask("parity:3"), Knows(1), 10, 50, 0))
    assert result.success
    assert not result.fitted
    assert result.train_accuracy == 1 - 1 / 50


def test_presets_and_learners_by_name():
    """Every preset has a name, and what has none is refused with the names there are."""
    assert learner_named("transformer:paper") == TransformerLearner(PRESETS["paper"])
    assert learner_named("transformer") == TransformerLearner(PRESETS["default"])
    with pytest.raises(ArgumentError, match="'fast' is not a preset; there are default"):
        preset("fast")
    with pytest.raises(ArgumentError, match="'oracle' is not a learner"):
        learner_named("oracle")
