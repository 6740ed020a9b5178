"""A certificate: what was settled about an object, by which method, over which inputs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["proved", "refuted", "undecided"]
Evidence = int | float | str | tuple[int, ...]


@dataclass(frozen=True)
class Certificate:
    """A claim with its verdict; `evidence` is what anyone needs to check the verdict again."""

    claim: str
    verdict: Verdict
    method: str  # how it was settled, or why it was not
    covers: str  # the inputs the verdict speaks of
    evidence: Mapping[str, Evidence] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.claim}: {self.verdict} ({self.method}; {self.covers})"
