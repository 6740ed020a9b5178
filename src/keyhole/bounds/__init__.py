"""Norms and sample sizes in, guarantees out: pure numbers, each with the derivation that gives it.

>>> from keyhole.bounds import TABULATED, guarantee, pair_construction
>>> guarantee(TABULATED, pair_construction("and", context=1000, sparsity=3), samples=1e5).vacuous
False
"""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
