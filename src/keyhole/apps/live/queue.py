"""Questions are computed a few at a time, in threads; who would wait behind too many others is told to try again."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from keyhole.apps.live.limits import AT_ONCE, QUEUED
from keyhole.errors import KeyholeError
from keyhole.files.record import to_json

log = logging.getLogger("keyhole.apps.live")


class Turns:
    """The questions under way."""

    def __init__(self) -> None:
        self._waiting = 0
        self._free = anyio.Semaphore(AT_ONCE)

    async def answer(self, compute: Callable[[], Mapping[str, Any]]) -> Response:
        """The answer as JSON; a refusal is an answer too: its sentence, under the name `refused`."""
        if self._waiting >= QUEUED:
            return json_response({"refused": "The lab is busy with other questions. Try again in a moment."})
        self._waiting += 1
        try:
            async with self._free:
                return json_response(await run_in_threadpool(compute))
        except KeyholeError as error:
            return json_response({"refused": str(error)})
        except (ArithmeticError, MemoryError, RecursionError, ValueError):
            log.exception("a question could not be answered")
            return json_response({"refused": "The lab could not compute this. Try smaller numbers."})
        finally:
            self._waiting -= 1


def json_response(fields: Mapping[str, Any], status: int = 200) -> Response:
    """Fields in the envelope that every JSON of keyhole has."""
    return Response(to_json("lab/1", fields), status, media_type="application/json")
