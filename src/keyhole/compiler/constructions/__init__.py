"""Constructions: how a sparse function becomes the scores, values and units of one attention layer."""

from keyhole.compiler.constructions.additive import PositionLayout
from keyhole.compiler.constructions.base import Construction, TheoremNorm
from keyhole.compiler.constructions.layout import Layout
from keyhole.compiler.constructions.pairs import PairLayout
from keyhole.compiler.constructions.plan import HeadPlan, Output, Plan, wanted
from keyhole.compiler.constructions.registry import register_construction, registered_constructions

__all__ = [
    "Construction",
    "HeadPlan",
    "Layout",
    "Output",
    "PairLayout",
    "Plan",
    "PositionLayout",
    "TheoremNorm",
    "register_construction",
    "registered_constructions",
    "wanted",
]
