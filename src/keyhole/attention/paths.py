"""Path norms: a one-layer [CLS] model as a sum over hidden units of what each can at most contribute.

Without a norm after attention such a model is f = Σ_j w_j σ(c_j + Σ_h ⟨E_h[:, j], o_h⟩) + c + Σ_h ⟨l_h,
o_h⟩, where o_h is head h's mixture of values; the affine rest is what residual connections and biases carry
past the units.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.attention.activations import Activation, Identity, ReLU
from keyhole.attention.layers import Affine
from keyhole.attention.normalisers import Softmax
from keyhole.attention.tables import Tabulated
from keyhole.attention.types import numbers_of
from keyhole.attention.weights import Block

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

    Statement  V_j = |c_j| + Σ_h max_{t,a} |v_hj[t, a]|; P_∞ = Σ_j |w_j| V_j for ReLU, ‖w‖₁ max_j V_j for
               any other Lipschitz σ with σ(0) = 0. The affine rest is one more unit without activation and
               is added.
    Proof      u_j/V_j is a convex combination of heads with values in [−1, 1] and constants in [−1, 1];
               ReLU lets V_j pass into the weight.
    Source     Ours: Theorem T.
    """
    columns = [np.concatenate([one, line[:, None]], axis=1) for one, line in zip(units.maps, units.lines, strict=True)]
    largest = sum(_largest(head, column) for head, column in zip(tabulated.heads, columns, strict=True))
    return _weighed(units, np.abs(units.constants) + largest[:-1]) + abs(units.shift) + float(largest[-1])


def path(units: Units, block: Block) -> float | None:
    """P of the path-norm theorem, in ℓ2; None where a constant or a value map that is not linear takes part.

    Statement  P = Σ_j |w_j| Σ_h ‖v_hj‖₂ for ReLU, ‖w‖₁ max_j Σ_h ‖v_hj‖₂ otherwise, v_hj = W_V^h E_h[:, j]
               being what unit j reads of a token through head h; the affine rest is added as one more unit.
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


def _largest(head: Any, column: Any) -> Any:
    """The largest |v[t, a] · column| over all (t, a) and [CLS], for every column."""
    values = numbers_of(head.values)
    best = np.abs(numbers_of(head.cls_value) @ column)
    for start in range(0, values.shape[0], ROWS):
        best = np.maximum(best, np.abs(values[start : start + ROWS] @ column).max(axis=(0, 1)))
    return best


def _bias(part: Affine) -> Any:
    return np.zeros(part.outputs) if part.bias is None else numbers_of(part.bias)
