"""The claims from Python: measure them, keep what is found, and write the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keyhole.claims.finding import Finding, Scale
from keyhole.claims.ledger import NOT_COVERED, choose
from keyhole.claims.run import Tell, run_experiments
from keyhole.progress import Watch, ignore
from keyhole.show.report import write_report


@dataclass(frozen=True)
class Findings:
    """What was found of the claims that were asked for, and everything the folder holds at this scale and seed."""

    findings: tuple[Finding, ...]
    kept: tuple[Finding, ...]
    page: Path  # with every finding that is kept


def reproduce(
    only: Sequence[str] = (),
    *,
    scale: Scale = "quick",
    seed: int = 0,
    folder: str | Path = "report",
    workers: int | None = None,
    watch: Watch = ignore,
    tell: Tell = lambda _: None,
) -> Findings:
    """Measure every claim, or those named, and write a page with a verdict for each into the folder.

    What the folder holds already at this scale and seed is not measured again; what is in it and not as it was written
    is, and `tell` is told so. `workers` are processes, one per core where None is given.
    """
    folder = Path(folder)
    found = run_experiments(only, scale=scale, seed=seed, folder=folder, workers=workers, watch=watch, tell=tell)
    kept = tuple(found.values())
    page = write_report(kept, NOT_COVERED, folder)
    return Findings(tuple(found[experiment.claim.id] for experiment in choose(only)), kept, page)
