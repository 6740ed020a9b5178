"""Claims about what one head represents, and with which norms."""

from keyhole.apps.ledger.finding import Experiment
from keyhole.apps.ledger.representation import (
    constructions,
    joined,
    normaliser_constants,
    one_head,
    sharpness,
    softmax_smoothness,
)

MODULES = (joined, softmax_smoothness, normaliser_constants, sharpness, constructions, one_head)
EXPERIMENTS: tuple[Experiment, ...] = tuple(each for module in MODULES for each in module.EXPERIMENTS)
