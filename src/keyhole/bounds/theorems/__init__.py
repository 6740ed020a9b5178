"""Theorems as guarantees: a bound with its derivation, the conditions it needs, and published rivals beside it."""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
