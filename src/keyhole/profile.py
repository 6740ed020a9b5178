"""A NormProfile: the numbers of a model that bounds speak of, and nothing else of it.

Arrays become these numbers in `attention/norms`; `bounds/` reads only these, so a bound can be asked of
hypothetical norms, without any model. A quantity that was not measured, or does not apply, is None.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import inf, sqrt
from types import MappingProxyType

from keyhole.errors import AssumptionError

ROUNDING = 1e-5  # norms computed in float32 may miss ‖W‖₂ ≤ ‖W‖_F by this much
CONSTANTS = MappingProxyType(  # ℓ∞→ℓ1 constants that serve every number of tokens, None where there is none
    {
        "softmax": 1.0,  # a temperature is counted in the scores
        "uniform": 0.0,
        "sparsemax": None,
        "entmax-1.5": None,
        "hardmax": None,
        "sigmoid": None,
        "linear": None,
    }
)


@dataclass(frozen=True)
class MatrixNorms:
    """The norms of one matrix as it acts: columns are its output coordinates unless said otherwise."""

    rows: int
    columns: int
    spectral: float
    frobenius: float
    columns21: float  # sum over columns of their ℓ2 norms: the field's ‖W‖_{2,1}
    rows21: float  # sum over rows of their ℓ2 norms: ‖Wᵀ‖_{2,1}
    entries11: float  # sum of absolute entries


@dataclass(frozen=True)
class HeadNorms:
    """One attention head: logits are X M z, values are X W_V."""

    score: MatrixNorms  # M, of shape (d, d), the 1/√d_h of a factored head and a temperature included
    value: MatrixNorms  # W_V, of shape (d, k)
    query: float | None = None  # ‖M x_CLS‖₂ when the query is one fixed vector


@dataclass(frozen=True)
class BlockNorms:
    """One layer: its heads, and the matrix W_C of shape (k, d_out) that follows the activation."""

    heads: tuple[HeadNorms, ...]
    output: MatrixNorms | None = None
    residual: bool = False
    concatenated: bool = False  # heads side by side before W_C, rather than summed
    hidden: MatrixNorms | None = None  # W_1 of shape (d, units) before the activation, where there is one
    layernorm: bool = False  # a LayerNorm stands in the block, or before the read-out: not Lipschitz
    biased: bool = False  # a constant is added after attention, or inside a block above the first
    split_residual: bool = False  # the stream is added around attention and again around what follows


@dataclass(frozen=True)
class NormProfile:
    """What the theorems read off a model with a scalar read-out at [CLS]."""

    blocks: tuple[BlockNorms, ...]
    tokens: int  # rows of X, [CLS] included when there is one
    readout: float  # ‖w‖₂; for one layer without W_C, ‖v‖₂
    token_radius: float  # B_X, largest ‖x_t‖₂
    query_radius: float  # B_Z, largest ‖z‖₂
    token_diameter: float | None = None  # D_X, largest ‖x_t − x_t'‖₂
    activation_lipschitz: float = 1.0  # L_σ; σ(0) = 0
    normaliser: str = "softmax"  # by name; several with commas where heads differ
    normaliser_constant: float | None = 1.0  # ℓ∞→ℓ1, free of T; None when there is none: the normaliser's own
    symbols: int = 2  # A
    path: float | None = None  # P = Σ_j |w_j| ‖v_j‖₂ (ReLU)
    path_inf: float | None = None  # P_∞ of the tabulated head
    spread: float | None = None  # R, largest difference of one position's scores over its symbols
    readout_nonnegative: bool = False  # every read-out weight ≥ 0
    positions11: float | None = None  # ‖P‖_{1,1} of trained position codes
    projected: bool = False  # rows are projected on the unit ball after every block
    readout_bias: float = 0.0  # |b|, added to the read-out
    normaliser_floor: float | None = None  # smallest z_h on the sample: Z_h over its largest possible value


def require_possible(profile: NormProfile) -> None:
    """Refuse norms that no model has, and a normaliser whose constant is not its own."""
    require_normaliser(profile)
    for fault in impossibilities(profile):
        raise AssumptionError(f"{fault}; measure again.")


def require_normaliser(profile: NormProfile) -> None:
    """Refuse a normaliser that is not known, or one with a constant that is not its own."""
    names = profile.normaliser.split(", ")
    unknown = [name for name in names if name not in CONSTANTS]
    if unknown:
        raise AssumptionError(f"There is no normaliser {unknown[0]!r}; the names are {', '.join(CONSTANTS)}.")
    known = [constant for constant in (CONSTANTS[name] for name in names) if constant is not None]
    own = max(known) if len(known) == len(names) else None
    if profile.normaliser_constant != own:
        has = "has no constant free of T" if own is None else f"has the constant {own:g}, a temperature counting in M"
        say = "None (null)" if own is None else f"{own:g}"
        raise AssumptionError(
            f"{profile.normaliser} {has}, and normaliser_constant is {profile.normaliser_constant}; give {say}."
        )


def impossibilities(profile: NormProfile) -> Iterator[str]:
    """Sentences on norms that contradict each other, or are none; of most models there are none.

    Statement  ‖W‖₂ ≤ ‖W‖_F ≤ √rank ‖W‖₂; ‖W‖_F ≤ ‖W‖_{2,1} ≤ √columns ‖W‖_F, and the same of rows;
               ‖W‖_{2,1} ≤ ‖W‖_{1,1} ≤ √rows ‖W‖_{2,1}; ‖Mz‖ ≤ ‖M‖₂ B_Z; B_Z ≤ B_X, as the query is a row; D_X ≤ 2 B_X;
               of one layer P_∞ ≤ P B_X and R ≤ 2 B_X max ‖Mz‖.
    Proof      Cauchy–Schwarz and the triangle inequality.
    Source     Standard.
    """
    yield from _numbers(profile, "")
    for b, block in enumerate(profile.blocks):
        for h, head in enumerate(block.heads):
            where = f"blocks[{b}].heads[{h}]"
            yield from _matrix_faults(head.score, f"{where}.score")
            yield from _matrix_faults(head.value, f"{where}.value")
            if head.query is not None:
                most = head.score.spectral * profile.query_radius
                yield from _above(where, ("query", head.query), ("score.spectral · query_radius", most))
        for name, matrix in (("output", block.output), ("hidden", block.hidden)):
            if matrix is not None:
                yield from _matrix_faults(matrix, f"blocks[{b}].{name}")
    radius = profile.token_radius
    yield from _above("", ("query_radius", profile.query_radius), ("token_radius", radius))
    if profile.token_diameter is not None:
        yield from _above("", ("token_diameter", profile.token_diameter), ("2 · token_radius", 2 * radius))
    if len(profile.blocks) == 1:
        yield from _layer_faults(profile)


def _layer_faults(profile: NormProfile) -> Iterator[str]:
    """What the path norms and the spread of one layer cannot be."""
    radius = profile.token_radius
    if profile.path is not None and profile.path_inf is not None:
        yield from _above("", ("path_inf", profile.path_inf), ("path · token_radius", profile.path * radius))
    heads = profile.blocks[0].heads
    if profile.spread is not None and heads:
        largest = [head.score.spectral * profile.query_radius for head in heads]
        queries = [most if head.query is None else head.query for head, most in zip(heads, largest, strict=True)]
        most = 2 * radius * max(queries)
        yield from _above("", ("spread", profile.spread), ("2 · token_radius · the largest query", most))


def _matrix_faults(found: MatrixNorms, where: str) -> Iterator[str]:
    """What the norms of one matrix cannot be."""
    rows, columns = sqrt(found.rows), sqrt(found.columns)
    for low, high_name, high in (
        ("spectral", "frobenius", found.frobenius),
        ("frobenius", "√rank · spectral", min(rows, columns) * found.spectral),
        ("frobenius", "columns21", found.columns21),
        ("frobenius", "rows21", found.rows21),
        ("columns21", "entries11", found.entries11),
        ("rows21", "entries11", found.entries11),
        ("columns21", "√columns · frobenius", columns * found.frobenius),
        ("rows21", "√rows · frobenius", rows * found.frobenius),
        ("entries11", "√rows · columns21", rows * found.columns21),
        ("entries11", "√columns · rows21", columns * found.rows21),
    ):
        yield from _above(where, (low, getattr(found, low)), (high_name, high))


def _above(where: str, low: tuple[str, float], high: tuple[str, float]) -> Iterator[str]:
    if low[1] > high[1] * (1 + ROUNDING):
        kind = "matrix" if where.endswith(("score", "value", "output", "hidden")) else "model"
        before = f"{where}: " if where else ""
        yield f"{before}no {kind} has {low[0]} = {low[1]:g} above {high[0]} = {high[1]:g}"


def _numbers(record: object, where: str) -> Iterator[str]:
    """Every number of a record that is negative, infinite or none, and every count below one."""
    if isinstance(record, tuple):
        for index, inner in enumerate(record):
            yield from _numbers(inner, f"{where}[{index}]")
    elif isinstance(record, MatrixNorms | HeadNorms | BlockNorms | NormProfile):
        for field in fields(record):
            yield from _numbers(getattr(record, field.name), f"{where}.{field.name}".lstrip("."))
    elif isinstance(record, int | float) and not isinstance(record, bool) and not 0 <= record < inf:
        yield f"{where} is a norm, so it must be ≥ 0 and finite; got {record}"
