"""A claim stated before it is looked at, and the finding that came of looking.

What is proved and checked (an identity, an inequality) and what is evidence (a measurement, a replication) are told
apart by the claim's kind, everywhere.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from keyhole.errors import AssumptionError
from keyhole.figure import Figure, figure_from
from keyhole.papers import Paper

Kind = Literal["identity", "inequality", "measurement", "replication"]
Verdict = Literal["holds", "holds with a caveat", "fails here", "undecided at this scale"]
Scale = Literal["quick", "paper"]

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")  # of a claim
PROVED: tuple[Kind, ...] = ("identity", "inequality")


@dataclass(frozen=True)
class Claim:
    """What is claimed, by whom, and what would speak against it: all of it written before measuring."""

    id: str
    title: str
    statement: str
    formula: str  # in LaTeX
    kind: Kind
    source: str
    prediction: str  # a number, a law or an inequality
    could_fail: str
    papers: tuple[Paper, ...] = ()

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.id):
            raise AssumptionError(
                f"A claim is called {self.id!r}; files are named by it, so use small letters, digits and single hyphens."
            )

    @property
    def proved(self) -> bool:
        """Whether the claim has a proof, so that looking can only check it."""
        return self.kind in PROVED


@dataclass(frozen=True)
class Outcome:
    """What a study saw."""

    verdict: Verdict
    measurement: str
    numbers: Mapping[str, float]
    interval: str  # of what was measured, or why there is none
    figures: tuple[Figure, ...] = ()
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Study:
    """A claim and the way to look at it: seed and scale in, an outcome out."""

    claim: Claim
    look: Callable[[Scale, int], Outcome]

    def identity(self, scale: Scale, seed: int) -> str:
        """The name of a run: a hash of everything that decides its numbers."""
        fields = {"claim": asdict(self.claim), "scale": scale, "seed": seed, "sources": sources_digest()}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]


@cache
def sources_digest() -> str:
    """A hash of the package's own sources and of numpy's version: what is computed, and with what."""
    digest = hashlib.sha256(version("numpy").encode())
    house = Path(__file__).parent.parent
    for path in sorted(house.rglob("*.py")):
        digest.update(str(path.relative_to(house)).encode() + path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Finding:
    """A claim, what was seen of it, and how to see it again."""

    claim: Claim
    outcome: Outcome
    run: str  # the run's identity
    scale: Scale
    seed: int
    seconds: float
    versions: Mapping[str, str]

    @property
    def command(self) -> str:
        """The command that makes this finding alone."""
        return f"keyhole reproduce --only {self.claim.id} --scale {self.scale} --seed {self.seed}"

    def record(self) -> dict[str, Any]:
        """The finding as plain values."""
        return {**asdict(self), "command": self.command, "proved": self.claim.proved}
