"""Readers of weights that were stored or trained elsewhere: one architecture per file, one form for all of them."""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
