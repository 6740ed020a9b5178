"""Who is making which run: a lease binds until it runs out, and while its process lives."""

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

LEASE = 120.0  # seconds a lease holds without being renewed


@dataclass(frozen=True)
class Lease:
    """One lease as it is stored."""

    owner: str  # one open store
    host: str
    pid: int
    until: float  # seconds of the clock

    def binds(self, host: str) -> bool:
        """Whether it keeps others away, as far as can be seen from this host."""
        return self.until > time.time() and (self.host != host or is_alive(self.pid))


def is_alive(pid: int) -> bool:
    """Whether a process of this machine runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf8", "replace").rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):  # no such file on this system, or the process has just gone
        return True


def this_host() -> str:
    """A name for what process numbers belong to: this machine since it started, this container."""
    parts = [platform.node()]
    for path, read in (("/proc/sys/kernel/random/boot_id", Path.read_text), ("/proc/self/ns/pid", Path.readlink)):
        try:
            parts.append(str(read(Path(path))).strip())
        except OSError:  # not Linux: the node's name must do
            continue
    return "/".join(parts)
