"""Suite: certified models with known relevant positions, for whoever wants to know whether an attribution is right."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

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
from keyhole.files.atomic import write_file
from keyhole.files.record import to_json

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


def make_suite(count: int, context: int, seed: int = 0) -> tuple[Member, ...]:
    """Certified models of many families and constructions; a longer suite of the same seed begins with a shorter one.

    >>> [member.family for member in make_suite(3, 16)]
    ['and', 'or', 'parity']
    """
    if count < 1 or context < SHORTEST:
        raise AssumptionError(
            f"A suite of {count} models of context {context} was asked for; ask for at least one model, of a context "
            f"of at least {SHORTEST}."
        )
    return tuple(_member(index, context, seed) for index in range(count))


def suite(count: int, context: int, folder: Path, *, seed: int = 0) -> Path:
    """Make a suite, certify and write every model, then the answer key; return the key's path."""

    def write(plan: Plan, _proof: Proof, path: Path) -> None:
        save(certified(Choice(plan, "one of a suite")), path)

    return write_suite(make_suite(count, context, seed), folder, write, seed)


def write_suite(
    members: tuple[Member, ...], folder: Path, write_model: Callable[[Plan, Proof, Path], object], seed: int = 0
) -> Path:
    """Write every model with the given writer, then the answer key; return the key's path."""
    for member in members:
        write_model(member.plan, member.proof, folder / member.file)
    fields = {
        "context": members[0].plan.context,
        "seed": seed,
        "models": [member.record() for member in members],
    }
    return write_file(folder / KEY, f"{to_json('suite/1', fields)}\n".encode())


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
