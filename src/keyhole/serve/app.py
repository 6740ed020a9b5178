"""The lab as a web application: pages, questions with JSON answers, and files of its own."""

import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.resources import files
from typing import Any

import anyio
from jinja2 import Environment, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from keyhole import __version__
from keyhole.errors import KeyholeError
from keyhole.files.record import to_json
from keyhole.serve.events import Streams, changes, job_events, last_event
from keyhole.serve.guard import Doorkeeper, Guard
from keyhole.serve.jobs import Jobs
from keyhole.serve.limits import AT_ONCE, QUEUED
from keyhole.serve.query import Query
from keyhole.serve.screens import SCREENS, Screen
from keyhole.serve.settings import Serving

TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

log = logging.getLogger("keyhole.serve")


def make_app(serving: Serving, doorkeeper: Doorkeeper | None = None) -> Starlette:
    """The application of one server."""
    keeper = Doorkeeper(serving.session, serving.password) if doorkeeper is None else doorkeeper
    turns, streams, jobs = Turns(), Streams(), Jobs(serving.store / "lab-jobs")
    pages = {screen.name: screen for screen in SCREENS}

    async def start(request: Request) -> Response:
        return RedirectResponse(f"/{SCREENS[0].name}", 303)

    async def page(request: Request) -> Response:
        screen = pages.get(request.path_params["screen"])
        if screen is None:
            raise HTTPException(404)
        return HTMLResponse(render(screen))

    async def ask(request: Request) -> Response:
        screen = pages.get(request.path_params["screen"])
        question = None if screen is None else screen.questions.get(request.path_params["question"])
        if question is None:
            raise HTTPException(404)
        return await turns.answer(lambda: question(Query(request.query_params), serving))

    async def watch(request: Request) -> Response:
        screen = pages.get(request.path_params["screen"])
        if screen is None or screen.watched is None:
            raise HTTPException(404)
        return streams.respond(changes(partial(screen.watched, serving)))

    async def begin(request: Request) -> Response:
        screen = pages.get(request.path_params["screen"])
        command = None if screen is None else screen.commands.get(request.path_params["command"])
        if command is None:
            raise HTTPException(404)
        query = Query(await read_words(request))

        def add() -> dict[str, Any]:
            wanted = command(query, serving)
            return jobs.add(wanted.title, wanted.words).record()

        return await turns.answer(add)

    async def list_jobs(request: Request) -> Response:
        return json_response({"jobs": [job.record() for job in jobs.all()]})

    async def follow_job(request: Request) -> Response:
        try:
            job = jobs.find(request.path_params["number"])
        except KeyholeError:
            raise HTTPException(404) from None
        return streams.respond(job_events(job, last_event(request)))

    async def cancel_job(request: Request) -> Response:
        return await turns.answer(lambda: jobs.cancel(request.path_params["number"]).record())

    @asynccontextmanager
    async def closing(_app: Starlette) -> AsyncIterator[None]:
        yield
        jobs.close()

    return Starlette(
        lifespan=closing,
        routes=[
            Route("/", start),
            Route("/static/{name}", static),
            Route("/ask/{screen}/{question}", ask),
            Route("/watch/{screen}", watch),
            Route("/begin/{screen}/{command}", begin, methods=["POST"]),
            Route("/jobs", list_jobs),
            Route("/jobs/{number:int}/events", follow_job),
            Route("/jobs/{number:int}/cancel", cancel_job, methods=["POST"]),
            Route("/{screen}", page),
        ],
        middleware=[Middleware(Guard, doorkeeper=keeper, hosts=serving.hosts)],
        exception_handlers={HTTPException: _refuse},  # type: ignore[dict-item]
    )


async def read_words(request: Request) -> dict[str, str]:
    """The JSON object in the body of a request, its values as text; what is none is refused."""
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or not all(isinstance(value, str | int | float) for value in given.values()):
        raise HTTPException(400)
    return {name: str(value) for name, value in given.items()}


class Turns:
    """Questions are computed a few at a time; who would wait behind too many others is told to try again."""

    def __init__(self) -> None:
        self._waiting = 0
        self._free = anyio.Semaphore(AT_ONCE)

    async def answer(self, compute: Callable[[], Mapping[str, Any]]) -> Response:
        """The answer as JSON; a refusal is an answer too: its sentence, under the name `refused`."""
        if self._waiting >= QUEUED:
            return json_response({"error": "The lab is busy with other questions. Try again in a moment."}, 503)
        self._waiting += 1
        try:
            async with self._free:
                return json_response(await run_in_threadpool(compute))
        except (KeyholeError, ValueError, OverflowError, MemoryError) as error:
            if not isinstance(error, KeyholeError):
                log.exception("a question could not be answered")
                return json_response({"refused": "The lab could not compute this. Try smaller numbers."})
            return json_response({"refused": str(error)})
        finally:
            self._waiting -= 1


def json_response(fields: Mapping[str, Any], status: int = 200) -> Response:
    """Fields in the envelope that every JSON of keyhole has."""
    return Response(to_json("lab/1", fields), status, media_type="application/json")


@cache
def _environment() -> Environment:
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@cache
def _file(folder: str, name: str) -> str | None:
    """A text file of the package by its name; None where there is none of that name."""
    place = files("keyhole.serve").joinpath(folder)
    known = {entry.name: entry for entry in place.iterdir() if entry.is_file()}
    return known[name].read_text("utf8") if name in known else None


def render(screen: Screen) -> str:
    """The page of a screen; what it shows is asked for by its script."""
    shell, inner = _file("templates", "shell.html.j2"), _file("templates", f"{screen.name}.html")
    if shell is None or inner is None:
        raise FileNotFoundError(f"the template of the screen {screen.name} is missing")
    return _environment().from_string(shell).render(screen=screen, screens=SCREENS, inner=inner, version=__version__)


async def static(request: Request) -> Response:
    """A style sheet or a script of the package."""
    name = request.path_params["name"]
    text, kind = _file("static", name), TYPES.get(name[name.rfind(".") :])
    if text is None or kind is None:
        raise HTTPException(404)
    return Response(text, media_type=kind)


async def _refuse(_request: Request, error: HTTPException) -> Response:
    words = {400: "The request could not be read.", 404: "There is nothing at this address."}
    return json_response({"error": words.get(error.status_code, "This cannot be asked so.")}, error.status_code)
