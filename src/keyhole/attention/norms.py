"""Norms: the one place where arrays become the numbers that bounds speak of.

A bias counts as one more row of its matrix, read by a coordinate that is 1 in every token; where a head has
one, the radii of tokens and queries count that coordinate too. The temperature of a softmax counts in its scores, which
it divides, so that the constant of every softmax is 1.

Path norms take a one-layer [CLS] model as a sum over hidden units of what each can at most contribute. Without a norm
after attention such a model is f = Σ_j w_j σ(c_j + Σ_h ⟨E_h[:, j], o_h⟩) + c + Σ_h ⟨l_h, o_h⟩, where o_h is head h's
mixture of values; the affine rest is what residual connections and biases carry past the units.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keyhole.attention.layers import Activation, Affine, Identity, ReLU
from keyhole.attention.normalisers import Softmax
from keyhole.attention.positions import LearnedPositions
from keyhole.attention.score import DenseScore, FactoredScore
from keyhole.attention.tables import Tabulated, TabulatedHead, tabulate
from keyhole.attention.tokens import AdditiveEmbedding, Embedding, OneHotPairs, PairEmbedding
from keyhole.attention.types import Array, numbers_of
from keyhole.attention.weights import Block, Head, Model, Wiring, matrix_norms, product_norms
from keyhole.errors import AssumptionError
from keyhole.norm_profile import BlockNorms, HeadNorms, LayerNormPlace, NormProfile

PAIRS = 2048  # vectors up to which all distances between tokens are looked at
SIZES = ("spectral", "frobenius", "columns21", "rows21", "entries11")  # of a matrix; a temperature divides them


def profile(model: Model, *, trained: bool = False) -> NormProfile:
    """The numbers that theorems read off a model with a scalar read-out at [CLS].

    With `trained` its token vectors were trained too, so that theorems about vectors pay for them.
    """
    embedding, first = model.embedding, model.blocks[0]
    radius, query, diameter = radii(embedding, first.wiring)
    constant = 1.0 if _biased(first) else 0.0
    normaliser, normaliser_constant = _normalisers([head for block in model.blocks for head in block.heads])
    *inner, last = model.blocks
    tabulated = None if inner else tabulate(model)
    fixed = None if inner else first.wiring.enter(embedding.cls)  # the query of a single layer
    units = units_of(tabulated) if tabulated else None
    learned = embedding.positions if isinstance(embedding, AdditiveEmbedding) else None
    vectors = (embedding.cls, *((embedding.table,) if isinstance(embedding, AdditiveEmbedding | PairEmbedding) else ()))
    return NormProfile(
        blocks=(*map(_block_norms, inner), _block_norms(last, fixed, normed=model.readout.norm is not None)),
        tokens=embedding.tokens + 1,
        readout=float(np.linalg.norm(numbers_of(model.readout.weight))),
        token_radius=math.hypot(radius, constant),
        query_radius=math.hypot(query, constant),
        token_diameter=diameter,
        activation_lipschitz=max(_lipschitz(block) for block in model.blocks),
        normaliser=normaliser,
        normaliser_constant=normaliser_constant,
        symbols=embedding.symbols,
        path=path(units, first) if tabulated and units else None,
        path_inf=path_inf(tabulated, units) if tabulated and units else None,
        spread=spread(tabulated) if tabulated else None,
        projected=all(block.wiring.projected for block in model.blocks),
        readout_bias=0.0 if model.readout.bias is None else abs(float(numbers_of(model.readout.bias))),
        readout_nonnegative=units is not None and bool(np.all(units.weights >= 0)),
        odd_units=units is not None and isinstance(units.activation, Identity),
        positions11=float(np.abs(numbers_of(learned.table)).sum()) if isinstance(learned, LearnedPositions) else None,
        embedding11=sum(float(np.abs(numbers_of(part)).sum()) for part in vectors) if trained else None,
    )


def radii(embedding: Embedding, wiring: Wiring) -> tuple[float, float, float | None]:
    """B_X, ‖x_CLS‖ and D_X as the heads see the rows; D_X is None where pairs are too many to look at."""
    if isinstance(embedding, OneHotPairs) and (wiring.attention_norm is None or wiring.placement == "post"):
        return 1.0, 1.0, math.sqrt(2)
    cls = numbers_of(wiring.enter(embedding.cls))
    query = float(np.linalg.norm(cls))
    radius = query
    for start, stop in embedding.blocks():
        entered = numbers_of(wiring.enter(embedding.rows(start, stop)))
        radius = max(radius, float(np.linalg.norm(entered, axis=-1).max()))
    if embedding.tokens * embedding.symbols + 1 > PAIRS:
        return radius, query, None
    rows = numbers_of(wiring.enter(embedding.rows(0, embedding.tokens)))
    tokens, symbols, width = rows.shape
    vectors = np.concatenate([rows.reshape(-1, width), cls[None, :]])
    vectors = vectors - vectors.mean(axis=0)  # then no vector is longer than the distances, and little cancels
    place = np.append(np.repeat(np.arange(tokens), symbols), tokens)  # one sequence shows one symbol at each
    square = (vectors**2).sum(axis=1)
    distance = square[:, None] + square[None, :] - 2 * vectors @ vectors.T
    return radius, query, math.sqrt(max(0.0, float(distance[place[:, None] != place[None, :]].max())))


def table_profile(tabulated: Tabulated) -> NormProfile:
    """The numbers that Theorems T and L read off the tables of a one-layer model: P_∞, the spread and the alphabet.

    A LayerNorm before attention is inside the tables. With one behind it P_∞ does not exist.
    """
    units, (normaliser, normaliser_constant) = units_of(tabulated), _normalisers(tabulated.heads)
    place = _layernorm_place(tabulated.wiring, normed=tabulated.readout.norm is not None)
    return NormProfile(
        blocks=(BlockNorms((), layernorm=place, biased=True),),  # what passes the units counts in P_∞ too
        tokens=tabulated.tokens + 1,
        readout=0.0,
        token_radius=0.0,
        query_radius=0.0,
        activation_lipschitz=1.0 if units is None else units.activation.lipschitz,
        normaliser=normaliser,
        normaliser_constant=normaliser_constant,
        symbols=tabulated.symbols,
        path_inf=None if units is None else path_inf(tabulated, units),
        spread=spread(tabulated),
        odd_units=units is not None and isinstance(units.activation, Identity),
        projected=tabulated.wiring.projected,
    )


def _block_norms(block: Block, query: Array | None = None, *, normed: bool = False) -> BlockNorms:
    """The norms of a block; with `normed` a LayerNorm stands behind it."""
    wiring, fed = block.wiring, block.wiring.feedforward
    biased = _biased(block)
    fed_parts = () if fed is None else (fed.inner, fed.outer)
    constants = [part for part in (wiring.output, *fed_parts) if part is not None and part.bias is not None]
    _lipschitz(block)  # refuses an activation of which nothing is known
    if fed is not None and _activated(block) and not isinstance(fed.activation, Identity):
        raise AssumptionError(
            "norms are those of one activation between W_V and W_C, and this block has two; give the heads, or the "
            "feed-forward part, the identity"
        )
    outer = fed.outer if fed is not None else wiring.output if _activated(block) else None
    return BlockNorms(
        heads=tuple(_head_norms(block, index, query, biased=biased) for index in range(len(block.heads))),
        output=None if outer is None else matrix_norms(outer.weight),
        residual=wiring.residual != "none",
        concatenated=wiring.join == "concatenate" and len(block.heads) > 1 and not _folded(block),
        hidden=matrix_norms(_with_bias(fed.inner)) if fed and fed.inner else None,
        layernorm=_layernorm_place(wiring, normed=normed),
        biased=bool(constants) or (biased and query is None),
        split_residual=wiring.residual == "each" and fed is not None,
    )


def _layernorm_place(wiring: Wiring, *, normed: bool) -> LayerNormPlace:
    """The place of a LayerNorm: behind attention, only before it, or nowhere."""
    if normed or wiring.feedforward_norm is not None:
        return "after"
    if wiring.attention_norm is None:
        return "none"
    return "after" if wiring.placement == "post" else "before"


def _activated(block: Block) -> bool:
    """Return True if the heads have an activation of their own."""
    return any(not isinstance(head.activation, Identity) for head in block.heads)


def _folded(block: Block) -> bool:
    """Return True if the output map is linear in the values, and so counts as a part of them."""
    return block.wiring.output is not None and not _activated(block)


def _head_norms(block: Block, index: int, query: Array | None, *, biased: bool) -> HeadNorms:
    head, output = block.heads[index], block.wiring.output
    value, score = _with_bias(_affine(head), row=biased), head.score
    if not isinstance(score, DenseScore | FactoredScore):
        raise AssumptionError(
            f"norms are those of a bilinear score, and this head has {type(score).__name__}; use a DenseScore or a "
            "FactoredScore"
        )
    if isinstance(score, DenseScore):
        matrix = numbers_of(score.matrix)
        norms = matrix_norms(np.pad(matrix, ((0, 1), (0, 1))) if biased else matrix)
    else:
        key = _with_bias(Affine(score.key, score.key_bias), row=biased)
        asking = _with_bias(Affine(score.query, score.query_bias), row=biased)
        norms = product_norms(key / math.sqrt(asking.shape[1]), asking)
    temperature = head.normaliser.temperature if isinstance(head.normaliser, Softmax) else 1.0
    length = None if query is None else float(np.linalg.norm(numbers_of(score.folded(query)[0]))) / temperature
    sizes = {name: getattr(norms, name) / temperature for name in SIZES}
    if output is None or not _folded(block):
        return HeadNorms(replace(norms, **sizes), matrix_norms(value), query=length)
    after = numbers_of(output.weight)
    if block.wiring.join == "concatenate":  # the rows of the output map that this head's values go through
        start = sum(_affine(other).outputs for other in block.heads[:index])
        after = after[start : start + _affine(head).outputs]
    return HeadNorms(replace(norms, **sizes), product_norms(value, after.T), query=length)


def _normalisers(heads: Sequence[Head | TabulatedHead]) -> tuple[str, float | None]:
    """The names of the heads' normalisers, and their largest constant for scores that a temperature has divided."""
    normalisers = [Softmax() if isinstance(head.normaliser, Softmax) else head.normaliser for head in heads]
    constants = [normaliser.constant for normaliser in normalisers]
    known = [constant for constant in constants if constant is not None]
    return ", ".join(sorted({normaliser.name for normaliser in normalisers})), max(known) if len(known) == len(
        constants
    ) else None


