"""Sparse functions that fit a labelled sample, found by search and without any network.

Three questions are asked of a sample, and two searches answer them:

- *Which functions of few positions fit, and is there only one?* `juntas_that_fit` enumerates the fitting sets of
  positions that hold no smaller one, over any alphabet. It branches on pairs of a true and a false sample, so its cost
  depends on how many sets survive, not on how many there are.
- *How many functions of exactly s positions fit?* `count_fitting`.
- *Which one, drawn uniformly at random?* `draw_fitting_set`. Both walk through all sets of s positions of bits in
  order, with a number for each set: 1 for a conjunction that fits (`ConjunctionSearch`), or how many tables on the set
  fit (`JuntaSearch`). A uniform draw needs the number of every set, which an enumeration of minimal sets does not give;
  and the order of the walk is part of what a seed decides. So there are two searches and not one.
"""

from keyhole.boolean.fitting.bitsets import Words as Words
from keyhole.boolean.fitting.bitsets import pack as pack
from keyhole.boolean.fitting.bitsets import set_bits as set_bits
from keyhole.boolean.fitting.bitsets import unpack as unpack
from keyhole.boolean.fitting.minimal import FittingJuntas as FittingJuntas
from keyhole.boolean.fitting.minimal import Sample as Sample
from keyhole.boolean.fitting.minimal import every_cell_seen as every_cell_seen
from keyhole.boolean.fitting.minimal import fitted_junta as fitted_junta
from keyhole.boolean.fitting.minimal import juntas_that_fit as juntas_that_fit
from keyhole.boolean.fitting.subsets import ConjunctionSearch as ConjunctionSearch
from keyhole.boolean.fitting.subsets import JuntaSearch as JuntaSearch
from keyhole.boolean.fitting.subsets import Search as Search
from keyhole.boolean.fitting.subsets import count_fitting as count_fitting
from keyhole.boolean.fitting.subsets import draw_fitting_set as draw_fitting_set
