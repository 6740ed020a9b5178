"""The weights of a transformer with a scalar read-out at [CLS], as frozen records of arrays.

A head is φ_out(Σ_t Norm(Score(x_1, z), …, Score(x_T, z))_t φ_in(x_t)). A block is some heads and the wiring
that joins them. A model is an embedding, its blocks, and one read-out vector. Arrays may be of numpy, jax
or torch.

The norms of a matrix, given whole or as a product of two thin ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj

from keyhole.attention.layers import Affine, FeedForward, Identity, LayerNorm, project
from keyhole.attention.normalisers import Normaliser, Softmax
from keyhole.attention.tokens import Embedding
from keyhole.attention.types import Array, numbers_of, optional, require_weights
from keyhole.errors import ShapeError
from keyhole.norm_profile import MatrixNorms


@dataclass(frozen=True, eq=False)
class Head:
    """One general attention head: any score, any normaliser, any map in and any map out.

    `score` takes tokens (…, T, d) and queries (…, Q, d) to (…, Q, T); `value` is φ_in and `activation` φ_out.
    Tabulation works for every choice; folding of the query and the norms need the bilinear and affine ones.
    """

    score: Callable[[Array, Array], Array]
    value: Callable[[Array], Array]
    normaliser: Normaliser = field(default_factory=Softmax)
    activation: Callable[[Array], Array] = field(default_factory=Identity)


@dataclass(frozen=True, eq=False)
class Wiring:
    """The way a block joins its heads, and what follows them, row by row.

    The heads are summed or concatenated, then mapped by `output`, then fed forward. `residual` "each" adds
    the stream around attention and around the feed-forward part, as in an encoder layer; "block" adds it
    once around the whole block, as in the deep capacity theorem. Norms stand before each part ("pre") or
    after its addition ("post"). `projected` moves every outgoing row into the unit ball.
    """

    join: str = "sum"  # or "concatenate"
    output: Affine | None = None
    feedforward: FeedForward | None = None
    residual: str = "none"  # or "each", "block"
    placement: str = "post"  # or "pre"
    attention_norm: LayerNorm | None = None
    feedforward_norm: LayerNorm | None = None
    projected: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (
            ("join", self.join, ("sum", "concatenate")),
            ("residual", self.residual, ("none", "each", "block")),
            ("placement", self.placement, ("pre", "post")),
        ):
            if value not in known:
                raise ShapeError(f"{name} {value!r} is not known; choose one of {', '.join(known)}")

    def enter(self, stream: Array) -> Array:
        """The stream as the heads see it."""
        return self.attention_norm(stream) if self.attention_norm and self.placement == "pre" else stream

    def finish(self, stream: Array, mixed: tuple[Array, ...]) -> Array:
        """The outgoing rows, from the incoming ones and each head's output at them."""
        pre, each = self.placement == "pre", self.residual == "each"
        concatenated = self.join == "concatenate"
        rows = array_namespace(stream).concat(mixed, axis=-1) if concatenated else sum(mixed[1:], mixed[0])
        rows = rows if self.output is None else self.output(rows)
        rows = stream + rows if each else rows
        rows = self.attention_norm(rows) if self.attention_norm and not pre else rows
        if self.feedforward is not None:
            norm = self.feedforward_norm
            fed = self.feedforward(norm(rows) if norm and pre else rows)
            fed = rows + fed if each else fed
            rows = norm(fed) if norm and not pre else fed
        rows = stream + rows if self.residual == "block" else rows
        return project(rows) if self.projected else rows

    def width_from(self, stream: int, heads: tuple[int, ...]) -> int:
        """The width of the outgoing rows; refuses parts that do not fit together."""
        if self.join == "sum" and len(set(heads)) > 1:
            raise ShapeError(f"heads of widths {heads} cannot be summed; give them one width, or concatenate")
        width = sum(heads) if self.join == "concatenate" else heads[0]
        if self.output is not None:
            _fit("the output map", self.output.inputs, width)
            width = self.output.outputs
        if self.residual == "each":
            _fit("the residual around attention", stream, width)
        pre = self.placement == "pre"
        _fit("the norm at attention", self.attention_norm, stream if pre else width)
        if self.feedforward is not None:
            fed = self.feedforward.width_from(width)
            _fit("the norm at the feed-forward part", self.feedforward_norm, width if pre else fed)
            if self.residual == "each":
                _fit("the residual around the feed-forward part", width, fed)
            width = fed
        if self.residual == "block":
            _fit("the residual around the block", stream, width)
        return width


@dataclass(frozen=True, eq=False)
class Block:
    """One layer: its heads, and how they are wired."""

    heads: tuple[Head, ...]
    wiring: Wiring = field(default_factory=Wiring)

    def __post_init__(self) -> None:
        if not self.heads:
            raise ShapeError("a block without heads was given; give at least one")

    def width_from(self, stream: int) -> int | None:
        """The width of the outgoing rows, or None where a head's own maps do not tell theirs."""
        for head in self.heads:
            for name, part in (("score", head.score), ("value map", head.value)):
                _fit(f"a head's {name}", getattr(part, "inputs", None), stream)
        widths = tuple(getattr(head.value, "outputs", None) for head in self.heads)
        known = tuple(width for width in widths if width is not None)
        return self.wiring.width_from(stream, known) if len(known) == len(widths) else None


