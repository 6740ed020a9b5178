"""One layer read at [CLS], with continuous inputs: a checkpoint whose bound is one for the network itself.

Where the only norms centre rows (they do not divide by a deviation), all but the softmax and the units is affine. The
query at [CLS] does not depend on the input. So the network is written in coordinates that were fixed before the data:
a token is (its features, which position it has, 1), and embedding, positions, norms and biases are parts of the maps.
"""

from dataclasses import dataclass, fields, is_dataclass, replace
from math import hypot, sqrt
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import Affine, matrix_norms
from keyhole.checkpoints import Checkpoint, Layer, RowNorm
from keyhole.errors import AssumptionError
from keyhole.norm_profile import BlockNorms, HeadNorms, NormProfile


@dataclass(frozen=True, eq=False)
class FixedQueryLayer:
    """f(X) = c + Σ_h ⟨l_h, o_h⟩ + Σ_j w_j ReLU(c_j + Σ_h ⟨e_hj, o_h⟩) for each class, with o_h = Xᵀ softmax(X q_h).

    Tokens are rows (features, position, 1) of X; the constants c and c_j are read off the last coordinate.
    """

    queries: Float[np.ndarray, "heads n"]  # q_h
    maps: Float[np.ndarray, "heads n units"]  # e_hj
    constants: Float[np.ndarray, "units"]  # c_j
    weights: Float[np.ndarray, "units classes"]  # w_j
    lines: Float[np.ndarray, "heads n classes"]  # l_h
    shift: Float[np.ndarray, "classes"]  # c
    features: int
    tokens: int  # rows of X, [CLS] included
    numbers: int  # that the checkpoint has for it

    def rows(self, features: Float[np.ndarray, "count f"]) -> Float[np.ndarray, "tokens n"]:
        """Return the tokens of one input: [CLS] first, then its features in order."""
        rows = np.zeros((self.tokens, self.features + self.tokens + 1))
        rows[1:, : self.features] = features
        rows[:, self.features : -1] = np.eye(self.tokens)
        rows[:, -1] = 1.0
        return rows

    def __call__(self, features: Float[np.ndarray, "count f"]) -> Float[np.ndarray, "classes"]:
        """Return the logits of one input."""
        rows = self.rows(features)
        scores = rows @ self.queries.T
        weights = np.exp(scores - scores.max(axis=0))
        pooled = (weights / weights.sum(axis=0)).T @ rows  # (heads, n)
        units = np.maximum(self.constants + np.einsum("hn,hnu->u", pooled, self.maps), 0.0)
        return np.asarray(self.shift + np.einsum("hn,hnc->c", pooled, self.lines) + units @ self.weights)

    def path(self, first: int, second: int) -> float:
        """Return P of the difference of two classes' logits.

        Statement  P = Σ_j |w_j| Σ_h ‖v_hj‖ + Σ_h ‖l_h‖, where v_hj is e_hj, and l_h the line, for the head of the
                   largest norm with the constant on the last coordinate.
        Proof      That coordinate of o_h is 1, so a constant may be read off any head's; else as Theorem P, with
                   several heads summed in one unit, and the affine rest as one more unit without activation.
        Source     Ours.
        """
        units = np.concatenate([self.maps, (self.lines[..., first] - self.lines[..., second])[..., None]], axis=2)
        constants = np.append(self.constants, self.shift[first] - self.shift[second])
        weights = np.append(np.abs(self.weights[:, first] - self.weights[:, second]), 1.0)
        norms = np.linalg.norm(units, axis=1)  # (heads, units)
        at = norms.argmax(axis=0), np.arange(norms.shape[1])
        with_constant = units[at[0], :, at[1]]  # (units, n)
        with_constant[:, -1] += constants
        norms[at] = np.linalg.norm(with_constant, axis=1)
        return float(weights @ norms.sum(axis=0))

    def in_units_of(self, size: float) -> "FixedQueryLayer":
        """Return the same function of features divided by a number, which the maps take over."""
        scale = np.ones(self.queries.shape[1])
        scale[: self.features] = size
        return replace(
            self,
            queries=self.queries * scale,
            maps=self.maps * scale[:, None],
            lines=self.lines * scale[:, None],
        )

    def steepest(self) -> tuple[int, int, float]:
        """Return the two classes, from 0, whose difference has the largest P, and that P."""
        classes = len(self.shift)
        pairs = [(a, b) for a in range(classes) for b in range(a)] or [(0, 0)]
        paths = [self.path(a, b) for a, b in pairs]
        at = int(np.argmax(paths))
        return *pairs[at], paths[at]


