"""Claims about what gradient descent finds."""

from keyhole.apps.ledger.finding import Experiment
from keyhole.apps.ledger.training import (
    certified_runs,
    conjunctions,
    found_constructions,
    gap_beside_bounds,
    grokking,
    parity,
    registered,
    sparse_heads,
    tested_models,
)

MODULES = (
    conjunctions,
    registered,
    parity,
    grokking,
    certified_runs,
    tested_models,
    sparse_heads,
    found_constructions,
    gap_beside_bounds,
)
EXPERIMENTS: tuple[Experiment, ...] = tuple(each for module in MODULES for each in module.EXPERIMENTS)
