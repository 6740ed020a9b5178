"""A model before anything is proved: its scope, its exact tables, and the function read off them."""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
