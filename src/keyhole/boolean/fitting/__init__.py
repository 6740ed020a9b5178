"""Sparse functions that fit a labelled sample, found by search and without any network.

Two questions are asked of a sample, and two searches answer them:

- *Which functions of few positions fit, and is there only one?* `juntas_that_fit` enumerates the fitting sets of
  positions that hold no smaller one, over any alphabet. It branches on pairs of a true and a false sample, so its cost
  depends on how many sets survive, not on how many there are.
- *Which one of exactly s positions, drawn uniformly at random?* `draw_fitting_set` walks through all sets of s
  positions of bits in order, with a number for each set: 1 for a conjunction that fits (`ConjunctionSearch`), or how
  many tables on the set fit (`JuntaSearch`). A uniform draw needs the number of every set, which an enumeration of
  minimal sets does not give; and the order of the walk is part of what a seed decides.
"""

from keyhole.on_demand import on_demand

__getattr__, __dir__ = on_demand(__name__, __file__)
