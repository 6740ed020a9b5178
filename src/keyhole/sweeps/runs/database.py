"""The database file of a store: opening it, telling it from others, and saying every trouble in a sentence.

It is SQLite with a write-ahead log: a killed process leaves the whole of a transaction or nothing of it, readers do
not wait for the writer, and writers wait for each other.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keyhole.errors import KeyholeError, StoreError

SCHEMA = 1  # raised when the tables change
MARK = 0x6B657968  # "keyh": tells our database from other people's
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
    try:
        if _schema(connection, path) == 0:
            _make(connection)
        # A commit then costs no wait for the disk; after a power failure the last ones may be missing, none broken.
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _schema(connection: sqlite3.Connection, path: Path) -> int:
    """The schema of the tables that are there, 0 where there are none; a database of others is refused."""
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
    return int(schema) if tables else 0


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
