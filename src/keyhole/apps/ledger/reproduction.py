"""The claims asked from Python: list them, or measure them and write the page."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, overload

from keyhole.api.old_result import OldResult as Result
from keyhole.apps.ledger.finding import Claim, Finding, Scale
from keyhole.apps.ledger.ledger import NOT_COVERED, choose, experiments
from keyhole.apps.ledger.page import write_report
from keyhole.apps.ledger.run import Warn, run_experiments
from keyhole.apps.ledger.shipped import shipped_findings
from keyhole.apps.ledger.show_claims import claims_document, findings_document
from keyhole.apps.ledger.story import story_record
from keyhole.errors import OutputError
from keyhole.files.looking import is_folder, is_there
from keyhole.progress import Watch, ignore
from keyhole.show.document import Document


@dataclass(frozen=True, repr=False)
class Claims(Result, Sequence[Claim]):
    """Every claim with its prediction, and what no study covers yet; a prediction says what was known of its answer."""

    schema: ClassVar[str] = "claims/1"

    claims: tuple[Claim, ...]
    not_covered: tuple[tuple[str, str], ...]

    @overload
    def __getitem__(self, place: int) -> Claim: ...
    @overload
    def __getitem__(self, place: slice) -> "Claims": ...
    def __getitem__(self, place: int | slice) -> "Claim | Claims":
        """A claim by its place; of a slice, the claims in it."""
        chosen = self.claims[place]
        return chosen if isinstance(chosen, Claim) else Claims(chosen, self.not_covered)

    def __len__(self) -> int:
        return len(self.claims)

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims)

    @property
    def summary(self) -> str:
        """How many claims, and how many have a proof."""
        return f"{len(self.claims)} claims, {sum(claim.proved for claim in self.claims)} of them proved and checked"

    def document(self) -> Document:
        """Each claim with its prediction, then what no study covers."""
        return claims_document(self.record())

    def record(self) -> dict[str, Any]:
        """The claims as plain values."""
        return {
            "claims": [asdict(claim) for claim in self.claims],
            "not_covered": [list(row) for row in self.not_covered],
        }


@dataclass(frozen=True, repr=False)
class Findings(Result, Sequence[Finding]):
    """What was found of the claims that were asked for, and everything the folder holds at this scale and seed."""

    schema: ClassVar[str] = "findings/1"

    findings: tuple[Finding, ...]
    stored: tuple[Finding, ...]
    page: Path  # with every finding that is stored

    @overload
    def __getitem__(self, place: int) -> Finding: ...
    @overload
    def __getitem__(self, place: slice) -> "Findings": ...
    def __getitem__(self, place: int | slice) -> "Finding | Findings":
        """A finding by its place; of a slice, the findings in it."""
        chosen = self.findings[place]
        return chosen if isinstance(chosen, Finding) else Findings(chosen, self.stored, self.page)

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def summary(self) -> str:
        """How many claims have which verdict."""
        verdicts = [finding.outcome.verdict for finding in self.findings]
        counted = ", ".join(f"{verdicts.count(name)} {name}" for name in dict.fromkeys(verdicts))
        return f"{len(verdicts)} claims: {counted}; {self.page}"

    def document(self) -> Document:
        """A row per finding: evidence first, then what is proved."""
        return findings_document([finding.record() for finding in self.findings])

    def record(self) -> dict[str, Any]:
        """Every stored finding as plain values: what findings.json holds."""
        return {"findings": [finding.record() for finding in self.stored]}


def list_claims() -> Claims:
    """Every claim with its prediction, without running anything, and what is not covered yet.

    >>> list_claims()[0].kind
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
    if is_there(folder, OutputError) and not is_folder(folder, OutputError):
        raise OutputError(f"{str(folder)!r} is a file, and the page needs a folder; name another.")
    findings = run_experiments(only, scale=scale, seed=seed, folder=folder, workers=workers, watch=watch, warn=warn)
    kept = tuple(findings.values())
    references = {paper.key: paper.bibtex for finding in kept for paper in finding.claim.papers}
    story = story_record(finding.claim.id for finding in kept)
    longer = {name: finding.record() for name, finding in shipped_findings().items() if name in findings}
    page = write_report([finding.record() for finding in kept], story, NOT_COVERED, references, folder, longer)
    return Findings(tuple(findings[experiment.claim.id] for experiment in choose(only)), kept, page)
