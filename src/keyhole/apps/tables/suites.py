"""Suite: certified models with known relevant positions, for whoever wants to know whether an attribution is right."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from keyhole.api.result import Result
from keyhole.apps.tables.suite.members import KEY, SHORTEST, Member, make_member
from keyhole.compiler import Compiled
from keyhole.compiler.constructions import construction_of
from keyhole.compiler.export import save_model
from keyhole.errors import AssumptionError
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.answer import Show
from keyhole.show.terminal import abbreviate

FEW = 10  # models that are listed unasked
LONGEST = 30  # letters of a formula


@dataclass(frozen=True, eq=False, repr=False)
class Suite(Result):
    """Certified models in the order in which they were made; the record is the answer key."""

    schema: ClassVar[str] = "suite/1"

    context: int
    seed: int
    models: tuple[Member, ...]

    def lines(self, show: Show) -> None:
        """Count the models; list them where there are few."""
        show.line(f"{len(self.models)} certified models of context T = {self.context}, seed {self.seed}")
        if len(self.models) > FEW and not show.verbose:
            return
        show.table(
            {"model": "<", "family": "<", "formula": "<", "construction": "<", "distractors": ">"},
            [
                (
                    Path(each.file).stem,
                    each.family,
                    abbreviate(each.formula, LONGEST),
                    abbreviate(each.construction, LONGEST),
                    str(len(each.distractors)),
                )
                for each in self.models
            ],
        )

    def save(self, path: str | Path, *, modules: bool = False, watch: Watch = ignore) -> Path:
        """Write every model, certified, and then the answer key into a folder; return the key's path.

        With `modules` every model is also a .py file, a torch module that needs no keyhole (`examples/suite_pytorch.py`
        runs them). A path that ends in .json gets the answer key alone; .txt and .html get what is shown.
        """
        path = Path(path)
        if path.suffix.lower() in (".json", ".txt", ".html"):
            return super().save(path)
        for done, member in enumerate(self.models, 1):
            made = Compiled(member.plan, member.proof, construction_of(member.construction))
            for file in (member.file, *([str(Path(member.file).with_suffix(".py"))] if modules else [])):
                save_model(made, path / file)
            watch(Progress(done, len(self.models), "certifying and writing"))
        return super().save(path / KEY)


def make_suite(count: int, context: int, seed: int = 0, *, watch: Watch = ignore) -> Suite:
    """Certified models of many families and constructions; a longer suite of the same seed begins with a shorter one.

    >>> [member.family for member in make_suite(3, 16).models]
    ['and', 'or', 'parity']
    """
    if count < 1 or context < SHORTEST:
        raise AssumptionError(
            f"A suite of {count} models of context {context} was asked for; ask for at least one model, of a context "
            f"of at least {SHORTEST}."
        )
    members = []
    for index in range(count):
        members.append(make_member(index, context, seed))
        watch(Progress(index + 1, count, "making models"))
    return Suite(context, seed, tuple(members))
