"""The members of a suite: certified models with known relevant positions, of many functions and constructions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

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
from keyhole.compiler import Distractor, Proof, add_distractor, prove
from keyhole.compiler.constructions import Output, Plan, find_construction
from keyhole.files.record import hidden

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


def make_member(index: int, context: int, seed: int) -> Member:
    """Make one model of a suite: families in turn, constructions in turn at another pace, all else drawn."""
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, index])))
    names = list(FAMILIES)
    family = names[index % len(names)]
    construction = find_construction(CONSTRUCTIONS[(index // len(names) + index % len(names)) % len(CONSTRUCTIONS)])
    most = min(5, context // 4 + 1) if construction.layout.orthogonal else CODED
    sparsity = int(rng.integers(2, most + 1))
    positions = tuple(sorted(rng.choice(context, sparsity, replace=False).tolist()))
    function = FAMILIES[family](positions, rng)
    plan = construction.plans(function, context, float(rng.choice(MASSES)), "signs", seed)[0]
    count = int(rng.integers(0, 4)) if construction.layout.orthogonal else 0
    others = [place for place in range(context) if place not in function.positions]
    distractors = tuple(
        Distractor(
            tuple(sorted(rng.choice(others, int(rng.integers(1, 4)), replace=False).tolist())),
            float(rng.choice(LEAKS)),
        )
        for _ in range(count)
    )
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
        distractors=distractors,
        plan=plan,
        proof=proof,
    )


def _literals(positions: Positions, rng: np.random.Generator) -> SparseFunction:
    """A conjunction of literals, some of them negated."""
    s = len(positions)
    return from_levels(positions, (False,) * s + (True,), tuple(rng.integers(0, 2, s).astype(bool).tolist()))


FAMILIES: dict[str, Callable[[Positions, np.random.Generator], SparseFunction]] = {
    "and": lambda positions, _: conjunction(positions),
    "or": lambda positions, _: disjunction(positions),
    "parity": lambda positions, _: parity(positions),
    "majority": lambda positions, _: majority(positions),
    "threshold": lambda positions, rng: threshold(int(rng.integers(1, len(positions) + 1)), positions),
    "literals": _literals,
    "random": random_junta,
}
