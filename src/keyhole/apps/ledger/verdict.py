"""Verdicts of claims: by what speaks for and against, or by the share of runs in which something happens."""

from dataclasses import dataclass

from keyhole.bounds.finite import clopper_pearson
from keyhole.decimals import at_least, at_most
from keyhole.verdicts import ClaimVerdict

MOST = 0.5
LEVEL = 0.05


def verdict_of(*, holds: bool, fails: bool) -> ClaimVerdict:
    """Return the verdict of what speaks for a claim and of what speaks against it, which counts first."""
    return "fails here" if fails else "holds" if holds else "undecided at this scale"


@dataclass(frozen=True)
class Share:
    """How many of some runs something happened in, with the 95 % Clopper–Pearson interval of its probability."""

    hits: int
    runs: int

    @property
    def value(self) -> float:
        """The share itself; 0 of no runs."""
        return self.hits / self.runs if self.runs else 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval; everything, of no runs."""
        return clopper_pearson(self.hits, self.runs, LEVEL) if self.runs else (0.0, 1.0)

    @property
    def most(self) -> ClaimVerdict:
        """Return whether it happens in most runs: the whole interval above one half, below it, or neither.

        >>> [Share(hits, 12).most for hits in (12, 10, 9, 2)]
        ['holds', 'holds', 'undecided at this scale', 'fails here']
        """
        low, high = self.ends
        return verdict_of(holds=low > MOST, fails=high < MOST)

    def __str__(self) -> str:
        low, high = self.ends
        return (
            f"{self.hits} of {self.runs}, 95 % Clopper–Pearson: {at_least(low, places=2)} to {at_most(high, places=2)}"
        )
