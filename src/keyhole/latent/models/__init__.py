"""Latent models with exact posteriors: each file here defines models and registers them by name."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):  # a new file is found without being listed
    import_module(f"{__name__}.{_module.name}")