def _with_bias(part: Affine, *, row: bool | None = None) -> Any:
    """The matrix with its bias as a further row; with `row` that row is there even if it is zero."""
    weight = numbers_of(part.weight)
    if part.bias is None:
        return np.pad(weight, ((0, 1), (0, 0))) if row else weight
    return np.concatenate([weight, numbers_of(part.bias)[None, :]])


def _biased(block: Block) -> bool:
    """Return True if some head of the block adds a constant to a query, key or value."""
    return any(
        _affine(head).bias is not None
        or getattr(head.score, "query_bias", None) is not None
        or getattr(head.score, "key_bias", None) is not None
        for head in block.heads
    )


def _affine(head: Head) -> Affine:
    if not isinstance(head.value, Affine):
        raise AssumptionError(
            f"norms are those of an affine value map, and this head has {type(head.value).__name__}; use an Affine"
        )
    return head.value


def _lipschitz(block: Block) -> float:
    """L_σ of a block: of the heads' own maps out, times that of the feed-forward part."""
    fed = block.wiring.feedforward
    constants = []
    for activation in (*(head.activation for head in block.heads), fed.activation if fed else Identity()):
        if not isinstance(activation, Activation):
            raise AssumptionError(
                f"norms need the Lipschitz constant of {type(activation).__name__}, which is unknown; use an Activation"
            )
        constants.append(activation.lipschitz)
    return max(constants[:-1]) * constants[-1]


