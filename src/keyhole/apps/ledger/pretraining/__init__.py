"""Claims about learning the representation: supervised and masked training, and what they are good for."""

from keyhole.apps.ledger.finding import Experiment
from keyhole.apps.ledger.pretraining import (
    condition_number,
    masked_length,
    posterior_probes,
    risk_parts,
    sink_recovery,
    supervised_length,
    trained_networks,
)

MODULES = (
    supervised_length,
    masked_length,
    sink_recovery,
    risk_parts,
    condition_number,
    trained_networks,
    posterior_probes,
)
EXPERIMENTS: tuple[Experiment, ...] = tuple(each for module in MODULES for each in module.EXPERIMENTS)
