"""A NormProfile: the numbers of a model that bounds speak of, and nothing else of it.

Arrays become these numbers in `attention/norms`; `bounds/` reads only these, so a bound can be asked of
hypothetical norms, without any model. A quantity that was not measured, or does not apply, is None.
"""

from dataclasses import dataclass


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

    score: MatrixNorms  # M, of shape (d, d), the 1/√d_h of a factored head included
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
    normaliser: str = "softmax"
    normaliser_constant: float | None = 1.0  # ℓ∞→ℓ1, free of T; None when there is none
    symbols: int = 2  # A
    path: float | None = None  # P = Σ_j |w_j| ‖v_j‖₂ (ReLU)
    path_inf: float | None = None  # P_∞ of the tabulated head
    spread: float | None = None  # R, largest difference of one position's scores over its symbols
    readout_nonnegative: bool = False  # every read-out weight ≥ 0
    positions11: float | None = None  # ‖P‖_{1,1} of trained position codes
    projected: bool = False  # rows are projected on the unit ball after every block
    readout_bias: float = 0.0  # |b|, added to the read-out
    normaliser_floor: float | None = None  # smallest z_h on the sample: Z_h over its largest possible value
