"""Sweeps: runs and their store, thresholds m*, laws of growth, plans."""

from keyhole.sweeps.runs import Execution as Execution
from keyhole.sweeps.thresholds.design import Schedule as Schedule
