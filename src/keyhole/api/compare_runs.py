"""Two stores beside each other: the same cells, their counts, and whether they agree."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.old_result import OldResult as Result
from keyhole.errors import ArgumentError
from keyhole.files.paths import home
from keyhole.show.document import Document
from keyhole.show.runs import comparison_document
from keyhole.sweeps.runs import Store, StoreComparison, compare_stores

LEVEL = 0.05  # the chance of a false alarm over all cells


@dataclass(frozen=True, repr=False)
class RunComparison(Result):
    """The cells that two stores have in common, with the test of each."""

    schema: ClassVar[str] = "runs-compare/1"

    comparison: StoreComparison
    stores: tuple[Path, Path]
    level: float

    @property
    def agree(self) -> bool:
        """Whether no cell differs; where there is none in common, nothing does."""
        return not any(cell.differs for cell in self.comparison.cells)

    @property
    def summary(self) -> str:
        """How many cells there are, and how many differ."""
        cells = self.comparison.cells
        if not cells:
            return "no cell in common"
        return f"{sum(cell.differs for cell in cells)} of {len(cells)} cells in common differ"

    def document(self) -> Document:
        """A row per cell."""
        return comparison_document(self.record())

    def record(self) -> dict[str, Any]:
        """The cells as plain values."""
        return {
            "stores": [str(store) for store in self.stores],
            "level": self.level,
            "agree": self.agree,
            "summary": self.summary,
            **asdict(self.comparison),
        }


def compare_runs(
    other: str | Path,
    *,
    task: str = "",
    learner: str = "",
    contexts: Sequence[int] = (),
    store: str | Path | None = None,
    level: float = LEVEL,
) -> RunComparison:
    """The runs of a store and of another beside each other, cell by cell; filters leave what they name.

    A cell differs where a run that both stores hold came out otherwise, or where the successes of the other runs differ
    by more than chance: Fisher's exact test of each cell, by Holm's procedure over all, so that stores of the same
    cells are told apart falsely with probability at most `level`.
    """
    if not 0 < level < 1:
        raise ArgumentError(f"A level of {level:g} was asked for; use one above 0 and below 1, such as {LEVEL}.")
    folders = home(store), Path(other)
    if folders[0].resolve() == folders[1].resolve():
        raise ArgumentError(f"The store {str(other)!r} was to be compared with itself; name another.")
    with Store(folders[0], create=False) as first, Store(folders[1], create=False) as second:
        found = compare_stores(first, second, task=task, learner=learner, contexts=contexts, level=level)
    return RunComparison(found, folders, level)
