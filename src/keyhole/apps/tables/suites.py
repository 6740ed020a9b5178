"""Suite: certified models with known relevant positions, for whoever wants to know whether an attribution is right."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.boolean import (
    SparseFunction,
    conjunction,
    disjunction,
    from_levels,
    majority,
    parity,
    random_junta,
    threshold,
)
from keyhole.compiler import Compiled, Distractor, Proof, add_distractor, prove
from keyhole.compiler.constructions import Output, Plan, construction_of, find_construction
from keyhole.compiler.export import save_model
from keyhole.errors import AssumptionError
from keyhole.files.record import hidden
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.answer import Show, abbreviate

FEW = 10  # models that are listed unasked
LONGEST = 30  # letters of a formula
SHORTEST = 8  # context: five relevant positions at most, and three decoys
LEAKS = (0.05, 0.2, 0.5, 0.8)  # of distractors: attention off their decoys
MASSES = (0.1, 0.3, 0.5, 0.7)  # γ or ρ of the heads that are read
CODED = 2  # relevant positions at most where codes are random: their width grows with the square
KEY = "key.json"
CONSTRUCTIONS = ("pair", "additive", "heads", "codes")  # in turn; a suite of a seed stays the same

Positions = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Member:
    """One model of a suite: its plan, what was proved of it, and what was put in its way."""

    file: str
    family: str
    formula: str
    positions: tuple[int, ...]  # the relevant ones
    construction: str  # with how many distractors
    output: Output
    margin: float  # proved
    leak: float  # the largest attention off the relevant positions
    distractors: tuple[Distractor, ...]
    plan: Plan = hidden()
    proof: Proof = hidden()


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


def make_member(index: int, context: int, seed: int) -> Member:
    """Make one model of a suite: families in turn, constructions in turn at another pace, all else drawn."""
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, index])))
    turn, place = divmod(index, len(FAMILIES))
    family = list(FAMILIES)[place]
    construction = find_construction(CONSTRUCTIONS[(turn + place) % len(CONSTRUCTIONS)])
    most = min(5, context // 4 + 1) if construction.layout.orthogonal else CODED
    sparsity = int(rng.integers(2, most + 1))
    positions = tuple(sorted(rng.choice(context, sparsity, replace=False).tolist()))
    function = FAMILIES[family](positions, rng)
    plan = construction.plans(function, context, float(rng.choice(MASSES)), "signs", seed)[0]
    count = int(rng.integers(0, 4)) if construction.layout.orthogonal else 0
    others = [place for place in range(context) if place not in function.positions]
    distractors = []
    for _ in range(count):
        decoys = rng.choice(others, int(rng.integers(1, 4)), replace=False)
        distractors.append(Distractor(tuple(sorted(decoys.tolist())), float(rng.choice(LEAKS))))
    for distractor in distractors:
        plan = add_distractor(plan, distractor)
    proof = prove(plan)
    return Member(
        file=f"model-{index:03d}.safetensors",
        family=family,
        formula=str(function),
        positions=function.positions,
        construction=plan.construction,
        output=plan.output,
        margin=proof.margin,
        leak=proof.leak,
        distractors=tuple(distractors),
        plan=plan,
        proof=proof,
    )


FAMILIES: dict[str, Callable[[Positions, np.random.Generator], SparseFunction]] = {
    "and": lambda positions, _: conjunction(positions),
    "or": lambda positions, _: disjunction(positions),
    "parity": lambda positions, _: parity(positions),
    "majority": lambda positions, _: majority(positions),
    "threshold": lambda positions, rng: threshold(int(rng.integers(1, len(positions) + 1)), positions),
    "literals": lambda positions, rng: from_levels(  # a conjunction, some literals negated
        positions, (False,) * len(positions) + (True,), tuple(rng.integers(0, 2, len(positions)).astype(bool).tolist())
    ),
    "random": random_junta,
}
