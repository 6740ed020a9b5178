"""Claims of the field, each with its prediction, and the verdicts that follow.

A prediction is stated before it is measured; where a part of the answer was known by then, the prediction says so.
A claim of one's own is an `Experiment`: a `Claim` and a function that measures it. `register` adds it to those of the
library, and `reproduce` measures, keeps and shows it like any other.
"""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
