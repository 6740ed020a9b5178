"""A Boolean function in, exact weights and a proof for every input out; no training."""

from keyhole.compiler.assembly import to_tabulated as to_tabulated
from keyhole.compiler.choice import Charge as Charge
from keyhole.compiler.choice import cheapest as cheapest
from keyhole.compiler.choice import choose as choose
from keyhole.compiler.choice import path_inf as path_inf
from keyhole.compiler.choice import product_law as product_law
from keyhole.compiler.compiled import Compiled as Compiled
from keyhole.compiler.constructions.least_norm import LeastNorm as LeastNorm
from keyhole.compiler.constructions.least_norm import least_norm as least_norm
from keyhole.compiler.distractors import Distractor as Distractor
from keyhole.compiler.distractors import add_distractor as add_distractor
from keyhole.compiler.export.lens import lens_config as lens_config
from keyhole.compiler.export.lens import lens_state as lens_state
from keyhole.compiler.export.residual import to_residual as to_residual
from keyhole.compiler.export.residual import token_ids as token_ids
from keyhole.compiler.inspection import Inspection as Inspection
from keyhole.compiler.inspection import inspect as inspect
from keyhole.compiler.inspection import load_checked as load_checked
from keyhole.compiler.inspection import load_undamaged as load_undamaged
from keyhole.compiler.inspection import require_dense as require_dense
from keyhole.compiler.norms import named_norms as named_norms
from keyhole.compiler.norms import plan_profile as plan_profile
from keyhole.compiler.proof import Proof as Proof
from keyhole.compiler.proof import prove as prove
