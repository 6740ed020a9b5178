"""The settings of a server. The browser can change none of them."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Serving:
    """Where the server listens, what it may read, and its secrets."""

    store: Path  # the folder of the runs
    report: Path  # the folder of the findings
    models: tuple[str, ...] = ()  # checkpoints: folders, files, or names of packaged models
    host: str = "127.0.0.1"
    port: int = 8437
    password: str | None = None  # chosen by the user; without one, an address serves once
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)  # the value of the cookie

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which a browser may ask for this server."""
        return (*LOOPBACK, *(() if self.host in LOOPBACK else (self.host,)))
