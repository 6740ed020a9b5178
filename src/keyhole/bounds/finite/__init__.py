"""Finite classes: Occam's bound, identification, binomial tails, information floors, PAC-Bayes."""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
