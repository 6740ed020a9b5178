"""A circuit as the numbers of a transformer: where each head of a slot looks, and the ramps that follow.

Behind T context tokens stand n slots, one for each gate. A token shows its position and one value v: 2b − 1 if it shows
the bit b, and 0 if it is a slot that is still empty. A slot's query depends on its position alone.
"""

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Literal

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.boolean import Circuit, Levels, SparseFunction
from keyhole.errors import CompileError

Mode = Literal["layers", "steps"]
MAX_TOKENS = 10**7
MAX_RAMPS = 10**7  # numbers of all ramps together


def focus_score(fan_in: int, tokens: int) -> float:
    """β, the score of a head of Constructions C at the position it reads; all other scores are 0.

    Statement  A transformer of L layers with n slots, or one layer run n times, computes every gate of a circuit of
               depth L, n gates and fan-in s exactly, on all 2^T inputs: with s heads a layer, β = ln(8 s (T + n)),
               and for each gate one unit and a pair of units for each change of a counting gate's value, or for each
               pattern of the rarer value of any other gate. Hidden units of a gate have −B(1 − 1[position is its
               slot]) added, B = 2s.
    Proof      By induction on the order of the gates. Let the variables that gate g reads be exact, v_h = ±1. Head h
               puts at most λ = (T + n)e^(−β) = 1/(8s) off its position, and all values lie in [−1, 1], so it reads
               r_h with |r_h − v_h| ≤ 2λ ≤ 1/(4s). For signs σ the sum Σ_h σ_h r_h is within 1/4 of 2c − s, c the
               number of literals that agree with σ. The ramp clip(Σ_h σ_h r_h − (2c' − s + 1/2), 0, 1), a difference
               of two ReLUs, is 0 for c ≤ c', as its argument is at most −1/4, and 1 for c > c', where the argument is
               at least 5/4. So it is 1[c > c'] exactly. A counting gate is the value at c = 0 plus the changes times
               these ramps; any other is a sum over patterns, each a ramp with c' = s − 1. The result, 2y − 1, goes to
               the slot's value (in layers) or decides the symbol that is written (in steps): errors do not add up. At
               any other position |r_h| ≤ 1 and the ramp's argument is at most 2s − 1/2 − B < 0: the units are silent.
    Equality   For long contexts λ tends to 1/(8s + 1), and the least distance from a bend to 1/2 − 2s/(8s + 1).
    Source     Ours (Construction C).

    >>> round(focus_score(2, 4159), 3)
    11.106
    """
    return log(8 * fan_in * tokens)


BEND = 0.5  # of a ramp after the count below it: 2c' − s + 1/2


def silence(fan_in: int) -> float:
    """B, subtracted from a gate's hidden units at all other positions: above their largest argument, 2s − 1/2."""
    return 2.0 * fan_in


@dataclass(frozen=True, eq=False)
class CircuitPlan:
    """The numbers of a compiled circuit. A ramp is clip(Σ_h signs_h r_h − offset, 0, 1), of the gate `owners` names.

    Gate g has the value starts[g] + Σ of weight · ramp over its ramps. Heads without a wire have score 0.
    """

    circuit: Circuit
    context: int
    mode: Mode
    focus: Float[np.ndarray, "n s"]  # the score of head h of slot g at its wire
    starts: Float[np.ndarray, "n"]
    owners: Int[np.ndarray, "r"]  # in increasing order
    signs: Float[np.ndarray, "r s"]
    offsets: Float[np.ndarray, "r"]
    weights: Float[np.ndarray, "r"]
    silence: float  # B

    @property
    def tokens(self) -> int:
        """T + n."""
        return self.context + len(self.circuit.gates)

    @property
    def heads(self) -> int:
        """The heads of a layer."""
        return int(self.focus.shape[1])

    @cached_property
    def slots(self) -> tuple[SparseFunction, ...]:
        """Each gate as a function of the context and the slots before its own."""
        return self.circuit.slots(self.context)

    @property
    def layer_of(self) -> tuple[int, ...]:
        """The layer that fills each slot, from 0: its level, or the one layer there is."""
        if self.mode == "steps":
            return (0,) * len(self.circuit.gates)
        return tuple(level - 1 for level in self.circuit.levels)

    def others(self, gate: int) -> int:
        """The tokens that a slot attends to beside one wire: all in layers, those before it and itself in steps."""
        return self.tokens - 1 if self.mode == "layers" else self.context + gate

    def ramps(self, gate: int) -> slice:
        """The ramps of a gate."""
        start, stop = np.searchsorted(self.owners, [gate, gate + 1])
        return slice(int(start), int(stop))


