"""Running the ledger: each study once, kept as it finishes, so that a second run finds it done."""

import platform
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from keyhole.claims.finding import Finding, Scale, Study
from keyhole.claims.keeping import read, written
from keyhole.claims.ledger import STUDIES, find
from keyhole.errors import ArgumentError, DataError, OutputError
from keyhole.files.atomic import write_file
from keyhole.files.versions import versions

Watch = Callable[["Progress"], None]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    done: int
    of: int
    claim: str  # the study that has just finished, or was found done
    fresh: bool  # whether it was run now


def reproduce(
    only: tuple[str, ...],
    *,
    scale: Scale,
    seed: int,
    folder: Path,
    workers: int,
    watch: Watch,
    tell: Tell = lambda _: None,
) -> tuple[Finding, ...]:
    """The findings of the chosen studies, in the ledger's order; those already in the folder are not run again.

    One in the folder that is not as it was written is, and `tell` is told so in a line.
    """
    studies = [find(name) for name in only] if only else list(STUDIES)
    found: dict[str, Finding] = {}
    for study in studies:
        kept = load(study, scale, seed, folder, tell=lambda why: tell(f"{why}; the claim is looked at again."))
        if kept is not None:
            found[study.claim.id] = kept
            watch(Progress(len(found), len(studies), study.claim.id, fresh=False))
    missing = [study.claim.id for study in studies if study.claim.id not in found]
    for finding in _run(missing, scale, seed, workers):
        found[finding.claim.id] = finding
        save(finding, folder)
        watch(Progress(len(found), len(studies), finding.claim.id, fresh=True))
    return tuple(found[study.claim.id] for study in studies)


def look(name: str, scale: Scale, seed: int) -> Finding:
    """Run one study now."""
    study, began = find(name), time.perf_counter()
    outcome = study.look(scale, seed)
    seconds = time.perf_counter() - began
    return Finding(study.claim, outcome, study.identity(scale, seed), scale, seed, seconds, computed_with())


def _run(names: list[str], scale: Scale, seed: int, workers: int) -> Iterator[Finding]:
    """Findings as they finish: in this process, or in several spawned ones."""
    if workers < 1:
        raise ArgumentError(f"{workers} workers were asked for; at least one is needed.")
    if workers == 1 or len(names) < 2:
        yield from (look(name, scale, seed) for name in names)
        return
    with ProcessPoolExecutor(min(workers, len(names)), mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(look, name, scale, seed) for name in names]
        try:
            yield from (future.result() for future in as_completed(waiting))
        finally:
            pool.shutdown(cancel_futures=True)


def kept(scale: Scale, seed: int, folder: Path, *, tell: Tell = lambda _: None) -> tuple[Finding, ...]:
    """Every finding of the ledger's claims that the folder holds for this scale and seed, in the ledger's order."""

    def left_out(why: str) -> None:
        tell(f"{why}; it is left off the page until it is looked at again.")

    found = (load(study, scale, seed, folder, tell=left_out) for study in STUDIES)
    return tuple(finding for finding in found if finding is not None)


def path_of(study: Study, scale: Scale, seed: int, folder: Path) -> Path:
    """Where a run is kept: named by its claim and its identity."""
    return folder / "findings" / f"{study.claim.id}-{study.identity(scale, seed)}.json"


def save(finding: Finding, folder: Path) -> None:
    """Keep a finding."""
    path = path_of(find(finding.claim.id), finding.scale, finding.seed, folder)
    write_file(path, written(finding))


def load(study: Study, scale: Scale, seed: int, folder: Path, *, tell: Tell = lambda _: None) -> Finding | None:
    """The kept finding of a run, or None; one that cannot be read, or is not as it was written, is told and not taken.

    The claim is the study's own: a file has the outcome only.
    """
    path = path_of(study, scale, seed, folder)
    asked = (study.identity(scale, seed), scale, seed)
    try:
        if path.exists() and not path.is_file():
            raise OutputError(f"{str(path)!r} stands where a finding is kept and is no file; remove it.")
        finding = read(study.claim, path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        tell(f"The finding of {study.claim.id} in {str(path)!r} cannot be read ({error.strerror})")
        return None
    except DataError:
        finding = None
    if finding is None or (finding.run, finding.scale, finding.seed) != asked:
        tell(f"The finding of {study.claim.id} in {str(path)!r} is not as it was written")
        return None
    return finding


def computed_with() -> dict[str, str]:
    """What the numbers were computed with."""
    return {**versions(("numpy", "scipy")), "machine": platform.machine()}
