"""The weights of a run: as they were kept, or made again from its configuration."""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait

import numpy as np

from keyhole.errors import StoreError
from keyhole.files.model import read_model
from keyhole.sweeps.runs.run import RunResult, RunSpec, digest, run
from keyhole.sweeps.runs.store import Store
from keyhole.sweeps.runs.workers import ALONE, WorkerPool, make_run, raise_failure


def weights_of(store: Store, name: str, *, tell: Callable[[str], None] = lambda _: None) -> Mapping[str, np.ndarray]:
    """The arrays of the run that this beginning of an identity names; trained again where they were not kept.

    That may take a while, and `tell` is called before it begins.
    """
    stored = store.run(name)
    path, known = store.weights_path(stored.row.identity), stored.result.weights_digest
    if path.exists():
        kept = read_model(path)
        if kept.damage is not None:
            raise StoreError(f"The weights {str(path)!r} are damaged: {kept.damage}. Remove the file to train again.")
        if known is not None and digest(kept.tensors) != known:
            raise StoreError(f"The weights {str(path)!r} are not those of their run. Remove the file to train again.")
        return kept.tensors
    tell(f"The weights of run {stored.row.identity[:10]} were not kept; training it again.")
    spec = RunSpec.from_record(stored.configuration)
    if os.environ.get("NPROC") == ALONE["NPROC"]:  # this process has one thread, as a worker has
        again = run(spec)
    else:
        pool = WorkerPool(1, store.folder)
        try:
            made: Future[RunResult] = pool.submit(make_run, spec, keep_weights=True)
            wait([made])
            raise_failure(made, spec)
            again = made.result()
        finally:  # Ctrl-C too: what is under way is given up with its process
            pool.stop()
    if again.accuracy != stored.row.accuracy:
        raise StoreError(
            f"The run {stored.row.identity[:10]} was made again and came out otherwise ({again.accuracy} right, not "
            f"{stored.row.accuracy}). Use the versions that `keyhole runs show` names."
        )
    if again.weights is None:
        raise StoreError(f"The run {stored.row.identity[:10]} is of {stored.row.learner}, which has no weights.")
    if known is not None and digest(again.weights) != known:
        raise StoreError(
            f"The run {stored.row.identity[:10]} was made again and came out otherwise (as often right, with other "
            "weights). Use the versions and the processor that `keyhole runs show` names."
        )
    return again.weights
