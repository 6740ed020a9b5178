"""Weights of a run are the same whether they were kept or are made again."""

import multiprocessing
import os
from dataclasses import replace

import numpy as np
import pytest

from keyhole.errors import StoreError, WorkerError
from keyhole.files.model import write_model
from keyhole.sweeps.runs import queue
from keyhole.sweeps.runs.run import RunSpec, run
from keyhole.sweeps.runs.store import Store
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.transformer import TransformerLearner
from keyhole.training.task import SparseTask

from helpers.lab_fakes import Coin

NETWORK = TransformerLearner(TransformerSettings(heads=1, width=4, hidden=0, steps=5, every=5))


@pytest.mark.slow
def test_kept_and_made_again_are_the_same(tmp_path):
    """The file of a run holds the arrays that training from its stored configuration gives, bit for bit."""
    spec = RunSpec(SparseTask("and:2"), NETWORK, 4, 20, 0)
    with Store(tmp_path) as store:
        store.add([(spec, run(spec))])
        told = []
        kept = queue.weights_of(store, spec.identity[:9], tell=told.append)
        assert told == []
        store.weights_path(spec.identity).unlink()
        again = queue.weights_of(store, spec.identity[:9], tell=told.append)
        assert [spec.identity[:10] in line for line in told] == [True]
        assert RunSpec.from_record(store.run(spec.identity).configuration) == spec
    assert kept.keys() == again.keys()
    for name in kept:
        np.testing.assert_array_equal(kept[name], again[name])


def test_what_cannot_be_had_is_said(tmp_path, monkeypatch):
    """Damaged weights, runs that come out otherwise and learners without weights are refused."""
    spec = RunSpec(SparseTask("and:2"), Coin(), 4, 20, 0)
    made = run(spec)
    monkeypatch.setattr(RunSpec, "from_record", lambda _record: spec)
    with Store(tmp_path) as store:
        store.add([(spec, made)])
        path = store.weights_path(spec.identity)
        path.write_bytes(path.read_bytes()[:-5])
        with pytest.raises(StoreError, match="are damaged: the file is cut off"):
            queue.weights_of(store, spec.identity)
        write_model(path, {"score": made.weights["score"] + 1}, {"kind": "trained"})
        with pytest.raises(StoreError, match="are not those of their run"):
            queue.weights_of(store, spec.identity)
        path.unlink()
        other = {"score": np.nextafter(made.weights["score"], 2)}
        monkeypatch.setattr(queue, "run", lambda _cell: replace(made, weights=other))
        with pytest.raises(StoreError, match="as often right, with other weights"):
            queue.weights_of(store, spec.identity)
        monkeypatch.setattr(queue, "run", lambda _cell: replace(made, weights=None))
        with pytest.raises(StoreError, match="of coin, which has no weights"):
            queue.weights_of(store, spec.identity)
        monkeypatch.setattr(queue, "run", lambda _cell: replace(made, accuracy=0.5))
        with pytest.raises(StoreError, match="came out otherwise"):
            queue.weights_of(store, spec.identity)


@pytest.fixture
def forgotten(tmp_path, monkeypatch):
    """A store with one run whose weights were not kept, the run, and the diary of who makes it again."""
    diary = tmp_path / "diary"
    spec = RunSpec(SparseTask("and:2"), Coin(diary=str(diary)), 4, 20, 0)
    monkeypatch.setattr(RunSpec, "from_record", lambda _record: spec)
    made = run(spec)
    diary.unlink()
    with Store(tmp_path) as store:
        store.add([(spec, replace(made, weights=None))])
        yield store, spec, made, diary


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "2", None])
def test_a_run_is_made_again_on_one_thread(forgotten, monkeypatch, threads):
    """Where this process has one thread the run is made again here; where it may have more, in a worker that ends."""
    store, spec, made, diary = forgotten
    if threads is None:
        monkeypatch.delenv("NPROC")
    else:
        monkeypatch.setenv("NPROC", threads)
    again = queue.weights_of(store, spec.identity)
    np.testing.assert_array_equal(again["score"], made.weights["score"])
    (line,) = diary.read_text().splitlines()
    assert (int(line.split()[0]) == os.getpid()) == (threads == "1")
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_ctrl_c_ends_the_worker_that_trains_again(forgotten, monkeypatch):
    """An interruption reaches the caller, and the worker is gone with the run it was making."""
    store, spec, _, diary = forgotten
    monkeypatch.delenv("NPROC")
    monkeypatch.setattr(
        RunSpec, "from_record", lambda _record: replace(spec, learner=replace(spec.learner, seconds=60))
    )
    workers = []

    def pressed(_futures):
        workers.extend(multiprocessing.active_children())
        raise KeyboardInterrupt

    monkeypatch.setattr(queue, "wait", pressed)
    with pytest.raises(KeyboardInterrupt):
        queue.weights_of(store, spec.identity)
    assert len(workers) == 1
    assert not workers[0].is_alive()
    assert not diary.exists()


@pytest.mark.slow
def test_a_worker_that_dies_training_again_is_named(forgotten, monkeypatch):
    """The death of the worker is said in a sentence that names the run."""
    store, spec, _, _ = forgotten
    monkeypatch.delenv("NPROC")
    monkeypatch.setattr(
        RunSpec, "from_record", lambda _record: replace(spec, learner=replace(spec.learner, dies_at=20))
    )
    with pytest.raises(WorkerError, match=r"A worker process ended.*coin on and:2 with T = 4, m = 20, seed 0"):
        queue.weights_of(store, spec.identity)
