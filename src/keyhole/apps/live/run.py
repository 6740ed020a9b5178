"""Starting the server: a socket, an address with its token, and a browser."""

import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable
from threading import Timer

from keyhole.apps.live.app import make_app
from keyhole.apps.live.guard import Doorkeeper
from keyhole.apps.live.screens.base import Serving
from keyhole.errors import ArgumentError


def serve(serving: Serving, port: int, say: Callable[[str], None], *, browser: bool = True) -> None:
    """Serve the lab until it is interrupted; `say` is called with each line for the person at the terminal."""
    import uvicorn

    listening = open_socket(port)
    port = listening.getsockname()[1]
    doorkeeper = Doorkeeper(secrets.token_urlsafe(32), port)
    address = f"http://127.0.0.1:{port}/?token={doorkeeper.new_token()}"
    say(f"The lab is open at {address}")
    say("The address opens one browser; Ctrl-C closes the lab.")
    config = uvicorn.Config(
        make_app(serving, doorkeeper),
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=2,
    )
    if browser:
        opening = Timer(0.5, webbrowser.open, [address])
        opening.daemon = True
        opening.start()
    uvicorn.Server(config).run(sockets=[listening])


def open_socket(port: int) -> socket.socket:
    """A socket that listens on this machine; port 0 takes any that is free."""
    listening = socket.socket(proto=socket.IPPROTO_TCP)  # so named, packets are not held back
    if sys.platform != "win32":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        listening.close()
        raise ArgumentError(f"Port {port} cannot be used ({error.strerror}); choose another.") from None
    listening.listen(128)
    return listening
