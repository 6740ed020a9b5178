"""Covering numbers: linear classes, the calculus that composes them, heads, depth, and the entropy integral."""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
