"""Check: whether a model file is what it says, from the file alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.result import Result
from keyhole.checkpoints import is_tabulated
from keyhole.compiler import Inspection, inspect
from keyhole.errors import CheckpointError
from keyhole.files.model import read_model
from keyhole.show.check import check_document
from keyhole.show.document import Document


@dataclass(frozen=True, repr=False)
class Checked(Result):
    """What was looked at in a file, and whether all of it is as claimed."""

    schema: ClassVar[str] = "check/1"

    path: str
    described: Mapping[str, Any]  # function, context, construction, as the file has them
    inspections: tuple[Inspection, ...]

    @property
    def holds(self) -> bool:
        """Whether everything is as claimed."""
        return all(look.holds for look in self.inspections)

    def record(self) -> dict[str, Any]:
        """The outcome as plain values, for JSON."""
        return {
            "file": self.path,
            "holds": self.holds,
            **self.described,
            "inspections": [vars(look) for look in self.inspections],
            "failures": [f"{look.name}: {look.says}" for look in self.inspections if not look.holds],
        }

    @property
    def summary(self) -> str:
        """Whether the file is as claimed, and if not, which looks at it fail."""
        failing = ", ".join(look.name for look in self.inspections if not look.holds)
        return f"{Path(self.path).name} is {'as claimed' if self.holds else f'NOT as claimed: {failing}'}"

    def document(self) -> Document:
        """Whether the file is as claimed, then every look at it."""
        return check_document(self.record())


def check(path: str | Path) -> Checked:
    """Rebuild the plan from the stored tables, prove it anew, and compare all that the file claims."""
    stored = read_model(Path(path))
    if is_tabulated(stored):
        raise CheckpointError(
            f"{str(path)!r} holds the tables of a model, not a compiled function: nothing to check against; "
            f"`keyhole.certify({str(path)!r})` says what it computes."
        )
    shown = {name: stored.description.get(name) for name in ("function", "context", "construction")}
    return Checked(str(path), shown, tuple(inspect(stored)))
