# Public names, and where each is defined; `__init__.py` imports them from here when they are first used.

from keyhole.apps.ledger.finding import Claim as Claim
from keyhole.apps.ledger.finding import Experiment as Experiment
from keyhole.apps.ledger.finding import Finding as Finding
from keyhole.apps.ledger.finding import Outcome as Outcome
from keyhole.apps.ledger.finding import Scale as Scale
from keyhole.apps.ledger.ledger import experiments as experiments
from keyhole.apps.ledger.ledger import register as register
from keyhole.apps.ledger.reproduction import Findings as Findings
from keyhole.apps.ledger.reproduction import reproduce as reproduce
