"""The proof of a compiled circuit on all 2^T inputs, one gate at a time; nothing is exponential in gates or context.

The stored numbers are taken as they are. Four things are checked of each gate: how much of a head's attention is off
its wire; that on every pattern of the gate's own bits each ramp is at 0 or at 1, wherever in its range the leak is;
that the ramps then add up to the gate's value; and that its units are silent at every other position.
"""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float
from keyhole.compiler.circuits.plan import CircuitPlan
from keyhole.errors import CompileError
from keyhole.rigorous import Enclosure, exactly, exponentials, weighted_sum

CHUNK = 2**22  # numbers of ramps and patterns held at once


@dataclass(frozen=True)
class CircuitProof:
    """A certificate: every gate is right on every input."""

    gates: int
    patterns: int  # of gates that differ in rule or leak, all gone through
    leak: float  # largest attention off a head's wire, rounded up
    slack: float  # least distance of a ramp's argument from the bend it must not cross, rounded down
    silence: float  # largest argument of a unit at another position, rounded up: at most 0


def leaks(plan: CircuitPlan) -> Float[np.ndarray, "n s"]:
    """The attention of each head off its wire, rounded up; 0 for a head without one.

    Statement  Others show the score 0, so the share off the wire is N/(e^β + N), N the number of other tokens seen.
    """
    scores, index = np.unique(plan.focus, return_inverse=True)
    masses = exponentials(scores.tolist())[index.reshape(plan.focus.shape)]
    others = exactly(np.array([[plan.others(gate)] for gate in range(len(plan.focus))]))
    wired = np.arange(plan.heads) < np.array([[gate.sparsity] for gate in plan.circuit.gates])
    return np.where(wired, others.over(masses + others).high, 0.0)


def prove_circuit(plan: CircuitPlan) -> CircuitProof:
    """Prove that every slot shows its gate's value on all inputs; refuse with the first gate that cannot be proved.

    Statement  If all gates before it are exact, gate g is: its heads read r_h in v_h(1 − λ_h) + λ_h[−1, 1], and its
               ramps are constant there.
    Proof      Induction on the order of gates; the values of all tokens lie in [−1, 1]. Gates of equal ramps are proved
               together, at their largest leaks, since r_h ranges over less where the leak is less.
    Source     Ours (Construction C).
    """
    leak, alike = leaks(plan), dict[object, list[int]]()
    for gate, function in enumerate(plan.circuit.gates):
        part = plan.ramps(gate)
        arrays = (plan.signs[part], plan.offsets[part], plan.weights[part], plan.starts[gate])
        alike.setdefault((function.sparsity, function.rule, *(array.tobytes() for array in arrays)), []).append(gate)
    if not (plan.weights == np.rint(plan.weights)).all() or not (plan.starts == np.rint(plan.starts)).all():
        raise CompileError("A ramp has a weight that is not whole, so what the ramps add up to is not exact.")
    slack, patterns = np.inf, 0
    for gates in alike.values():
        patterns += 2 ** plan.circuit.gates[gates[0]].sparsity
        slack = min(slack, _gate_slack(plan, gates[0], leak[gates].max(axis=0)))
    elsewhere = _elsewhere(plan)
    return CircuitProof(len(plan.circuit.gates), patterns, float(leak.max()), slack, elsewhere)


def _gate_slack(plan: CircuitPlan, gate: int, leak: Float[np.ndarray, "s"]) -> float:
    """The least distance from a bend over all patterns; refuses a ramp that can cross one, and a wrong sum."""
    function, part, name = plan.circuit.gates[gate], plan.ramps(gate), plan.circuit.names[gate]
    s, signs, slack = function.sparsity, plan.signs[part], np.inf
    if signs[:, s:].any():
        raise CompileError(f"Gate {name} reads {s} wires, but a ramp of it reads head {s} or a later one.")
    values = function.table
    step = max(1, CHUNK // len(signs))
    for first in range(0, len(values), step):
        patterns = np.arange(first, min(first + step, len(values)))
        bits = 2.0 * ((patterns[None, :] >> np.arange(s)[:, None]) & 1) - 1.0
        off = (2 * leak[:s])[:, None]  # doubling is exact
        low = np.where(bits > 0, np.nextafter(1 - off, -np.inf), -1.0)
        high = np.where(bits > 0, 1.0, np.nextafter(off - 1, np.inf))
        argument = weighted_sum(signs[:, :s], Enclosure(low, high)) + exactly(-plan.offsets[part][:, None])
        on, flat = argument.low >= 1, (argument.low >= 1) | (argument.high <= 0)
        if not flat.all():
            raise CompileError(
                f"Gate {name} is not proved: a ramp can be anywhere between 0 and 1, since a head may have "
                f"{float(leak.max()):.3g} of its attention elsewhere. Use larger scores."
            )
        sums = plan.starts[gate] + plan.weights[part] @ on
        wrong = np.flatnonzero(sums != values[patterns])
        if len(wrong):
            raise CompileError(
                f"Gate {name} is wrong: on pattern {int(patterns[wrong[0]])} of its wires it gives "
                f"{float(sums[wrong[0]]):g}."
            )
        slack = min(slack, float(np.where(on, argument.low - 1, -argument.high).min()))
    return float(np.nextafter(slack, -np.inf))


def _elsewhere(plan: CircuitPlan) -> float:
    """The largest argument of a unit at a position that is not its gate's slot, where every |r_h| ≤ 1."""
    reach = weighted_sum(np.abs(plan.signs), exactly(np.ones(plan.heads)))
    largest = float((reach + exactly(-plan.offsets) + exactly(np.full(len(plan.offsets), -plan.silence))).high.max())
    if largest > 0:
        raise CompileError(
            f"A hidden unit is not silent at other positions: its argument there can be {largest:.3g}, where at most 0 "
            "is wanted."
        )
    return largest
