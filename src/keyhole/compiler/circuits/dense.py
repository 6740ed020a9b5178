"""A compiled circuit as dense matrices: the standard residual transformer, several layers deep.

The stream of a token: a coordinate for every position, one for the value, and scratch for each head of each layer. The
embedding writes position and value; head h of a layer copies the value at the wire of a slot to its own scratch; the
feed-forward part of the layer writes the slot's value. Each layer has its own scratch, so nothing is read that was
written twice.
"""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from keyhole.arrays import Float, Shaped
from keyhole.attention import (
    AdditiveEmbedding,
    Affine,
    Block,
    FactoredScore,
    FeedForward,
    Model,
    OneHotPositions,
    ReadOut,
    ReLU,
    Wiring,
    embed_tokens,
    transform,
)
from keyhole.attention import Head as AttentionHead
from keyhole.compiler.circuits.plan import CircuitPlan
from keyhole.errors import CompileError

MAX_NUMBERS = 2**27  # of all matrices together: 1 GB
EMPTY = 2  # the symbol of a slot that shows nothing yet


@dataclass(frozen=True, eq=False)
class DenseCircuit:
    """L layers of H heads, padded with zeros to one width; a token is its symbol (0, 1, empty) and its position."""

    context: int
    causal: bool  # in steps, when a slot attends to those before it
    directions: tuple[str, ...]
    units: tuple[tuple[str, ...], ...]  # of each layer, the gate of each hidden unit
    embed: Float[np.ndarray, "3 d"]  # W_E
    position: Float[np.ndarray, "length d"]  # W_pos
    query: Float[np.ndarray, "L h d k"]  # W_Q; scores are divided by √k
    key: Float[np.ndarray, "L h d k"]  # W_K
    value: Float[np.ndarray, "L h d k"]  # W_V
    output: Float[np.ndarray, "L h k d"]  # W_O
    inner: Float[np.ndarray, "L d u"]  # W_in
    inner_bias: Float[np.ndarray, "L u"]  # b_in
    outer: Float[np.ndarray, "L u d"]  # W_out
    unembed: Float[np.ndarray, "d 1"]  # W_U

    @property
    def tokens(self) -> int:
        """T + n."""
        return len(self.position)

    @cached_property
    def model(self) -> Model:
        """The layers as a model read at the last slot; of steps, as if all slots were filled at once."""
        layers = []
        for layer in range(len(self.query)):
            heads = tuple(
                AttentionHead(
                    FactoredScore(self.query[layer, h], self.key[layer, h]),
                    Affine(self.value[layer, h] @ self.output[layer, h]),
                )
                for h in range(self.query.shape[1])
            )
            fed = FeedForward(Affine(self.inner[layer], self.inner_bias[layer]), ReLU(), Affine(self.outer[layer]))
            layers.append(Block(heads, Wiring(residual="each", feedforward=fed)))
        last = self.embed[EMPTY] + self.position[-1]
        places = OneHotPositions(self.tokens - 1, self.tokens)
        return Model(AdditiveEmbedding(self.embed, places, last), tuple(layers), ReadOut(self.unembed[:, 0]))

    def words(self, bits: Shaped[np.ndarray, "n T"]) -> Shaped[np.ndarray, "n length"]:
        """The tokens of each input, all slots empty."""
        slots = np.full((len(bits), self.tokens - self.context), EMPTY)
        return np.ascontiguousarray(np.concatenate([np.asarray(bits).astype(np.int64), slots], axis=1))

    def fill_slots(self, bits: Shaped[np.ndarray, "n T"]) -> Float[np.ndarray, "n gates"]:
        """The value that every slot shows after the last layer."""
        rows = embed_tokens(self.model.embedding, self.words(bits)[:, :-1])
        return np.asarray((transform(self.model.blocks, rows) @ self.unembed)[:, self.context :, 0])


def to_dense(plan: CircuitPlan) -> DenseCircuit:
    """The plan's numbers as matrices; refused where they would not fit."""
    layer_of, tokens, heads = np.array(plan.layer_of), plan.tokens, plan.heads
    layers, gates = int(layer_of.max()) + 1, np.arange(len(layer_of))
    members = [gates[layer_of == layer] for layer in range(layers)]
    k = max(map(len, members))
    ramps = [np.flatnonzero(layer_of[plan.owners] == layer) for layer in range(layers)]
    width = max(2 * len(own) + len(member) for own, member in zip(ramps, members, strict=True))
    d = tokens + 1 + layers * heads
    numbers = d * (tokens + layers * (4 * heads * k + 2 * width))
    if numbers > MAX_NUMBERS:
        raise CompileError(
            f"Dense matrices of {layers} layers and {tokens} tokens hold {numbers:.2g} numbers; at most "
            f"{MAX_NUMBERS:.2g} are written. Use a shorter context, fewer gates, or the tables."
        )
    query, key, value = (np.zeros((layers, heads, d, k)) for _ in range(3))
    output, bias = np.zeros((layers, heads, k, d)), np.zeros((layers, width))
    inner, outer, units = np.zeros((layers, d, width)), np.zeros((layers, width, d)), []
    for layer, (own, member) in enumerate(zip(ramps, members, strict=True)):
        scratch = tokens + 1 + layer * heads
        for h in range(heads):
            value[layer, h, tokens, 0] = output[layer, h, 0, scratch + h] = 1.0
            for column, gate in enumerate(member):
                if h < plan.slots[gate].sparsity:
                    query[layer, h, plan.context + gate, column] = plan.focus[gate, h] * sqrt(k)
                    key[layer, h, plan.slots[gate].positions[h], column] = 1.0
        r, last = len(own), 2 * len(own) + len(member)
        places = plan.context + plan.owners[own]
        for start, more in ((0, 0.0), (r, 1.0)):
            inner[layer, scratch : scratch + heads, start : start + r] = plan.signs[own].T
            inner[layer, places, np.arange(start, start + r)] = plan.silence
            bias[layer, start : start + r] = -(plan.offsets[own] + more + plan.silence)
            outer[layer, start : start + r, tokens] = (2 - 4 * more) * plan.weights[own]
        inner[layer, plan.context + member, np.arange(2 * r, last)] = 1.0
        outer[layer, 2 * r : last, tokens] = 2 * plan.starts[member] - 1
        names = [plan.circuit.names[gate] for gate in [*plan.owners[own], *plan.owners[own], *member]]
        units.append(tuple(names))
    position, embed = np.eye(tokens, d), np.zeros((3, d))
    embed[:EMPTY, tokens] = -1.0, 1.0
    names = [f"x{t}" for t in range(plan.context)] + [f"slot {name}" for name in plan.circuit.names]
    scratches = [f"layer {layer} head {h}" for layer in range(layers) for h in range(heads)]
    return DenseCircuit(
        context=plan.context,
        causal=plan.mode == "steps",
        directions=(*names, "value", *scratches),
        units=tuple(units),
        embed=embed,
        position=position,
        query=query,
        key=key,
        value=value,
        output=output,
        inner=inner,
        inner_bias=bias,
        outer=outer,
        unembed=np.eye(d)[:, tokens : tokens + 1],
    )
