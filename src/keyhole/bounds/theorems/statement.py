"""What a bound states: a number, a chance, a sample, its conditions and its derivation."""

from dataclasses import dataclass

from keyhole.bounds.theorems.derivation import Step
from keyhole.bounds.theorems.risk import Loss
from keyhole.decimals import at_most, brief, surely


@dataclass(frozen=True)
class Statement:
    """With probability ≥ 1 − δ the gap between expected and average loss is at most `value`."""

    title: str
    value: float
    samples: float
    delta: float
    loss: Loss
    derivation: Step
    valid_if: tuple[str, ...]
    two_sided: bool = True
    measured: bool = False
    note: str = ""

    @property
    def vacuous(self) -> bool:
        """Whether it says no more than the range of the loss does."""
        return self.value >= self.loss.ceiling

    def __str__(self) -> str:
        """One sentence."""
        marks = [self.title]
        marks += [] if self.two_sided else ["one-sided"]
        marks += ["norms measured, peeled"] if self.measured else []
        marks += ["VACUOUS"] if self.vacuous else []
        chance = f"with probability ≥ {surely(self.delta)} at m = {brief(self.samples)}"
        return f"gap ≤ {at_most(self.value)} {chance} ({'; '.join(marks)})"
