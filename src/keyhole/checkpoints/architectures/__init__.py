"""Families of checkpoints, each a record in a file of its own; importing this package makes all of them known."""

from importlib import import_module
from pkgutil import iter_modules

from keyhole.checkpoints.architectures.architecture import Architecture as Architecture
from keyhole.checkpoints.architectures.architecture import Fields as Fields
from keyhole.checkpoints.architectures.architecture import OwnCode as OwnCode
from keyhole.checkpoints.architectures.architecture import register_architecture as register_architecture
from keyhole.checkpoints.architectures.architecture import registered as registered

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
