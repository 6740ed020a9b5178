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

EXPERIMENTS: tuple[Experiment, ...] = (
    *supervised_length.EXPERIMENTS,
    *masked_length.EXPERIMENTS,
    *sink_recovery.EXPERIMENTS,
    *risk_parts.EXPERIMENTS,
    *condition_number.EXPERIMENTS,
    *trained_networks.EXPERIMENTS,
    *posterior_probes.EXPERIMENTS,
)
