"""Where runs are made: by name, as an executor for `learn` and `run_plan`."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

from keyhole.files.paths import home
from keyhole.sweeps.runs import open_engine


@contextmanager
def engine(name: str = "processes", *, address: str = "", store: str | Path | None = None) -> Iterator[Executor | None]:
    """The executor of this engine: processes (None: they are started where they are needed), here, or ray.

    Ray is started on this machine unless the address of a cluster is given. Any other executor can be handed to
    `keyhole.learn` itself.
    """
    with open_engine(name, address=address, folder=home(store)) as executor:
        yield executor
