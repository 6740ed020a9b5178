"""Promises from a labelled sample: error bounds, functions that fit it, tail bounds."""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
