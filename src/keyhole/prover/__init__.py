"""What a trained one-layer model computes, proved for every input, with an error bound from a sample."""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