@dataclass(frozen=True, eq=False)
class ReadOut:
    """f = ⟨w, x_CLS⟩ + b, of the last stream (after a final LayerNorm, where there is one)."""

    weight: Array  # (d,)
    bias: Array | None = None  # ()
    norm: LayerNorm | None = None

    def __post_init__(self) -> None:
        require_weights(readout=(self.weight, ("d",)), readout_bias=optional(self.bias))
        if is_array_api_obj(self.weight):
            _fit("the final norm", self.norm, int(self.weight.shape[0]))

    def __call__(self, rows: Array) -> Array:
        """One number per row."""
        value = (rows if self.norm is None else self.norm(rows)) @ self.weight
        return value if self.bias is None else value + self.bias


@dataclass(frozen=True, eq=False)
class Model:
    """An embedding, blocks in order, and a read-out at [CLS]: sequences in, one number each out."""

    embedding: Embedding
    blocks: tuple[Block, ...]
    readout: ReadOut

    def __post_init__(self) -> None:
        if not self.blocks:
            raise ShapeError("a model without blocks was given; give at least one")
        if not is_array_api_obj(self.readout.weight):
            return  # a tree of placeholders has no widths
        width: int | None = self.embedding.width
        for block in self.blocks:
            width = block.width_from(width) if width is not None else None
        if width is not None:
            _fit("the read-out", int(self.readout.weight.shape[0]), width)


def _fit(name: str, reads: int | LayerNorm | None, arrives: int) -> None:
    reads = reads.inputs if isinstance(reads, LayerNorm) else reads
    if reads is not None and reads != arrives:
        raise ShapeError(f"{name} is for width {reads}, but rows of width {arrives} arrive; make the two equal")


ROWS = 1024  # rows of a product held at once


def matrix_norms(matrix: Array) -> MatrixNorms:
    """The norms of a matrix given entry by entry.

    >>> norms = matrix_norms(np.asarray([[3.0, 0.0], [4.0, 0.0]]))
    >>> norms.columns21, norms.rows21, norms.entries11
    (5.0, 7.0, 7.0)
    """
    numbers = numbers_of(matrix)
    rows, columns = numbers.shape
    return MatrixNorms(
        rows,
        columns,
        spectral=float(np.linalg.norm(numbers, 2)),
        frobenius=float(np.linalg.norm(numbers)),
        columns21=float(np.linalg.norm(numbers, axis=0).sum()),
        rows21=float(np.linalg.norm(numbers, axis=1).sum()),
        entries11=float(np.abs(numbers).sum()),
    )


class ThinNorms(NamedTuple):
    """The norms of a product of two thin matrices, as far as they need no entry of it."""

    spectral: float
    frobenius: float
    columns21: float  # sum over columns of their ℓ2 norms
    rows21: float  # sum over rows of their ℓ2 norms

    @property
    def stable_rank(self) -> float:
        """(‖W‖_F/‖W‖₂)², at least 1 and at most the rank; 0 of a matrix of zeros."""
        return (self.frobenius / self.spectral) ** 2 if self.spectral else 0.0


def thin_norms(left: Array, right: Array) -> ThinNorms:
    """The norms of L Rᵀ from its thin factors; the product is never formed, in time linear in its sides.

    Statement  With L = Q_L U_L and R = Q_R U_R (orthonormal columns times small squares) the spectral
               and Frobenius norms of L Rᵀ are those of U_L U_Rᵀ, column j has the norm ‖U_L r_j‖ and row i
               has ‖U_R l_i‖, for the rows r_j of R and l_i of L.
    Proof      Q_L and Q_R keep lengths, from either side.
    Source     Standard. ‖L Rᵀ‖_F² is also the trace of (LᵀL)(RᵀR), which rounds less well.

    >>> norms = thin_norms(np.asarray([[3.0], [4.0]]), np.asarray([[1.0], [0.0]]))
    >>> norms.spectral, norms.columns21, norms.rows21
    (5.0, 5.0, 7.0)
    """
    one, two = numbers_of(left), numbers_of(right)
    small_one: Any = np.linalg.qr(one, mode="r")
    small_two: Any = np.linalg.qr(two, mode="r")
    core = small_one @ small_two.T
    return ThinNorms(
        spectral=float(np.linalg.norm(core, 2)),
        frobenius=float(np.linalg.norm(core)),
        columns21=float(np.linalg.norm(small_one @ two.T, axis=0).sum()),
        rows21=float(np.linalg.norm(small_two @ one.T, axis=0).sum()),
    )


def product_norms(left: Array, right: Array) -> MatrixNorms:
    """All norms of L Rᵀ; for the sum of its entries some rows of the product at a time are formed."""
    one, two = numbers_of(left), numbers_of(right)
    entries = sum(float(np.abs(one[start : start + ROWS] @ two.T).sum()) for start in range(0, one.shape[0], ROWS))
    return MatrixNorms(one.shape[0], two.shape[0], **thin_norms(one, two)._asdict(), entries11=entries)
