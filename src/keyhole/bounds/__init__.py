"""Norms and sample sizes in, guarantees out: pure numbers, each with the derivation that gives it.

>>> from keyhole.bounds import TABULATED, guarantee, pair_construction
>>> guarantee(TABULATED, pair_construction("and", context=1000, sparsity=3), samples=1e5).vacuous
False
"""

from keyhole.bounds.constructions import pair_construction as pair_construction
from keyhole.bounds.covers import Cover as Cover
from keyhole.bounds.falsify import falsify as falsify
from keyhole.bounds.floor import information_floor as information_floor
from keyhole.bounds.guarantee import Guarantee as Guarantee
from keyhole.bounds.guarantee import guarantee as guarantee
from keyhole.bounds.identification import identification_size as identification_size
from keyhole.bounds.rivals import rivals as rivals
from keyhole.bounds.routes import DEEP as DEEP
from keyhole.bounds.routes import PATH as PATH
from keyhole.bounds.routes import ROUTES as ROUTES
from keyhole.bounds.routes import SCALAR as SCALAR
from keyhole.bounds.routes import TABULATED as TABULATED
from keyhole.bounds.softmax import drift as drift
