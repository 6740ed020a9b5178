"""Tensors in their places become a checkpoint: sides are checked at once, numbers are read part by part."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.attention import Affine
from keyhole.checkpoints.architectures.architecture import Architecture
from keyhole.checkpoints.architectures.doubts import doubts
from keyhole.checkpoints.architectures.heads import read_heads, vector
from keyhole.checkpoints.architectures.not_covered import not_covered
from keyhole.checkpoints.architectures.placing import Place, Placed, place_tensors
from keyhole.checkpoints.architectures.settings import (
    WITHOUT_GAIN,
    activation_of,
    causal_of,
    epsilon_of,
    norm_of,
    placement_of,
    positions_of,
    require_settings,
    stored_layers,
)
from keyhole.checkpoints.architectures.sides import require_sides, sizes_of
from keyhole.checkpoints.checkpoint import Checkpoint, EmbeddingPart, FeedForwardPart, Layers, RowNorm, Sizes
from keyhole.checkpoints.weight_files import WeightFiles
from keyhole.errors import CheckpointError


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
        doubts=tuple(doubts(placed)),
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
            return read_heads(self.placed, self.sizes, places)
        if part == "output_bias":
            return vector(places["output"].bias)
        if part == "feedforward":
            return self.feedforward(places)
        return self.norm(places.get(part), there=part in ("attention_norm", "feedforward_norm"))

    def model_part(self, part: str) -> Any:
        if part == "embedding":
            return self.embedding()
        if part == "unembedding":
            return self.unembedding()
        return self.norm(self.placed.model.get(part), there=part == "final_norm")

    def norm(self, place: Place | None, *, there: bool) -> RowNorm | None:
        """A norm with its gain and bias; one without either where the configuration says that it was folded in."""
        config, eps, kind = self.placed.files.config, epsilon_of(self.placed), norm_of(self.placed)
        if place is None:
            folded = (
                there and config.get("normalization_type") in WITHOUT_GAIN and "normalization_type" in self.how.norms
            )
            return RowNorm(kind, None, None, eps) if folded else None
        return RowNorm(
            kind,
            place.weight.numbers(),
            vector(place.bias),
            eps,
            mean=vector(place.mean),
            variance=vector(place.variance),
        )

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
        return Affine(np.ascontiguousarray(numbers.T) if layout == "linear" else numbers, vector(place.bias))

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
            if self.how.tied and config.get("tie_word_embeddings", self.how.parts is not None):
                self.require_tied()
            if self.how.layout == "per head":
                return Affine(place.weight.numbers(), vector(place.bias))
            return _linear(place)
        tied = config.get("tie_word_embeddings", self.how.tied)
        if self.how.tied and tied and "tokens" in model:
            return Affine(np.ascontiguousarray(model["tokens"].weight.numbers().T), None)
        return None

    def require_tied(self) -> None:
        """Refuse an unembedding of its own that the configuration ties to another token table.

        Releases of transformers differ: version 4 takes the token table then, version 5 the unembedding.
        """
        tokens, out = (self.placed.model.get(role) for role in ("tokens", "unembedding"))
        if tokens is not None and out is not None and not np.array_equal(tokens.weight.numbers(), out.weight.numbers()):
            raise CheckpointError(
                f"{self.placed.files.source!r} stores {out.weight.name}, and its configuration says that it is "
                f"{tokens.weight.name}, which differs; give tie_word_embeddings = false in config.json."
            )


def _table(place: Place | None) -> np.ndarray | None:
    """Rows of a table; axes of length one before them, as in images' positions, are left out."""
    if place is None:
        return None
    numbers = place.weight.numbers()
    return numbers.reshape(-1, numbers.shape[-1])


def _linear(place: Place) -> Affine:
    """A map as torch's Linear has it; a convolution over patches reads them flattened."""
    numbers = place.weight.numbers()
    return Affine(np.ascontiguousarray(numbers.reshape(numbers.shape[0], -1).T), vector(place.bias))
