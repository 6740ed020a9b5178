"""The guard between a browser and the lab: which requests pass, and what a page may do.

A server on the loopback is reached by every program of the machine and, by way of the browser, by every page on the
web. Four checks stand in front of every answer:

1. the Host header names this machine, so that a name that is pointed at the loopback later (DNS rebinding) is refused;
2. the request carries the session's cookie, which only the printed address gives;
3. a request that changes something comes from a page of this server: `Sec-Fetch-Site` and `Origin` say so, and its body
   is JSON, which no foreign form can send;
4. its body is small; only an image may be larger, at one address.

Every answer carries a policy under which a page runs only scripts of this server, and none that stands in the text.
"""

import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keyhole.apps.live.limits import BODY, UPLOAD

SAFE = {"GET", "HEAD"}
LOOPBACK = {"127.0.0.1", "localhost", "::1"}  # the names under which a browser may ask
GIVE_IMAGE = "/give/image"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Doorkeeper:
    """The tokens that open the door, each once, and the session's cookie that a browser gets for one."""

    def __init__(self, session: str, port: int) -> None:
        self._session = session
        self._cookie = f"keyhole_session_{port}"  # cookies have no ports, and another lab on this machine has its own
        self._once: set[str] = set()

    def new_token(self) -> str:
        """Return a token for an address."""
        token = secrets.token_urlsafe(24)
        self._once.add(token)
        return token

    def accept(self, token: str) -> bool:
        """Return whether this token opens the door, and use it up."""
        opening = [one for one in self._once if secrets.compare_digest(token.encode(), one.encode())]
        self._once.difference_update(opening)
        return bool(opening)

    def recognise(self, cookies: str) -> bool:
        """Return whether the cookies of a request hold the session."""
        try:
            given = SimpleCookie(cookies).get(self._cookie)
        except CookieError:
            return False
        return given is not None and secrets.compare_digest(given.value.encode(), self._session.encode())

    def open(self, scope: Scope) -> Response:
        """Answer a browser without the cookie: for a right token it gets one, and goes on to the page without it."""
        words = parse_qsl(scope.get("query_string", b"").decode("latin-1"))
        token = dict(words).get("token", "")
        if scope["method"] != "GET" or not token or not self.accept(token):
            return PlainTextResponse("Open the address that `keyhole serve` printed; it opens one browser.\n", 401)
        rest = urlencode([pair for pair in words if pair[0] != "token"])
        path = "/" + scope["path"].lstrip("/\\")  # never another server's address
        response = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        # scripts cannot read it, and other pages' requests do not carry it
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="lax", path="/")
        return response


class Guard:
    """The four checks, and the headers of every answer."""

    def __init__(self, app: ASGIApp, doorkeeper: Doorkeeper) -> None:
        self._app, self._doorkeeper = app, doorkeeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send) if scope["type"] == "lifespan" else None
        size, most = 0, UPLOAD if scope["path"] == GIVE_IMAGE else BODY

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        async def receive_limited() -> Message:
            """Cut off a body that is too long, and spoil it: what reads it then finds no JSON."""
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            return message if size <= most else {"type": "http.request", "body": b"\xff", "more_body": False}

        refusal = self._refusal(scope)
        if refusal is not None:
            return await refusal(scope, receive, send_guarded)
        return await self._app(scope, receive_limited, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the refusal of a request; None where it may pass."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
        if name not in LOOPBACK:
            return PlainTextResponse(f"This server does not answer to the host {host[:80]!r}.\n", 400)
        if not self._doorkeeper.recognise(headers.get("cookie", "")):
            return self._doorkeeper.open(scope)
        if scope["method"] in SAFE:
            return None
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        here = {None, f"{scope.get('scheme', 'http')}://{host}"}
        if site not in {None, "same-origin"} or origin not in here or (site is None and origin is None):
            return JSONResponse({"error": "The request did not come from a page of this lab."}, 403)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return JSONResponse({"error": "The request must be JSON."}, 403)
        return None
