"""Running the ledger: each study once, kept as it finishes, so that a second run finds it done."""

import json
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

from keyhole import __version__
from keyhole.claims.finding import Finding, Scale, Study, from_record
from keyhole.claims.ledger import STUDIES, find
from keyhole.errors import ArgumentError, KeyholeError
from keyhole.files.atomic import write_file
from keyhole.files.record import to_json
from keyhole.progress import Progress, Watch, ignore

HEARTBEAT = 15.0  # seconds after which the studies under way are named, where none has finished


@dataclass(frozen=True)
class Step:
    """A study that has just finished, or was found done."""

    claim: str
    fresh: bool  # whether it was run now


def run_studies(
    only: Sequence[str], *, scale: Scale, seed: int, folder: Path, workers: int, watch: Watch = ignore
) -> tuple[Finding, ...]:
    """The findings of the chosen studies, in the ledger's order; those already in the folder are not run again."""
    if workers < 1:
        raise ArgumentError(f"{workers} workers were asked for; at least one is needed.")
    studies = [find(name) for name in only] if only else list(STUDIES)
    found: dict[str, Finding] = {}
    for study in studies:
        kept = load(study, scale, seed, folder)
        if kept is not None:
            found[study.claim.id] = kept
            watch(Progress(len(found), len(studies), study.claim.id, detail=Step(study.claim.id, fresh=False)))
    missing = [study.claim.id for study in studies if study.claim.id not in found]

    def name_those_under_way(names: Sequence[str]) -> None:
        watch(Progress(len(found), len(studies), f"looking at {', '.join(names)}"))

    if missing:
        words = f"claims (to be looked at: {len(missing)}, processes: {min(workers, len(missing))})"
        watch(Progress(len(found), len(studies), words, milestone=True))
    for finding in _run(missing, scale, seed, workers, name_those_under_way):
        found[finding.claim.id] = finding
        save(finding, folder)
        step = Step(finding.claim.id, fresh=True)
        words = f"claims ({finding.claim.id}: {finding.outcome.verdict})"
        watch(Progress(len(found), len(studies), words, detail=step, milestone=True))
    return tuple(found[study.claim.id] for study in studies)


def look(name: str, scale: Scale, seed: int) -> Finding:
    """Run one study now."""
    study, began = find(name), time.perf_counter()
    outcome = study.look(scale, seed)
    seconds = time.perf_counter() - began
    return Finding(study.claim, outcome, study.identity(scale, seed), scale, seed, seconds, versions())


def _run(
    names: list[str], scale: Scale, seed: int, workers: int, tell: Callable[[Sequence[str]], None]
) -> Iterator[Finding]:
    """Findings as they finish: in this process, or in several spawned ones; `tell` hears what is under way."""
    if workers == 1 or len(names) < 2:
        for name in names:
            tell([name])
            yield look(name, scale, seed)
        return
    with ProcessPoolExecutor(min(workers, len(names)), mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(look, name, scale, seed): name for name in names}
        try:
            while waiting:
                finished, _ = wait(waiting, HEARTBEAT, FIRST_COMPLETED)
                for future in finished:
                    del waiting[future]
                    yield future.result()
                if not finished:
                    tell([name for future, name in waiting.items() if future.running()])
        finally:
            pool.shutdown(cancel_futures=True)


def load_findings(scale: Scale, seed: int, folder: Path) -> tuple[Finding, ...]:
    """Every finding the folder holds for this scale and seed, in the ledger's order."""
    found = (load(study, scale, seed, folder) for study in STUDIES)
    return tuple(finding for finding in found if finding is not None)


def path_of(study: Study, scale: Scale, seed: int, folder: Path) -> Path:
    """Where a run is kept: named by its claim and its identity."""
    return folder / "findings" / f"{study.claim.id}-{study.identity(scale, seed)}.json"


def save(finding: Finding, folder: Path) -> None:
    """Keep a finding."""
    path = path_of(find(finding.claim.id), finding.scale, finding.seed, folder)
    write_file(path, to_json("finding/1", finding.record()).encode())


def load(study: Study, scale: Scale, seed: int, folder: Path) -> Finding | None:
    """The kept finding of a run, or None; one that cannot be read is run again."""
    path = path_of(study, scale, seed, folder)
    try:
        return from_record(json.loads(path.read_text("utf8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, KeyholeError):
        return None


def versions() -> dict[str, str]:
    """What the numbers were computed with."""
    packages = {name: version(name) for name in ("numpy", "scipy")}
    return {"keyhole": __version__, "python": platform.python_version(), **packages, "machine": platform.machine()}
