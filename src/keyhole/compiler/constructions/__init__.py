"""Constructions: how a sparse function becomes the scores, values and units of one attention layer."""

from keyhole.compiler.constructions.additive import PositionLayout
from keyhole.compiler.constructions.pairs import PairLayout, pair_plans
from keyhole.compiler.constructions.plan import Construction, HeadPlan, Layout, Output, Plan, TheoremNorm, wanted
from keyhole.compiler.constructions.registry import (
    construction_of,
    find_construction,
    register_construction,
    registered_constructions,
)

__all__ = [
    "Construction",
    "HeadPlan",
    "Layout",
    "Output",
    "PairLayout",
    "Plan",
    "PositionLayout",
    "TheoremNorm",
    "construction_of",
    "find_construction",
    "pair_plans",
    "register_construction",
    "registered_constructions",
    "wanted",
]
