"""Theorems as guarantees: a bound with its derivation, the conditions it needs, and published rivals beside it."""

from keyhole.bounds.theorems.decision_lists import Lists as Lists
from keyhole.bounds.theorems.decision_lists import absence as absence
from keyhole.bounds.theorems.decision_lists import any_law_lists as any_law_lists
from keyhole.bounds.theorems.decision_lists import literal_count as literal_count
from keyhole.bounds.theorems.decision_lists import product_law_lists as product_law_lists
from keyhole.bounds.theorems.guarantees import guarantee as guarantee
from keyhole.bounds.theorems.guarantees import with_tokens as with_tokens
from keyhole.bounds.theorems.registry import LISTS as LISTS
from keyhole.bounds.theorems.registry import PATH as PATH
from keyhole.bounds.theorems.registry import PRODUCT_LISTS as PRODUCT_LISTS
from keyhole.bounds.theorems.registry import SCALAR as SCALAR
from keyhole.bounds.theorems.registry import TABULATED as TABULATED
from keyhole.bounds.theorems.registry import Route as Route
from keyhole.bounds.theorems.rival_bounds import RECALLED_CONSTANTS as RECALLED_CONSTANTS
from keyhole.bounds.theorems.rival_bounds import Rival as Rival
from keyhole.bounds.theorems.rival_bounds import rivals as rivals
from keyhole.bounds.theorems.tabulated import compiled_path_inf as compiled_path_inf
from keyhole.bounds.theorems.tabulated import joined_samples as joined_samples
from keyhole.bounds.theorems.tabulated import one_position_rate as one_position_rate
from keyhole.bounds.theorems.tabulated import spread_price as spread_price
