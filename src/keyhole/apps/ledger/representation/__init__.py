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

EXPERIMENTS: tuple[Experiment, ...] = (
    *joined.EXPERIMENTS,
    *softmax_smoothness.EXPERIMENTS,
    *normaliser_constants.EXPERIMENTS,
    *sharpness.EXPERIMENTS,
    *constructions.EXPERIMENTS,
    *one_head.EXPERIMENTS,
)
