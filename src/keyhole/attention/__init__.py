"""Attention itself: scores, how they become weights, and what is averaged with them.

Everything is written once against the array namespace of its arguments: numpy, jax or torch arrays serve. These are
the names most used; normalisers, embeddings and norms have files of their own.
"""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
