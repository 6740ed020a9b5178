"""Engines by name: the same tables wherever runs are made, and nothing lost where a worker of Ray is killed."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

import keyhole
from keyhole.errors import ArgumentError
from keyhole.sweeps.plans import Plan
from keyhole.sweeps.runs import Store, open_engine
from keyhole.sweeps.thresholds import Grid, SweepPlan
from keyhole.training.task import SparseTask

from helpers.lab_fakes import Coin


def plan_of(**settings):
    """A sweep of a learner that tosses coins."""
    return Plan({"coin": SweepPlan(SparseTask("and:2"), Coin(**settings), (6, 9), Grid((8, 30), 4))})


def table_of(plan, folder, name):
    """Every number of every run but its time, made by this engine."""
    with keyhole.engine(name, store=folder) as executor:
        keyhole.run_plan(plan, store=folder, executor=executor, workers=2)
    with Store(folder) as store:
        found = {row.identity: store.run(row.identity).result.record() for row in store.rows()}
    return {name: {key: value for key, value in record.items() if key != "seconds"} for name, record in found.items()}


@pytest.mark.slow
def test_this_process_and_two_processes_give_one_table(tmp_path):
    """The same plan in this process and on two processes: equal tables of 16 runs."""
    here, apart = (table_of(plan_of(), tmp_path / name, name) for name in ("here", "processes"))
    assert len(here) == 16
    assert here == apart


@pytest.mark.parametrize(
    ("name", "address", "message"),
    [
        ("cloud", "", "There is no engine 'cloud'; there are processes, here, ray"),
        ("here", "host:1", "the engine is here; use ray"),
    ],
)
def test_engines_that_are_none_are_refused(tmp_path, name, address, message):
    """An unknown engine, and an address for one that has none."""
    with pytest.raises(ArgumentError, match=message), open_engine(name, address=address, folder=tmp_path):
        pass


def test_ray_that_is_not_there_is_refused(tmp_path, monkeypatch):
    """Where Ray is not installed the sentence says what to install."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ArgumentError, match=r"install keyhole\[ray\]"), open_engine("ray", folder=tmp_path):
        pass


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_ray_cluster_gives_the_same_table_though_a_worker_is_killed(tmp_path):
    """On a Ray cluster of this machine, one of whose workers is killed in mid-run: the table of this process."""
    pytest.importorskip("ray", reason="needs Ray: pip install 'keyhole[ray]'; too large for the usual environment")
    here = table_of(plan_of(), tmp_path / "here", "here")
    diary = tmp_path / "diary"
    killed: list[int] = []

    def kill_one():
        while not diary.exists():
            time.sleep(0.05)
        killed.append(int(diary.read_text().split()[0]))
        os.kill(killed[0], signal.SIGKILL)

    threading.Thread(target=kill_one, daemon=True).start()
    ray = table_of(plan_of(seconds=0.3, diary=str(diary)), tmp_path / "ray", "ray")
    assert killed
    assert killed[0] != os.getpid()
    assert ray == here
    assert not Path(f"/proc/{killed[0]}").exists()
