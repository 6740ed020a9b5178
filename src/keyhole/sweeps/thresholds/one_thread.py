"""One thread for the linear algebra of this process, for as long as small arrays are computed with.

Threads that share a product of a few thousand numbers wait for each other longer than they compute, and take the time
of the workers beside them. The limit holds for the whole process, so it is counted: whoever leaves last lifts it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_inside: list[Any] = []  # the limit, once for everybody who is inside


@contextmanager
def one_thread() -> Iterator[None]:
    """While in it, this process computes products by one thread; several threads may be in it at once."""
    with _lock:
        _inside.append(_inside[0] if _inside else _controller().limit(limits=1))
    try:
        yield
    finally:
        with _lock:
            limit = _inside.pop()
            if not _inside:
                limit.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    """The libraries that are loaded, looked up once."""
    return ThreadpoolController()
