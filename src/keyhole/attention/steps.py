"""One layer that answers step by step: each answer is read at the last position, and is shown there at the next step.

What a position shows at a step depends on the position and its symbol alone, so a head's query is one of a few vectors,
and its scores and values are tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.attention.layers import Activation, Affine, FeedForward, LayerNorm
from keyhole.errors import AssumptionError, ShapeError


@dataclass(frozen=True, eq=False)
class Turn:
    """x ↦ x turns[p] at position p: rotary positions, with a matrix for each position."""

    turns: Float[np.ndarray, "P k k"]

    def __call__(self, x: Float[np.ndarray, "... T k"]) -> Float[np.ndarray, "... T k"]:
        """Turn the rows of positions 0, …, T − 1."""
        return np.asarray((x[..., None, :] @ self.turns[: x.shape[-2]])[..., 0, :])


@dataclass(frozen=True, eq=False)
class GatedFeedForward:
    """x ↦ outer(σ(gate(x)) · inner(x)): SwiGLU with SiLU, GEGLU with GELU."""

    gate: Affine
    activation: Activation
    inner: Affine
    outer: Affine

    def __call__(self, x: Float[np.ndarray, "... d"]) -> Float[np.ndarray, "... d"]:
        """Every row through its gated units."""
        return np.asarray(self.outer(self.activation(self.gate(x)) * self.inner(x)))


Map = Affine | LayerNorm | Turn | FeedForward | GatedFeedForward  # of each position's row


def applied(maps: Sequence[Map], x: Float[np.ndarray, "... d"]) -> Float[np.ndarray, "... e"]:
    """Return the rows after all maps, one after another."""
    for each in maps:
        x = np.asarray(each(x))
    return x


@dataclass(frozen=True, eq=False)
class StepHead:
    """A softmax head read at the last position.

    `query`, `key` and `value` are maps of a position's row; scores are divided by `scale`; `output` maps the average of
    the values back to a row. A low-rank projection is best cut where it is thinnest: the average of what `value` writes
    is what the prover searches.
    """

    query: tuple[Map, ...]
    key: tuple[Map, ...]
    value: tuple[Map, ...]
    output: tuple[Affine, ...]
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.scale < np.inf:
            raise AssumptionError(f"scores are divided by a positive number; got scale {self.scale}")


@dataclass(frozen=True, eq=False)
class StepModel:
    """One layer of attention: the row of symbol a at position p is `embedding[p, a]`.

    `norm` maps rows before the heads read them. The heads' outputs are added to the last row, then each of `branches`
    adds its own image of it. `readout` maps the row to logits, one for each symbol; the largest is the answer.
    """

    embedding: Float[np.ndarray, "P V d"]
    norm: tuple[Map, ...]
    heads: tuple[StepHead, ...]
    branches: tuple[tuple[Map, ...], ...]
    readout: tuple[Map, ...]

    def __post_init__(self) -> None:
        if self.embedding.ndim != 3 or not np.isfinite(self.embedding).all():
            raise ShapeError(
                f"an embedding has a finite row for each position and symbol, and so three axes; got the shape "
                f"{self.embedding.shape}"
            )

    @property
    def positions(self) -> int:
        """P, the longest word with its answers."""
        return int(self.embedding.shape[0])

    @property
    def symbols(self) -> int:
        """V, the size of the alphabet."""
        return int(self.embedding.shape[1])

    def logits(self, words: Int[np.ndarray, "n T"]) -> Float[np.ndarray, "n V"]:
        """Return the logits of the symbol after each word, in double precision."""
        if words.shape[1] > self.positions:
            raise ShapeError(f"the model has {self.positions} positions; the words have {words.shape[1]}")
        rows = self.embedding[np.arange(words.shape[1]), words]
        seen, last = applied(self.norm, rows), rows[:, -1]
        for head in self.heads:
            query = applied(head.query, seen)[:, -1]
            scores = np.einsum("nk,ntk->nt", query, applied(head.key, seen)) / head.scale
            mass = np.exp(scores - scores.max(axis=1, keepdims=True))
            mass = mass / mass.sum(axis=1, keepdims=True)
            last = last + applied(head.output, np.einsum("nt,ntr->nr", mass, applied(head.value, seen)))
        for branch in self.branches:
            last = last + applied(branch, last)
        return applied(self.readout, last)

    def written(self, prompts: Int[np.ndarray, "n L"], steps: int) -> Int[np.ndarray, "n steps"]:
        """Return what the model writes after each prompt, always the symbol of the largest logit."""
        words = prompts
        for _ in range(steps):
            words = np.concatenate([words, self.logits(words).argmax(axis=1)[:, None]], axis=1)
        return words[:, prompts.shape[1] :]
