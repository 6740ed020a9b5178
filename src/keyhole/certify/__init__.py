"""What a trained [CLS] head computes, settled for every input, with an error one can promise.

The room has the name of its verb, so it can be asked itself: `keyhole.certify(model, data)` is the verb.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Asked(ModuleType):
    """A module that, called, asks the verb of its name."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """As `keyhole.verbs.certify.certify`."""
        return import_module("keyhole.verbs.certify").certify(*arguments, **options)


sys.modules[__name__].__class__ = _Asked
