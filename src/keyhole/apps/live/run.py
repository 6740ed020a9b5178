"""Starting the server: a socket, an address with its token, and a browser."""

import socket
import sys
import webbrowser
from collections.abc import Callable
from threading import Timer

from keyhole.apps.live.app import make_app
from keyhole.apps.live.guard import Doorkeeper
from keyhole.apps.live.settings import LOOPBACK, Serving
from keyhole.errors import ArgumentError

SHORTEST = 16  # letters of a password
EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104  (refused)


def serve(serving: Serving, say: Callable[[str], None], *, browser: bool = True) -> None:
    """Serve the lab until it is interrupted; `say` is called with each line for the person at the terminal."""
    require_safe(serving)
    import uvicorn

    listening = open_socket(serving.host, serving.port)
    port = listening.getsockname()[1]
    doorkeeper = Doorkeeper(serving.session, serving.password, port=port)
    address = address_of(serving.host, port, doorkeeper.new_token())
    if serving.password is None:
        say(f"The lab is open at {address}")
        say("The address opens one browser; Ctrl-C closes the lab.")
    else:  # a password is not printed
        say(f"The lab is open at {address_of(serving.host, port, 'PASSWORD')}")
        say("Write your password in place of PASSWORD; Ctrl-C closes the lab.")
    config = uvicorn.Config(
        make_app(serving, doorkeeper),
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=2,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=32 * 1024,
    )
    if browser:
        opening = Timer(0.5, webbrowser.open, [address])
        opening.daemon = True
        opening.start()
    uvicorn.Server(config).run(sockets=[listening])


def require_safe(serving: Serving) -> None:
    """Refuse to listen to other machines without a password."""
    if serving.host in EVERYWHERE:
        raise ArgumentError(
            f"The host {serving.host} stands for every address of this machine, and the lab answers to the one it is "
            "asked by. Give that address or name."
        )
    if serving.host not in LOOPBACK and serving.password is None:
        raise ArgumentError(
            f"The host {serving.host} lets other machines in, and no password is set. Set KEYHOLE_PASSWORD to at least "
            f"{SHORTEST} letters, or leave the host out."
        )
    if serving.password is not None and len(serving.password) < SHORTEST:
        raise ArgumentError(f"The password has {len(serving.password)} letters; use at least {SHORTEST}.")


def open_socket(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # so named, packets are not held back
    if sys.platform != "win32":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        why = getattr(error, "strerror", None) or "it is no port"
        raise ArgumentError(f"Port {port} of {host} cannot be used ({why}); choose another.") from None
    listening.listen(128)
    return listening


def address_of(host: str, port: int, token: str) -> str:
    """The address a person opens."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/?token={token}"
