"""Claims about models that others trained; each is measured where the model is on the machine."""

from keyhole.apps.ledger.checkpoints import atom_mapping, exchangeability, head_roles, syntax
from keyhole.apps.ledger.finding import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    *head_roles.EXPERIMENTS,
    *syntax.EXPERIMENTS,
    *exchangeability.EXPERIMENTS,
    *atom_mapping.EXPERIMENTS,
)
