"""Runs that are asked for all at once: those in the store are found, the others made, and all returned in order."""

from collections.abc import Sequence
from functools import partial

from keyhole.lab.runs.dispatch import open_dispatch
from keyhole.lab.runs.engine import start_processes
from keyhole.lab.runs.run import RunResult
from keyhole.lab.runs.spec import RunSpec
from keyhole.lab.runs.store import Store
from keyhole.progress import Progress, Watch, ignore


def gather_runs(specs: Sequence[RunSpec], store: Store, *, workers: int, watch: Watch = ignore) -> list[RunResult]:
    """The results of these runs, in order. Each is kept as it finishes: what is stopped goes on where it was."""
    with open_dispatch(store, partial(start_processes, workers, store.folder)) as dispatch:
        waiting = {spec.identity for spec in specs} - set(dispatch.ask(specs))
        while waiting:
            done = set(dispatch.finished())
            waiting -= done
            if done:
                watch(Progress(len(specs) - len(waiting), len(specs), f"runs of {specs[0].task.name}"))
    found = store.results([spec.identity for spec in specs])
    return [found[spec.identity] for spec in specs]
