"""Theorems as guarantees: a bound with its derivation, the conditions it needs, and published rivals beside it."""

from keyhole.bounds.theorems.guarantees import guarantee as guarantee
from keyhole.bounds.theorems.guarantees import with_tokens as with_tokens
from keyhole.bounds.theorems.registry import PATH as PATH
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
