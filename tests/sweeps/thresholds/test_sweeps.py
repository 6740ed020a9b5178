"""Sweeps: the same table after a kill, and on any number of workers."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.errors import ArgumentError
from keyhole.sweeps.runs import queue
from keyhole.sweeps.runs import store as storing
from keyhole.sweeps.runs.queue import Execution
from keyhole.sweeps.runs.store import Store
from keyhole.sweeps.thresholds.design import Design, Grid, Online, Rounds
from keyhole.sweeps.thresholds.sweeps import SweepPlan, replay, sweep
from keyhole.sweeps.thresholds.threshold import estimate_threshold
from keyhole.training.task import SparseTask

from helpers.lab_fakes import Climb, Coin, Inline

TASK = SparseTask("and:2")


HERE = Execution(workers=0)


def swept(folder, plan, execution=HERE, **options):
    """A sweep into a folder, in this process."""
    with Store(folder) as store:
        return sweep(plan, store, execution, **options)


def table(found):
    """What a sweep came to, without times."""
    rows = [(row.context, row.samples, row.seed, row.success, row.fitted, row.accuracy) for row in found.rows]
    return found.thresholds, found.tallies, rows, found.runs_needed


CLIMB = SweepPlan(TASK, Coin(), (8, 16), Climb())
ADAPTIVE = SweepPlan(TASK, Coin(), (8, 16), Design(precision=0.4, budget=60))


@pytest.mark.slow
def test_an_adaptive_sweep_follows_its_schedule(reference):
    """The coin's m₀ = 10 log₂ T is met within a factor 2, and the sweep ends where its schedule does.

    With 20 runs or more, a fitted m* is off by a factor 2 = e^0.69 at five standard errors of about 0.13 at the least.
    """
    tallies = {context: reference_counts(reference, context) for context in (8, 16)}
    for threshold, level, other in zip(reference.thresholds, (30, 40), (16, 8), strict=True):
        assert level / 2 < threshold.m < 2 * level
        counts = tallies[threshold.context]
        schedule = ADAPTIVE.schedule.beside(counts, [tallies[other]])
        assert not schedule.next_round(counts)
        assert schedule.prior != ADAPTIVE.schedule.prior
        spent = sum(trials for _, trials in counts.values()) >= 60
        options = {"unfitted": unfits(reference, threshold.context), "prior": schedule.prior, "rounds": not spent}
        assert threshold == estimate_threshold(threshold.context, counts, **options)
        assert reference.runs_needed[threshold.context] == schedule.remaining(counts)
    assert reference.made == len(reference.rows)


@pytest.mark.slow
def test_a_sweep_is_found_again_without_making_a_run(reference, tmp_path):
    """From its rows alone the same table comes, threshold by threshold; of one that was cut nothing is final."""
    with Store(tmp_path) as store:
        found = sweep(ADAPTIVE, store, HERE)
        again = replay(ADAPTIVE, store)
        assert table(again) == table(found) == table(reference)
        assert again.made == 0
        last = [row.identity for row in found.rows if row.context == 16][-1]
        store.connection.execute("DELETE FROM runs WHERE identity = ?", (last,))
        assert replay(ADAPTIVE, store).rows == ()


@pytest.mark.slow
def test_contexts_apart_know_nothing_of_each_other(tmp_path):
    """Each makes the runs that it makes alone, and shared ones do not: they know the width sooner, and make fewer."""
    apart = replace(ADAPTIVE, schedule=Design(widths="apart"))
    both = swept(tmp_path / "both", apart)
    alone = [swept(tmp_path / f"{context}", replace(apart, contexts=(context,))) for context in apart.contexts]
    assert both.thresholds == tuple(threshold for each in alone for threshold in each.thresholds)
    assert both.tallies == tuple(tally for each in alone for tally in each.tallies)
    shared = swept(tmp_path / "shared", replace(apart, schedule=Design()))
    assert len(shared.rows) < len(both.rows)
    lone = replace(apart, contexts=(8,), schedule=Design())
    assert swept(tmp_path / "lone", lone).tallies == alone[0].tallies


def reference_counts(found, context):
    """Successes and trials of each size at a context."""
    return {tally.samples: (tally.successes, tally.trials) for tally in found.tallies if tally.context == context}


def unfits(found, context):
    """How many runs of each size failed and did not fit."""
    return {
        tally.samples: (tally.unfitted_failures, tally.trials) for tally in found.tallies if tally.context == context
    }


def test_further_rounds_take_further_seeds(tmp_path):
    """Rounds at one size go on with new seeds, from the first seed on, and none is left out."""
    plan = replace(CLIMB, contexts=(8,), schedule=Again(), first_seed=50)
    assert [cell.seed for cell in plan.cells(8, {20: (1, 3), 40: (0, 9)})] == [53, 54, 55, 56]
    found = swept(tmp_path, plan)
    assert [(row.samples, row.seed) for row in found.rows] == [(20, 50 + number) for number in range(7)]


@dataclass(frozen=True)
class Again(Rounds):
    """One run at a size, then twice as many more, until there are seven."""

    def next_round(self, tallies):
        """So many more."""
        trials = tallies.get(20, (0, 0))[1]
        return {20: trials + 1} if trials < 7 else {}

    def record(self):
        """Its kind."""
        return {"kind": "again"}


def test_a_second_sweep_makes_nothing(tmp_path):
    """The same plan finds every run, starts no worker, and comes to the same."""
    first = swept(tmp_path, CLIMB)
    again = swept(tmp_path, CLIMB, Execution(executor=Inline()))
    assert again.made == 0
    assert table(again) == table(first)


@pytest.mark.slow
@given(stop=st.integers(0, 30), room=st.integers(1, 5))
@settings(max_examples=6)
def test_wherever_it_stops_it_ends_alike(tmp_path_factory, climbed, stop, room):
    """A sweep cut after any number of runs, and taken up with another number of places, comes to the same table."""
    folder = tmp_path_factory.mktemp("cut")

    class Stopping(Inline):
        left = stop

        def submit(self, fn, /, *args, **kwargs):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            return super().submit(fn, *args, **kwargs)

    try:
        first = swept(folder, CLIMB, Execution(workers=room, executor=Stopping())).made
    except KeyboardInterrupt:
        with Store(folder) as store:
            first = len(store.rows())
        assert first == stop
    found = swept(folder, CLIMB, Execution(workers=6 - room, executor=Inline()))
    assert table(found) == table(climbed)
    assert first + found.made == len(found.rows)


PASSED = {module.__file__ for module in (queue, storing)}
SMALL = SweepPlan(TASK, Coin(), (8,), Grid((20,), 3))


def traced(store, stop=None):
    """The lines of the lab that a sweep passes, each with the line that called it; Ctrl-C comes at `stop`."""
    passed, landed = {}, []

    class Noting(Inline):
        def submit(self, fn, /, *args, **kwargs):
            future = super().submit(fn, *args, **kwargs)
            landed.append(args[0].identity)
            return future

    def stack(frame):
        while frame is not None:
            if frame.f_code.co_filename in PASSED:
                yield frame.f_code.co_name, frame.f_lineno
            frame = frame.f_back

    def trace(frame, event, _value):
        if frame.f_code.co_filename not in PASSED:
            return None
        if event == "line":
            place = tuple(islice(stack(frame), 2))
            passed[place] = None
            if place == stop:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        sweep(SMALL, store, Execution(executor=Noting(), workers=1))
    finally:
        sys.settrace(before)
        assert {row.identity for row in store.rows()} == set(landed)
        store.connection.execute("DELETE FROM runs")
    return list(passed)


@pytest.mark.slow
def test_ctrl_c_on_any_line_loses_nothing(tmp_path):
    """Wherever in queue and store it comes, it stays what it is, and what is finished is in the store."""
    with Store(tmp_path) as store:
        places = traced(store)
        came = 0
        for place in places:
            try:
                traced(store, place)
            except KeyboardInterrupt:
                came += 1
    assert came > 0.9 * len(places)


def test_ctrl_c_twice_loses_nothing(tmp_path):
    """Pressed again while runs are being kept because of the first, it is answered once they are."""

    class Impatient(Store):
        presses = 2

        def add(self, finished):
            if self.presses:
                self.presses -= 1
                raise KeyboardInterrupt
            return super().add(finished)

    with Impatient(tmp_path) as store:
        with pytest.raises(KeyboardInterrupt):
            sweep(SMALL, store, Execution(executor=Inline(), workers=1))
        assert len(store.rows()) == 2


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The adaptive sweep without interruption."""
    return swept(tmp_path_factory.mktemp("whole"), ADAPTIVE)


