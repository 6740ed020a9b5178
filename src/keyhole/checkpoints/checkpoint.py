"""A checkpoint: the weights of a transformer in one form, whatever its family calls them.

Every matrix acts on rows from the right, as everywhere in this library: a row x of width d has the query x W_Q, and
columns are outputs. Layers and heads count from 0 in arrays; in prose they count from 1. Numbers are read from the disk
when a part is first asked for, in double precision; names and shapes were checked when the checkpoint was opened.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import Affine
from keyhole.errors import CheckpointError

Vector = Float[np.ndarray, "side"]


@dataclass(frozen=True, eq=False)
class AttentionHead:
    """One head: the score of a key row x for a query row z is scale · (z W_Q + b_Q) · (x W_K + b_K)."""

    query: Float[np.ndarray, "d k"]  # W_Q
    key: Float[np.ndarray, "d k"]  # W_K
    value: Float[np.ndarray, "d v"]  # W_V
    output: Float[np.ndarray, "v out"]  # W_O: this head's rows of the output matrix
    query_bias: Float[np.ndarray, "k"] | None
    key_bias: Float[np.ndarray, "k"] | None
    value_bias: Float[np.ndarray, "v"] | None
    scale: float  # 1/√k

    @property
    def score_factors(self) -> tuple[Float[np.ndarray, "d k"], Float[np.ndarray, "d k"]]:
        """L and R with M = L Rᵀ = scale · W_K W_Qᵀ, so that scores without biases are X M z; W_QK is Mᵀ."""
        return self.scale * self.key, self.query

    @property
    def value_factors(self) -> tuple[Float[np.ndarray, "d v"], Float[np.ndarray, "out v"]]:
        """L and R with W_OV = L Rᵀ = W_V W_O, which takes a row to what the head writes of it."""
        return self.value, np.ascontiguousarray(self.output.T)


@dataclass(frozen=True, eq=False)
class RowNorm:
    """A norm of rows: "layer" divides by the deviation about the mean, "rms" by the root mean square,

    "centred" only takes the mean away, and "batch" uses a stored mean and variance; then gain and bias.
    """

    kind: str
    gain: Vector | None
    bias: Vector | None
    eps: float
    mean: Vector | None = None
    variance: Vector | None = None

    def __call__(self, rows: Float[np.ndarray, "... d"]) -> Float[np.ndarray, "... d"]:
        """Normalise every row."""
        out: np.ndarray
        if self.kind == "batch" and self.mean is not None and self.variance is not None:
            out = (rows - self.mean) / np.sqrt(self.variance + self.eps)
        elif self.kind == "rms":
            out = rows / np.sqrt((rows**2).mean(axis=-1, keepdims=True) + self.eps)
        else:
            centred = rows - rows.mean(axis=-1, keepdims=True)
            deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self.eps)
            out = centred if self.kind == "centred" else centred / deviation
        out = out if self.gain is None else out * self.gain
        return out if self.bias is None else out + self.bias


@dataclass(frozen=True, eq=False)
class Attention:
    """All heads of a layer side by side, and what stands around them; `groups` sets of keys and values are shared."""

    query: Float[np.ndarray, "d hk"]
    key: Float[np.ndarray, "d gk"]
    value: Float[np.ndarray, "d gv"]
    output: Float[np.ndarray, "hv out"]
    query_bias: Float[np.ndarray, "hk"] | None
    key_bias: Float[np.ndarray, "gk"] | None
    value_bias: Float[np.ndarray, "gv"] | None
    output_bias: Vector | None  # added after all heads' outputs
    scale: float  # 1/√k
    heads: int
    groups: int
    query_norm: RowNorm | None = None  # of each head's queries
    key_norm: RowNorm | None = None  # of each group's keys

    def split(self) -> tuple[AttentionHead, ...]:
        """Return the heads in order; each has the keys and values of its group."""

        def part(whole: np.ndarray | None, at: int, of: int, axis: int) -> Any:
            return None if whole is None else np.ascontiguousarray(np.split(whole, of, axis=axis)[at])

        shared = [number * self.groups // self.heads for number in range(self.heads)]
        return tuple(
            AttentionHead(
                query=part(self.query, number, self.heads, 1),
                key=part(self.key, group, self.groups, 1),
                value=part(self.value, group, self.groups, 1),
                output=part(self.output, number, self.heads, 0),
                query_bias=part(self.query_bias, number, self.heads, 0),
                key_bias=part(self.key_bias, group, self.groups, 0),
                value_bias=part(self.value_bias, group, self.groups, 0),
                scale=self.scale,
            )
            for number, group in enumerate(shared)
        )


@dataclass(frozen=True, eq=False)
class FeedForwardPart:
    """x ↦ outer(σ(inner(x))), or with a gate outer(σ(gate(x)) · inner(x)); σ by name, None where the file is silent."""

    inner: Affine
    outer: Affine
    activation: str | None
    gate: Affine | None = None


@dataclass(frozen=True, eq=False)
class EmbeddingPart:
    """Tables of token, position and segment vectors, or a map of features; then a norm.

    A token table of another width than the model's goes through `widen`. Row `offset` of the position table belongs to
    the first token.
    """

    tokens: Float[np.ndarray, "symbols e"] | None = None
    positions: Float[np.ndarray, "places e"] | None = None
    offset: int = 0
    segments: Float[np.ndarray, "segments e"] | None = None
    features: Affine | None = None  # of coordinates, or of patches of an image, flattened by channel, row and column
    cls: Float[np.ndarray, "first d"] | None = None  # rows that stand before every input
    norm: RowNorm | None = None
    widen: Affine | None = None


@dataclass(frozen=True)
class PositionCode:
    """The code of positions: "learned" (a table), "rotary" (queries and keys are turned), "none", "unknown"."""

    kind: str
    base: float | None = None  # rotary: angles are t · base^(−2i/k)
    share: float = 1.0  # rotary: the share of a head's coordinates that is turned
    scaled: bool = False  # rotary: angles are changed for long inputs


@dataclass(frozen=True)
class Unused:
    """A tensor that has no part in what was read, and why; `known` where the family is known to have it."""

    name: str
    reason: str
    known: bool


@dataclass(frozen=True)
class Sizes:
    """The numbers that a checkpoint is described by."""

    layers: int
    heads: int
    key_value_heads: int
    width: int  # d
    head_width: int  # k
    value_width: int  # of one head's values


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer; its parts are read when they are asked for."""

    index: int  # from 0
    read: Callable[[str], Any] = field(repr=False)

    @cached_property
    def attention(self) -> Attention:
        """All heads, side by side."""
        return cast("Attention", self.read("attention"))

    @cached_property
    def heads(self) -> tuple[AttentionHead, ...]:
        """The heads in order."""
        return self.attention.split()

    @cached_property
    def attention_norm(self) -> RowNorm | None:
        """The norm at attention: before it in a pre-norm model, after its addition in a post-norm one."""
        return cast("RowNorm | None", self.read("attention_norm"))

    @cached_property
    def feedforward_norm(self) -> RowNorm | None:
        """The norm at the feed-forward part."""
        return cast("RowNorm | None", self.read("feedforward_norm"))

    @cached_property
    def feedforward(self) -> FeedForwardPart | None:
        """The feed-forward part, if there is one."""
        return cast("FeedForwardPart | None", self.read("feedforward"))

    def parts(self) -> dict[str, Any]:
        """Return all parts by name, read."""
        return {
            name: getattr(self, name) for name in ("attention", "attention_norm", "feedforward_norm", "feedforward")
        }

    def changed(self, **parts: Any) -> "Layer":
        """Return the layer with other parts, by their names."""
        return Layer(self.index, {**self.parts(), **parts}.__getitem__)


