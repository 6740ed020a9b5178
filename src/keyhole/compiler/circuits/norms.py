"""The norms of a compiled circuit, layer by layer."""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.compiler.circuits.plan import CircuitPlan


@dataclass(frozen=True)
class LayerNorms:
    """The norms of one layer; of several heads, units or slots the largest."""

    layer: int
    gates: int
    heads: int
    units: int  # hidden
    score_frobenius: float  # ‖M‖_F
    score_spectral: float  # ‖M‖₂
    unit: float  # ‖w‖₂ of a hidden unit's row
    path_inf: float  # P_∞ of a slot


def layer_norms(plan: CircuitPlan) -> tuple[LayerNorms, ...]:
    """Measure every layer.

    Statement  A head's score matrix M = Σ_g β e_(wire of g) e_(slot of g)ᵀ has ‖M‖_F = β√(slots with a wire) and
               ‖M‖₂ = β√(the most slots that read one wire); a unit's row has length √(wires + B²).
    Proof      Slots are orthonormal, so M Mᵀ is diagonal.
    Source     Ours (Construction C).
    """
    layers, paths = np.array(plan.layer_of), path_norms(plan)
    rows = np.hypot(np.linalg.norm(plan.signs, axis=1), plan.silence)
    return tuple(
        LayerNorms(
            layer=layer,
            gates=len(gates),
            heads=plan.heads,
            units=2 * len(ramps) + len(gates),
            score_frobenius=float(np.linalg.norm(plan.focus[gates], axis=0).max()),
            score_spectral=_spectral(plan, gates),
            unit=float(rows[ramps].max()),
            path_inf=float(paths[gates].max()),
        )
        for layer, (gates, ramps) in enumerate(zip(_grouped(layers), _grouped(layers[plan.owners]), strict=True))
    )


def _grouped(layers: Int[np.ndarray, "n"]) -> list[np.ndarray]:
    """The indices of each layer's entries."""
    return np.split(np.argsort(layers, kind="stable"), np.cumsum(np.bincount(layers))[:-1])


def path_norms(plan: CircuitPlan) -> Float[np.ndarray, "n"]:
    """P_∞ of every slot as a model of its own: what Theorem T charges for it.

    Statement  P_∞ = |2 start − 1| + Σ over ramps of 2|weight| (2 Σ_h |signs_h| + |offset| + |offset + 1|).
    Proof      A ramp is two units of read-out weight ±2 weight, whose values at a token reach Σ_h |signs_h|.
    Source     Ours: Theorem T.
    """
    reach = 2 * np.abs(plan.signs).sum(axis=1) + np.abs(plan.offsets) + np.abs(plan.offsets + 1)
    ramps = np.bincount(plan.owners, 2 * np.abs(plan.weights) * reach, minlength=len(plan.starts))
    return np.asarray(np.abs(2 * plan.starts - 1) + ramps)


def _spectral(plan: CircuitPlan, gates: np.ndarray) -> float:
    """The largest spectral norm of a head's scores."""
    largest = 0.0
    for head in range(plan.heads):
        squares: dict[int, float] = {}
        for gate in gates:
            if head < plan.slots[gate].sparsity:
                wire = plan.slots[gate].positions[head]
                squares[wire] = squares.get(wire, 0.0) + float(plan.focus[gate, head]) ** 2
        largest = max(largest, *squares.values(), 0.0)
    return float(np.sqrt(largest))
