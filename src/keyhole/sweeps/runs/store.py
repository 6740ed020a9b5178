"""Finished runs on disk, a row each. Only the process that asks for runs writes.

Several processes may share a store. Where two of them make the same run, one row is kept: both rows are equal.
"""

import json
import platform
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from keyhole.errors import StoreError
from keyhole.files.model import write_model
from keyhole.files.package_versions import versions
from keyhole.files.reading import parse_json
from keyhole.sweeps.runs.database import explain_errors, open_database, transaction
from keyhole.sweeps.runs.run import RunResult
from keyhole.sweeps.runs.spec import RunSpec
from keyhole.training.learners import PACKAGES, Method

FILE = "runs.sqlite"
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


@dataclass(frozen=True, eq=False)
class ImportedRun:
    """A run that was made elsewhere: what was asked, what it came to, when, and what it was computed with."""

    spec: RunSpec
    result: RunResult
    created: str
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
            asked = f"SELECT {SHORT} FROM runs ORDER BY task, learner, context, samples, seed, identity"  # noqa: S608
            stored = [_summary(entry) for entry in self.connection.execute(asked)]
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
        gone = [name for name in identities if name not in configurations]
        if gone:
            raise StoreError(
                f"The store {str(self.path)!r} no longer holds the run {gone[0][:10]}: the file is damaged. "
                "Restore a copy."
            )
        return configurations

    def run(self, name: str) -> StoredRun:
        """The run whose identity begins with this name; refused where none or several do."""
        begins = name.lower()
        asked = f"SELECT {SHORT}, configuration, result, versions, cpu FROM runs"  # noqa: S608  (no value in it)
        with explain_errors(self.path):
            entries = self.connection.execute(
                f"{asked} WHERE substr(identity, 1, ?) = ? LIMIT 2", (len(begins), begins)
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

    def take_in(self, runs: Iterable[ImportedRun]) -> None:
        """Keep runs that were made elsewhere, all or none; one that is there already stays as it is."""
        entries = [_entry(each.spec, each.result, each.created, each.versions, each.cpu) for each in runs]
        with transaction(self.connection, self.path):
            self.connection.executemany(INSERT, entries)

    def weights_path(self, identity: str) -> Path:
        """Return the path of a run's weights, whether or not they were kept; raise if the name is not an identity."""
        if not NAME.fullmatch(identity):
            raise StoreError(
                f"The store {str(self.path)!r} was changed: {identity!r} does not name a run. Restore a copy."
            )
        return self.folder / "weights" / f"{identity}.safetensors"

    def _among(self, asked: str, identities: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(identities), BATCH):
            some = list(identities[start : start + BATCH])
            among = f"{asked} WHERE identity IN ({', '.join('?' * len(some))})"
            yield from self.connection.execute(among, some).fetchall()  # none is left open when a row is refused


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
