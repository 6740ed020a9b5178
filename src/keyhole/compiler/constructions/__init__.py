"""Constructions: how a sparse function becomes the scores, values and units of one attention layer."""

from keyhole.compiler.constructions.additive import PositionLayout as PositionLayout
from keyhole.compiler.constructions.pairs import PairLayout as PairLayout
from keyhole.compiler.constructions.pairs import pair_plans as pair_plans
from keyhole.compiler.constructions.plan import Construction as Construction
from keyhole.compiler.constructions.plan import HeadPlan as HeadPlan
from keyhole.compiler.constructions.plan import Layout as Layout
from keyhole.compiler.constructions.plan import Output as Output
from keyhole.compiler.constructions.plan import Plan as Plan
from keyhole.compiler.constructions.plan import TheoremNorm as TheoremNorm
from keyhole.compiler.constructions.plan import wanted as wanted
from keyhole.compiler.constructions.registry import construction_of as construction_of
from keyhole.compiler.constructions.registry import find_construction as find_construction
from keyhole.compiler.constructions.registry import register_construction as register_construction
from keyhole.compiler.constructions.registry import registered_constructions as registered_constructions
