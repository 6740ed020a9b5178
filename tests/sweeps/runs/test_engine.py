"""Workers: the same numbers wherever a run is made, nothing lost when they stop or die, nobody left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from keyhole.errors import ArgumentError, FormulaError, WorkerError
from keyhole.sweeps.runs.dispatch import open_dispatch
from keyhole.sweeps.runs.engine import ALONE, QUICK, borrow, start_processes, worker_environment
from keyhole.sweeps.runs.leases import LEASE
from keyhole.sweeps.runs.run import run
from keyhole.sweeps.runs.spec import RunSpec
from keyhole.sweeps.runs.store import Store
from keyhole.sweeps.runs.worker import make_run
from keyhole.training.task import SparseTask

from helpers.lab_fakes import Coin, Inline


def specs(count, contexts=(6, 9), **settings):
    """Cells of several contexts."""
    return [RunSpec(SparseTask("and:2"), Coin(**settings), T, 30, seed) for T in contexts for seed in range(count)]


def carried_out(store, start, wanted):
    """The rows of these specs, made where they are missing."""
    with open_dispatch(store, start) as dispatch:
        rows = dispatch.ask(wanted)
        while len(rows) < len(wanted):
            rows |= dispatch.finished()
    return rows, dispatch


def numbers(store, wanted):
    """Every number of every run but the time it took."""
    records = [store.run(spec.identity).result.record() for spec in wanted]
    return [{name: value for name, value in record.items() if name != "seconds"} for record in records]


@pytest.mark.slow
def test_one_and_two_workers_give_the_same_numbers(tmp_path):
    """The runs of one worker, of two, of threads that somebody lends, and of this process agree in every number."""
    wanted = specs(3)
    here = [run(spec).record() for spec in wanted]
    expected = [{name: value for name, value in record.items() if name != "seconds"} for record in here]
    with ThreadPoolExecutor(2) as threads:
        engines = {
            "one": lambda: start_processes(1, tmp_path),
            "two": lambda: start_processes(2, tmp_path),
            "threads": lambda: borrow(threads, 3),
            "inline": lambda: borrow(Inline(), 1),
        }
        for name, start in engines.items():
            with Store(tmp_path / name) as store:
                carried_out(store, start, wanted)
                assert numbers(store, wanted) == expected
        assert threads.submit(int).result() == 0  # what was lent still works


def test_what_is_finished_starts_no_worker(tmp_path):
    """Runs that are all there start no worker."""
    wanted = specs(2)
    with Store(tmp_path) as store:
        carried_out(store, lambda: borrow(Inline(), 2), wanted)
        rows, dispatch = carried_out(store, lambda: pytest.fail("a worker was started"), wanted)
    assert len(rows) == 4
    assert dispatch.made == 0


@pytest.mark.slow
def test_a_worker_is_alone_on_its_thread_and_ends_with_its_watchdog(monkeypatch, tmp_path):
    """A worker has one thread by its environment, ours is untouched, and closing the lane ends it while it works."""
    for name in QUICK:
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    (lane,) = start_processes(1, tmp_path)
    assert dict(os.environ) == before
    given = ALONE | QUICK
    assert {name: lane.executor.submit(os.getenv, name).result() for name in given} == given
    pid = lane.executor.submit(os.getpid).result()
    (slow,) = specs(1, contexts=(6,), seconds=30.0)
    lane.submit(slow, keep_weights=False)
    time.sleep(0.2)
    began = time.monotonic()
    lane.close()
    assert time.monotonic() - began < 10  # the run itself would have taken 30
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_makes_workers_quick_is_set_where_their_user_has_not(monkeypatch, tmp_path):
    """It is set for workers alone, and what is said already stays."""
    told, *others = QUICK
    monkeypatch.setenv(told, "1")
    for name in others:
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    with worker_environment(tmp_path):
        assert {name: os.environ[name] for name in QUICK} == {**QUICK, told: "1"}
    assert dict(os.environ) == before


def test_workers_inherit_no_variable_that_changes_numbers(monkeypatch, tmp_path):
    """Settings of jax and flags of XLA stay behind; where programs are kept, and on what, is inherited."""
    kept = {"JAX_COMPILATION_CACHE_DIR": "somewhere", "JAX_PLATFORMS": "cpu", "JAX_LOGGING_LEVEL": "ERROR"}
    left = {"JAX_ENABLE_X64": "1", "JAX_DEFAULT_PRNG_IMPL": "rbg", "XLA_FLAGS": "--xla_cpu_enable_fast_math=true"}
    for name, value in (kept | left).items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    with worker_environment(tmp_path):
        assert {name: os.environ.get(name) for name in kept | left} == kept | dict.fromkeys(left)
    assert dict(os.environ) == before


def test_threads_start_workers_one_after_the_other(monkeypatch, tmp_path):
    """Eight threads that change the environment for their workers see their own values, and leave it as it was."""
    for name in QUICK:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    before = dict(os.environ)

    def start(number):
        for _ in range(20):
            with worker_environment(tmp_path / str(number)):
                time.sleep(1e-4)
                assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / str(number) / "compiled")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(start, range(8)))
    assert dict(os.environ) == before


@pytest.mark.slow
def test_a_process_that_is_lent_is_alone_too(monkeypatch):
    """A run asks for one thread where nothing is said and jax is not there; what is said, or too late to say, stays."""
    for name in ALONE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    (spec,) = specs(1, contexts=(6,))
    expected = {"early": ALONE | {"OMP_NUM_THREADS": "3"}, "late": dict.fromkeys(ALONE) | {"OMP_NUM_THREADS": "3"}}
    for when, environment in expected.items():
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as lent:
            if when == "late":
                lent.submit(exec, "import jax").result()
            lent.submit(make_run, spec, False).result()  # noqa: FBT003
            assert {name: lent.submit(os.getenv, name).result() for name in ALONE} == environment


@pytest.mark.slow
def test_a_killed_driver_leaves_no_worker(tmp_path):
    """When the process that holds the watchdog is killed, its worker ends too."""
    program = (
        f"import sys, time, os; sys.path[:0] = {sys.path!r}\n"
        "from pathlib import Path; from keyhole.sweeps.runs.engine import start_processes\n"
        f"(lane,) = start_processes(1, Path({str(tmp_path)!r}))\n"
        "print(lane.executor.submit(os.getpid).result(), flush=True); time.sleep(60)"
    )
    driver = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    worker = int(driver.stdout.readline())
    os.kill(worker, 0)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    driver.stdout.close()
    for _ in range(100):
        if not Path(f"/proc/{worker}").exists() or " Z " in Path(f"/proc/{worker}/stat").read_text():
            return
        time.sleep(0.1)
    pytest.fail("the worker outlived its driver by ten seconds")


@pytest.mark.slow
def test_ctrl_c_is_not_the_workers(tmp_path):
    """A terminal sends Ctrl-C to workers too, and they go on; also where nothing was spawned before them."""
    program = (
        f"import sys, signal; sys.path[:0] = {sys.path!r}\n"
        "from pathlib import Path; from keyhole.sweeps.runs.engine import start_processes\n"
        f"(lane,) = start_processes(1, Path({str(tmp_path)!r}))\n"
        "print(lane.executor.submit(signal.raise_signal, signal.SIGINT).exception())\n"
        "print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])); lane.close()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["None", "False"], done.stderr


@pytest.mark.slow
def test_a_worker_that_dies_names_its_run(tmp_path):
    """A run that ends its process is named; the runs finished before it are kept, and its claim is released."""
    good, bad = specs(2, contexts=(6,)), RunSpec(SparseTask("and:2"), Coin(dies_at=77), 9, 77, 5)
    with Store(tmp_path) as store:
        with pytest.raises(WorkerError, match="coin on and:2 with T = 9, m = 77, seed 5 ended its process"):
            carried_out(store, lambda: start_processes(1, tmp_path), [*good, bad])
        assert store.lease([bad.identity]) == {bad.identity}


@pytest.mark.slow
def test_a_script_without_its_guard_is_told(tmp_path):
    """Workers import the script that starts them: without the usual guard none can start, and the sentence says so."""
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from pathlib import Path; import keyhole; from helpers.lab_fakes import Coin\n"
        f"keyhole.learn('and:2', [8], samples=[9], learner=Coin(), workers=1, store=Path({str(tmp_path)!r}))"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "No worker process could start" in done.stderr.splitlines()[-1]


def test_what_a_run_raises_is_raised_and_the_others_are_kept(tmp_path):
    """A refusal inside a run reaches the driver as it is; what was finished before is in the store."""
    wanted = [*specs(2, contexts=(6,)), RunSpec(SparseTask("and:5"), Coin(), 4, 30, 0)]
    with Store(tmp_path) as store:
        with pytest.raises(FormulaError, match="a context of 4 has fewer"):
            carried_out(store, lambda: borrow(Inline(), 3), wanted)
        assert len(store.rows()) == 2


def test_an_interruption_keeps_what_has_landed(tmp_path):
    """Ctrl-C while runs are being stored loses none of those that have landed."""
    wanted = specs(2)
    with Store(tmp_path) as store:

        class Interrupted(Inline):
            def submit(self, fn, /, *args, **kwargs):
                future = super().submit(fn, *args, **kwargs)
                if args[0].identity == wanted[1].identity:  # the last: larger contexts go first
                    raise KeyboardInterrupt
                return future

        with pytest.raises(KeyboardInterrupt):
            carried_out(store, lambda: borrow(Interrupted(), 4), wanted)
        assert len(store.rows()) == 3
        assert store.connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)


def test_lanes_keep_to_the_contexts_they_have_seen(tmp_path):
    """With two lanes and two contexts, each lane sees one context only while both have runs waiting."""
    wanted = specs(8, contexts=(6, 9))
    lanes = borrow(Inline(), 1) + borrow(Inline(), 1)
    with Store(tmp_path) as store, open_dispatch(store, lambda: lanes) as dispatch:
        dispatch.ask(wanted)
        for _ in range(6):
            dispatch.finished()
        assert [lane.seen for lane in lanes] == [[9], [6]]


class Never(Inline):
    """Takes a run and never finishes it."""

    def submit(self, fn, /, *args, **kwargs):
        """Nothing is done."""
        del fn, args, kwargs
        return Future()


def test_claims_are_renewed_while_a_run_goes_on(tmp_path, monkeypatch):
    """A run that takes longer than a lease stays its maker's while that looks after it, and a lease longer."""
    now = [1e9]
    clock = SimpleNamespace(time=lambda: now[0], monotonic=lambda: now[0], sleep=lambda _: None)
    for module in ("leases", "dispatch", "store"):
        monkeypatch.setattr(f"keyhole.sweeps.runs.{module}.time", clock)
    monkeypatch.setattr("keyhole.sweeps.runs.dispatch.POLL", 0.0)
    (spec,) = specs(1, contexts=(6,))
    with (
        Store(tmp_path) as store,
        Store(tmp_path) as rival,
        open_dispatch(store, lambda: borrow(Never(), 1)) as dispatch,
    ):
        dispatch.ask([spec])
        for _ in range(10):
            assert dispatch.finished() == {}
            now[0] += LEASE / 3
            assert rival.lease([spec.identity]) == set()
        now[0] += LEASE
        assert rival.lease([spec.identity]) == {spec.identity}


@pytest.mark.slow
def test_ctrl_c_while_workers_start_leaves_none(tmp_path, monkeypatch):
    """It waits until they are started, and then ends them."""
    started = []

    @contextmanager
    def pressed(_folder):
        yield
        started.extend(multiprocessing.active_children())
        raise KeyboardInterrupt

    monkeypatch.setattr("keyhole.sweeps.runs.engine.worker_environment", pressed)
    with pytest.raises(KeyboardInterrupt):
        start_processes(1, tmp_path)
    assert len(started) == 1
    assert not started[0].is_alive()


@pytest.mark.parametrize("number", [0, -1])
def test_no_workers_are_refused(tmp_path, number):
    """At least one worker is needed, and room for at least one run."""
    with pytest.raises(ArgumentError, match="at least one is needed"):
        start_processes(number, tmp_path)
    with pytest.raises(ArgumentError, match="at least one is needed"):
        borrow(Inline(), number)
