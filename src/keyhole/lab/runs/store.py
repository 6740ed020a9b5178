"""Finished runs on disk, a row each, shared by several processes.

A process that means to make a run claims it first; the claim of a process that is gone is void, so that its runs are
made by another, and none is made twice.
"""

import json
import os
import platform
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from keyhole import __version__
from keyhole.errors import StoreError
from keyhole.files.looking import is_there
from keyhole.files.model import write_model
from keyhole.lab.runs.database import opened, plainly, writing
from keyhole.lab.runs.leases import LEASE, Claim, this_host
from keyhole.lab.runs.run import Result
from keyhole.lab.runs.spec import Cell

FILE = "runs.sqlite"
BATCH = 500  # names asked for at once, below SQLite's smallest limit of 999 parameters
PACKAGES = ("jax", "jaxlib", "optax", "numpy", "scipy", "scikit-learn")  # whose numerics decide a run
DECISIVE = {  # those of them that decide for a kind of learner; for learners of others, all
    "transformer": ("jax", "jaxlib", "optax", "numpy"),
    "sklearn": ("numpy", "scipy", "scikit-learn"),
    **dict.fromkeys(("elimination", "gf2", "consistent"), ("numpy",)),
}
NAME = re.compile(r"[0-9a-f]{64}")  # of a run: SHA-256 in hexadecimal
SHORT = "identity, task, learner, context, samples, seed, success, fitted, accuracy, steps, seconds, created"


@dataclass(frozen=True)
class Row:
    """One finished run in short."""

    identity: str
    task: str
    learner: str
    context: int
    samples: int | None
    seed: int
    success: bool
    fitted: bool
    accuracy: float
    steps: int
    seconds: float
    created: str


@dataclass(frozen=True, eq=False)
class Run:
    """One finished run in full: what was asked, what it came to, and what it was computed with."""

    row: Row
    configuration: Mapping[str, Any]
    result: Result
    versions: Mapping[str, str]
    cpu: str


