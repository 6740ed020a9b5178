"""A store that an earlier version wrote is still read: same names, same runs, nothing made again."""

import json
import sqlite3
from pathlib import Path

import pytest

import keyhole
from keyhole.sweeps import Execution, Schedule
from keyhole.sweeps.runs.run import RunSpec, run
from keyhole.sweeps.runs.store import Store
from keyhole.training.learners import learner_named
from keyhole.training.learners.scikit import Estimator
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.transformer import TransformerLearner
from keyhole.training.task import SparseTask

TINY = TransformerLearner(TransformerSettings(heads=1, width=4, hidden=0, steps=5, every=5))
EXACT = [
    RunSpec(SparseTask("and:3"), learner_named("elimination"), 10, 16, 0),
    RunSpec(SparseTask("and:3"), learner_named("elimination"), 10, 16, 1),
    RunSpec(SparseTask("and:3"), learner_named("elimination"), 10, 32, 0),
    RunSpec(SparseTask("and:3"), learner_named("elimination"), 10, 32, 1),
    RunSpec(SparseTask("and:2", "balanced", 0.1, 0.05), learner_named("elimination:signed"), 8, 24, 0),
    RunSpec(SparseTask("parity:2"), learner_named("gf2"), 8, 12, 0),
    RunSpec(SparseTask("random:3"), learner_named("consistent:junta"), 8, 20, 0),
]
INEXACT = [
    RunSpec(SparseTask("and:2", symbols=4), Estimator("tree", (("max_depth", 2),)), 6, 30, 0),
    RunSpec(SparseTask("x0"), TINY, 4, 20, 0),
    RunSpec(SparseTask("x0"), TINY, 4, None, 0),
]


@pytest.fixture
def earlier(tmp_path):
    """A folder with the earlier store, rebuilt from its text."""
    connection = sqlite3.connect(tmp_path / "runs.sqlite")
    connection.executescript((Path(__file__).parent / "earlier_store.sql").read_text("utf8"))
    connection.close()
    return tmp_path


def test_every_run_has_its_name(earlier):
    """The same questions have the same identities, each configuration is read back, and no run is missing."""
    specs = {spec.identity: spec for spec in (*EXACT, *INEXACT)}
    with Store(earlier) as store:
        assert {row.identity for row in store.rows()} == set(specs)
        for identity, spec in specs.items():
            stored = store.run(identity)
            assert RunSpec.from_record(stored.configuration) == spec
            assert stored.configuration == json.loads(json.dumps(spec.record()))


@pytest.mark.parametrize("spec", EXACT, ids=lambda spec: f"{spec.learner.name}-{spec.samples}-{spec.seed}")
def test_runs_in_whole_numbers_come_out_alike(earlier, spec):
    """A stored run that is made again has every number that was stored, but for the time."""
    with Store(earlier) as store:
        stored = store.run(spec.identity).result.record()
    assert run(spec).record() | {"seconds": 0} == stored | {"seconds": 0}


def test_a_sweep_finds_them(earlier):
    """The sweep that made some of the runs makes none of them again."""
    schedule, execution = Schedule(samples=[16, 32], seeds=2), Execution(earlier, workers=0)
    answer = keyhole.learn("and:3", [10], "elimination", schedule=schedule, execution=execution)
    assert (answer.runs, answer.made) == (4, 0)
