"""The forward pass of a checkpoint: its attention maps, layer by layer, and its last rows.

Rows go through the layers in batches. The maps of one layer and one batch are handed to `look` and then dropped, so
that no more than one array (batch, heads, T, T) is alive. Weights are kept once prepared, in double precision, or in
single for long corpora.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from keyhole.arrays import Bool, Float, Int
from keyhole.attention import TanhGELU
from keyhole.checkpoints.checkpoint import Attention, Checkpoint, EmbeddingPart, Layer, RowNorm
from keyhole.checkpoints.one_layer import ACTIVATIONS as BOUNDED
from keyhole.errors import CheckpointError, DataError

Rows = Float[np.ndarray, "batch T d"]
Maps = Float[np.ndarray, "batch heads T T"]
Look = Callable[[int, Maps], None]  # the layer, from 0, and its maps: row t is what position t attends to
Heads = Float[np.ndarray, "batch heads T k"]
LookInside = Callable[[int, Heads, Heads, Heads], None]  # the layer, and queries, keys and values as scores read them

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    **BOUNDED,
    "gelu_fast": TanhGELU(),
    "silu": lambda x: x / (1 + np.exp(-np.clip(x, -700, None))),
    "tanh": np.tanh,
}


@dataclass(frozen=True, eq=False)
class Prepared:
    """A checkpoint that is ready to be run: every layer read once, however often it is used."""

    checkpoint: Checkpoint
    layers: tuple[Layer, ...]
    final_norm: RowNorm | None
    number_format: type[np.floating]  # of the rows and of all that is computed with them

    def embed(self, tokens: Int[np.ndarray, "T"], positions: Int[np.ndarray, "T"] | None = None) -> np.ndarray:
        """Return the rows (T, d) of tokens at places 0, 1, 2, …, or at `positions`."""
        part = self.checkpoint.embedding
        if part.tokens is None:
            raise DataError(f"{self.checkpoint.source} reads no tokens: it has a map of features; give those.")
        numbers = np.asarray(tokens)
        if numbers.ndim != 1 or not len(numbers) or numbers.min() < 0 or numbers.max() >= len(part.tokens):
            ends = f"from {numbers.min()} to {numbers.max()}" if numbers.size else "that are none"
            raise DataError(
                f"Tokens {ends} were given, and {self.checkpoint.source} knows those from 0 to {len(part.tokens) - 1}; "
                "use its own tokenizer."
            )
        rows = part.tokens[numbers]
        return self._placed(rows if part.segments is None else rows + part.segments[0], part, positions)

    def embed_features(
        self, features: Float[np.ndarray, "n f"], positions: Int[np.ndarray, "T"] | None = None
    ) -> np.ndarray:
        """Return the rows of patches or points; a model without a map of features takes rows as they are."""
        part = self.checkpoint.embedding
        width = self.checkpoint.sizes.width if part.features is None else part.features.inputs
        if part.tokens is not None or features.ndim != 2 or features.shape[1] != width:
            raise DataError(
                f"Features of shape {features.shape} were given, and {self.checkpoint.source} reads "
                + ("tokens." if part.tokens is not None else f"rows of {width} numbers.")
            )
        rows = features if part.features is None else part.features(features)
        return self._placed(rows if part.cls is None else np.concatenate([part.cls, rows]), part, positions)

    def _placed(self, rows: np.ndarray, part: EmbeddingPart, positions: np.ndarray | None) -> np.ndarray:
        """Add the vectors of their places to rows, norm them, and widen them to the model's width."""
        if part.positions is not None:
            places = part.offset + (np.arange(len(rows)) if positions is None else np.asarray(positions))
            if len(places) != len(rows) or places.min() < 0 or places.max() >= len(part.positions):
                raise DataError(
                    f"{self.checkpoint.source} has {len(part.positions) - part.offset} positions, and "
                    f"{len(rows)} were asked for; cut the input into shorter parts."
                )
            rows = rows + part.positions[places]
        rows = rows if part.norm is None else part.norm(rows)
        return rows if part.widen is None else np.asarray(part.widen(rows))

    def run(
        self,
        rows: Rows,
        visible: Bool[np.ndarray, "batch T"] | None = None,
        look: Look | None = None,
        inside: LookInside | None = None,
    ) -> Rows:
        """Return the last rows, after the final norm; `look` sees each layer's maps, `inside` what scores read.

        Keys that are not `visible` have no weight (rows that only fill up a batch). Row t is at position t
        where a model is rotary. With a causal model row t attends to rows 0 … t.
        """
        window = self.checkpoint.config.get("sliding_window")
        if isinstance(window, int) and rows.shape[1] > window:
            raise DataError(
                f"{rows.shape[1]} rows were given, and {self.checkpoint.source} hides keys beyond {window}, which our "
                "forward pass does not know; cut the input into shorter parts."
            )
        hidden = None if visible is None else ~visible[:, None, None, :]
        if self.checkpoint.causal:
            later = ~np.tri(rows.shape[1], dtype=bool)[None, None]
            hidden = later if hidden is None else hidden | later
        rows = rows.astype(self.number_format, copy=False)
        turn, code = None, self.checkpoint.positions
        if code.kind == "rotary" and code.base is not None:  # angles t · base^(−2i/r) for r coordinates
            half = int(self.checkpoint.sizes.head_width * code.share) // 2
            angles = np.outer(np.arange(rows.shape[1]), code.base ** (-np.arange(half) / half))
            turn = np.cos(angles).astype(self.number_format), np.sin(angles).astype(self.number_format)
        pre = self.checkpoint.placement == "pre"
        for index, stored in enumerate(self.checkpoint.layers.stored):
            layer = self.layers[stored]
            first, second = layer.attention_norm or np.asarray, layer.feedforward_norm or np.asarray
            query, key, value = _projected(layer.attention, first(rows) if pre else rows, turn)
            if inside is not None:
                inside(index, query, key, value)
            maps, written = _attend(layer.attention, query, key, value, hidden)
            if look is not None:
                look(index, maps)
            del maps
            rows = rows + written if pre else first(rows + written)
            if layer.feedforward is not None:
                part, entering = layer.feedforward, second(rows) if pre else rows
                activate, inner = ACTIVATIONS[str(part.activation)], part.inner(entering)
                fed = part.outer(activate(inner) if part.gate is None else activate(part.gate(entering)) * inner)
                rows = rows + fed if pre else second(rows + fed)
        return rows if self.final_norm is None else self.final_norm(rows)


