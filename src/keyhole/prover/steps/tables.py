"""The view of the heads of one step: the weight and the weighted value of every symbol at every position, enclosed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.attention import Affine, FeedForward, GatedFeedForward, LayerNorm, Map, StepHead, StepModel, Turn
from keyhole.prover.proof.curves import curve
from keyhole.rigorous import GROW, Ball, ball_of, exact, exponentials, inverse, root


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Heads with the same output share the coordinates of their sum; `back` maps these to what the output reads."""

    heads: tuple[int, ...]
    first: int
    width: int
    turn: Float[np.ndarray, "r r"]  # values times this are the coordinates
    back: Ball  # (r, r), a ball of its inverse


def image(layer: Map, x: Ball) -> Ball:
    """A ball of the map's image of every row."""
    match layer:
        case Turn():
            rows = Ball(x.mid[..., None, :], x.rad[..., None, :]) @ exact(layer.turns[: len(x.mid), None])
            return rows[..., 0, :]
        case Affine():
            y = x @ exact(layer.weight)
            return y if layer.bias is None else y + exact(layer.bias)
        case LayerNorm():
            rows = x.centred() if layer.centres else x
            square = (rows * rows).total() * inverse(exact(float(rows.mid.shape[-1]))) + exact(layer.eps)
            y = rows * inverse(root(square))[..., None] * exact(layer.gain)
            return y if layer.bias is None else y + exact(layer.bias)
        case FeedForward():
            hidden = x if layer.inner is None else image(layer.inner, x)
            hidden = curve(layer.activation, hidden)
            return hidden if layer.outer is None else image(layer.outer, hidden)
        case GatedFeedForward():
            return image(layer.outer, curve(layer.activation, image(layer.gate, x)) * image(layer.inner, x))


def images(maps: Sequence[Map], x: Ball) -> Ball:
    """A ball of every row after all maps."""
    return reduce(lambda rows, layer: image(layer, rows), maps, x)


@dataclass(frozen=True, eq=False)
class View:
    """The view of the heads from one symbol at one position: (w v, w) of every head, for every row."""

    features: Ball  # (T, V, Σ (r_h + 1))
    widths: tuple[int, ...]  # r_h
    groups: tuple[Coordinates, ...]


class Tables:
    """The rows that a model may show, as its heads map them; equal rows are mapped once, and `same` numbers them."""

    def __init__(self, model: StepModel, length: int) -> None:
        self.heads = model.heads
        embedding = np.asarray(model.embedding[:length], dtype=np.float64)
        places, symbols, width = embedding.shape
        if any(isinstance(each, Turn) for head in model.heads for each in (*head.query, *head.key, *head.value)):
            rows, same = embedding, np.arange(places * symbols)
        else:
            rows, same = np.unique(embedding.reshape(-1, width), axis=0, return_inverse=True)
        self.same: Int[np.ndarray, "T V"] = same.reshape(places, symbols)
        seen = images(model.norm, exact(rows))
        self._keys = [_flat(images(head.key, seen)) for head in model.heads]
        self._queries = [_flat(images(head.query, seen)) for head in model.heads]
        self._values = [_flat(images(head.value, seen)) for head in model.heads]

    def view(self, place: int, symbol: int) -> View:
        """Return what is seen from a symbol at a position.

        All scores of a head are lowered by one number. Values are turned to principal coordinates, in which what the
        heads of a group read spreads along few axes.
        """
        shown = self.same[: place + 1]
        weights = []
        for number, head in enumerate(self.heads):
            query = self._queries[number][self.same[place, symbol]]
            scores = (self._keys[number] * query).total() * inverse(exact(head.scale))
            lowered = scores - exact(scores.mid[shown].max())
            ends = ball_of(exponentials(lowered.mid.tolist()))
            grown = np.where(lowered.rad < 1, lowered.rad + lowered.rad**2, np.inf) * GROW  # e^r − 1 ≤ r + r² for r ≤ 1
            weights.append(Ball(ends.mid, (ends.rad + (ends.mid + ends.rad) * grown) * GROW))
        groups = _groups(self.heads, self._values, [weight.mid for weight in weights], shown)
        turns = {head: group.turn for group in groups for head in group.heads}
        parts = []
        for number, weight in enumerate(weights):
            parts += [self._values[number] @ exact(turns[number]) * weight[:, None], weight[:, None]]
        features = Ball(
            *(np.concatenate(each, axis=1)[shown] for each in zip(*((p.mid, p.rad) for p in parts), strict=True))
        )
        return View(features, tuple(value.mid.shape[1] for value in self._values), groups)


def _flat(x: Ball) -> Ball:
    return Ball(x.mid.reshape(-1, x.mid.shape[-1]), x.rad.reshape(-1, x.rad.shape[-1]))


def _groups(
    heads: Sequence[StepHead], values: Sequence[Ball], weights: Sequence[np.ndarray], shown: np.ndarray
) -> tuple[Coordinates, ...]:
    """Heads by their output, with principal coordinates of their weighted values."""
    members: list[list[int]] = []
    for number, head in enumerate(heads):
        alike = [group for group in members if _equal(heads[group[0]].output, head.output)]
        if alike:
            alike[0].append(number)
        else:
            members.append([number])
    groups: list[Coordinates] = []
    first = 0
    for group in members:
        points = np.concatenate([values[head].mid[shown].reshape(-1, values[head].mid.shape[1]) for head in group])
        mass = np.concatenate([weights[head][shown].reshape(-1) for head in group])
        points = points - mass @ points / mass.sum()
        turn = np.ascontiguousarray(np.linalg.eigh((points.T * mass) @ points)[1][:, ::-1])
        groups.append(Coordinates(tuple(group), first, len(turn), turn, _inverse(turn)))
        first += len(turn)
    return tuple(groups)


def _equal(one: Sequence[Affine], other: Sequence[Affine]) -> bool:
    return len(one) == len(other) and all(
        np.array_equal(a.weight, b.weight) and a.bias is None and b.bias is None
        for a, b in zip(one, other, strict=True)
    )


def _inverse(matrix: Float[np.ndarray, "r r"]) -> Ball:
    """A ball of the inverse of a nearly orthogonal matrix.

    Statement  With A Aᵀ = I + E and e = ‖E‖_∞ < 1, every entry of A⁻¹ − Aᵀ is at most ‖Aᵀ‖_∞ e/(1 − e).
    Proof      A⁻¹ = Aᵀ(I + E)⁻¹, and (I + E)⁻¹ − I = Σ_{k ≥ 1} (−E)ᵏ has an ∞-norm of at most e/(1 − e).
    Source     Textbook.
    """
    product = exact(matrix) @ exact(matrix.T) - exact(np.eye(len(matrix)))
    error = float(product.size.sum(axis=1).max()) * GROW
    far = np.inf if not error < 0.5 else np.abs(matrix.T).sum(axis=1).max() * 2 * error * GROW
    return Ball(np.ascontiguousarray(matrix.T), np.full(matrix.shape, far))