@pytest.fixture(scope="module")
def climbed(tmp_path_factory):
    """The cheap sweep without interruption."""
    return swept(tmp_path_factory.mktemp("climbed"), CLIMB)


def test_other_runs_in_the_store_change_nothing(tmp_path, climbed):
    """Runs of a grid at the same sizes are used where the rounds ask for them, and seen nowhere else."""
    swept(tmp_path, SweepPlan(TASK, Coin(), (8, 16), Grid((16, 33, 128), 6)))
    found = swept(tmp_path, CLIMB)
    assert table(found) == table(climbed)
    assert found.made < len(found.rows)


def test_a_grid_counts_what_fits_apart_from_what_succeeds(tmp_path):
    """Trials, successes and fits of each cell of the grid, against a recount of the rows."""
    found = swept(tmp_path, SweepPlan(TASK, Coin(), (8,), Grid((20, 30), 12)))
    for tally, size in zip(found.tallies, (20, 30), strict=True):
        rows = [row for row in found.rows if row.samples == size]
        assert (tally.context, tally.samples, tally.trials) == (8, size, 12)
        assert tally.successes == sum(row.success for row in rows)
        assert tally.fitted == sum(row.fitted for row in rows)
        assert tally.successes < tally.fitted < 12  # some fitted only, some did not fit
        assert tally.fitted_failures == sum(row.fitted and not row.success for row in rows)
        assert tally.unfitted_failures == 12 - tally.successes - tally.fitted_failures
    assert found.thresholds[0].trials == 24
    assert found.thresholds[0].unfitted == sum(tally.unfitted_failures for tally in found.tallies) / 24


