"""Sets of words of one length: by counts of symbols, and by the state in which a finite automaton ends."""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
