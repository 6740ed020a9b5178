"""Claims about models that others trained; each is measured where the model is on the machine."""

from keyhole.apps.ledger.checkpoints import atom_mapping, exchangeability, head_roles, syntax
from keyhole.apps.ledger.finding import Experiment

MODULES = (head_roles, syntax, exchangeability, atom_mapping)
EXPERIMENTS: tuple[Experiment, ...] = tuple(each for module in MODULES for each in module.EXPERIMENTS)
