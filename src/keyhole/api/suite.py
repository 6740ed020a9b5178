"""Suite: certified models with known relevant positions, for whoever wants to know whether an attribution is right."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, overload

import numpy as np

from keyhole.api.result import Result
from keyhole.boolean.families import conjunction, disjunction, majority, parity, random_junta, threshold
from keyhole.boolean.function import SparseFunction, from_levels
from keyhole.compiler.choice import Choice
from keyhole.compiler.compiled import certified
from keyhole.compiler.constructions.additive import additive_plan, coded_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.constructions.per_position import separate_plan
from keyhole.compiler.constructions.plan import Plan
from keyhole.compiler.distractors import with_distractor
from keyhole.compiler.export.stored import save
from keyhole.compiler.proof import Proof, prove
from keyhole.errors import AssumptionError
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.document import Document
from keyhole.show.suite import suite_document

SHORTEST = 8  # context: five relevant positions at most, and three decoys
LEAKS = (0.05, 0.2, 0.5, 0.8)  # of distractors: attention off their decoys
MASSES = (0.1, 0.3, 0.5, 0.7)  # γ or ρ of the heads that are read
CODED = 2  # relevant positions at most where codes are random: their width grows with the square
KEY = "key.json"

Positions = tuple[int, ...]


@dataclass(frozen=True)
class Distractor:
    """Which positions a distracting head attends to, and how much of its attention it leaves to the others."""

    decoys: Positions
    leak: float


@dataclass(frozen=True, eq=False)
class Member:
    """One model of a suite: its plan, what was proved of it, and what was put in its way."""

    file: str
    family: str
    plan: Plan
    proof: Proof
    distractors: tuple[Distractor, ...]

    def record(self) -> dict[str, Any]:
        """The answers: which positions are relevant, and all else that is known of the model."""
        return {
            "file": self.file,
            "family": self.family,
            "formula": str(self.plan.function),
            "positions": self.plan.function.positions,
            "construction": self.plan.construction,
            "output": self.plan.output,
            "margin": self.proof.margin,
            "leak": self.proof.leak,
            "distractors": [vars(distractor) for distractor in self.distractors],
        }


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

    def save(self, path: str | Path, *, watch: Watch = ignore) -> Path:
        """Write every model, certified, and then the answer key into a folder; return the key's path.

        A path that ends in .json gets the answer key alone; .txt and .html get what is shown.
        """
        path = Path(path)
        if path.suffix.lower() in (".json", ".txt", ".html"):
            return super().save(path)
        for done, member in enumerate(self.members, 1):
            save(certified(Choice(member.plan, "one of a suite")), path / member.file)
            watch(Progress(done, len(self.members), "certifying and writing"))
        return super().save(path / KEY)


def make_suite(count: int, context: int, seed: int = 0, *, watch: Watch = ignore) -> Suite:
    """Certified models of many families and constructions; a longer suite of the same seed begins with a shorter one.

    >>> [member.family for member in make_suite(3, 16)]
    ['and', 'or', 'parity']
    """
    if count < 1 or context < SHORTEST:
        raise AssumptionError(
            f"A suite of {count} models of context {context} was asked for; ask for at least one model, of a context "
            f"of at least {SHORTEST}."
        )
    members = []
    for index in range(count):
        members.append(_member(index, context, seed))
        watch(Progress(index + 1, count, "making models"))
    return Suite(tuple(members), context, seed)


def _member(index: int, context: int, seed: int) -> Member:
    """Families in turn, constructions in turn at another pace, all else drawn."""
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, index])))
    names = list(FAMILIES)
    family = names[index % len(names)]
    construction = CONSTRUCTIONS[(index // len(names) + index % len(names)) % len(CONSTRUCTIONS)]
    coded = construction == "codes"
    sparsity = int(rng.integers(2, (CODED if coded else min(5, context // 4 + 1)) + 1))
    positions = tuple(sorted(rng.choice(context, sparsity, replace=False).tolist()))
    function = FAMILIES[family](positions, rng)
    plan = _plan(function, context, construction, float(rng.choice(MASSES)), seed)
    distractors = () if coded else tuple(_distractor(plan, rng) for _ in range(int(rng.integers(0, 4))))
    for distractor in distractors:
        plan = with_distractor(plan, distractor.decoys, distractor.leak)
    return Member(f"model-{index:03d}.safetensors", family, plan, prove(plan), distractors)


def _distractor(plan: Plan, rng: np.random.Generator) -> Distractor:
    others = [place for place in range(plan.context) if place not in plan.function.positions]
    decoys = rng.choice(others, int(rng.integers(1, 4)), replace=False).tolist()
    return Distractor(tuple(sorted(decoys)), float(rng.choice(LEAKS)))


def _plan(function: SparseFunction, context: int, construction: str, mass: float, seed: int) -> Plan:
    """The named construction: pairs, token plus position, one head per position, or random codes."""
    if construction == "pairs":
        return pair_plans(function, context, mass, "signs")[0]
    if construction == "positions":
        return additive_plan(function, context, mass, "signs")
    if construction == "separate":
        return separate_plan(function, context, mass, "signs")
    return coded_plan(function, context, mass, "signs", seed)


def _literals(positions: Positions, rng: np.random.Generator) -> SparseFunction:
    """A conjunction of literals, some of them negated."""
    s = len(positions)
    return from_levels(positions, (False,) * s + (True,), tuple(rng.integers(0, 2, s).astype(bool).tolist()))


CONSTRUCTIONS = ("pairs", "positions", "separate", "codes")
FAMILIES: dict[str, Callable[[Positions, np.random.Generator], SparseFunction]] = {
    "and": lambda positions, _: conjunction(positions),
    "or": lambda positions, _: disjunction(positions),
    "parity": lambda positions, _: parity(positions),
    "majority": lambda positions, _: majority(positions),
    "threshold": lambda positions, rng: threshold(int(rng.integers(1, len(positions) + 1)), positions),
    "literals": _literals,
    "random": random_junta,
}
