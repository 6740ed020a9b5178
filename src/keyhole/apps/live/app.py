"""The lab as a web application: pages, questions, streams of events, and long work."""

import json
import logging
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

import anyio
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from keyhole import __version__
from keyhole.apps.live.events import changes, job_events
from keyhole.apps.live.guard import GIVE_IMAGE, Doorkeeper, Guard
from keyhole.apps.live.images import keep_image
from keyhole.apps.live.jobs import Jobs
from keyhole.apps.live.limits import AT_ONCE
from keyhole.apps.live.query import Query
from keyhole.apps.live.screens import SCREENS
from keyhole.apps.live.screens.base import Serving
from keyhole.errors import KeyholeError
from keyhole.files.record import to_json

REFUSALS = {400: "The request could not be read, or is too long.", 404: "There is nothing at this address."}
NAMED = {screen.name: screen for screen in SCREENS}
STATIC = {
    entry.name: entry
    for folder in ("keyhole.show", "keyhole.apps.live")
    for entry in files(folder).joinpath("static").iterdir()
}
TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
PAGES = Environment(
    loader=PackageLoader("keyhole.apps.live"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
Entry = TypeVar("Entry")

log = logging.getLogger("keyhole.apps.live")


def make_app(serving: Serving, doorkeeper: Doorkeeper) -> Starlette:
    """Make the application of one server."""
    lab = Lab(serving)
    return Starlette(
        lifespan=lab.lifespan,
        routes=[
            Route("/", lambda _request: RedirectResponse(f"/{SCREENS[0].name}", 303)),
            Route("/static/{name}", lab.static),
            Route("/ask/{screen}/{question}", lab.ask),
            Route("/watch/{screen}", lab.watch),
            Route("/begin/{screen}/{command}", lab.begin, methods=["POST"]),
            Route(GIVE_IMAGE, lab.give_image, methods=["POST"]),
            Route("/jobs", lab.list_jobs),
            Route("/jobs/{number:int}/events", lab.follow_job),
            Route("/jobs/{number:int}/cancel", lab.cancel_job, methods=["POST"]),
            Route("/{screen}", lab.page),
        ],
        middleware=[Middleware(Guard, doorkeeper=doorkeeper)],
        exception_handlers={HTTPException: refuse},  # type: ignore[dict-item]
    )


class Lab:
    """The answers at the addresses of the lab."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._free = anyio.Semaphore(AT_ONCE)  # questions are computed a few at a time, in threads
        self._jobs = Jobs(serving.store / "lab-jobs")

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Cancel the work that is under way when the server ends; what it has finished is kept."""
        yield
        self._jobs.close()

    async def page(self, request: Request) -> Response:
        """Return the page of a screen; its script asks for what it shows."""
        screen = entry(NAMED, request.path_params["screen"])
        shell = PAGES.get_template("shell.html.j2")
        return HTMLResponse(shell.render(screen=screen, screens=SCREENS, version=__version__))

    async def static(self, request: Request) -> Response:
        """Return a style sheet or a script of the package."""
        name = request.path_params["name"]
        return Response(entry(STATIC, name).read_bytes(), media_type=TYPES[name.rpartition(".")[2]])

    async def ask(self, request: Request) -> Response:
        """Answer a question of a screen."""
        question = entry(entry(NAMED, request.path_params["screen"]).questions, request.path_params["question"])
        return await self._answer(partial(question, Query(request.query_params), self._serving))

    async def watch(self, request: Request) -> Response:
        """Send an event whenever the page of a screen should ask again."""
        watched = entry(NAMED, request.path_params["screen"]).watched
        if watched is None:
            raise HTTPException(404)
        return event_stream(changes(partial(watched, self._serving)))

    async def begin(self, request: Request) -> Response:
        """Put the long work that a screen asks for into the queue."""
        command = entry(entry(NAMED, request.path_params["screen"]).commands, request.path_params["command"])
        query = Query(await read_words(request))

        def add() -> dict[str, Any]:
            wanted = command(query, self._serving)
            return self._jobs.add(wanted.title, wanted.words, answered=wanted.answered).record()

        return await self._answer(add)

    async def give_image(self, request: Request) -> Response:
        """Keep an image, and return the name under which a question may use it."""
        given = await read_words(request)
        try:
            content = b64decode(given.get("image", ""), validate=True)
        except ValueError:
            raise HTTPException(400) from None
        return await self._answer(lambda: {"image": keep_image(self._serving.store, content)})

    async def list_jobs(self, _request: Request) -> Response:
        """List every job, the newest first."""
        return json_response({"jobs": [job.record() for job in self._jobs.all()]})

    async def follow_job(self, request: Request) -> Response:
        """Send the lines of a job as events."""
        try:
            job = self._jobs.find(request.path_params["number"])
        except KeyholeError:
            raise HTTPException(404) from None
        last = request.headers.get("last-event-id", "")  # of a browser that comes back
        return event_stream(job_events(job, int(last) if last.isdecimal() and len(last) < 10 else 0))

    async def cancel_job(self, request: Request) -> Response:
        """End a job."""
        return await self._answer(lambda: self._jobs.cancel(request.path_params["number"]).record())

    async def _answer(self, compute: Callable[[], Mapping[str, Any]]) -> Response:
        """Return the answer as JSON; a refusal is an answer too: its sentence, under the name `refused`."""
        try:
            async with self._free:
                return json_response(await run_in_threadpool(compute))
        except KeyholeError as error:
            return json_response({"refused": str(error)})
        except (ArithmeticError, MemoryError, RecursionError, ValueError):
            log.exception("a question could not be answered")
            return json_response({"refused": "The lab could not compute this. Try smaller numbers."})


def entry(table: Mapping[str, Entry], name: str) -> Entry:
    """Return the entry of a table that an address names; an address that names none does not exist."""
    if name not in table:
        raise HTTPException(404)
    return table[name]


def json_response(fields: Mapping[str, Any], status: int = 200) -> Response:
    """Put fields into the envelope that every JSON of keyhole has."""
    return Response(to_json("lab/1", fields), status, media_type="application/json")


def event_stream(events: AsyncIterator[str]) -> Response:
    """Send events as they come."""
    return StreamingResponse(events, media_type="text/event-stream")


async def read_words(request: Request) -> dict[str, str]:
    """Read the JSON object in the body of a request, its values as text; refuse anything else."""
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or not all(isinstance(value, str | int | float) for value in given.values()):
        raise HTTPException(400)
    return {name: str(value) for name, value in given.items()}


async def refuse(_request: Request, error: HTTPException) -> Response:
    """Refuse an address that does not exist, in a sentence."""
    return json_response({"error": REFUSALS.get(error.status_code, "This cannot be asked so.")}, error.status_code)
