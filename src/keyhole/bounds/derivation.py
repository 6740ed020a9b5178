"""A derivation: a number, the lemma that gives it, and the numbers it was given."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from keyhole.papers import Source

OURS = Source("ours")
STANDARD = Source("standard")
HIDDEN = {"hidden": True}  # metadata of fields that records leave out

Inputs = tuple[tuple[str, float], ...]


class Lemma(NamedTuple):
    """A statement that turns numbers into a number: its name, its formula, whence it comes."""

    name: str
    formula: str
    source: Source = OURS


@dataclass(frozen=True)
class Input:
    """A number that a lemma was given."""

    name: str
    value: float


@dataclass(frozen=True)
class Step:
    """One number of a derivation, and the share it has in the number above it."""

    properties: ClassVar[tuple[str, ...]] = ("lemma", "formula", "source", "inputs")

    name: str
    value: float
    by: Lemma = field(metadata=HIDDEN)
    given: Inputs = field(default=(), metadata=HIDDEN)
    parts: tuple["Step", ...] = ()
    share: float = 1.0

    @property
    def lemma(self) -> str:
        """The name of the lemma."""
        return self.by.name

    @property
    def formula(self) -> str:
        """The formula of the lemma."""
        return self.by.formula

    @property
    def source(self) -> str:
        """The origin of the lemma."""
        return str(self.by.source)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The numbers that the lemma was given, as records list them."""
        return tuple(Input(name, value) for name, value in self.given)

    def of(self, share: float) -> "Step":
        """Return the same step with its share in the number above."""
        return replace(self, share=share)

    def walk(self, share: float = 1.0, depth: int = 0) -> Iterator[tuple[int, float, "Step"]]:
        """Yield every step from the root down, with its depth and its share in the root."""
        own = share * self.share
        yield depth, own, self
        for part in self.parts:
            yield from part.walk(own, depth + 1)

    def leaf(self) -> "Step":
        """Return the leaf with the largest share in the root."""
        leaves = [(share, step) for _, share, step in self.walk() if not step.parts]
        return max(leaves, key=lambda leaf: leaf[0])[1]


@dataclass(frozen=True)
class Complexity:
    """A bound on the Rademacher complexity of a class, its derivation, and what it assumes."""

    value: float
    step: Step
    valid_if: tuple[str, ...] = ()

    def assuming(self, *sentences: str) -> "Complexity":
        """The same bound with further assumptions on its list."""
        return replace(self, valid_if=self.valid_if + sentences)
