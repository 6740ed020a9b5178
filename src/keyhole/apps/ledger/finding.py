"""A claim with its prediction, the experiment that measures it, and the finding that came of it.

What is proved and checked (an identity, an inequality) and what is evidence (a measurement, a replication) are told
apart by the claim's kind, everywhere.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import keyhole
from keyhole.errors import AssumptionError
from keyhole.figure import Figure
from keyhole.files.record import hidden
from keyhole.papers import Paper
from keyhole.verdicts import ClaimVerdict

Kind = Literal["identity", "inequality", "measurement", "replication"]
Scale = Literal["quick", "paper"]

PACKAGE = Path(keyhole.__file__).parent
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")  # of a claim
PROVED: tuple[Kind, ...] = ("identity", "inequality")


@dataclass(frozen=True, repr=False)
class Claim:
    """A claim with its source and its prediction, written before measuring.

    Where a part of the answer was known by then, the prediction says so.
    """

    id: str
    title: str
    statement: str
    formula: str  # in LaTeX
    kind: Kind
    source: str
    prediction: str  # a number, a law or an inequality
    could_fail: str
    papers: tuple[Paper, ...] = ()
    shipped: str = ""  # what its finding rests on, where that is shipped with the library and not made on this machine
    revision: int = 1  # of the measurement: raise it when the code changes what is measured, and stored findings expire

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.id):
            raise AssumptionError(
                f"A claim is called {self.id!r}; files are named by it, so use small letters, digits and single hyphens."
            )

    def __repr__(self) -> str:
        return f"<Claim {self.id}: {self.title} ({self.kind})>"

    @property
    def proved(self) -> bool:
        """Return whether the claim has a proof, so that measuring can only check it."""
        return self.kind in PROVED


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment, and the verdict that follows."""

    verdict: ClaimVerdict
    measurement: str
    numbers: Mapping[str, float]
    interval: str  # of what was measured, or why there is none
    figures: tuple[Figure, ...] = ()
    caveats: tuple[str, ...] = ()


Measure = Callable[[Scale, int], Outcome]  # scale and seed in, an outcome out


@dataclass(frozen=True)
class Experiment:
    """A claim and the function that measures it."""

    claim: Claim
    measure: Measure

    @property
    def origin(self) -> str:
        """The file that measures the claim, unless it is the library's own."""
        measure = self.measure.func if isinstance(self.measure, partial) else self.measure
        if measure.__module__.startswith("keyhole."):
            return ""
        code = getattr(measure, "__code__", None)
        return measure.__module__ if code is None else str(Path(code.co_filename).resolve())


@dataclass(frozen=True)
class Finding:
    """A claim, what was seen of it, and how to see it again."""

    properties: ClassVar[tuple[str, ...]] = ("command", "proved")

    claim: Claim
    outcome: Outcome
    run: str  # what identifies it: claim, scale, seed and revision, as in floor-quick-0-1
    scale: Scale
    seed: int
    seconds: float
    versions: Mapping[str, str]
    origin: str = hidden(default="")  # the file of a claim that is not the library's own

    @property
    def proved(self) -> bool:
        """Return whether the claim has a proof."""
        return self.claim.proved

    @property
    def command(self) -> str:
        """The command that makes this finding: alone, if the claim is the library's own."""
        if self.origin:
            return f"python {self.origin}"
        return f"keyhole reproduce --only {self.claim.id} --scale {self.scale} --seed {self.seed}"


def run_name(claim: Claim, scale: Scale, seed: int) -> str:
    """Return the identity of a finding: its claim, the scale, the seed and the revision of the measurement."""
    return f"{claim.id}-{scale}-{seed}-{claim.revision}"


def shipped_folder(name: str) -> Path | None:
    """Return a folder of data: of the repository, or of an installed package; None where there is neither."""
    places = (PACKAGE.parents[1] / "data" / name, PACKAGE / name)
    return next((place for place in places if place.is_dir()), None)
