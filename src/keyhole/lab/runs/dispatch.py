"""Runs on their way: asked for, claimed, made, kept; or made by another process and found in the store."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from keyhole.errors import WorkerError
from keyhole.lab.runs.engine import Lane
from keyhole.lab.runs.leases import LEASE
from keyhole.lab.runs.run import Result
from keyhole.lab.runs.spec import Cell
from keyhole.lab.runs.store import Row, Store

POLL = 0.2  # seconds between looks at what other processes have finished


class Dispatch:
    """The runs that are asked for and not finished, and the lanes that make them, started when first needed."""

    def __init__(self, store: Store, start: Callable[[], list[Lane]], *, keep_weights: bool = False) -> None:
        self.store, self.start, self.keep_weights = store, start, keep_weights
        self.lanes: list[Lane] = []
        self.waiting: dict[str, Cell] = {}
        self.elsewhere: dict[str, Cell] = {}  # claimed by another process
        self.made = 0
        self.looked = self.renewed = time.monotonic()

    def ask(self, cells: Iterable[Cell]) -> dict[str, Row]:
        """Ask for runs; those that are finished already are returned."""
        wanted = {cell.identity: cell for cell in cells}
        done = self.store.outcomes(list(wanted))
        self.waiting |= {one: cell for one, cell in wanted.items() if one not in done}
        return done

    def finished(self) -> dict[str, Row]:
        """Wait for runs to finish and return them; empty where none did for a while."""
        if self.waiting and not self.lanes:
            self.store.renew()  # a store that cannot be written to is said before anybody starts
            self.lanes = self.start()
        self._send()
        flying = [future for lane in self.lanes for future in lane.flying]
        if flying:
            wait(flying, POLL, FIRST_COMPLETED)
        elif self.elsewhere:
            time.sleep(POLL)
        found = self._harvest()
        if time.monotonic() - self.looked > POLL:
            self.looked = time.monotonic()
            found |= self._look()
        if time.monotonic() - self.renewed > LEASE / 4:
            self.renewed = time.monotonic()
            self.store.renew()
        return found

    def close(self) -> None:
        """Keep what is finished, give up the rest, and stop the workers."""
        try:
            self._keep()
        except KeyboardInterrupt:  # pressed again while the first was being answered
            self._keep()
            raise
        finally:
            for lane in self.lanes:
                lane.close()
            if self.lanes:
                self.store.release()

    def _send(self) -> None:
        """Fill every lane with runs that nobody else is making."""
        while chosen := list(self._choice()):
            won = self.store.claim([cell.identity for _, cell in chosen])
            for lane, cell in chosen:
                if cell.identity in won:
                    lane.submit(cell, keep_weights=self.keep_weights)
                else:
                    self.elsewhere[cell.identity] = cell

    def _choice(self) -> Iterator[tuple[Lane, Cell]]:
        """A run for every free place, taken from those that wait."""
        for lane in self.lanes:
            for _ in range(lane.free):
                if not self.waiting:
                    return
                context = self._context(lane)
                lane.see(context)
                cell = next(cell for cell in self.waiting.values() if cell.context == context)
                yield lane, self.waiting.pop(cell.identity)

    def _context(self, lane: Lane) -> int:
        """The one this lane had last; else one it has seen; else, largest first, one that no other lane has seen."""
        there = {cell.context for cell in self.waiting.values()}
        known = [context for context in reversed(lane.seen) if context in there]
        others = {context for other in self.lanes for context in other.seen}
        return (known or sorted(there - others, reverse=True) or sorted(there, reverse=True))[0]

    def _harvest(self) -> dict[str, Row]:
        """Keep the runs that have landed; the first that failed is raised once the others are safe."""
        landed = self._keep()
        for lane in self.lanes:
            check(lane)
        return self.store.outcomes(landed)

    def _keep(self) -> list[str]:
        """Store the runs that have landed, and only then forget that they were under way."""
        landed = [(lane, future) for lane in self.lanes for future in lane.flying if _is_well(future)]
        if landed:
            self.store.add((lane.flying[future], future.result()) for lane, future in landed)
        self.made += len(landed)
        return [lane.flying.pop(future).identity for lane, future in landed]

    def _look(self) -> dict[str, Row]:
        """What other processes have finished; what they have not is asked for again, in case they are gone."""
        done = self.store.outcomes(list(self.elsewhere))
        self.waiting |= {one: cell for one, cell in self.elsewhere.items() if one not in done}
        self.elsewhere = {}
        return done


@contextmanager
def dispatching(store: Store, start: Callable[[], list[Lane]], *, keep_weights: bool = False) -> Iterator[Dispatch]:
    """A dispatch that is closed whatever happens."""
    dispatch = Dispatch(store, start, keep_weights=keep_weights)
    try:
        yield dispatch
    finally:
        dispatch.close()


def _is_well(future: Future[Result]) -> bool:
    """Whether a run is finished, and was neither given up nor failed."""
    return future.done() and not future.cancelled() and future.exception() is None


def check(lane: Lane) -> None:
    """Raise what went wrong in a lane, if something did."""
    for future, cell in list(lane.flying.items()):
        if not future.done():
            continue
        error = future.exception()
        if isinstance(error, BrokenProcessPool):
            raise WorkerError(_obituary(lane, cell)) from error
        future.result()


def _obituary(lane: Lane, cell: Cell) -> str:
    if lane.started is not None and (not lane.started.done() or lane.started.exception() is not None):
        return (
            "No worker process could start. A script that has keyhole train must do so under "
            '`if __name__ == "__main__":`; else see whether there is memory left.'
        )
    size = "fresh samples" if cell.samples is None else f"m = {cell.samples}"
    return (
        f"The run of {cell.learner.name} on {cell.task.name} with T = {cell.context}, {size}, seed {cell.seed} ended "
        "its process, most likely for want of memory. What was finished is kept; use fewer --workers or smaller sizes."
    )