def _projected(part: Attention, rows: Rows, turn: tuple[np.ndarray, np.ndarray] | None) -> tuple[Heads, Heads, Heads]:
    """Return queries, keys and values of every head with biases, norms and turns; shared ones are repeated."""
    query = _split(rows @ part.query, part.query_bias, part.heads)
    key = _split(rows @ part.key, part.key_bias, part.groups)
    value = _split(rows @ part.value, part.value_bias, part.groups)
    query = query if part.query_norm is None else part.query_norm(query)
    key = key if part.key_norm is None else part.key_norm(key)
    if turn is not None:
        query, key = _turned(query, turn), _turned(key, turn)
    if part.groups < part.heads:
        key, value = (np.repeat(shared, part.heads // part.groups, axis=1) for shared in (key, value))
    return query, key, value


def _attend(part: Attention, query: Heads, key: Heads, value: Heads, hidden: np.ndarray | None) -> tuple[Maps, Rows]:
    """Return one layer's maps, and what its heads write together."""
    batch, _, T, _ = query.shape
    scores = query @ key.transpose(0, 1, 3, 2)
    scores *= part.scale
    if hidden is not None:
        np.copyto(scores, -np.inf, where=hidden)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    written = (scores @ value).transpose(0, 2, 1, 3).reshape(batch, T, -1) @ part.output
    return scores, written if part.output_bias is None else written + part.output_bias


def prepare(checkpoint: Checkpoint, *, single: bool = False) -> Prepared:
    """Read every layer once, ready to run; refuse a checkpoint with an unknown part, so that no map is a guess.

    A file that does not say how the model knows positions (a stock torch.nn.TransformerEncoder) takes rows, not tokens,
    and the caller adds positions to them. With `single` it computes in single precision, in about half the time; maps
    then differ by about 1e-6.
    """
    checkpoint.require_complete()
    code = checkpoint.positions
    beyond = {
        "angles that are changed for long inputs (rope_scaling)": code.kind == "rotary" and code.scaled,
        "positions that turn a part of each head only": code.kind == "rotary" and code.share != 1,
        "positions that turn neighbouring coordinates": bool(checkpoint.config.get("rotary_adjacent_pairs")),
        "attention and feed-forward parts side by side": checkpoint.parallel,
    }
    for what, there in beyond.items():
        if there:
            raise CheckpointError(f"{checkpoint.source} has {what}; our forward pass does not know them.")
    kind = np.float32 if single else np.float64
    layers = []
    for each in sorted(set(checkpoint.layers.stored)):
        layer = checkpoint.layers[checkpoint.layers.stored.index(each)]
        feed = layer.feedforward
        if feed is not None and feed.activation not in ACTIVATIONS:
            raise CheckpointError(
                f"{checkpoint.source} has the activation {feed.activation or 'of which no file speaks'}; our forward "
                f"pass knows {', '.join(ACTIVATIONS)}: give it as hidden_act in a config.json beside the weights."
            )
        layers.append(Layer(layer.index, _cast(layer.parts(), kind).__getitem__))
    return Prepared(checkpoint, tuple(layers), _cast(checkpoint.final_norm, kind), kind)


def _cast(part: Any, kind: type[np.floating]) -> Any:
    """Return a part of a model with all its arrays in one number format."""
    if isinstance(part, np.ndarray):
        return part.astype(kind, copy=False)
    if isinstance(part, dict):
        return {name: _cast(each, kind) for name, each in part.items()}
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{each.name: _cast(getattr(part, each.name), kind) for each in fields(part)})
    return part


def _split(rows: np.ndarray, bias: np.ndarray | None, heads: int) -> np.ndarray:
    """Turn (batch, T, heads · k) into (batch, heads, T, k)."""
    rows = rows if bias is None else rows + bias
    return rows.reshape(*rows.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def _turned(rows: np.ndarray, turn: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Turn coordinates i and i + r/2 of each row by its angle; keep those beyond r."""
    cosines, sines = turn
    half = cosines.shape[1]
    one, two, rest = rows[..., :half], rows[..., half : 2 * half], rows[..., 2 * half :]
    return np.concatenate([one * cosines - two * sines, two * cosines + one * sines, rest], axis=-1)
