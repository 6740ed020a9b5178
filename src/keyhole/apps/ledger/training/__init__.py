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

EXPERIMENTS: tuple[Experiment, ...] = (
    *conjunctions.EXPERIMENTS,
    *registered.EXPERIMENTS,
    *parity.EXPERIMENTS,
    *grokking.EXPERIMENTS,
    *certified_runs.EXPERIMENTS,
    *tested_models.EXPERIMENTS,
    *sparse_heads.EXPERIMENTS,
    *found_constructions.EXPERIMENTS,
    *gap_beside_bounds.EXPERIMENTS,
)
