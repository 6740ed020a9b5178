"""Runs in flight: asked for, claimed, made, stored; or made by another process and found in the store."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from keyhole.errors import KeyholeError, WorkerError
from keyhole.sweeps.runs.engine import Lane
from keyhole.sweeps.runs.leases import LEASE
from keyhole.sweeps.runs.run import RunResult
from keyhole.sweeps.runs.spec import RunSpec
from keyhole.sweeps.runs.store import RunSummary, Store

SAID = 300  # letters of what a learner says when it fails
POLL = 0.2  # seconds between looks at what other processes have finished


class Dispatch:
    """The runs that are asked for and not finished, and the lanes that make them, started when first needed."""

    def __init__(self, store: Store, start: Callable[[], list[Lane]], *, keep_weights: bool = False) -> None:
        self.store, self.start, self.keep_weights = store, start, keep_weights
        self.lanes: list[Lane] = []
        self.waiting: dict[str, RunSpec] = {}
        self.claimed_elsewhere: dict[str, RunSpec] = {}  # by other processes
        self.made = 0
        self.last_look = self.last_renewal = time.monotonic()

    def ask(self, specs: Iterable[RunSpec]) -> dict[str, RunSummary]:
        """Ask for runs; those that are finished already are returned."""
        wanted = {spec.identity: spec for spec in specs}
        done = self.store.outcomes(list(wanted))
        self.waiting |= {name: spec for name, spec in wanted.items() if name not in done}
        return done

    def finished(self) -> dict[str, RunSummary]:
        """Wait for runs to finish and return them; empty where none did for a while."""
        if self.waiting and not self.lanes:
            self.store.renew()  # a store that cannot be written to is said before anybody starts
            self.lanes = self.start()
        self._send()
        in_flight = [future for lane in self.lanes for future in lane.in_flight]
        if in_flight:
            wait(in_flight, POLL, FIRST_COMPLETED)
        elif self.claimed_elsewhere:
            time.sleep(POLL)
        completed = self._collect()
        if time.monotonic() - self.last_look > POLL:
            self.last_look = time.monotonic()
            completed |= self._look_elsewhere()
        if time.monotonic() - self.last_renewal > LEASE / 4:
            self.last_renewal = time.monotonic()
            self.store.renew()
        return completed

    def close(self) -> None:
        """Keep what is finished, give up the rest, and stop the workers."""
        try:
            self._store_completed()
        except KeyboardInterrupt:  # pressed again while the first was being answered
            self._store_completed()
            raise
        finally:
            for lane in self.lanes:
                lane.close()
            if self.lanes:
                self.store.release()

    def _send(self) -> None:
        """Fill every lane with runs that nobody else is making."""
        while chosen := list(self._choose()):
            won = self.store.lease([spec.identity for _, spec in chosen])
            for lane, spec in chosen:
                if spec.identity in won:
                    lane.submit(spec, keep_weights=self.keep_weights)
                else:
                    self.claimed_elsewhere[spec.identity] = spec

    def _choose(self) -> Iterator[tuple[Lane, RunSpec]]:
        """A run for every free place, taken from those that wait."""
        for lane in self.lanes:
            for _ in range(lane.free):
                if not self.waiting:
                    return
                context = self._next_context(lane)
                lane.see(context)
                spec = next(spec for spec in self.waiting.values() if spec.context == context)
                yield lane, self.waiting.pop(spec.identity)

    def _next_context(self, lane: Lane) -> int:
        """The one this lane had last; else one it has seen; else, largest first, one that no other lane has seen."""
        waiting = {spec.context for spec in self.waiting.values()}
        known = [context for context in reversed(lane.seen) if context in waiting]
        others = {context for other in self.lanes for context in other.seen}
        return (known or sorted(waiting - others, reverse=True) or sorted(waiting, reverse=True))[0]

    def _collect(self) -> dict[str, RunSummary]:
        """Store the runs that are completed; the first that failed is raised once the others are safe."""
        summaries = self._store_completed()
        for lane in self.lanes:
            raise_failure(lane)
        return summaries

    def _store_completed(self) -> dict[str, RunSummary]:
        """Store the runs that are completed, and only then forget that they were in flight."""
        completed = [(lane, future) for lane in self.lanes for future in lane.in_flight if _succeeded(future)]
        if not completed:
            return {}
        summaries = self.store.add((lane.in_flight[future], future.result()) for lane, future in completed)
        self.made += len(completed)
        for lane, future in completed:
            del lane.in_flight[future]
        return summaries

    def _look_elsewhere(self) -> dict[str, RunSummary]:
        """What other processes have finished; what they have not is asked for again, in case they are gone."""
        done = self.store.outcomes(list(self.claimed_elsewhere))
        self.waiting |= {name: spec for name, spec in self.claimed_elsewhere.items() if name not in done}
        self.claimed_elsewhere = {}
        return done


@contextmanager
def open_dispatch(store: Store, start: Callable[[], list[Lane]], *, keep_weights: bool = False) -> Iterator[Dispatch]:
    """A dispatch that is closed whatever happens."""
    dispatch = Dispatch(store, start, keep_weights=keep_weights)
    try:
        yield dispatch
    finally:
        dispatch.close()


def _succeeded(future: Future[RunResult]) -> bool:
    """Whether a run is finished, and was neither given up nor failed."""
    return future.done() and not future.cancelled() and future.exception() is None


def raise_failure(lane: Lane) -> None:
    """Raise what went wrong in a lane, if something did."""
    for future, spec in list(lane.in_flight.items()):
        if not future.done():
            continue
        error = future.exception()
        if isinstance(error, BrokenProcessPool):
            raise WorkerError(_worker_died(lane, spec)) from error
        if isinstance(error, Exception) and not isinstance(error, KeyholeError):
            said = " ".join(str(error).split())[:SAID]
            raise WorkerError(
                f"The run of {_named(spec)} failed ({type(error).__name__}: {said}). What was finished is kept; use "
                "another learner or other sizes."
            ) from error
        future.result()


def _worker_died(lane: Lane, spec: RunSpec) -> str:
    """The sentence for a worker that ended: none could start, or one died of its run."""
    if lane.started is not None and (not lane.started.done() or lane.started.exception() is not None):
        return (
            "No worker process could start. A script that has keyhole train must do so under "
            '`if __name__ == "__main__":`; else see whether there is memory left.'
        )
    return (
        f"The run of {_named(spec)} ended its process, most likely for want of memory. What was finished is kept; use "
        "fewer workers or smaller sizes."
    )


def _named(spec: RunSpec) -> str:
    size = "fresh samples" if spec.samples is None else f"m = {spec.samples}"
    return f"{spec.learner.name} on {spec.task.name} with T = {spec.context}, {size}, seed {spec.seed}"
