"""The weights of a run: as they were kept, or made again from its configuration."""

from collections.abc import Callable, Mapping
from concurrent.futures import wait
from pathlib import Path

import numpy as np

from keyhole.errors import StoreError
from keyhole.files.looking import is_there
from keyhole.files.model import read_model
from keyhole.lab.learners.registry import cell_from
from keyhole.lab.runs.dispatch import check
from keyhole.lab.runs.engine import processes
from keyhole.lab.runs.run import Result, digest, run
from keyhole.lab.runs.spec import Cell
from keyhole.lab.runs.store import Store
from keyhole.lab.runs.worker import is_alone


def weights_of(store: Store, name: str, *, tell: Callable[[str], None] = lambda _: None) -> Mapping[str, np.ndarray]:
    """The arrays of the run that this beginning of an identity names; trained again where they were not kept.

    That may take a while, and `tell` is told before it begins.
    """
    found = store.run(name)
    path, known = store.weights_path(found.row.identity), found.result.weights_digest
    if is_there(path, StoreError):
        kept = read_model(path)
        if kept.damage is not None:
            raise StoreError(f"The weights {str(path)!r} are damaged: {kept.damage}. Remove the file to train again.")
        if known is not None and digest(kept.tensors) != known:
            raise StoreError(f"The weights {str(path)!r} are not those of their run. Remove the file to train again.")
        return kept.tensors
    tell(f"The weights of run {found.row.identity[:10]} were not kept; training it again.")
    again = made_again(cell_from(found.configuration), store.folder)
    if again.accuracy != found.row.accuracy:
        raise StoreError(
            f"The run {found.row.identity[:10]} was made again and came out otherwise ({again.accuracy} right, not "
            f"{found.row.accuracy}). Use the versions that `keyhole runs show` names."
        )
    if again.weights is None:
        raise StoreError(f"The run {found.row.identity[:10]} is of {found.row.learner}, which has no weights.")
    if known is not None and digest(again.weights) != known:
        raise StoreError(
            f"The run {found.row.identity[:10]} was made again and came out otherwise (as often right, with other "
            "weights). Use the versions and the processor that `keyhole runs show` names."
        )
    return again.weights


def made_again(cell: Cell, folder: Path) -> Result:
    """The run as a worker made it: on one thread, so in a worker again unless this process has one thread itself."""
    if is_alone():
        return run(cell)
    (lane,) = processes(1, folder)
    try:
        lane.submit(cell, keep_weights=True)
        wait(lane.flying)
        check(lane)
        ((future, _),) = lane.flying.items()
        del lane.flying[future]  # landed: the worker may end in its own time
        return future.result()
    finally:  # Ctrl-C too: what is under way is given up with its process
        lane.close()
