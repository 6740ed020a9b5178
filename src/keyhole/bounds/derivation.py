"""A derivation: a number, the lemma that gives it, and the numbers it was given."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite, isnan
from typing import Any, NamedTuple

from keyhole.papers import Source

OURS = Source("ours")
STANDARD = Source("standard")

Inputs = tuple[tuple[str, float], ...]


class Lemma(NamedTuple):
    """A statement that turns numbers into a number: its name, its formula, whence it comes."""

    name: str
    formula: str
    source: Source = OURS


class Step(NamedTuple):
    """One number of a derivation, and the share it has in the number above it."""

    name: str
    value: float
    lemma: Lemma
    inputs: Inputs = ()
    parts: tuple["Step", ...] = ()
    share: float = 1.0

    def of(self, share: float) -> "Step":
        """The same step with its share in the number above."""
        return self._replace(share=share)

    def walk(self, share: float = 1.0, depth: int = 0) -> Iterator[tuple[int, float, "Step"]]:
        """Every step from the root down, with its depth and its share in the root."""
        own = share * self.share
        yield depth, own, self
        for part in self.parts:
            yield from part.walk(own, depth + 1)

    def dominating(self) -> "Step":
        """The leaf with the largest share in the root."""
        leaves = [(share, step) for _, share, step in self.walk() if not step.parts]
        return max(leaves, key=lambda leaf: leaf[0])[1]

    def record(self) -> dict[str, Any]:
        """The step and its parts as plain values, for JSON."""
        return {
            "name": self.name,
            **number_record("value", self.value),
            "share": self.share,
            "lemma": self.lemma.name,
            "formula": self.lemma.formula,
            "source": str(self.lemma.source),
            "inputs": [{"name": name, **number_record("value", value)} for name, value in self.inputs],
            "parts": [part.record() for part in self.parts],
        }


def number_record(name: str, value: float | None, remark: str = "") -> dict[str, Any]:
    """A number under its name; what JSON has no number for is null with a reason, which is the remark if there is none.

    >>> number_record("value", 0.5), number_record("value", float("inf"))
    ({'value': 0.5}, {'value': None, 'value_reason': 'not finite'})
    """
    if value is None:
        return {name: None, f"{name}_reason": remark}
    remarks = {"remark": remark} if remark else {}
    if not isfinite(value):
        return {name: None, f"{name}_reason": "no number" if isnan(value) else "not finite", **remarks}
    return {name: value, **remarks}


@dataclass(frozen=True)
class Complexity:
    """A bound on the Rademacher complexity of a class, its derivation, and what it assumes."""

    value: float
    step: Step
    valid_if: tuple[str, ...] = ()

    def assuming(self, *sentences: str) -> "Complexity":
        """The same bound with further assumptions on its list."""
        return replace(self, valid_if=self.valid_if + sentences)
