"""Suite: certified models with known relevant positions, for whoever wants to know whether an attribution is right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, overload

from keyhole.api.old_result import OldResult as Result
from keyhole.apps.tables.show_suite import suite_document
from keyhole.apps.tables.suite.members import KEY, Member, make_members
from keyhole.compiler import assess_plan
from keyhole.compiler.export import save_model
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.document import Document


@dataclass(frozen=True, eq=False, repr=False)
class Suite(Result, Sequence[Member]):
    """Certified models with known answers, in the order in which they were made."""

    schema: ClassVar[str] = "suite/1"

    members: tuple[Member, ...]
    context: int
    seed: int

    @overload
    def __getitem__(self, place: int) -> Member: ...
    @overload
    def __getitem__(self, place: slice) -> "Suite": ...
    def __getitem__(self, place: int | slice) -> "Member | Suite":
        """A model by its place; of a slice, the suite of the models in it."""
        chosen = self.members[place]
        return chosen if isinstance(chosen, Member) else Suite(chosen, self.context, self.seed)

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members)

    @property
    def summary(self) -> str:
        """How many models, of which context."""
        return f"{len(self.members)} certified models, T = {self.context}, seed {self.seed}"

    def document(self) -> Document:
        """A line per model."""
        return suite_document(self.record())

    def record(self) -> dict[str, Any]:
        """The answer key: every model's file, with its relevant positions and all else that is known of it."""
        models = [member.record() for member in self.members]
        return {"context": self.context, "seed": self.seed, "models": models}

    def save(self, path: str | Path, *, modules: bool = False, watch: Watch = ignore) -> Path:
        """Write every model, certified, and then the answer key into a folder; return the key's path.

        With `modules` every model is also a .py file, a torch module that needs no keyhole (`examples/suite_pytorch.py`
        runs them). A path that ends in .json gets the answer key alone; .txt and .html get what is shown.
        """
        path = Path(path)
        if path.suffix.lower() in (".json", ".txt", ".html"):
            return super().save(path)
        for done, member in enumerate(self.members, 1):
            made = assess_plan(member.plan, member.proof, "one of a suite")
            for file in (member.file, *([str(Path(member.file).with_suffix(".py"))] if modules else [])):
                save_model(made, path / file)
            watch(Progress(done, len(self.members), "certifying and writing"))
        return super().save(path / KEY)


def make_suite(count: int, context: int, seed: int = 0, *, watch: Watch = ignore) -> Suite:
    """Certified models of many families and constructions; a longer suite of the same seed begins with a shorter one.

    >>> [member.family for member in make_suite(3, 16)]
    ['and', 'or', 'parity']
    """
    return Suite(tuple(make_members(count, context, seed, watch=watch)), context, seed)
