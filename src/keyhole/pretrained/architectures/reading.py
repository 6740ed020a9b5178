"""Tensors in their places become a checkpoint: sides are checked at once, numbers are read part by part."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

import numpy as np

from keyhole.attention import Affine
from keyhole.errors import CheckpointError
from keyhole.pretrained.architectures.architecture import Architecture
from keyhole.pretrained.architectures.placing import Place, Placed, place_tensors, whole_number
from keyhole.pretrained.checkpoint import (
    AttentionHead,
    Checkpoint,
    EmbeddingPart,
    FeedForwardPart,
    Layers,
    NotCovered,
    PositionCode,
    RowNorm,
    Sizes,
)
from keyhole.pretrained.weight_files import StoredTensor, WeightFiles

ACTIVATIONS = {  # as configurations spell them → one name for each function
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}
NORMS = {"LN": "layer", "LNPre": "layer", "RMS": "rms", "RMSPre": "rms"}  # of TransformerLens
WITHOUT_GAIN = ("LNPre", "RMSPre")  # norms whose gain was folded into the maps after them
CODES = {"standard": "learned", "rotary": "rotary"}  # of TransformerLens


def read_checkpoint(files: WeightFiles, architecture: Architecture | str | None = None) -> Checkpoint:
    """The checkpoint that the tensors are, in the architecture given or recognised."""
    placed = place_tensors(files, architecture)
    _require_settings(placed)
    reader = _Reader(placed, _sizes(placed))
    reader.require_sides()
    how, config = placed.architecture, files.config
    tensors = [each for layer in placed.layers for place in layer.values() for each in place.all]
    return Checkpoint(
        source=files.source,
        architecture=how.name,
        config=config,
        sizes=reader.sizes,
        layers=Layers(_stored_layers(placed), reader.layer_part),
        positions=_positions(placed),
        placement=_placement(placed),
        causal=_causal(placed),
        parallel=how.parallel,
        unused=placed.unused,
        not_covered=tuple(_not_covered(placed, reader.sizes)),
        read=reader.model_part,
        number_formats=tuple(sorted({each.number_format for each in tensors})),
    )


def _require_settings(placed: Placed) -> None:
    """Refuse a configuration with a setting that changes the model beyond what the architecture says."""
    for setting, (fits, why) in placed.architecture.refuse.items():
        value = placed.files.config.get(setting, fits)
        if value != fits:
            raise CheckpointError(
                f"{placed.files.source!r} has {setting} = {repr(value)[:40]}, and {why}; it is not read."
            )
    kind = placed.files.config.get("norm", placed.architecture.norm)
    if kind not in tuple(_KINDS):  # a list has no hash
        raise CheckpointError(
            f"{placed.files.source!r}: the norm is {repr(kind)[:40]}; it must be one of {', '.join(_KINDS)}."
        )


def _stored_layers(placed: Placed) -> tuple[int, ...]:
    """Which set of weights each layer has."""
    sets, shared = len(placed.layers), placed.architecture.shared_layers
    if shared is None:
        return tuple(range(sets))
    layers = whole_number(placed.files.config, shared[:1])
    if layers is None or layers % sets:
        raise CheckpointError(
            f"{placed.files.source!r} has {sets} sets of weights that layers share, and its configuration does not say "
            f"how many layers there are ({shared[0]}); give it."
        )
    return tuple(index * sets // layers for index in range(layers))


def _sizes(placed: Placed) -> Sizes:
    """Heads and widths, from the configuration and the sides of the first layer's matrices."""
    how, config, first = placed.architecture, placed.files.config, placed.layers[0]
    output = first["output"].weight
    if how.layout == "per head":
        query, key, value = (first[role].weight for role in ("query", "key", "value"))
        for tensor in (query, key, value, output):
            if len(tensor.shape) != 3:
                raise CheckpointError(
                    f"{tensor.name} has shape {tensor.shape}, where (heads, rows, columns) was expected."
                )
        heads, width, k = query.shape
        return Sizes(len(_stored_layers(placed)), heads, key.shape[0], width, k, value.shape[2])
    heads_told = whole_number(config, how.heads)
    if heads_told is None:
        raise CheckpointError(
            f"{placed.files.source!r} does not say how many heads it has, and matrices do not show it; give the number "
            f"of heads, here or as {how.heads[0]} in a config.json beside the weights."
        )
    flip = how.layout == "conv1d"
    if len(output.shape) != 2:
        raise CheckpointError(f"{output.name} has shape {output.shape}, where a matrix was expected.")
    width = output.shape[1 if flip else 0]
    if "qkv" in first:
        packed = first["qkv"].weight
        rows = _rows(packed, width, flip=flip)
        sides = (rows // 3, rows // 3, rows // 3) if rows % 3 == 0 else (0, 0, 0)
    else:
        sides = tuple(_rows(first[role].weight, width, flip=flip) for role in ("query", "key", "value"))  # type: ignore[assignment]
    groups = whole_number(config, how.key_value_heads) or (heads_told if sides[0] == sides[1] else None)
    k = sides[0] // heads_told
    groups = groups or (sides[1] // k if k else 0)
    fits = k and groups and (sides[0], sides[1]) == (heads_told * k, groups * k) and heads_told % groups == 0
    if not fits or sides[2] % groups or output.shape[0 if flip else 1] != heads_told * (sides[2] // groups):
        raise CheckpointError(
            f"{placed.files.source!r}: queries, keys and values have {sides[0]}, {sides[1]} and {sides[2]} columns and "
            f"the output reads {output.shape[0 if flip else 1]}, which {heads_told} heads with {groups or '?'} keys "
            "and values do not share evenly; correct the number of heads."
        )
    told = config.get("head_dim")
    if type(told) is int and told != k:
        raise CheckpointError(
            f"{placed.files.source!r}: head_dim is {told}, and each head has {k} rows; fetch it again."
        )
    return Sizes(len(_stored_layers(placed)), heads_told, groups, width, k, sides[2] // groups)


def _rows(tensor: StoredTensor, width: int, *, flip: bool) -> int:
    """The outputs of a matrix that reads rows of the model's width."""
    if len(tensor.shape) != 2 or tensor.shape[0 if flip else 1] != width:
        raise CheckpointError(f"{tensor.name} has shape {tensor.shape}, and the model's rows have {width} entries.")
    return tensor.shape[1 if flip else 0]


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads the parts of a model from the tensors in their places."""

    placed: Placed
    sizes: Sizes

    @property
    def how(self) -> Architecture:
        return self.placed.architecture

    def layer_part(self, index: int, part: str) -> Any:
        places = self.placed.layers[index]
        if part == "heads":
            return self.heads(places)
        if part == "output_bias":
            bias = places["output"].bias
            return None if bias is None else bias.numbers().reshape(-1)
        if part == "feedforward":
            return self.feedforward(places)
        return self.norm(places.get(part), there=part in ("attention_norm", "feedforward_norm"))

    def model_part(self, part: str) -> Any:
        if part == "embedding":
            return self.embedding()
        if part == "unembedding":
            return self.unembedding()
        return self.norm(self.placed.model.get(part), there=part == "final_norm")

    def heads(self, places: Mapping[str, Place]) -> tuple[AttentionHead, ...]:
        """Each head's matrices, and where keys and values are shared its group's."""
        sizes = self.sizes
        roles: dict[str, tuple[np.ndarray, np.ndarray | None]] = {}
        if "qkv" in places:
            weight, bias = self.matrix(places["qkv"].weight), _vector(places["qkv"].bias)
            for which, role in enumerate(("query", "key", "value")):
                columns = self.packed(weight.shape[1], which)
                roles[role] = (weight[:, columns], None if bias is None else bias[columns])
        else:
            for role in ("query", "key", "value"):
                roles[role] = (self.matrix(places[role].weight), _vector(places[role].bias))
        query = self.split(roles["query"][0], sizes.heads)
        key, value = (self.split(roles[role][0], sizes.key_value_heads) for role in ("key", "value"))
        output = self.outputs(places["output"].weight)
        biases = {role: None if bias is None else bias.reshape(-1) for role, (_, bias) in roles.items()}
        scale = self.scale()

        def slice_of(role: str, group: int, width: int) -> np.ndarray | None:
            bias = biases[role]
            return None if bias is None else bias[group * width : (group + 1) * width]

        found = []
        for head in range(sizes.heads):
            group = head * sizes.key_value_heads // sizes.heads
            found.append(
                AttentionHead(
                    query=query[head],
                    key=key[group],
                    value=value[group],
                    output=output[head],
                    query_bias=slice_of("query", head, sizes.head_width),
                    key_bias=slice_of("key", group, sizes.head_width),
                    value_bias=slice_of("value", group, sizes.value_width),
                    scale=scale,
                )
            )
        return tuple(found)

    def matrix(self, tensor: StoredTensor) -> np.ndarray:
        """A map of attention as it acts: (inputs, outputs), the heads side by side."""
        numbers = tensor.numbers()
        if self.how.layout == "per head":  # (heads, d, k)
            return numbers.transpose(1, 0, 2).reshape(numbers.shape[1], -1)
        return numbers if self.how.layout == "conv1d" else numbers.T

    def packed(self, columns: int, which: int) -> np.ndarray:
        """The columns of queries (0), keys (1) or values (2) in a packed matrix."""
        k = self.sizes.head_width
        every = np.arange(columns)
        if self.how.packing == "thirds":
            return every[which * columns // 3 : (which + 1) * columns // 3]
        return every.reshape(self.sizes.heads, 3, k)[:, which].reshape(-1)

    def split(self, matrix: np.ndarray, heads: int) -> np.ndarray:
        """A matrix with heads side by side as one matrix per head: (heads, d, k)."""
        return np.ascontiguousarray(matrix.reshape(matrix.shape[0], heads, -1).transpose(1, 0, 2))

    def outputs(self, tensor: StoredTensor) -> np.ndarray:
        """The output matrix as one matrix per head: (heads, v, d)."""
        numbers = tensor.numbers()
        if self.how.layout == "linear":
            numbers = numbers.T
        return np.ascontiguousarray(numbers.reshape(self.sizes.heads, self.sizes.value_width, -1))

    def scale(self) -> float:
        """What scores are multiplied by."""
        told = self.placed.files.config.get("attn_scale")
        if isinstance(told, int | float) and not isinstance(told, bool) and told > 0:
            return 1 / float(told)
        return 1 / sqrt(self.sizes.head_width)

    def norm(self, place: Place | None, *, there: bool) -> RowNorm | None:
        """A norm with its gain and bias; one without either where the configuration says that it was folded in."""
        config, eps = self.placed.files.config, self.epsilon()
        kind = config.get("norm", NORMS.get(str(config.get("normalization_type")), self.how.norm))
        if place is None:
            folded = there and config.get("normalization_type") in WITHOUT_GAIN
            return RowNorm(kind, None, None, eps) if folded else None
        return RowNorm(
            kind,
            place.weight.numbers(),
            _vector(place.bias),
            eps,
            mean=_vector(place.mean),
            variance=_vector(place.variance),
        )

    def epsilon(self) -> float:
        """What norms add to a variance."""
        for name in (*self.how.epsilon, "eps"):
            told = self.placed.files.config.get(name)
            if isinstance(told, int | float) and not isinstance(told, bool) and 0 < told < 1:
                return float(told)
        return self.how.default_epsilon

    def feedforward(self, places: Mapping[str, Place]) -> FeedForwardPart | None:
        if "inner" not in places:
            return None
        gate = places.get("gate")
        return FeedForwardPart(
            self.affine(places["inner"]),
            self.affine(places["outer"]),
            _activation(self.placed),
            None if gate is None else self.affine(gate),
        )

    def affine(self, place: Place) -> Affine:
        layout = self.how.feedforward_layout or self.how.layout
        numbers = place.weight.numbers()
        return Affine(np.ascontiguousarray(numbers.T) if layout == "linear" else numbers, _vector(place.bias))

    def embedding(self) -> EmbeddingPart:
        model = self.placed.model
        rows = [model[role].weight.numbers() for role in ("cls", "distillation") if role in model]
        features = model.get("features")
        widen = model.get("widen")
        return EmbeddingPart(
            tokens=_table(model.get("tokens")),
            positions=_table(model.get("positions")),
            offset=self.how.position_offset,
            segments=_table(model.get("segments")),
            features=None if features is None else _linear(features),
            cls=np.concatenate([row.reshape(-1, self.sizes.width) for row in rows]) if rows else None,
            norm=self.norm(model.get("embedding_norm"), there=False),
            widen=None if widen is None else _linear(widen),
        )

    def unembedding(self) -> Affine | None:
        model, config = self.placed.model, self.placed.files.config
        if "unembedding" in model:
            place = model["unembedding"]
            if self.how.layout == "per head":
                return Affine(place.weight.numbers(), _vector(place.bias))
            return _linear(place)
        tied = config.get("tie_word_embeddings", self.how.tied)
        if self.how.tied and tied and "tokens" in model:
            return Affine(np.ascontiguousarray(model["tokens"].weight.numbers().T), None)
        return None

    def require_sides(self) -> None:
        """Refuse tensors whose sides do not fit together, before any number is read."""
        sizes, how = self.sizes, self.how
        inside = {"query": (sizes.heads, sizes.head_width), "output": (sizes.heads, sizes.value_width)}
        inside |= {
            "key": (sizes.key_value_heads, sizes.head_width),
            "value": (sizes.key_value_heads, sizes.value_width),
        }
        for places in self.placed.layers:
            for role, place in places.items():
                if role in inside:
                    heads, k = inside[role]
                    shape = {
                        "linear": (heads * k, sizes.width),
                        "conv1d": (sizes.width, heads * k),
                        "per head": (heads, sizes.width, k),
                    }[how.layout]
                    if role == "output":
                        shape = (heads, k, sizes.width) if how.layout == "per head" else shape[::-1]
                    _require(place.weight, shape)
                    _require_size(place.bias, sizes.width if role == "output" else heads * k)
                elif role == "qkv":
                    rows = 3 * sizes.heads * sizes.head_width
                    _require(place.weight, (sizes.width, rows) if how.layout == "conv1d" else (rows, sizes.width))
                    _require_size(place.bias, rows)
                elif role in ("query_norm", "key_norm"):
                    _require(place.weight, (sizes.head_width,))
                elif role.endswith("norm"):
                    for each in place.all:
                        _require(each, (sizes.width,))
            self.require_feedforward(places)
        self.require_model_sides()

    def require_feedforward(self, places: Mapping[str, Place]) -> None:
        present = [role for role in ("inner", "gate", "outer") if role in places]
        if not present:
            return
        if not {"inner", "outer"} <= set(present):
            raise CheckpointError(f"{self.placed.files.source!r} has half of a feed-forward part; fetch it again.")
        flat = (self.how.feedforward_layout or self.how.layout) == "linear"
        inner = places["inner"].weight
        if len(inner.shape) != 2:
            raise CheckpointError(f"{inner.name} has shape {inner.shape}, where a matrix was expected.")
        units = inner.shape[0 if flat else 1]
        for role in present:
            shape = (units, self.sizes.width) if role != "outer" else (self.sizes.width, units)
            _require(places[role].weight, shape if flat else shape[::-1])
            _require_size(places[role].bias, self.sizes.width if role == "outer" else units)

    def require_model_sides(self) -> None:
        model, width = self.placed.model, self.sizes.width
        narrow = width
        if "widen" in model:
            weight = model["widen"].weight
            narrow = weight.shape[-1] if len(weight.shape) == 2 else 0
            _require(weight, (width, narrow))
            _require_size(model["widen"].bias, width)
        for role in ("tokens", "positions", "segments"):
            if role in model and (not model[role].weight.shape or model[role].weight.shape[-1] != narrow):
                tensor = model[role].weight
                raise CheckpointError(
                    f"{tensor.name} has shape {tensor.shape}, and rows of {narrow} entries were expected."
                )
        if "final_norm" in model:
            _require(model["final_norm"].weight, (width,))
        if "embedding_norm" in model:
            _require(model["embedding_norm"].weight, (narrow,))
        if "unembedding" in model:
            tensor = model["unembedding"].weight
            reads = 0 if self.how.layout == "per head" else 1
            if len(tensor.shape) != 2 or tensor.shape[reads] != width:
                raise CheckpointError(
                    f"{tensor.name} has shape {tensor.shape}, and the model's rows have {width} entries."
                )


def _require(tensor: StoredTensor, shape: tuple[int, ...]) -> None:
    if tensor.shape != shape:
        raise CheckpointError(f"{tensor.name} has shape {tensor.shape}, where {shape} fits the rest; fetch it again.")


def _require_size(tensor: StoredTensor | None, size: int) -> None:
    if tensor is not None and prod(tensor.shape) != size:
        raise CheckpointError(
            f"{tensor.name} has shape {tensor.shape}, where {size} numbers fit the rest; fetch it again."
        )


def _vector(tensor: StoredTensor | None) -> np.ndarray | None:
    return None if tensor is None else tensor.numbers().reshape(-1)


def _table(place: Place | None) -> np.ndarray | None:
    """Rows of a table; axes of length one before them, as in images' positions, are left out."""
    if place is None:
        return None
    numbers = place.weight.numbers()
    return numbers.reshape(-1, numbers.shape[-1])


def _linear(place: Place) -> Affine:
    """A map as torch's Linear has it; a convolution over patches reads them flattened."""
    numbers = place.weight.numbers()
    return Affine(np.ascontiguousarray(numbers.reshape(numbers.shape[0], -1).T), _vector(place.bias))


def _activation(placed: Placed) -> str | None:
    """The activation by one name for each function, or as the configuration spells it where it is none of ours."""
    told = next(
        (placed.files.config[name] for name in placed.architecture.activations if placed.files.config.get(name)), None
    )
    told = placed.architecture.activation if told is None else str(told)
    return None if told is None else ACTIVATIONS.get(told, told)


def _placement(placed: Placed) -> str | None:
    """Norms before their part or after its addition."""
    first = placed.files.config.get("norm_first")
    if placed.architecture.placement is None and isinstance(first, bool):
        return "pre" if first else "post"
    return placed.architecture.placement


def _causal(placed: Placed) -> bool | None:
    told = placed.files.config.get("attention_dir", placed.files.config.get("causal"))
    if placed.architecture.causal is None and told is not None:
        return told in ("causal", True)
    return placed.architecture.causal


def _positions(placed: Placed) -> PositionCode:
    config = placed.files.config
    kind = CODES.get(str(config.get("positional_embedding_type")), placed.architecture.positions)
    if kind != "rotary":
        return PositionCode(kind)
    told = config.get("rope_parameters")
    rope = told if isinstance(told, Mapping) else {}
    base = rope.get("rope_theta", config.get("rope_theta", config.get("rotary_base", 10000.0)))
    share = rope.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0))
    scaling = rope.get("rope_type", "default") != "default" or config.get("rope_scaling") is not None
    if not all(isinstance(each, int | float) and each > 0 for each in (base, share)):
        raise CheckpointError(
            f"{placed.files.source!r} has no number for the base of its rotary positions; give rope_theta."
        )
    return PositionCode("rotary", float(base), float(share), scaled=bool(scaling))


def _not_covered(placed: Placed, sizes: Sizes) -> list[NotCovered]:
    """What norms of W_QK and W_OV leave out, each with the reason."""
    layer, config = placed.layers[0], placed.files.config
    found = []
    biased = [
        role for role in ("query", "key", "value", "qkv", "output") if role in layer and layer[role].bias is not None
    ]
    if biased:
        what = "queries, keys and values" if "qkv" in biased else ", ".join(biased)
        found.append(
            NotCovered(f"biases ({what})", "they add constants to scores and outputs; norms are of the matrices")
        )
    norms = [role for role in ("attention_norm", "feedforward_norm") if role in layer]
    if norms:
        kind = _KINDS.get(placed.architecture.norm, placed.architecture.norm)
        found.append(
            NotCovered(
                f"{kind} gains",
                "they scale rows between the matrices and are not folded into them; and such a norm has no Lipschitz "
                "constant free of its epsilon",
            )
        )
    if "query_norm" in layer:
        found.append(NotCovered("norms of queries and keys", "they bound the scores, whatever W_QK is"))
    positions = _positions(placed)
    if positions.kind == "rotary":
        found.append(
            NotCovered(
                "rotary positions",
                "a rotation stands between W_Q and W_K; W_QK is that of a token and itself, distance 0",
            )
        )
    if "inner" in layer:
        found.append(NotCovered("feed-forward parts", "no bound here has them between layers"))
    if config.get("sliding_window"):
        found.append(NotCovered("a sliding window", "it hides distant keys, which norms do not see"))
    crossed = [each.name for each in placed.unused if each.reason.startswith("cross-attention")]
    if crossed:
        found.append(NotCovered("cross-attention", f"{crossed[0]} and others: keys of another sequence"))
    if sizes.key_value_heads < sizes.heads:
        found.append(
            NotCovered(
                "sharing of keys and values",
                f"{sizes.heads} heads share {sizes.key_value_heads} keys and values; each counts as if it had its own",
            )
        )
    return found


_KINDS = {"layer": "LayerNorm", "rms": "RMSNorm", "batch": "BatchNorm", "centred": "centring"}
