"""Claims about how much data a bounded-norm head needs."""

from keyhole.apps.ledger.finding import Experiment
from keyhole.apps.ledger.generalization import bound_growth, bound_rivals, bound_shape, floor, theorem_l, theorem_t

EXPERIMENTS: tuple[Experiment, ...] = (
    *floor.EXPERIMENTS,
    *theorem_t.EXPERIMENTS,
    *theorem_l.EXPERIMENTS,
    *bound_growth.EXPERIMENTS,
    *bound_rivals.EXPERIMENTS,
    *bound_shape.EXPERIMENTS,
)