def circuit_plan(circuit: Circuit, context: int, mode: Mode) -> CircuitPlan:
    """The construction of a circuit; refused where it would be too large."""
    slots, heads = circuit.slots(context), max(1, circuit.fan_in)
    tokens = context + len(slots)
    if tokens > MAX_TOKENS:
        raise CompileError(f"{tokens:,} tokens were asked for; at most {MAX_TOKENS:,} are compiled. Use fewer.")
    beta, made = focus_score(heads, tokens), dict[object, tuple[float, np.ndarray, np.ndarray, np.ndarray]]()
    focus, parts = np.zeros((len(slots), heads)), []
    for gate, slot in enumerate(slots):
        focus[gate, : slot.sparsity] = beta
        part = made.get(slot.rule)
        if part is None:
            part = made[slot.rule] = gate_ramps(slot, heads)
        parts.append(part)
    sizes = [len(part[2]) for part in parts]
    if sum(sizes) * heads > MAX_RAMPS:
        raise CompileError(
            f"The gates need {sum(sizes):,} ramps of {heads} signs; at most {MAX_RAMPS:.0e} numbers are kept. Use a "
            "smaller fan-in."
        )
    return CircuitPlan(
        circuit=circuit,
        context=context,
        mode=mode,
        focus=focus,
        starts=np.array([part[0] for part in parts]),
        owners=np.repeat(np.arange(len(parts)), sizes),
        signs=np.concatenate([part[1] for part in parts]),
        offsets=np.concatenate([part[2] for part in parts]),
        weights=np.concatenate([part[3] for part in parts]),
        silence=silence(heads),
    )


def gate_ramps(gate: SparseFunction, heads: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """The value where no ramp is on; signs, offsets and weights of the ramps, at least one.

    >>> from keyhole.boolean import parity
    >>> start, signs, offsets, weights = gate_ramps(parity((0, 1)), 2)
    >>> start, signs.tolist(), offsets.tolist(), weights.tolist()
    (0.0, [[1.0, 1.0], [1.0, 1.0]], [-1.5, 0.5], [1.0, -1.0])
    """
    s = gate.sparsity
    if isinstance(gate.rule, Levels):
        levels = np.array(gate.rule.levels, dtype=np.float64)
        below = np.flatnonzero(np.diff(levels))
        row, start, weights = np.where(gate.rule.negated, -1.0, 1.0), levels[0], np.diff(levels)[below]
        rows = np.repeat(row[None], len(below), axis=0)
    else:
        values = gate.rule.values
        rarer = bool(2 * np.count_nonzero(values) <= len(values))
        patterns = np.flatnonzero(values == rarer)
        rows = 2.0 * ((patterns[:, None] >> np.arange(s)) & 1) - 1.0
        below, start = np.full(len(patterns), s - 1), float(not rarer)
        weights = np.full(len(patterns), 1.0 if rarer else -1.0)
    if not len(below):  # a constant
        return float(start), np.zeros((1, heads)), np.array([BEND]), np.zeros(1)
    signs = np.zeros((len(below), heads))
    signs[:, :s] = rows
    return float(start), signs, 2.0 * below - s + BEND, weights