def test_label_noise_makes_no_success_a_failure_to_fit(tmp_path):
    """Who answers as the function does misses the labels that are wrong: never fitted, and yet nothing failed."""
    plan = SweepPlan(SparseTask("and:2", label_noise=0.4), Coin(level=0.01), (8,), Grid((50,), 6))
    found = swept(tmp_path, plan)
    (tally,) = found.tallies
    assert (tally.successes, tally.fitted) == (6, 0)
    assert (tally.unfitted_failures, tally.fitted_failures) == (0, 0)
    assert found.thresholds[0].unfitted == 0


def test_online_has_no_threshold(tmp_path):
    """Fresh samples: so many seeds at each context, steps for the successes, no m*."""
    found = swept(tmp_path, SweepPlan(TASK, Coin(), (8, 16), Online(3)))
    assert found.thresholds == ()
    assert [(tally.context, tally.samples, tally.trials) for tally in found.tallies] == [(8, None, 3), (16, None, 3)]


def test_progress_is_told(tmp_path):
    """Runs only grow, the last report has nothing left, and the end of each context is a milestone."""
    told = []
    found = swept(tmp_path, CLIMB, watch=told.append)
    done = [progress.done for progress in told]
    assert done == sorted(done)
    assert done[-1] == told[-1].of == len(found.rows)
    ends = [progress.what for progress in told if progress.milestone]
    assert all(any(f"{T}" in end for end in ends) for T in CLIMB.contexts)


def test_no_context_is_refused():
    """A sweep over nothing is refused."""
    with pytest.raises(ArgumentError, match="at no context"):
        SweepPlan(TASK, Coin(), (), Online(1))


DRIVER = """
import json, sys
sys.path[:0] = {path!r}
from pathlib import Path
from helpers.lab_fakes import Coin
from keyhole.sweeps import Execution
from keyhole.sweeps.thresholds.design import Design
from keyhole.sweeps.runs.store import Store
from keyhole.sweeps.thresholds.sweeps import SweepPlan, sweep
from keyhole.training.task import SparseTask

if __name__ == "__main__":
    folder, diary = Path(sys.argv[1]), sys.argv[2]
    coin = Coin(seconds=0.01, diary=diary)
    plan = SweepPlan(SparseTask("and:2"), coin, (8, 16), Design(precision=0.4, budget=60))
    with Store(folder) as store:
        found = sweep(plan, store, Execution(folder, workers=1))
    print(json.dumps([found.made, repr(found.thresholds), repr(found.tallies)]))
"""


class Drivers:
    """Sweeps in processes of their own, over one store and one diary."""

    def __init__(self, folder):
        self.store, self.diary, self.script = folder / "store", folder / "diary", folder / "driver.py"
        self.script.write_text(DRIVER.format(path=sys.path))
        self.diary.touch()

    def start(self):
        """One more of them."""
        command = [sys.executable, str(self.script), str(self.store), str(self.diary)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def made(self):
        """Every run that was made, by whomever."""
        return [line.split(maxsplit=1)[1] for line in self.diary.read_text().splitlines()]


def answer(driver):
    """What a driver prints at its end."""
    out, err = driver.communicate(timeout=120)
    assert driver.returncode == 0, err
    return json.loads(out)


@pytest.mark.slow
def test_killed_in_mid_sweep_it_goes_on(tmp_path, reference):
    """Kill -9, then again: finished runs are not made again, and the table is an uninterrupted sweep's exactly."""
    drivers = Drivers(tmp_path)
    first = drivers.start()
    while len(drivers.made()) < 15:
        assert first.poll() is None, first.communicate()
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    with Store(drivers.store) as store:
        kept = {row.identity for row in store.rows()}
        times = {row.identity: row.seconds for row in store.rows()}
    made, thresholds, tallies = answer(drivers.start())
    assert (thresholds, tallies) == (repr(reference.thresholds), repr(reference.tallies))
    assert len(kept) >= 10
    assert made == len(reference.rows) - len(kept)
    with Store(drivers.store) as store:
        assert {row.identity: row.seconds for row in store.rows() if row.identity in kept} == times


@pytest.mark.slow
def test_two_workers_come_to_the_table_of_one(tmp_path, reference):
    """The number of workers is not in the numbers."""
    assert table(swept(tmp_path, ADAPTIVE, Execution(tmp_path, workers=2))) == table(reference)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="counts processes by /proc")
@pytest.mark.slow
def test_ctrl_c_stops_promptly_and_says_so(tmp_path):
    """An interrupted driver ends at once with its workers, and every run it finished is in the store."""
    drivers = Drivers(tmp_path)
    driver = drivers.start()
    while len(drivers.made()) < 10:
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.02)
    workers = {int(line.split()[0]) for line in drivers.diary.read_text().splitlines()}
    driver.send_signal(signal.SIGINT)
    driver.communicate(timeout=20)
    for pid in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    with Store(drivers.store) as store:
        assert len(drivers.made()) - 2 <= len(store.rows()) <= len(drivers.made())  # at most two were on their way
