"""Is a model file what it says?"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from keyhole.api.result import Result
from keyhole.checkpoints import is_tabulated
from keyhole.compiler import Inspection, inspect
from keyhole.compiler.circuits import inspect_circuit, is_circuit
from keyhole.errors import CheckpointError
from keyhole.files.model import read_model
from keyhole.show.answer import Show


@dataclass(frozen=True, repr=False)
class Checked(Result):
    """The outcome of every check of a file."""

    schema: ClassVar[str] = "check/1"

    file: str
    holds: bool
    function: str | None  # this and the next two as the file has them
    context: int | None
    construction: str | None
    inspections: tuple[Inspection, ...]
    failures: tuple[str, ...]

    @property
    def answer_is_no(self) -> bool:
        """Return whether a check failed."""
        return not self.holds

    def lines(self, show: Show) -> None:
        """Say whether the file is as claimed; then what failed, or every check."""
        count = len(self.inspections)
        if self.holds:
            show.line(f"{self.file} is as claimed: it passed all {count} checks")
        else:
            show.line(f"NOT as claimed: {self.file} failed {len(self.failures)} of {count} checks")
        shown = [check for check in self.inspections if show.verbose or not check.holds]
        show.facts((check.name, f"{'passed' if check.holds else 'FAILED'}: {check.says}") for check in shown)


def check(path: str | Path) -> Checked:
    """Rebuild the plan from the stored tables, prove it anew, and compare all that the file claims."""
    stored = read_model(Path(path))
    if is_tabulated(stored):
        raise CheckpointError(
            f"{str(path)!r} holds the tables of a model, not a compiled function: nothing to check against; "
            f"`keyhole prove {path}` says what it computes."
        )
    inspections = tuple(inspect_circuit(stored) if is_circuit(stored) else inspect(stored))
    return Checked(
        file=str(path),
        holds=all(each.holds for each in inspections),
        function=stored.description.get("circuit" if is_circuit(stored) else "function"),
        context=stored.description.get("context"),
        construction=stored.description.get("construction"),
        inspections=inspections,
        failures=tuple(f"{each.name}: {each.says}" for each in inspections if not each.holds),
    )