@dataclass(frozen=True, eq=False)
class Layers:
    """The layers in order, each read when it is asked for and not kept, so that a large model fits into memory.

    `stored` has the number of each layer's set of weights, which several layers may share.
    """

    stored: tuple[int, ...]
    read: Callable[[int, str], Any] = field(repr=False)

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, index: int) -> Layer:
        """Return the layer of an index, from 0 or from the end."""
        place = range(len(self))[index]
        return Layer(place, lambda part: self.read(self.stored[place], part))

    def __iter__(self) -> Iterator[Layer]:
        return (self[index] for index in range(len(self)))


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A model that was read: its layers, what stands around them, and the tensors that were not used.

    `placement` is "pre" or "post", and None where neither the family nor the file says it; the same holds of `causal`.
    """

    source: str
    architecture: str
    config: Mapping[str, Any] = field(repr=False)
    sizes: Sizes
    layers: Layers = field(repr=False)
    positions: PositionCode
    placement: str | None
    causal: bool | None
    parallel: bool  # attention and feed-forward read the same row
    unused: tuple[Unused, ...] = field(repr=False)
    read: Callable[[str], Any] = field(repr=False)
    number_formats: tuple[str, ...] = ()
    output_share: float = 1.0  # deviation of output matrices before training, over that of all others
    doubts: tuple[str, ...] = ()  # why its own code may load another function than the one read

    @cached_property
    def embedding(self) -> EmbeddingPart:
        """The tables and maps before the first layer."""
        return cast("EmbeddingPart", self.read("embedding"))

    @cached_property
    def final_norm(self) -> RowNorm | None:
        """The norm after the last layer, if there is one."""
        return cast("RowNorm | None", self.read("final_norm"))

    @cached_property
    def unembedding(self) -> Affine | None:
        """The map from the last rows to logits or classes; the transposed token table if the two are tied."""
        return cast("Affine | None", self.read("unembedding"))

    @property
    def distinct_layers(self) -> tuple[int, ...]:
        """The first layer, from 0, of each set of weights; all layers if none are shared."""
        return tuple(sorted(self.layers.stored.index(each) for each in set(self.layers.stored)))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Tensors that the family does not know; the model may depend on them."""
        return tuple(each.name for each in self.unused if not each.known)

    def require_complete(self) -> None:
        """Refuse a tensor without a known place, and a file that does not say how its parts are wired."""
        if self.unknown:
            raise CheckpointError(
                f"{self.source}: {', '.join(self.unknown[:3])} has no place in {self.architecture}, so what the model "
                "computes is not known; describe the architecture (keyhole.checkpoints.Architecture)."
            )
        silent = [name for name in ("placement", "causal") if getattr(self, name) is None]
        if silent:
            raise CheckpointError(
                f"{self.source}: the file does not say its {' and '.join(silent)}; give it in a config.json beside it."
            )

    def require_own_function(self) -> None:
        """Refuse a checkpoint that the family's own code may load as another function than the one read."""
        if self.doubts:
            raise CheckpointError(
                f"{self.source} was to be proved as the model that {self.architecture}'s own code loads, and "
                f"{self.doubts[0]}."
            )
