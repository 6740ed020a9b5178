"""Workers: the same numbers wherever a run is made, nothing lost when they stop or die, nobody left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from keyhole.errors import FormulaError, WorkerError
from keyhole.sweeps.runs.queue import Execution, RunQueue
from keyhole.sweeps.runs.run import RunSpec, run
from keyhole.sweeps.runs.store import Store
from keyhole.sweeps.runs.workers import ALONE, QUICK, WorkerPool, make_run, worker_environment
from keyhole.training.task import SparseTask

from helpers.lab_fakes import Coin, Inline


def specs(count, contexts=(6, 9), **settings):
    """Cells of several contexts."""
    return [RunSpec(SparseTask("and:2"), Coin(**settings), T, 30, seed) for T in contexts for seed in range(count)]


def carried_out(store, wanted, **execution):
    """The rows of these specs, made where they are missing."""
    with RunQueue(store, Execution(store.folder, **execution)) as queue:
        rows = queue.request(wanted)
        while len(rows) < len(wanted):
            rows |= queue.finished()
    return rows, queue


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
            "one": {"workers": 1},
            "two": {"workers": 2},
            "threads": {"executor": threads},
            "none": {"workers": 0},
        }
        for name, execution in engines.items():
            with Store(tmp_path / name) as store:
                carried_out(store, wanted, **execution)
                assert numbers(store, wanted) == expected
        assert threads.submit(int).result() == 0  # what was lent still works


def test_what_is_finished_starts_no_worker(tmp_path):
    """Runs that are all there start no worker."""
    wanted = specs(2)
    with Store(tmp_path) as store:
        carried_out(store, wanted, workers=0)
        rows, queue = carried_out(store, wanted, workers=1)
    assert len(rows) == 4
    assert (queue.made, queue.executor) == (0, None)


@pytest.mark.slow
def test_a_worker_is_alone_on_its_thread_and_ends_with_its_watchdog(monkeypatch, tmp_path):
    """A worker has one thread by its environment, ours is untouched, and stopping the pool ends it while it works."""
    for name in QUICK:
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    pool = WorkerPool(1, tmp_path)
    given = ALONE | QUICK
    assert {name: pool.submit(os.getenv, name).result() for name in given} == given
    assert dict(os.environ) == before
    pid = pool.submit(os.getpid).result()
    pool.submit(time.sleep, 30.0)
    time.sleep(0.2)
    began = time.monotonic()
    pool.stop()
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
        "from pathlib import Path; from keyhole.sweeps.runs import WorkerPool\n"
        f"pool = WorkerPool(1, Path({str(tmp_path)!r}))\n"
        "print(pool.submit(os.getpid).result(), flush=True); time.sleep(60)"
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
        "from pathlib import Path; from keyhole.sweeps.runs import WorkerPool\n"
        f"pool = WorkerPool(1, Path({str(tmp_path)!r}))\n"
        "print(pool.submit(signal.raise_signal, signal.SIGINT).exception())\n"
        "print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])); pool.stop()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["None", "False"], done.stderr


@pytest.mark.slow
def test_a_worker_that_dies_names_its_run(tmp_path):
    """A run that ends its process is named; the runs finished before it are kept."""
    good, bad = specs(2, contexts=(16,)), RunSpec(SparseTask("and:2"), Coin(dies_at=77), 9, 77, 5)
    with Store(tmp_path) as store:
        with pytest.raises(WorkerError, match="coin on and:2 with T = 9, m = 77, seed 5"):
            carried_out(store, [*good, bad], workers=1)
        assert len(store.rows()) == 2


@pytest.mark.slow
def test_a_script_without_its_guard_is_told(tmp_path):
    """Workers import the script that starts them: without the usual guard none can start, and the sentence says so."""
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from pathlib import Path; import keyhole; from helpers.lab_fakes import Coin\n"
        "rounds = keyhole.Schedule(samples=[9])\n"
        f"here = keyhole.Execution(Path({str(tmp_path)!r}), workers=1)\n"
        "keyhole.learn('and:2', [8], Coin(), schedule=rounds, execution=here)"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'if __name__ == "__main__":' in done.stderr.splitlines()[-1]


def test_what_a_run_raises_is_raised_and_the_others_are_kept(tmp_path):
    """A refusal inside a run reaches the driver as it is; what was finished before is in the store."""
    wanted = [*specs(2, contexts=(6,)), RunSpec(SparseTask("and:5"), Coin(), 4, 30, 0)]
    with Store(tmp_path) as store:
        with pytest.raises(FormulaError, match="a context of 4 has fewer"):
            carried_out(store, wanted, workers=2, executor=Inline())
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
            carried_out(store, wanted, workers=2, executor=Interrupted())
        assert len(store.rows()) == 3
