"""The weights of a transformer with a scalar read-out at [CLS], as frozen records of arrays.

A head is φ_out(Σ_t Norm(Score(x_1, z), …, Score(x_T, z))_t φ_in(x_t)). A block is some heads and the wiring
that joins them. A model is an embedding, its blocks, and one read-out vector. Arrays may be of numpy, jax
or torch.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from array_api_compat import array_namespace, is_array_api_obj

from keyhole.attention.activations import Identity
from keyhole.attention.checks import optional, require_weights
from keyhole.attention.layers import Affine, FeedForward, LayerNorm, project
from keyhole.attention.normalisers import Normaliser, Softmax
from keyhole.attention.tokens import Embedding
from keyhole.attention.types import Array
from keyhole.errors import ShapeError


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
    """How a block joins its heads, and what follows them, row by row.

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
        rows = self.feed(self.gather(stream, mixed))
        rows = stream + rows if self.residual == "block" else rows
        return project(rows) if self.projected else rows

    def gather(self, stream: Array, mixed: tuple[Array, ...]) -> Array:
        """The rows after attention: heads joined, output map, residual, norm."""
        concatenated = self.join == "concatenate"
        joined = array_namespace(stream).concat(mixed, axis=-1) if concatenated else sum(mixed[1:], mixed[0])
        if self.output is not None:
            joined = self.output(joined)
        if self.residual == "each":
            joined = stream + joined
        return self.attention_norm(joined) if self.attention_norm and self.placement == "post" else joined

    def feed(self, rows: Array) -> Array:
        """The rows after the feed-forward part, where there is one."""
        if self.feedforward is None:
            return rows
        norm, pre = self.feedforward_norm, self.placement == "pre"
        fed = self.feedforward(norm(rows) if norm and pre else rows)
        if self.residual == "each":
            fed = rows + fed
        return norm(fed) if norm and not pre else fed

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
