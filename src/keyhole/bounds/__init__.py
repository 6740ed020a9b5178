"""Norms and sample sizes in, guarantees out: pure numbers, each with the derivation that gives it.

>>> from keyhole.bounds import TABULATED, guarantee, pair_construction
>>> guarantee(TABULATED, pair_construction("and", context=1000, sparsity=3), samples=1e5).vacuous
False
"""

from keyhole.bounds.construction_norms import TARGETS as TARGETS
from keyhole.bounds.construction_norms import hypothetical as hypothetical
from keyhole.bounds.construction_norms import matrix as matrix
from keyhole.bounds.construction_norms import pair_construction as pair_construction
from keyhole.bounds.covers.calculus import Cover as Cover
from keyhole.bounds.derivation import Step as Step
from keyhole.bounds.finite.floor import information_floor as information_floor
from keyhole.bounds.finite.identification import identification_size as identification_size
from keyhole.bounds.finite.necessity import junta_capacity_floor as junta_capacity_floor
from keyhole.bounds.finite.necessity import logit_range_floor as logit_range_floor
from keyhole.bounds.finite.necessity import token_influence as token_influence
from keyhole.bounds.finite.occam import agnostic_error as agnostic_error
from keyhole.bounds.finite.occam import exact_error as exact_error
from keyhole.bounds.softmax import pooled_move as pooled_move
from keyhole.bounds.softmax import softmax_move as softmax_move
from keyhole.bounds.theorems.guarantees import Guarantee as Guarantee
from keyhole.bounds.theorems.guarantees import guarantee as guarantee
from keyhole.bounds.theorems.guarantees import with_tokens as with_tokens
from keyhole.bounds.theorems.peeling import peeled as peeled
from keyhole.bounds.theorems.registry import DEEP as DEEP
from keyhole.bounds.theorems.registry import LISTS as LISTS
from keyhole.bounds.theorems.registry import PATH as PATH
from keyhole.bounds.theorems.registry import PRODUCT_LISTS as PRODUCT_LISTS
from keyhole.bounds.theorems.registry import ROUTES as ROUTES
from keyhole.bounds.theorems.registry import SCALAR as SCALAR
from keyhole.bounds.theorems.registry import TABULATED as TABULATED
from keyhole.bounds.theorems.risk import Loss as Loss
from keyhole.bounds.theorems.risk import margin_loss as margin_loss
from keyhole.bounds.theorems.rival_bounds import Rival as Rival
from keyhole.bounds.theorems.rival_bounds import rivals as rivals
from keyhole.bounds.theorems.tabulated import observed_normaliser_gap as observed_normaliser_gap
from keyhole.bounds.theorems.tabulated import tabulated_floor as tabulated_floor
from keyhole.bounds.theorems.tabulated import tabulated_log_size as tabulated_log_size
from keyhole.bounds.theorems.trained_layer import layer_guarantee as layer_guarantee
from keyhole.bounds.theorems.trained_layer import tabulated_profile as tabulated_profile
from keyhole.bounds.validate import Real as Real
from keyhole.bounds.validate import failure as failure
from keyhole.bounds.validate import kept_share as kept_share
from keyhole.bounds.validate import sample_size as sample_size
