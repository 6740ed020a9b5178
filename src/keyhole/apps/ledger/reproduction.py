"""The claims asked from Python: list them, or measure them and write the page."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from keyhole.api.result import Result
from keyhole.apps.ledger.finding import Claim, Finding, Scale
from keyhole.apps.ledger.ledger import NOT_COVERED, choose, experiments
from keyhole.apps.ledger.page import render, write_report
from keyhole.apps.ledger.run import Warn, run_experiments
from keyhole.apps.ledger.stored_finding import shipped_findings
from keyhole.apps.ledger.story import story_of
from keyhole.errors import OutputError
from keyhole.files.atomic import write_file
from keyhole.files.record import hidden
from keyhole.progress import Watch, ignore
from keyhole.show.answer import Show

PAGE_EVERY = 60.0  # seconds between two pages of an unfinished ledger
FEW = 5  # findings whose claims are said in full


@dataclass(frozen=True, repr=False)
class Claims(Result):
    """Every claim with its prediction, and what no study covers yet; a prediction says what was known of its answer."""

    schema: ClassVar[str] = "claims/1"

    claims: tuple[Claim, ...]
    not_covered: tuple[tuple[str, str], ...]

    def lines(self, show: Show) -> None:
        """List the claims; say of each what was predicted, and what would make it fail, if asked."""
        proved = sum(claim.proved for claim in self.claims)
        show.line(f"{len(self.claims)} claims, {proved} of them proved and checked; -v: what is predicted of each")
        if not show.verbose:
            show.table({"claim": "<", "kind": "<"}, [(claim.id, claim.kind) for claim in self.claims])
            show.line(f"not covered yet: {', '.join(name for name, _ in self.not_covered)}")
            return
        for claim in self.claims:
            show.line(f"\n{claim.id}: {claim.statement} ({claim.kind})")
            show.line(f"    predicted: {claim.prediction}")
            show.line(f"    fails: {claim.could_fail}")
        show.line("\nnot covered yet")
        for name, why in self.not_covered:
            show.line(f"    {name}: {why}")


@dataclass(frozen=True, repr=False)
class Findings(Result):
    """Everything that the folder holds at this scale and seed, those asked for among them."""

    schema: ClassVar[str] = "findings/1"

    findings: tuple[Finding, ...]
    chosen: tuple[str, ...] = hidden()  # the claims asked for
    page: Path = hidden()  # with every finding

    def lines(self, show: Show) -> None:
        """Set a row per finding asked for, evidence first; then the page."""
        listed = sorted((self[name] for name in self.chosen), key=lambda finding: finding.proved)
        verdicts = [finding.outcome.verdict for finding in listed]
        counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
        show.line(f"{len(listed)} claims: {counted}")
        show.table(
            {"claim": "<", "kind": "<", "verdict": "<", "seconds": ">"},
            [(each.claim.id, each.claim.kind, each.outcome.verdict, f"{each.seconds:.1f}") for each in listed],
        )
        if show.verbose or len(listed) <= FEW:
            for each in listed:
                show.line(f"{each.claim.id}: {each.claim.title}")
        show.line(f"page: {self.page}")

    def __getitem__(self, name: str) -> Finding:
        """Return the finding of a claim."""
        return next(finding for finding in self.findings if finding.claim.id == name)


def list_claims() -> Claims:
    """Return every claim with its prediction, without running anything, and what is not covered yet.

    >>> list_claims().claims[0].kind
    'measurement'
    """
    return Claims(tuple(experiment.claim for experiment in experiments()), NOT_COVERED)


def reproduce(
    only: Sequence[str] = (),
    *,
    scale: Scale = "quick",
    seed: int = 0,
    folder: str | Path = "report",
    workers: int | None = None,
    watch: Watch = ignore,
    warn: Warn = lambda _: None,
) -> Findings:
    """Measure every claim, or those named, and write a page with a verdict for each into the folder.

    A finding that the folder holds already at this scale and seed is not measured again, unless its file was changed or
    cannot be read: then `warn` is called with a sentence that says so. `workers` are processes, one per core where None is given.
    """
    folder = Path(folder)
    if folder.is_file():
        raise OutputError(f"{str(folder)!r} is a file, and the page needs a folder; name another.")
    last = time.monotonic()

    def show_page(findings: Mapping[str, Finding], expected: int) -> None:
        """Write the page of what is finished, now and then."""
        nonlocal last
        if time.monotonic() - last >= PAGE_EVERY:
            listed = tuple(findings.values())
            page = render(listed, story_of(findings), NOT_COVERED, _longer(findings), expected=expected)
            (folder / "findings.json").unlink(missing_ok=True)  # of a page that was whole
            write_file(folder / "index.html", page.encode())
            last = time.monotonic()

    findings = run_experiments(
        only, scale=scale, seed=seed, folder=folder, workers=workers, watch=watch, warn=warn, progress=show_page
    )
    stored = tuple(findings.values())
    page = write_report(stored, story_of(findings), NOT_COVERED, folder, _longer(findings))
    return Findings(stored, tuple(experiment.claim.id for experiment in choose(only)), page)


def _longer(findings: Mapping[str, Finding]) -> dict[str, Finding]:
    """Return the shipped findings of these claims."""
    return {name: finding for name, finding in shipped_findings().items() if name in findings}
