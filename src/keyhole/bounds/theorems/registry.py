"""The ways from a profile of norms to a bound on its Rademacher complexity."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import inf

from keyhole.bounds.covers.chaining import complexity_of
from keyhole.bounds.covers.deep import deep_cover, require_query_row
from keyhole.bounds.covers.heads import fixed_rows, scalar_model_cover
from keyhole.bounds.derivation import Complexity
from keyhole.bounds.theorems.decision_lists import list_complexity, product_list_complexity
from keyhole.bounds.theorems.norm_fields import HEAD, QUERY, RADII, SPECTRAL, TRAINED, Dial, dials, scalar_dials
from keyhole.bounds.theorems.path import path_complexity
from keyhole.bounds.theorems.tabulated import tabulated_complexity
from keyhole.bounds.validate import Real
from keyhole.decimals import at_least
from keyhole.norm_profile import NormProfile, require_normaliser

COVER_NOTE = (
    "Cover bounds are vacuous at laboratory sizes: exact heads for sparse functions of 100 to 10,000 bits "
    "ask for 10¹⁰ to 10¹³ samples. They show trends; a figure to rely on is of Occam type."
)
SPREAD_NOTE = (
    "Trained heads may score the symbol strongly: Φ(2) = 14.0, Φ(4) = 158, Φ(6) = 1174. "
    "Report the spread R and the smallest normaliser on the sample with every use."
)
LIST_NOTE = (
    "Scores that look at the symbol cost e^{R/2} up to logarithms here, and nothing where symbols are independent."
)


@dataclass(frozen=True)
class Route:
    """One theorem as a function of norms and samples, the norms it reads, and what to say beside it."""

    key: str
    title: str
    complexity: Callable[[NormProfile, Real], Complexity] = field(repr=False)
    dials: Callable[[NormProfile], list[Dial]] = field(repr=False)
    note: str = field(default="", repr=False)
    require: Callable[[NormProfile], None] = field(default=require_normaliser, repr=False)  # of norms asked about


def _scalar(profile: NormProfile, samples: Real) -> Complexity:
    return complexity_of(scalar_model_cover(profile, samples), samples).assuming(*_bounded(profile))


def _deep(profile: NormProfile, samples: Real) -> Complexity:
    between = "rows are projected on the unit ball after every layer" if profile.projected else None
    plain = "no LayerNorm and no MLP stands between the layers"
    return complexity_of(deep_cover(profile, samples), samples).assuming(*_bounded(profile), between or plain)


def _bounded(profile: NormProfile) -> tuple[str, ...]:
    """The conditions on inputs and normaliser, rounded down, so that they are no weaker than what was assumed."""
    constant = inf if profile.normaliser_constant is None else profile.normaliser_constant
    return (
        f"‖x_t‖ ≤ {at_least(profile.token_radius, 6)} and ‖z‖ ≤ {at_least(profile.query_radius, 6)} for every input",
        f"{profile.normaliser} moves by at most {at_least(constant, 6)} in ℓ1 per unit of ℓ∞",
        "outputs are clipped to [−1, 1]",
        *fixed_rows(profile),
    )


TABLES = partial(dials, plain={"path_inf": "P_∞", "spread": "the spread R"})
TABULATED = Route(
    "tabulated",
    "Theorem T: one layer with a fixed query",
    tabulated_complexity,
    TABLES,
    SPREAD_NOTE,
)
LISTS = Route("lists", "Theorem L: decision lists, any law", list_complexity, TABLES, LIST_NOTE)
PRODUCT_LISTS = Route(
    "product-lists",
    "Theorem L, independent symbols: decision lists",
    product_list_complexity,
    partial(dials, plain={"path_inf": "P_∞"}),  # no norm of the scores
    LIST_NOTE,
)
SCALAR = Route("cover", "Theorem S: one layer by covers", _scalar, scalar_dials, COVER_NOTE)
PATH = Route(
    "path",
    "Theorem P: one layer by its path norm",
    path_complexity,
    partial(dials, plain={"path": "P", **RADII, **TRAINED}, heads={**SPECTRAL, QUERY: "‖q‖"}),
    COVER_NOTE,
)
DEEP = Route(
    "deep",
    "Theorem D: any depth by covers",
    _deep,
    partial(
        dials,
        plain={"readout": "‖w‖₂", "token_radius": "B_X", **TRAINED},
        heads={("score", "frobenius"): "‖M‖_F", **SPECTRAL, **HEAD},
        outputs=("spectral", "columns21"),
    ),
    COVER_NOTE,
    require_query_row,
)

ROUTES: tuple[Route, ...] = (TABULATED, LISTS, PRODUCT_LISTS, SCALAR, PATH, DEEP)