def fixed_query_layer(checkpoint: Checkpoint) -> FixedQueryLayer:
    """Return a checkpoint in fixed coordinates; refuse one that is not of this kind."""
    part, width = checkpoint.embedding, checkpoint.sizes.width
    layer = checkpoint.layers[0]
    feed = layer.feedforward
    wanted = {
        "more than one layer": len(checkpoint.layers) == 1,
        "no row [CLS] of its own": part.cls is not None and len(part.cls) == 1 and part.features is not None,
        "no table of positions": part.positions is not None,
        "norms after their parts": checkpoint.placement == "pre" and not checkpoint.parallel,
        "queries and keys with norms": layer.attention.query_norm is None and layer.attention.key_norm is None,
        "an embedding with a norm": part.norm is None and part.widen is None,
        "no ReLU units": feed is not None and feed.gate is None and feed.activation == "relu",
        "no classes": checkpoint.unembedding is not None,
        "causal attention": checkpoint.causal is False,
    }
    for what, fits in wanted.items():
        if not fits:
            raise AssumptionError(f"{checkpoint.source} has {what}; the layer in fixed coordinates has not.")
    features, unembedding = part.features, checkpoint.unembedding
    assert features is not None  # noqa: S101  (asked above)
    assert part.cls is not None  # noqa: S101
    assert part.positions is not None  # noqa: S101
    assert feed is not None  # noqa: S101
    assert unembedding is not None  # noqa: S101
    before, between, last = (
        _affine(norm, width, checkpoint.source)
        for norm in (layer.attention_norm, layer.feedforward_norm, checkpoint.final_norm)
    )
    tokens = len(part.positions) - part.offset
    placed = part.positions[part.offset :].copy()
    placed[0] += part.cls[0]
    placed[1:] += 0.0 if features.bias is None else features.bias
    rows = np.concatenate([features.weight, placed, np.zeros((1, width))])  # what each coordinate adds to a row
    seen = _through(rows, before)
    first = rows[len(features.weight)]  # the row [CLS]
    entered = seen[len(features.weight)] + seen[-1]
    stream = first + (0.0 if layer.attention.output_bias is None else layer.attention.output_bias)
    queries, values = [], []
    for head in layer.heads:
        query = entered @ head.query + (0.0 if head.query_bias is None else head.query_bias)
        keys = _through(seen, Affine(head.key, head.key_bias))
        queries.append(head.scale * keys @ query)
        values.append(_through(seen, Affine(head.value, head.value_bias)) @ head.output)
    inner = between.weight @ feed.inner.weight
    outward = last.weight @ unembedding.weight
    stacked = np.stack(values)
    return FixedQueryLayer(
        queries=np.stack(queries),
        maps=stacked @ inner,
        constants=_bias(feed.inner) + (stream @ between.weight + _bias(between)) @ feed.inner.weight,
        weights=feed.outer.weight @ outward,
        lines=stacked @ outward,
        shift=_bias(unembedding) + ((stream + _bias(feed.outer)) @ last.weight + _bias(last)) @ unembedding.weight,
        features=len(features.weight),
        tokens=tokens,
        numbers=_count((part, layer, checkpoint.final_norm, unembedding)),
    )


def fixed_query_profile(layer: FixedQueryLayer, low: float, high: float) -> NormProfile:
    """Return the norms of the layer for features in [low, high], of the two classes with the largest path norm.

    Features are counted in units of their largest norm, r = √f max(|low|, |high|). Tokens are then fixed before the
    data, so that no trained row is paid for; ‖x‖² ≤ 3, and two of them are apart by at most √(a²/r² + 2), where
    a = √f max(high − low, |low|, |high|): two patches, or a patch and [CLS], whose features are 0.
    """
    radius = sqrt(layer.features) * max(abs(low), abs(high))
    apart = sqrt(layer.features) * max(high - low, abs(low), abs(high)) / radius
    layer = layer.in_units_of(radius)
    _, _, path = layer.steepest()
    cls = layer.rows(np.zeros((layer.tokens - 1, layer.features)))[0]
    heads = tuple(
        HeadNorms(
            score=matrix_norms(np.outer(query, cls) / 2.0),  # M with M x_CLS = q, as ‖x_CLS‖² = 2
            value=matrix_norms(values),
            query=float(np.linalg.norm(query)),
        )
        for query, values in zip(layer.queries, layer.maps, strict=True)
    )
    block = BlockNorms(
        heads=heads,
        output=matrix_norms(layer.weights),
        hidden=matrix_norms(np.vstack(list(layer.maps))),
        residual=True,
        biased=True,
        split_residual=True,
    )
    return NormProfile(
        blocks=(block,),
        tokens=layer.tokens,
        readout=sqrt(2.0),  # of a difference of two classes
        token_radius=sqrt(3.0),
        query_radius=sqrt(2.0),
        token_diameter=hypot(apart, sqrt(2.0)),
        path=path,
        constant_tokens=1,
    )


def _affine(norm: RowNorm | None, width: int, source: str) -> Affine:
    """Return a norm as an affine map; refuse one that divides."""
    if norm is None:
        return Affine(np.eye(width), None)
    if norm.kind != "centred":
        raise AssumptionError(
            f"{source} has norms that divide by a deviation, so it is not affine between softmax and units."
        )
    gain = np.ones(width) if norm.gain is None else norm.gain
    return Affine((np.eye(width) - 1.0 / width) * gain, norm.bias)


def _through(rows: np.ndarray, part: Affine) -> np.ndarray:
    """Send rows of coordinates through an affine map; the last coordinate, 1 in every token, takes its bias."""
    out = rows @ part.weight
    out[-1] += _bias(part)
    return np.asarray(out)


def _count(parts: tuple[Any, ...]) -> int:
    """Count the numbers in all arrays of these parts."""
    total = 0
    for part in parts:
        if isinstance(part, np.ndarray):
            total += part.size
        elif isinstance(part, tuple):
            total += _count(part)
        elif isinstance(part, Layer):
            total += _count(tuple(part.parts().values()))
        elif is_dataclass(part):
            total += _count(tuple(getattr(part, each.name) for each in fields(part)))
    return total


def _bias(part: Affine) -> np.ndarray:
    return np.zeros(part.outputs) if part.bias is None else part.bias
