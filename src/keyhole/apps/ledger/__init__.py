"""Claims of the field, each with its prediction, and the verdicts that follow.

A prediction is stated before it is measured; where a part of the answer was known by then, the prediction says so.
A claim of one's own is an `Experiment`: a `Claim` and a function that measures it. `register` adds it to those of the
library, and `reproduce` measures, keeps and shows it like any other.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from keyhole.apps.ledger.finding import Claim as Claim
from keyhole.apps.ledger.finding import Experiment as Experiment
from keyhole.apps.ledger.finding import Finding as Finding
from keyhole.apps.ledger.finding import Outcome as Outcome
from keyhole.apps.ledger.finding import Scale as Scale
from keyhole.apps.ledger.ledger import experiments as experiments
from keyhole.apps.ledger.ledger import register as register

if TYPE_CHECKING:
    from keyhole.apps.ledger.reproduction import Findings as Findings
    from keyhole.apps.ledger.reproduction import reproduce as reproduce

LAZY = ("Findings", "reproduce")  # imported when first used


def __getattr__(name: str) -> object:
    """Import what measures and draws when it is first named."""
    if name in LAZY:
        return getattr(import_module("keyhole.apps.ledger.reproduction"), name)
    raise AttributeError(f"module 'keyhole.apps.ledger' has no attribute {name!r}")
