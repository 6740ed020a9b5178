"""Runs that are asked for all at once: those in the store are found, the others made, and all returned in order."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from keyhole.errors import StoreError
from keyhole.files.model import read_model
from keyhole.progress import Progress, Watch, ignore
from keyhole.sweeps.runs.dispatch import open_dispatch
from keyhole.sweeps.runs.engine import start_processes
from keyhole.sweeps.runs.run import RunResult
from keyhole.sweeps.runs.spec import RunSpec
from keyhole.sweeps.runs.store import Store
from keyhole.sweeps.runs.weights import remake


def gather_runs(
    specs: Sequence[RunSpec], store: Store, *, workers: int, keep_weights: bool = False, watch: Watch = ignore
) -> list[RunResult]:
    """The results of these runs, in order. Each is kept as it finishes: what is stopped goes on where it was."""
    start = partial(start_processes, workers, store.folder)
    with open_dispatch(store, start, keep_weights=keep_weights) as dispatch:
        waiting = {spec.identity for spec in specs} - set(dispatch.ask(specs))
        while waiting:
            done = set(dispatch.finished())
            waiting -= done
            if done:
                watch(Progress(len(specs) - len(waiting), len(specs), f"runs of {specs[0].task.name}"))
    results = store.results([spec.identity for spec in specs])
    return [results[spec.identity] for spec in specs]


def gather_weights(spec: RunSpec, store: Store, *, watch: Watch = ignore) -> Mapping[str, np.ndarray]:
    """The arrays of one run, made where the store does not hold it, or holds it without its weights."""
    gather_runs([spec], store, workers=1, keep_weights=True, watch=watch)
    path = store.weights_path(spec.identity)
    if path.exists():
        return read_model(path).tensors
    weights = remake(spec, store.folder).weights
    if weights is None:
        raise StoreError(f"The run {spec.identity[:10]} is of {spec.learner.name}, which has no weights.")
    return weights
