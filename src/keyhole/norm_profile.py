"""A NormProfile: the numbers of a model that bounds speak of, and nothing else of it.

Arrays become these numbers in `attention/norms`; `bounds/` reads only these, so a bound can be asked of
hypothetical norms, without any model. A quantity that was not measured, or does not apply, is None.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import hypot, inf, sqrt
from types import MappingProxyType
from typing import Literal

from keyhole.errors import AssumptionError

LayerNormPlace = Literal["none", "before", "after"]  # "before": only on the rows that enter attention

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
    layernorm: LayerNormPlace = "none"  # "after": behind attention, in the block or before the read-out
    biased: bool = False  # a constant is added after attention, or inside a block above the first
    split_residual: bool = False  # the stream is added around attention and again around what follows


@dataclass(frozen=True)
class NormProfile:
    """The numbers that theorems read off a model with a scalar read-out at [CLS]."""

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
    path: float | None = None  # P = Σ_j |w_j| ‖v_j‖₂ (ReLU), ‖w‖₁ max_j ‖v_j‖₂ (any other activation)
    path_inf: float | None = None  # P_∞ of the tabulated head
    spread: float | None = None  # R, largest difference of one position's scores over its symbols
    readout_nonnegative: bool = False  # every read-out weight ≥ 0
    odd_units: bool = (
        False  # no units after attention, or σ(−x) = −σ(x): the architecture, so training cannot change it
    )
    positions11: float | None = None  # ‖P‖_{1,1} of trained position codes; None where they were fixed before the data
    embedding11: float | None = None  # ‖E‖_{1,1} of trained token vectors, [CLS] too; None where they were fixed before
    projected: bool = False  # rows are projected on the unit ball after every block
    readout_bias: float = 0.0  # |b|, added to the read-out
    constant_tokens: int = 1  # rows of X that are the same for every input: [CLS], sinks
    least_probability: float | None = (
        None  # p, if symbols are drawn independently, each with probability ≥ p; else None
    )
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
        raise AssumptionError(f"{unknown[0]!r} is not a normaliser; the names are {', '.join(CONSTANTS)}.")
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
               of one layer what `_layer_faults` says of P, P_∞ and R.
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
    if profile.least_probability is not None and not 0 < profile.least_probability * profile.symbols <= 1 + ROUNDING:
        yield (
            f"least_probability is that of the rarest of {profile.symbols} symbols, so it lies above 0 and is at most "
            f"1/{profile.symbols}; got {profile.least_probability:g}"
        )
    if profile.constant_tokens >= profile.tokens:
        yield f"no model has constant_tokens = {profile.constant_tokens} among tokens = {profile.tokens}"
    if len(profile.blocks) == 1:
        yield from _layer_faults(profile)


def _layer_faults(profile: NormProfile) -> Iterator[str]:
    """Contradictions among the path norms and the spread of one layer.

    Statement  R ≤ 2 min(B_X, D_X) max ‖Mz‖; P_∞ ≤ P B_X; and P and P_∞ are within what `_reach` and `_least` say.
    Proof      Two symbols of one position are each within D_X of [CLS], and a score is an inner product with Mz. P is
               given where no constant takes part, and then |⟨x, v⟩| ≤ B_X ‖v‖.
    Source     Standard.
    """
    radius = profile.token_radius
    if profile.path is not None and profile.path_inf is not None:
        yield from _above("", ("path_inf", profile.path_inf), ("path · token_radius", profile.path * radius))
    (block,) = profile.blocks
    if not block.heads:
        return
    if profile.spread is not None:
        largest = [head.score.spectral * profile.query_radius for head in block.heads]
        queries = [most if head.query is None else head.query for head, most in zip(block.heads, largest, strict=True)]
        yield from _above(
            "", ("spread", profile.spread), ("2 · token_radius · the largest query", 2 * radius * max(queries))
        )
        if profile.token_diameter is not None:
            most = 2 * profile.token_diameter * max(queries)
            yield from _above("", ("spread", profile.spread), ("2 · token_diameter · the largest query", most))
    if profile.path is not None:
        most = profile.readout * _reach(block)
        yield from _above("", ("path", profile.path), ("what readout and the matrices allow", most))
        if not block.biased:
            least = profile.readout * _least(block)
            yield from _above("", ("what readout and the matrices force", least), ("path", profile.path))
    if profile.path_inf is not None and not block.biased and not (block.layernorm != "none" and block.residual):
        most = profile.readout * _reach(block, radius, profile.query_radius) + profile.readout_bias
        yield from _above("", ("path_inf", profile.path_inf), ("what readout, matrices and radii allow", most))


def _reach(block: BlockNorms, radius: float = 1.0, stream: float = 0.0) -> float:
    """The largest P that one layer with these matrices and ‖w‖₂ = 1 can have; with the radii, the largest P_∞.

    Statement  Let u = W_C w weigh n units, let S be H max_h ‖W_V^h‖₂ for H summed heads, and the root of
               Σ_h ‖W_V^h‖₂² for concatenated ones. Then P ≤ √n ‖W_C‖₂ ‖W_1‖₂ S ‖w‖₂, plus
               S ‖w‖₂ where the stream is added twice. P_∞ without biases is at most the same with S B_X for S, B_Z more
               beside S in the units where the stream is added twice, and B_Z ‖w‖₂ more where it is added at all.
    Proof      For ReLU P = Σ_j |u_j| Σ_h ‖v_hj‖, and for any other activation ‖u‖₁ max_j Σ_h ‖v_hj‖, no smaller.
               ‖u‖₁ ≤ √n ‖u‖₂ ≤ √n ‖W_C‖₂ ‖w‖₂ (Cauchy–Schwarz). Of summed heads that share a unit,
               Σ_h ‖v_hj‖ ≤ Σ_h ‖W_V^h‖₂ ‖W_1‖₂; where each has units of its own, there are H times as many weights and
               max_j ‖v_hj‖ ≤ max_h ‖W_V^h‖₂. Concatenated heads read W_1 in slices, so by Cauchy–Schwarz
               Σ_h ‖v_hj‖ ≤ S ‖W_1‖₂. What goes past the units is Σ_h ‖W_V^h w_h‖ ≤ S ‖w‖₂. A value is at most B_X
               times its vector, and the constants are inner products with the stream, whose norm is B_Z.
    Source     Standard. ReLU alone would give ‖u‖₂ ‖V‖_F, but the profile does not say which activation it has.
    """
    values = [head.value for head in block.heads]
    spectral = [value.spectral for value in values]
    joined = hypot(*spectral) if block.concatenated else len(spectral) * max(spectral)
    columns = [value.columns for value in values]
    units = sum(columns) if block.concatenated else max(columns)
    units = block.hidden.columns if block.hidden else units
    inner = block.hidden.spectral if block.hidden else 1.0
    outer = block.output.spectral if block.output else 1.0
    twice = block.split_residual
    through = sqrt(units) * outer * inner * (joined * radius + stream * twice)
    return through + joined * radius * twice + stream * block.residual


def _least(block: BlockNorms) -> float:
    """The smallest P that one layer with these matrices and ‖w‖₂ = 1 can have.

    Statement  P ≥ σ(W_C) σ(W_1) Σ_h σ(W_V^h) ‖w‖₂, of concatenated heads with the smallest σ(W_V^h) for the sum, where
               σ(W)² = ‖W‖_F² − (columns − 1) ‖W‖₂², or 0 if that is negative. One column forces P altogether.
    Proof      P ≥ Σ_h ‖W_V^h W_1 u‖ by the triangle inequality, and ‖Wx‖ ≥ σ(W) ‖x‖: the squared singular values add up
               to ‖W‖_F², and all but the smallest are at most ‖W‖₂².
    Source     Standard.
    """
    values = [_smallest(head.value) for head in block.heads]
    joined = min(values) if block.concatenated else sum(values)
    return (
        joined * (_smallest(block.hidden) if block.hidden else 1.0) * (_smallest(block.output) if block.output else 1.0)
    )


def _smallest(matrix: MatrixNorms) -> float:
    """Lower bound on the smallest singular value, allowing for rounding of the norms."""
    frobenius, spectral = matrix.frobenius * (1 - ROUNDING), matrix.spectral * (1 + ROUNDING)
    return sqrt(max(0.0, frobenius**2 - (matrix.columns - 1) * spectral**2))


def _matrix_faults(matrix: MatrixNorms, where: str) -> Iterator[str]:
    """Contradictions among the norms of one matrix."""
    rows, columns = sqrt(matrix.rows), sqrt(matrix.columns)
    for low, high_name, high in (
        ("spectral", "frobenius", matrix.frobenius),
        ("frobenius", "√rank · spectral", min(rows, columns) * matrix.spectral),
        ("frobenius", "columns21", matrix.columns21),
        ("frobenius", "rows21", matrix.rows21),
        ("columns21", "entries11", matrix.entries11),
        ("rows21", "entries11", matrix.entries11),
        ("columns21", "√columns · frobenius", columns * matrix.frobenius),
        ("rows21", "√rows · frobenius", rows * matrix.frobenius),
        ("entries11", "√rows · columns21", rows * matrix.columns21),
        ("entries11", "√columns · rows21", columns * matrix.rows21),
    ):
        yield from _above(where, (low, getattr(matrix, low)), (high_name, high))


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
