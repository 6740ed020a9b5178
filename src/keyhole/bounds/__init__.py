"""Norms and sample sizes in, guarantees out: pure numbers, each with the derivation that gives it.

>>> from keyhole.bounds import TABULATED, guarantee, pair_construction
>>> guarantee(TABULATED, pair_construction("and", context=1000, sparsity=3), samples=1e5).vacuous
False
"""

from keyhole.bounds.construction_norms import pair_construction as pair_construction
from keyhole.bounds.covers.calculus import Cover as Cover
from keyhole.bounds.falsify import falsify as falsify
from keyhole.bounds.finite.floor import information_floor as information_floor
from keyhole.bounds.finite.identification import identification_size as identification_size
from keyhole.bounds.softmax import drift as drift
from keyhole.bounds.theorems.guarantee import Guarantee as Guarantee
from keyhole.bounds.theorems.guarantee import guarantee as guarantee
from keyhole.bounds.theorems.rivals import rivals as rivals
from keyhole.bounds.theorems.theorems import DEEP as DEEP
from keyhole.bounds.theorems.theorems import PATH as PATH
from keyhole.bounds.theorems.theorems import ROUTES as ROUTES
from keyhole.bounds.theorems.theorems import SCALAR as SCALAR
from keyhole.bounds.theorems.theorems import TABULATED as TABULATED
