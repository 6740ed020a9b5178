"""Proofs about trained one-layer models: the function computed on every input, and an error bound from a sample."""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
