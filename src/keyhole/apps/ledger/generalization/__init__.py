"""Claims about how much data a bounded-norm head needs."""

from keyhole.apps.ledger.finding import Experiment
from keyhole.apps.ledger.generalization import bound_growth, bound_rivals, bound_shape, floor, theorem_l, theorem_t

MODULES = (floor, theorem_t, theorem_l, bound_growth, bound_rivals, bound_shape)
EXPERIMENTS: tuple[Experiment, ...] = tuple(each for module in MODULES for each in module.EXPERIMENTS)