ROWS = 2**16  # positions whose values are looked at together


@dataclass(frozen=True, eq=False)
class Units:
    """The hidden units of a model, and the affine rest."""

    constants: Any  # c_j
    maps: tuple[Any, ...]  # E_h, (k, units)
    weights: Any  # w_j
    activation: Activation
    shift: float  # c
    lines: tuple[Any, ...]  # l_h, (k,)


def units_of(tabulated: Tabulated) -> Units | None:
    """The hidden units, or None where a norm, a projection or another normaliser than softmax stands."""
    wiring, readout = tabulated.wiring, tabulated.readout
    normed = wiring.attention_norm is not None and wiring.placement == "post"
    if normed or wiring.feedforward_norm is not None or readout.norm is not None or wiring.projected:
        return None
    if not all(isinstance(head.normaliser, Softmax) for head in tabulated.heads):
        return None
    stream, weight = numbers_of(tabulated.stream), numbers_of(readout.weight)
    maps, constant = _joined(tabulated)
    if wiring.residual == "each":
        constant = constant + stream
    shift = 0.0 if readout.bias is None else float(numbers_of(readout.bias))
    if wiring.residual == "block":
        shift += float(stream @ weight)
    outward = {type(head.activation) for head in tabulated.heads}
    if wiring.feedforward is None:
        return _units_of_heads(tabulated, maps, weight, shift + float(constant @ weight), outward)
    if outward != {Identity}:
        return None  # two activations in a row
    inner, outer = wiring.feedforward.inner, wiring.feedforward.outer
    lines = [np.zeros(part.shape[0]) for part in maps]
    if wiring.residual == "each":
        lines, shift = [part @ weight for part in maps], shift + float(constant @ weight)
    if inner is not None:
        first = numbers_of(inner.weight)
        maps, constant = [part @ first for part in maps], constant @ first + _bias(inner)
    if outer is not None:
        shift += float(_bias(outer) @ weight)
        weight = numbers_of(outer.weight) @ weight
    return Units(constant, tuple(maps), weight, wiring.feedforward.activation, shift, tuple(lines))


