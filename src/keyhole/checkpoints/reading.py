"""Load any local checkpoint in one form: shapes are checked at once, numbers are read part by part."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.attention import Affine
from keyhole.checkpoints.architectures.architecture import LAYER_ROLES, Architecture
from keyhole.checkpoints.checkpoint import Attention, Checkpoint, EmbeddingPart, FeedForwardPart, Layers, RowNorm, Sizes
from keyhole.checkpoints.doubts import doubts
from keyhole.checkpoints.placing import Place, Placed, place_tensors, whole_number
from keyhole.checkpoints.settings import Settings, settings_of
from keyhole.checkpoints.weight_files import StoredTensor, WeightFiles, in_memory, open_weights
from keyhole.errors import CheckpointError
from keyhole.files.model import FORMAT

FEEDFORWARD = ("inner", "gate", "outer")


def load_checkpoint(
    source: str | Path | Mapping[str, Any],
    *,
    architecture: Architecture | str | None = None,
    config: Mapping[str, Any] | None = None,
) -> Checkpoint:
    """Read the weights of a model, in one form for all families; nothing of the files is run.

    `source` is a folder with a config.json and weights (safetensors, or torch's, in one file or several), one file of
    weights, or named arrays. The configuration or the names of the tensors say the family; otherwise give its name, or
    an `Architecture`. `config` adds settings that the files lack, such as {"num_attention_heads": 4}.

    >>> import numpy as np
    >>> names = ("W_Q", "W_K", "W_V", "W_O")
    >>> arrays = {f"blocks.0.attn.{name}": np.ones((2, 4, 3) if name != "W_O" else (2, 3, 4)) for name in names}
    >>> checkpoint = load_checkpoint(arrays)
    >>> checkpoint.architecture, checkpoint.sizes.heads, checkpoint.layers[0].heads[1].query.shape
    ('transformer lens', 2, (4, 3))
    """
    if isinstance(source, Mapping):
        files = WeightFiles("the arrays", in_memory(source), {})
    else:
        files = open_weights(Path(source))
    if files.notes.get("format") == FORMAT:
        raise CheckpointError(
            f"{files.source!r} was written by keyhole and holds the tables of a function, not the layers of a network; "
            "ask `keyhole check`, `keyhole heads` or `keyhole checkpoint norms`."
        )
    placed = place_tensors(replace(files, config={**files.config, **(config or {})}), architecture)
    settings = settings_of(placed)
    reader = _Reader(placed, settings, _sizes(placed, settings))
    for places in placed.layers:
        reader.require_layer(places)
    reader.require_model(placed.model)
    tensors = [each for layer in placed.layers for place in layer.values() for each in place.all]
    return Checkpoint(
        source=files.source,
        architecture=placed.architecture.name,
        config=placed.files.config,
        sizes=reader.sizes,
        layers=Layers(settings.stored_layers, reader.layer_part),
        positions=settings.positions,
        placement=settings.placement,
        causal=settings.causal,
        parallel=placed.architecture.parallel,
        unused=placed.unused,
        read=reader.model_part,
        number_formats=tuple(sorted({each.number_format for each in tensors})),
        output_share=(2 * reader.sizes.layers) ** -0.5 if placed.architecture.narrow_outputs else 1.0,
        doubts=tuple(doubts(placed)),
    )


def _sides(how: Architecture, role: str, tensor: StoredTensor) -> tuple[int, int]:
    """Return how many numbers a matrix reads and writes; its heads count side by side."""
    shape, layout = tensor.shape, how.layout
    if role in LAYER_ROLES and role not in FEEDFORWARD and layout == "per head":
        if len(shape) != 3:
            raise CheckpointError(f"{tensor.name} has shape {shape}, where (heads, rows, columns) was expected.")
        return (shape[0] * shape[1], shape[2]) if role == "output" else (shape[1], shape[0] * shape[2])
    if len(shape) != 2:
        raise CheckpointError(f"{tensor.name} has shape {shape}, where a matrix was expected.")
    turned = _layout(how, role) == "linear"
    return (shape[1], shape[0]) if turned else (shape[0], shape[1])


def _layout(how: Architecture, role: str) -> str:
    """Return the layout of a role's matrix; outside of layers all but those per head are as torch's Linear has them."""
    if role in FEEDFORWARD:
        return how.feedforward_layout or how.layout
    if role in LAYER_ROLES or (role == "unembedding" and how.layout == "per head"):
        return how.layout
    return "linear"


def _sizes(placed: Placed, settings: Settings) -> Sizes:
    """Return heads and widths, from the configuration and the sides of the first layer's matrices."""
    how, config, first = placed.architecture, placed.files.config, placed.layers[0]
    reads, width = _sides(how, "output", first["output"].weight)
    layers = len(settings.stored_layers)
    if how.layout == "per head":
        columns = {role: _sides(how, role, first[role].weight)[1] for role in ("query", "key", "value")}
        heads, groups = first["query"].weight.shape[0], first["key"].weight.shape[0]
        return Sizes(layers, heads, groups, width, columns["query"] // heads, first["value"].weight.shape[2])
    heads_stated = whole_number(config, how.fields.heads)
    if heads_stated is None:
        raise CheckpointError(
            f"{placed.files.source!r} does not say how many heads it has, and matrices do not show it; give the number "
            f"of heads, here or as {how.fields.heads[0]} in a config.json beside the weights."
        )
    if "qkv" in first:
        packed = _sides(how, "qkv", first["qkv"].weight)[1]
        queries, keys, values = (packed // 3,) * 3 if packed % 3 == 0 else (0, 0, 0)
    else:
        queries, keys, values = (_sides(how, role, first[role].weight)[1] for role in ("query", "key", "value"))
    k = queries // heads_stated
    groups = whole_number(config, how.fields.key_value_heads) or (
        heads_stated if queries == keys else keys // k if k else 0
    )
    fits = k and groups and (queries, keys) == (heads_stated * k, groups * k) and heads_stated % groups == 0
    if not fits or values % groups or reads != heads_stated * (values // groups):
        raise CheckpointError(
            f"{placed.files.source!r}: queries, keys and values have {queries}, {keys} and {values} columns and "
            f"the output reads {reads}, which {heads_stated} heads with {groups or '?'} keys "
            "and values do not share evenly; correct the number of heads."
        )
    stated = config.get("head_dim")
    if type(stated) is int and stated != k:
        raise CheckpointError(
            f"{placed.files.source!r}: head_dim is {stated}, and each head has {k} rows; fetch it again."
        )
    return Sizes(layers, heads_stated, groups, width, k, values // groups)


@dataclass(frozen=True, eq=False)
class _Reader:
    """Checks and reads the parts of a model from the tensors in their places."""

    placed: Placed
    settings: Settings
    sizes: Sizes

    @property
    def how(self) -> Architecture:
        return self.placed.architecture

    # shapes

    def require_layer(self, places: Mapping[str, Place]) -> None:
        """Refuse tensors of a layer whose sides do not fit together."""
        sizes, d = self.sizes, self.sizes.width
        queries, keys = sizes.heads * sizes.head_width, sizes.key_value_heads * sizes.head_width
        values = sizes.key_value_heads * sizes.value_width
        wanted = {
            "query": (d, queries),
            "key": (d, keys),
            "value": (d, values),
            "qkv": (d, 3 * queries),
            "output": (sizes.heads * sizes.value_width, d),
        }
        present = [role for role in FEEDFORWARD if role in places]
        if present:
            if not {"inner", "outer"} <= set(present):
                raise CheckpointError(f"{self.placed.files.source!r} has half of a feed-forward part; fetch it again.")
            units = _sides(self.how, "inner", places["inner"].weight)[1]
            wanted |= {"inner": (d, units), "gate": (d, units), "outer": (units, d)}
        for role, place in places.items():
            if role in wanted:
                self.require_matrix(role, place, wanted[role])
            else:
                side = sizes.head_width if role in ("query_norm", "key_norm") else d
                for each in place.all:
                    _require_vector(each, side)

    def require_model(self, model: Mapping[str, Place]) -> None:
        """Refuse tensors around the layers whose sides do not fit them."""
        width = narrow = self.sizes.width
        if "widen" in model:
            narrow = _sides(self.how, "widen", model["widen"].weight)[0]
            self.require_matrix("widen", model["widen"], (narrow, width))
        for role in ("tokens", "positions", "segments"):
            if role in model and (not model[role].weight.shape or model[role].weight.shape[-1] != narrow):
                tensor = model[role].weight
                raise CheckpointError(
                    f"{tensor.name} has shape {tensor.shape}, and rows of {narrow} entries were expected."
                )
        for role, side in (("final_norm", width), ("embedding_norm", narrow)):
            if role in model:
                _require_vector(model[role].weight, side)
        if "unembedding" in model:
            outputs = _sides(self.how, "unembedding", model["unembedding"].weight)[1]
            self.require_matrix("unembedding", model["unembedding"], (width, outputs))

    def require_matrix(self, role: str, place: Place, wanted: tuple[int, int]) -> None:
        """Refuse a matrix that reads or writes other numbers than these, and a bias of another length."""
        if _sides(self.how, role, place.weight) != wanted:
            raise CheckpointError(
                f"{place.weight.name} has shape {place.weight.shape}, where {wanted[0]} inputs and {wanted[1]} outputs "
                "fit the rest; fetch it again."
            )
        if place.bias is not None and prod(place.bias.shape) != wanted[1]:
            raise CheckpointError(
                f"{place.bias.name} has shape {place.bias.shape}, where {wanted[1]} numbers fit the rest; fetch it "
                "again."
            )

    # numbers

    def layer_part(self, index: int, part: str) -> Any:
        """Read a part of a layer by its name."""
        places = self.placed.layers[index]
        if part == "attention":
            return self.attention(places)
        if part == "feedforward":
            return self.feedforward(places)
        return self.norm(places.get(part), there=True)

    def model_part(self, part: str) -> Any:
        """Read a part around the layers by its name."""
        if part == "embedding":
            return self.embedding()
        if part == "unembedding":
            return self.unembedding()
        return self.norm(self.placed.model.get(part), there=True)

    def attention(self, places: Mapping[str, Place]) -> Attention:
        """Read all heads of a layer, side by side."""
        sizes = self.sizes
        roles = {
            role: self.affine(role, places[role])
            for role in ("query", "key", "value", "qkv", "output")
            if role in places
        }
        if "qkv" in roles:
            packed = roles["qkv"]
            every = np.arange(packed.outputs)
            thirds = np.split(every, 3)
            if self.how.packing == "by head":
                thirds = [each.reshape(-1) for each in every.reshape(sizes.heads, 3, -1).transpose(1, 0, 2)]
            for role, columns in zip(("query", "key", "value"), thirds, strict=True):
                bias = None if packed.bias is None else np.asarray(packed.bias)[columns]
                roles[role] = Affine(np.asarray(packed.weight)[:, columns], bias)
        query, key, value, output = (roles[role] for role in ("query", "key", "value", "output"))
        return Attention(
            query=np.asarray(query.weight),
            key=np.asarray(key.weight),
            value=np.asarray(value.weight),
            output=np.asarray(output.weight),
            query_bias=query.bias,
            key_bias=key.bias,
            value_bias=value.bias,
            output_bias=output.bias,
            scale=1 / (sqrt(sizes.head_width) if self.settings.divisor is None else self.settings.divisor),
            heads=sizes.heads,
            groups=sizes.key_value_heads,
            query_norm=self.norm(places.get("query_norm"), there=False),
            key_norm=self.norm(places.get("key_norm"), there=False),
        )

    def affine(self, role: str, place: Place) -> Affine:
        """Read a matrix as it acts on rows from the right, its heads side by side, and its bias."""
        numbers, layout = place.weight.numbers(), _layout(self.how, role)
        if layout == "linear":  # a convolution over patches reads them flattened
            numbers = numbers.reshape(numbers.shape[0], -1).T
        elif layout == "per head" and role == "output":
            numbers = numbers.reshape(-1, numbers.shape[2])
        elif layout == "per head" and numbers.ndim == 3:
            numbers = numbers.transpose(1, 0, 2).reshape(numbers.shape[1], -1)
        return Affine(np.ascontiguousarray(numbers), _vector(place.bias))

    def norm(self, place: Place | None, *, there: bool) -> RowNorm | None:
        """Read a norm; where norms have no gain of their own, one that is `there` needs no tensors."""
        kind, eps = self.settings.norm, self.settings.epsilon
        if place is None:
            return RowNorm(kind, None, None, eps) if there and self.settings.folded else None
        return RowNorm(
            kind, place.weight.numbers(), _vector(place.bias), eps, _vector(place.mean), _vector(place.variance)
        )

    def feedforward(self, places: Mapping[str, Place]) -> FeedForwardPart | None:
        """Read the feed-forward part, if there is one."""
        if "inner" not in places:
            return None
        inner, outer = (self.affine(role, places[role]) for role in ("inner", "outer"))
        gate = self.affine("gate", places["gate"]) if "gate" in places else None
        return FeedForwardPart(inner, outer, self.settings.activation, gate)

    def embedding(self) -> EmbeddingPart:
        """Read the tables and maps before the layers."""
        model = self.placed.model
        rows = [model[role].weight.numbers() for role in ("cls", "distillation") if role in model]
        features, widen = (self.affine(role, model[role]) if role in model else None for role in ("features", "widen"))
        tokens, positions, segments = (_table(model.get(role)) for role in ("tokens", "positions", "segments"))
        return EmbeddingPart(
            tokens=tokens,
            positions=positions,
            offset=self.how.position_offset,
            segments=segments,
            features=features,
            cls=np.concatenate([row.reshape(-1, self.sizes.width) for row in rows]) if rows else None,
            norm=self.norm(model.get("embedding_norm"), there=False),
            widen=widen,
        )

    def unembedding(self) -> Affine | None:
        """Read the map to logits; refuse one of its own that the configuration ties to another token table.

        Releases of transformers differ: version 4 takes the token table then, version 5 the unembedding.
        """
        model, config = self.placed.model, self.placed.files.config
        tokens, own = model.get("tokens"), model.get("unembedding")
        if own is None:
            tied = self.how.tied and config.get("tie_word_embeddings", True)
            return (
                Affine(np.ascontiguousarray(tokens.weight.numbers().T), None) if tied and tokens is not None else None
            )
        tied = self.how.tied and config.get("tie_word_embeddings", self.how.own_code is not None)
        if tied and tokens is not None and not np.array_equal(tokens.weight.numbers(), own.weight.numbers()):
            raise CheckpointError(
                f"{self.placed.files.source!r} stores {own.weight.name}, and its configuration says that it is "
                f"{tokens.weight.name}, which differs; give tie_word_embeddings = false in config.json."
            )
        return self.affine("unembedding", own)


def _require_vector(tensor: StoredTensor, size: int) -> None:
    if tensor.shape != (size,):
        raise CheckpointError(f"{tensor.name} has shape {tensor.shape}, where {(size,)} fits the rest; fetch it again.")


def _vector(tensor: StoredTensor | None) -> np.ndarray | None:
    return None if tensor is None else tensor.numbers().reshape(-1)


def _table(place: Place | None) -> np.ndarray | None:
    """Read the rows of a table; axes of length one before them, as in images' positions, are left out."""
    if place is None:
        return None
    numbers = place.weight.numbers()
    return numbers.reshape(-1, numbers.shape[-1])
