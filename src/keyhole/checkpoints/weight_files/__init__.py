"""Weights on disk, read and never run: safetensors, torch's archives and its older files, whole folders of them."""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
