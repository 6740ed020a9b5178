"""Finished runs on disk, a row each. Only the process that requests runs writes.

Several processes may share a store. Where two of them make the same run, one row is kept: both rows are equal. The file
is SQLite's, with a write-ahead log: a killed process leaves the whole of a transaction or nothing of it, readers do not
wait for the writer, and writers wait for each other.
"""

import json
import platform
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from keyhole.errors import KeyholeError, StoreError
from keyhole.files.model import write_model
from keyhole.files.reading import parse_json, versions
from keyhole.sweeps.runs.run import RunResult, RunSpec
from keyhole.training.learners import PACKAGES, Method

SCHEMA = 1  # raised when the tables change
MARK = 0x6B657968  # "keyh": marks our database
PATIENCE = 60.0  # seconds to wait for another process's transaction

TABLES = """
CREATE TABLE IF NOT EXISTS runs(
    identity TEXT PRIMARY KEY, task TEXT, learner TEXT, context INTEGER, samples INTEGER, seed INTEGER,
    success INTEGER, fitted INTEGER, accuracy REAL, steps INTEGER, seconds REAL, created TEXT,
    configuration TEXT, result TEXT, versions TEXT, cpu TEXT);
"""

TROUBLES = {
    sqlite3.SQLITE_READONLY: "cannot be written to; what it holds is unharmed. Allow writing, or use another folder.",
    sqlite3.SQLITE_FULL: "has no room left; what it holds is safe. Make room, then give the same command again.",
    sqlite3.SQLITE_CORRUPT: "is damaged, and was left as it is. Restore a copy, or move it away to start afresh.",
    sqlite3.SQLITE_NOTADB: "is not a database, and was left as it is. Move it away, or use another folder.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. See who may read and write its folder, or use another.",
    sqlite3.SQLITE_BUSY: "is being written by another process all the time. Try again when that is done.",
}


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to the database, made where there is none; where it cannot be written, for reading alone."""
    try:
        return _prepare(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None), path)
    except sqlite3.OperationalError as error:
        # A reader of a write-ahead log needs two more files beside it. Where the folder refuses them and no log is
        # waiting, the database is complete, and can be read as a file that does not change.
        if (
            _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
            or path.with_name(f"{path.name}-wal").exists()
        ):
            raise
    unchanging = f"{path.absolute().as_uri()}?immutable=1"
    return _prepare(sqlite3.connect(unchanging, uri=True, isolation_level=None), path)


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Raise an error of SQLite, or a row that was changed, as a sentence."""
    try:
        yield
    except sqlite3.Error as error:
        trouble = TROUBLES.get(_code(error), f"cannot be used ({error}); it was left as it is.")
        raise StoreError(f"The store {str(path)!r} {trouble}") from error
    except KeyholeError:  # already a sentence
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(f"The store {str(path)!r} {TROUBLES[sqlite3.SQLITE_CORRUPT]}") from error


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """One transaction, the only writer while it lasts: kept whole, or not at all."""
    with explain_errors(path):
        if connection.in_transaction:  # Ctrl-C came when one had begun and nobody had entered it
            connection.execute("ROLLBACK")
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _prepare(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """The connection with its tables made or checked; closed where they are not ours."""
    with ExitStack() as opened:
        opened.callback(connection.close)
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        if tables and mark != MARK:
            raise StoreError(f"{str(path)!r} is a database of another program; use another folder.")
        if schema > SCHEMA:
            raise StoreError(
                f"The store {str(path)!r} was written by a newer keyhole (schema {schema}; this one reads {SCHEMA}). "
                "Update keyhole, or use another folder."
            )
        if not tables or not schema:
            _make(connection)
        # A commit then costs no wait for the disk; after a power failure the last ones may be missing, none broken.
        connection.execute("PRAGMA synchronous = NORMAL")
        opened.pop_all()
    return connection


def _make(connection: sqlite3.Connection) -> None:
    """The tables, in one transaction; another process may be making them at the same time."""
    deadline = time.monotonic() + PATIENCE
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:  # a change of mode does not wait for its turn, so we do
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    marks = f"PRAGMA application_id = {MARK}; PRAGMA user_version = {SCHEMA};"
    connection.executescript(f"BEGIN IMMEDIATE; {TABLES} {marks} COMMIT;")


def _code(error: sqlite3.Error) -> int:
    """The kind of an error, its details masked out; 0 for one of Python's own."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


FILE = "runs.sqlite"
LAST = "last"  # stands for the run that was finished last
BATCH = 500  # names asked for at once, below SQLite's smallest limit of 999 parameters
NAME = re.compile(r"[0-9a-f]{64}")  # of a run: SHA-256 in hexadecimal
SHORT = "identity, task, learner, context, samples, seed, success, fitted, accuracy, steps, seconds, created"
COLUMNS = len(SHORT.split(", "))
INSERT = "INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True)
class RunSummary:
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
class StoredRun:
    """One finished run in full: what was asked, what it came to, and what it was computed with."""

    row: RunSummary
    configuration: Mapping[str, Any]
    result: RunResult
    versions: Mapping[str, str]
    cpu: str


class Store:
    """The runs in one folder: a handle on an open database, to be used in a `with`."""

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.folder, self.path = folder, folder / FILE
        if not create and not self.path.exists():
            raise StoreError(
                f"There are no runs in {str(folder)!r}. `keyhole learn` makes some, or name another `store`."
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"The store {str(folder)!r} cannot be made: {error.strerror}. Use another folder."
            ) from error
        with explain_errors(self.path):
            self.connection = open_database(self.path)

    def __enter__(self) -> "Store":  # noqa: PYI034  (the run-time checker reads no Self here)
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()

    def outcomes(self, identities: Sequence[str]) -> dict[str, RunSummary]:
        """Those of the runs that are finished, in short."""
        with explain_errors(self.path):
            entries = list(self._among(f"SELECT {SHORT} FROM runs", identities))  # noqa: S608  (no value in it)
            return {entry[0]: _summary(entry) for entry in entries}

    def other_versions(self, identities: Sequence[str], learner: Method) -> dict[str, int]:
        """Count the runs of a learner that were made with other versions than the present, by what differs.

        Only packages that decide the learner's numbers count: those it states, or else all.
        """
        deciding = learner.packages
        present, counts = versions(deciding), Counter[str]()
        with explain_errors(self.path):
            for (text,) in self._among("SELECT versions FROM runs", identities):
                stored = parse_json(text)
                differing = [name for name in deciding if name in stored and stored[name] != present.get(name)]
                counts.update([" and ".join(f"{name} {stored[name]}" for name in differing)] if differing else [])
        return dict(sorted(counts.items()))

    def rows(self, *, task: str = "", learner: str = "", contexts: Sequence[int] = ()) -> list[RunSummary]:
        """Every finished run of this task, this learner and these contexts (of all, where not given), in order."""
        with explain_errors(self.path):
            query = f"SELECT {SHORT} FROM runs ORDER BY task, learner, context, samples, seed, identity"  # noqa: S608
            stored = [_summary(entry) for entry in self.connection.execute(query)]
        return [
            row
            for row in stored
            if task in ("", row.task) and learner in ("", row.learner) and (not contexts or row.context in contexts)
        ]

    def configurations(self, identities: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the configuration of each of these runs."""
        with explain_errors(self.path):
            entries = self._among("SELECT identity, configuration FROM runs", identities)
            configurations = {identity: parse_json(text) for identity, text in entries}
        if missing := [name for name in identities if name not in configurations]:
            raise StoreError(
                f"The store {str(self.path)!r} no longer holds the run {missing[0][:10]}: the file is damaged. "
                "Restore a copy."
            )
        return configurations

    def by_age(self) -> dict[str, int]:
        """Number the runs from the one that was finished last."""
        with explain_errors(self.path):
            rows = self.connection.execute("SELECT identity FROM runs ORDER BY created DESC, rowid DESC")
            return {identity: place for place, (identity,) in enumerate(rows)}

    def run(self, name: str) -> StoredRun:
        """Return the run whose identity begins with this name, or the newest for `last`; refuse none, or several."""
        begins = next(iter(self.by_age()), "") if name == LAST else name.lower()
        query = f"SELECT {SHORT}, configuration, result, versions, cpu FROM runs"  # noqa: S608  (no value in it)
        with explain_errors(self.path):
            entries = self.connection.execute(
                f"{query} WHERE substr(identity, 1, ?) = ? LIMIT 2", (len(begins), begins)
            ).fetchall()
        if len(entries) != 1:
            what = "Several runs have names that begin" if entries else "No run has a name that begins"
            advice = "Write more of its letters" if entries else "See the list"
            raise StoreError(f"{what} with {name!r}. {advice}: `keyhole runs list`.")
        *short, configuration, result, made_with, cpu = entries[0]
        with explain_errors(self.path):
            outcome = RunResult.from_record(parse_json(result))
            return StoredRun(_summary(short), parse_json(configuration), outcome, parse_json(made_with), cpu)

    def results(self, identities: Sequence[str]) -> dict[str, RunResult]:
        """Those of the runs that are finished, with everything but their weights."""
        with explain_errors(self.path):
            entries = list(self._among("SELECT identity, result FROM runs", identities))
            return {name: RunResult.from_record(parse_json(result)) for name, result in entries}

    def require_writable(self) -> None:
        """Raise, before anything is made, if the store cannot be written to."""
        with transaction(self.connection, self.path):
            self.connection.execute("UPDATE runs SET seed = seed WHERE 0")

    def add(self, finished: Iterable[tuple[RunSpec, RunResult]]) -> dict[str, RunSummary]:
        """Keep these runs, all or none, and return them in short; one that is there already stays as it is."""
        entries = []
        for spec, result in finished:
            if result.weights is not None:
                described = {"kind": "trained", "run": spec.identity, "configuration": spec.record()}
                write_model(self.weights_path(spec.identity), result.weights, described)
            recorded = versions(dict.fromkeys((*PACKAGES, *spec.learner.packages)))
            created = datetime.now(UTC).isoformat(timespec="seconds")
            entries.append(_entry(spec, result, created, recorded, processor()))
        with transaction(self.connection, self.path):
            cursor = self.connection.executemany(INSERT, entries)
            inserted = cursor.rowcount
        if inserted < len(entries):  # the row that stayed is what the store says
            return self.outcomes([entry[0] for entry in entries])
        return {entry[0]: _summary(entry[:COLUMNS]) for entry in entries}

    def take_in(self, runs: Iterable[tuple[RunSpec, RunResult, str, Mapping[str, str], str]]) -> None:
        """Keep runs that were made elsewhere, all or none; one that is there already stays as it is.

        Each comes with its result, the time, and the versions and the processor that it was made with.
        """
        with transaction(self.connection, self.path):
            self.connection.executemany(INSERT, [_entry(*made) for made in runs])

    def weights_path(self, identity: str) -> Path:
        """Return the path of a run's weights, whether or not they were kept; raise if the name is not an identity."""
        if not NAME.fullmatch(identity):
            raise StoreError(
                f"The store {str(self.path)!r} was changed: {identity!r} does not name a run. Restore a copy."
            )
        return self.folder / "weights" / f"{identity}.safetensors"

    def _among(self, query: str, identities: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(identities), BATCH):
            batch = list(identities[start : start + BATCH])
            restricted = f"{query} WHERE identity IN ({', '.join('?' * len(batch))})"
            yield from self.connection.execute(restricted, batch).fetchall()  # none is left open when a row is refused


@cache
def processor() -> str:
    """The name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf8").splitlines()
    except OSError:  # not Linux
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (named or [platform.processor() or platform.machine()])[0]


def _entry(spec: RunSpec, result: RunResult, created: str, made_with: Mapping[str, str], cpu: str) -> tuple[Any, ...]:
    return (
        spec.identity, spec.task.name, spec.learner.name, spec.context, spec.samples, spec.seed,
        result.success, result.fitted, result.accuracy, result.steps, result.seconds, created,
        json.dumps(spec.record(), sort_keys=True), json.dumps(result.record()), json.dumps(dict(made_with)), cpu,
    )  # fmt: skip


ENTRIES = (str, str, str, int, int | None, int, int, int, float | int, int, float | int, str)  # of a row, by column


def _summary(entry: Sequence[Any]) -> RunSummary:
    """Return the run of a row; raise if the file is damaged and the row holds what was never written."""
    if not all(isinstance(value, kind) for value, kind in zip(entry, ENTRIES, strict=True)):
        raise ValueError("an entry of a row is of another type than it was written as")
    identity, task, learner, context, samples, seed, success, fitted, *rest = entry
    return RunSummary(identity, task, learner, context, samples, seed, bool(success), bool(fitted), *rest)
