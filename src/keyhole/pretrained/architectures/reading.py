"""Tensors in their places become a checkpoint: sides are checked at once, numbers are read part by part."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from keyhole.attention import Affine
from keyhole.pretrained.architectures.architecture import Architecture
from keyhole.pretrained.architectures.not_covered import not_covered
from keyhole.pretrained.architectures.placing import Place, Placed, place_tensors
from keyhole.pretrained.architectures.settings import (
    NORMS,
    WITHOUT_GAIN,
    activation_of,
    causal_of,
    placement_of,
    positions_of,
    require_settings,
    stored_layers,
)
from keyhole.pretrained.architectures.sides import require_sides, sizes_of
from keyhole.pretrained.checkpoint import (
    AttentionHead,
    Checkpoint,
    EmbeddingPart,
    FeedForwardPart,
    Layers,
    RowNorm,
    Sizes,
)
from keyhole.pretrained.weight_files import StoredTensor, WeightFiles


def read_checkpoint(files: WeightFiles, architecture: Architecture | str | None = None) -> Checkpoint:
    """The checkpoint that the tensors are, in the architecture given or recognised."""
    placed = place_tensors(files, architecture)
    require_settings(placed)
    sizes = sizes_of(placed)
    require_sides(placed, sizes)
    reader = _Reader(placed, sizes)
    how, config = placed.architecture, files.config
    tensors = [each for layer in placed.layers for place in layer.values() for each in place.all]
    return Checkpoint(
        source=files.source,
        architecture=how.name,
        config=config,
        sizes=reader.sizes,
        layers=Layers(stored_layers(placed), reader.layer_part),
        positions=positions_of(placed),
        placement=placement_of(placed),
        causal=causal_of(placed),
        parallel=how.parallel,
        unused=placed.unused,
        not_covered=tuple(not_covered(placed, reader.sizes)),
        read=reader.model_part,
        number_formats=tuple(sorted({each.number_format for each in tensors})),
    )


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

        heads = []
        for head in range(sizes.heads):
            group = head * sizes.key_value_heads // sizes.heads
            heads.append(
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
        return tuple(heads)

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
        stated = self.placed.files.config.get("attn_scale")
        if isinstance(stated, int | float) and not isinstance(stated, bool) and stated > 0:
            return 1 / float(stated)
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
            stated = self.placed.files.config.get(name)
            if isinstance(stated, int | float) and not isinstance(stated, bool) and 0 < stated < 1:
                return float(stated)
        return self.how.default_epsilon

    def feedforward(self, places: Mapping[str, Place]) -> FeedForwardPart | None:
        if "inner" not in places:
            return None
        gate = places.get("gate")
        return FeedForwardPart(
            self.affine(places["inner"]),
            self.affine(places["outer"]),
            activation_of(self.placed),
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
