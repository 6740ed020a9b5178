"""Functions on {0, 1}^T that read only a few positions, with no idea that transformers exist."""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