class Store:
    """The runs in one folder: a handle on an open database, to be used in a `with`."""

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.folder, self.path = folder, folder / FILE
        self.owner, self.host = uuid4().hex, this_host()
        if not create and not is_there(self.path, StoreError):
            raise StoreError(
                f"There are no runs in {str(folder)!r}. `keyhole learn` makes some; --store names another folder."
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"The store {str(folder)!r} cannot be made: {error.strerror}. Name another --store."
            ) from error
        with plainly(self.path):
            self.connection = opened(self.path)

    def __enter__(self) -> "Store":  # noqa: PYI034  (the run-time checker reads no Self here)
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()

    def outcomes(self, identities: Sequence[str]) -> dict[str, Row]:
        """Those of the runs that are finished, in short."""
        with plainly(self.path):
            found = list(self._among(f"SELECT {SHORT} FROM runs", identities))  # noqa: S608  (no value in it)
            return {entry[0]: _row(entry) for entry in found}

    def strangers(self, identities: Sequence[str]) -> dict[str, int]:
        """How many of these runs were made with other versions than the present, by the versions that differ."""
        present, found = made_with(), Counter[str]()
        with plainly(self.path):
            for learner, text in self._among("SELECT learner, versions FROM runs", identities):
                versions, deciding = json.loads(text), DECISIVE.get(learner.partition(":")[0], PACKAGES)
                recorded = [(name, versions[name]) for name in deciding if name in versions]
                other = [f"{name} {number}" for name, number in recorded if number != present[name]]
                found.update([" and ".join(other)] if other else [])
        return dict(sorted(found.items()))

    def rows(self, *, task: str = "", learner: str = "", contexts: Sequence[int] = ()) -> list[Row]:
        """Every finished run of this task, this learner and these contexts (of all, where not given), in order."""
        with plainly(self.path):
            asked = f"SELECT {SHORT} FROM runs ORDER BY task, learner, context, samples, seed, identity"  # noqa: S608
            found = [_row(entry) for entry in self.connection.execute(asked)]
        return [
            row
            for row in found
            if task in ("", row.task) and learner in ("", row.learner) and (not contexts or row.context in contexts)
        ]

    def configurations(self, identities: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """What was asked of each of these runs."""
        with plainly(self.path):
            found = self._among("SELECT identity, configuration FROM runs", identities)
            return {identity: json.loads(text) for identity, text in found}

    def run(self, name: str) -> Run:
        """The run whose identity begins with this name; refused where none or several do."""
        begins = name.lower()
        asked = f"SELECT {SHORT}, configuration, result, versions, cpu FROM runs"  # noqa: S608  (no value in it)
        with plainly(self.path):
            found = self.connection.execute(
                f"{asked} WHERE substr(identity, 1, ?) = ? LIMIT 2", (len(begins), begins)
            ).fetchall()
        if len(found) != 1:
            what = "several runs" if found else "no run"
            advice = "Write more of its letters" if found else "See the list"
            raise StoreError(f"The run {name!r} was asked for, and {what} begins so. {advice}: `keyhole runs list`.")
        *short, configuration, result, made_with, cpu = found[0]
        with plainly(self.path):
            outcome = Result.from_record(json.loads(result))
            return Run(_row(short), json.loads(configuration), outcome, json.loads(made_with), cpu)

    def claim(self, identities: Sequence[str]) -> set[str]:
        """Those of the runs that are now this process's to make: neither finished nor claimed by the living."""
        with writing(self.connection, self.path):
            done = {entry[0] for entry in self._among("SELECT identity FROM runs", identities)}
            claims = self._among("SELECT identity, owner, host, pid, until FROM claims", identities)
            taken = {entry[0] for entry in claims if Claim(*entry[1:]).binds(self.host)}
            won = [one for one in identities if one not in done | taken]
            until = time.time() + LEASE
            self.connection.executemany(
                "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?)",
                [(one, self.owner, self.host, os.getpid(), until) for one in won],
            )
        return set(won)

    def renew(self) -> None:
        """Hold this process's claims for another lease."""
        with writing(self.connection, self.path):
            self.connection.execute("UPDATE claims SET until = ? WHERE owner = ?", (time.time() + LEASE, self.owner))

    def release(self) -> None:
        """Let go of every claim of this process."""
        with writing(self.connection, self.path):
            self.connection.execute("DELETE FROM claims WHERE owner = ?", (self.owner,))

    def add(self, finished: Iterable[tuple[Cell, Result]]) -> None:
        """Keep these runs, all or none; one that is there already stays as it is."""
        entries = []
        for cell, result in finished:
            if result.weights is not None:
                described = {"kind": "trained", "run": cell.identity, "configuration": cell.record()}
                write_model(self.weights_path(cell.identity), result.weights, described)
            entries.append(_entry(cell, result))
        with writing(self.connection, self.path):
            self.connection.executemany(
                "INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", entries
            )
            self.connection.executemany("DELETE FROM claims WHERE identity = ?", [entry[:1] for entry in entries])

    def remove(self, identities: Sequence[str]) -> None:
        """Forget these runs and their weights."""
        with writing(self.connection, self.path):
            self.connection.executemany("DELETE FROM runs WHERE identity = ?", [(one,) for one in identities])
        for one in filter(NAME.fullmatch, identities):
            self.weights_path(one).unlink(missing_ok=True)

    def weights_path(self, identity: str) -> Path:
        """Where a run's weights are, if they were kept; what is no identity names no file."""
        if not NAME.fullmatch(identity):
            raise StoreError(
                f"The store {str(self.path)!r} was changed: {identity!r} is no name of a run. Forget that row with "
                "`keyhole runs prune`, or restore a copy."
            )
        return self.folder / "weights" / f"{identity}.safetensors"

    def _among(self, asked: str, identities: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(identities), BATCH):
            some = list(identities[start : start + BATCH])
            yield from self.connection.execute(f"{asked} WHERE identity IN ({', '.join('?' * len(some))})", some)


@cache
def made_with() -> dict[str, str]:
    """The versions that numbers made here come from."""
    packages = {name: version(name) for name in PACKAGES}
    return {"keyhole": __version__, "python": platform.python_version(), **packages}


@cache
def processor() -> str:
    """The name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf8").splitlines()
    except OSError:  # not Linux
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (named or [platform.processor() or platform.machine()])[0]


def _entry(cell: Cell, result: Result) -> tuple[Any, ...]:
    return (
        cell.identity, cell.task.name, cell.learner.name, cell.context, cell.samples, cell.seed,
        result.success, result.fitted, result.accuracy, result.steps, result.seconds,
        datetime.now(UTC).isoformat(timespec="seconds"), json.dumps(cell.record(), sort_keys=True),
        json.dumps(result.record()), json.dumps(made_with()), processor(),
    )  # fmt: skip


def _row(entry: Sequence[Any]) -> Row:
    identity, task, learner, context, samples, seed, success, fitted, *rest = entry
    return Row(identity, task, learner, context, samples, seed, bool(success), bool(fitted), *rest)
