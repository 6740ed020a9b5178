"""A slot as tables: a head with a fixed query over the alphabet {0, 1}, the words being context and earlier slots."""

import numpy as np

from keyhole.arrays import Bool, Shaped
from keyhole.attention import Affine, FeedForward, ReadOut, ReLU, Tabulated, TabulatedHead, Wiring, evaluate
from keyhole.compiler.circuits.plan import CircuitPlan


def slot_tables(plan: CircuitPlan, gate: int) -> Tabulated:
    """The model of one step: on all 2^(T+g) words of context and earlier slots, 1 for a true gate and −1 for a false.

    Every head is a table of scores and of values ±1; the slot itself, which is empty, has score 0 and value 0.
    """
    slot, part = plan.slots[gate], plan.ramps(gate)
    places, s = slot.positions, max(1, slot.sparsity)
    heads = []
    for head in range(s):
        scores = np.zeros((len(places) + 1, 2))
        scores[:-1][np.arange(len(places)) == head] = plan.focus[gate, head]
        values = np.tile(np.array([[-1.0], [1.0]]), (len(places) + 1, 1, 1))
        heads.append(TabulatedHead(scores, values, np.zeros(()), np.zeros(1)))
    signs, offsets, weights = plan.signs[part, :s], plan.offsets[part], 2 * plan.weights[part]
    units = Affine(np.concatenate([signs, signs]).T, -np.concatenate([offsets, offsets + 1]))
    outer = Affine(np.concatenate([weights, -weights])[:, None], np.array([2 * plan.starts[gate] - 1]))
    return Tabulated(
        tokens=plan.context + gate,
        heads=tuple(heads),
        stream=np.zeros(1),
        wiring=Wiring(join="concatenate", feedforward=FeedForward(units, ReLU(), outer)),
        readout=ReadOut(np.ones(1)),
        positions=places,
    )


def write_steps(plan: CircuitPlan, bits: Shaped[np.ndarray, "n T"]) -> Bool[np.ndarray, "n gates"]:
    """The symbols that the steps write, each a slot's answer on the word so far."""
    word = np.asarray(bits).astype(np.int64)
    for gate in range(len(plan.circuit.gates)):
        answer = evaluate(slot_tables(plan, gate), word)
        word = np.concatenate([word, (answer > 0)[:, None].astype(np.int64)], axis=1)
    return word[:, plan.context :].astype(bool)