def _joined(tabulated: Tabulated) -> tuple[list[Any], Any]:
    """The map from each head's output to the rows after attention, as a matrix; and the constant added to them."""
    widths = [int(head.cls_value.shape[0]) for head in tabulated.heads]
    wiring = tabulated.wiring
    total = sum(widths) if wiring.join == "concatenate" else widths[0]
    identity = np.eye(total)
    starts = np.cumsum([0, *widths]) if wiring.join == "concatenate" else np.zeros(len(widths) + 1, dtype=int)
    maps = [identity[start : start + width] for start, width in zip(starts[:-1], widths, strict=True)]
    if wiring.output is None:
        return maps, np.zeros(total)
    weight = numbers_of(wiring.output.weight)
    return [part @ weight for part in maps], _bias(wiring.output)


def _units_of_heads(
    tabulated: Tabulated, maps: list[Any], weight: Any, shift: float, outward: set[type]
) -> Units | None:
    """Units that are the coordinates of the heads themselves: all have one activation, or none has."""
    lines = [part @ weight for part in maps]
    if outward == {Identity}:
        none = tuple(np.zeros((part.shape[0], 0)) for part in maps)
        return Units(np.zeros(0), none, np.zeros(0), Identity(), shift, tuple(lines))
    activation = tabulated.heads[0].activation
    if len(outward) > 1 or not isinstance(activation, Activation):
        return None
    widths = [len(line) for line in lines]
    own = np.split(np.eye(sum(widths)), np.cumsum(widths)[:-1])
    none = tuple(np.zeros(width) for width in widths)
    return Units(np.zeros(sum(widths)), tuple(own), np.concatenate(lines), activation, shift, none)


def path_inf(tabulated: Tabulated, units: Units) -> float:
    """P_∞ of the tabulated head, which bounds its complexity whatever its scores.

    Statement  V_j = |c_j| + Σ_h max_{t,a} |v_hj[t, a]|; P_∞ = Σ_j |w_j| V_j for ReLU and the identity,
               ‖w‖₁ max_j V_j for any other Lipschitz σ with σ(0) = 0. The affine rest is one more unit without
               activation and is added.
    Proof      u_j/V_j is a convex combination of heads with values in [−1, 1] and constants in [−1, 1];
               ReLU and the identity let V_j pass into the weight.
    Source     Ours: Theorem T.
    """
    largest: Any = 0.0
    for head, one, line in zip(tabulated.heads, units.maps, units.lines, strict=True):
        column, values = np.concatenate([one, line[:, None]], axis=1), numbers_of(head.values)
        best = np.abs(numbers_of(head.cls_value) @ column)
        for start in range(0, values.shape[0], ROWS):
            best = np.maximum(best, np.abs(values[start : start + ROWS] @ column).max(axis=(0, 1)))
        largest = largest + best
    return _weighed(units, np.abs(units.constants) + largest[:-1]) + abs(units.shift) + float(largest[-1])


def path(units: Units, block: Block) -> float | None:
    """P of the path-norm theorem, in ℓ2; None where a constant or a value map that is not linear takes part.

    Statement  P = Σ_j |w_j| Σ_h ‖v_hj‖₂ for ReLU and the identity, ‖w‖₁ max_j Σ_h ‖v_hj‖₂ otherwise,
               v_hj = W_V^h E_h[:, j] being what unit j reads of a token through head h; the affine rest is added as
               one more unit.
    Proof      As for P_∞, with vectors of norm 1 instead of values in [−1, 1].
    Source     Ours: Theorem P, with several heads summed in one unit.
    """
    values = [head.value for head in block.heads]
    plain = [value for value in values if isinstance(value, Affine) and value.bias is None]
    if len(plain) < len(values) or np.any(units.constants) or units.shift:
        return None
    norms: Any = 0.0
    for value, one, line in zip(plain, units.maps, units.lines, strict=True):
        column = np.concatenate([one, line[:, None]], axis=1)
        norms = norms + np.linalg.norm(numbers_of(value.weight) @ column, axis=0)
    return _weighed(units, norms[:-1]) + float(norms[-1])


def spread(tabulated: Tabulated) -> float:
    """R, the largest difference of one position's scores over its symbols, temperature included."""
    return max(
        float(np.ptp(numbers_of(head.scores), axis=1).max()) / getattr(head.normaliser, "temperature", 1.0)
        for head in tabulated.heads
    )


def _weighed(units: Units, reach: Any) -> float:
    weights = np.abs(units.weights)
    if isinstance(units.activation, ReLU | Identity):
        return float(weights @ reach)
    return float(weights.sum() * reach.max(initial=0.0))


def _bias(part: Affine) -> Any:
    return np.zeros(part.outputs) if part.bias is None else numbers_of(part.bias)
