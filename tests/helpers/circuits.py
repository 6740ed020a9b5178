"""Circuits for tests: an obvious interpreter, random ones, and all small ones."""

from itertools import combinations, product

import numpy as np

from keyhole.boolean import FIRST_GATE, Circuit, from_table


def words(length):
    """All inputs of a context, a row each."""
    return np.array(list(product((0, 1), repeat=length)))


def interpreted(circuit, bits):
    """The value of every gate on one input, by looking each pattern up."""
    values = []
    for gate in circuit.gates:
        read = [values[wire - FIRST_GATE] if wire >= FIRST_GATE else int(bits[wire]) for wire in gate.positions]
        values.append(int(gate.table[sum(bit << place for place, bit in enumerate(read))]))
    return values


def random_circuit(rng, gates, context, fan_in):
    """Gates of random tables on random wires, at least one of which matters."""
    made = []
    while len(made) < gates:
        wires = [*range(context), *(FIRST_GATE + g for g in range(len(made)))]
        size = int(rng.integers(1, fan_in + 1))
        read = tuple(wires[i] for i in sorted(rng.choice(len(wires), min(size, len(wires)), replace=False)))
        made.append(from_table(read, rng.integers(0, 2, 1 << len(read)).astype(bool)))
    return Circuit(tuple(made), tuple(f"g{g + 1}" for g in range(gates)))


def small_circuits(gates, context):
    """All circuits of so many gates of two wires, every wire of which matters, and each gate is read by a later one.

    Context bits are taken in the order in which they are first read: all other circuits are these with bits renamed.
    """
    tables = [
        np.array(table)
        for table in product((False, True), repeat=4)
        if table[0] != table[1] or table[2] != table[3]
        if table[0] != table[2] or table[1] != table[3]
    ]

    def wirings(made, seen):
        if len(made) == gates:
            read = {wire - FIRST_GATE for pair in made for wire in pair if wire >= FIRST_GATE}
            if read == set(range(gates - 1)):
                yield made
            return
        fresh = [seen + step for step in range(2) if seen + step < context]
        wires = [*range(seen), *fresh, *(FIRST_GATE + g for g in range(len(made)))]
        for pair in combinations(wires, 2):
            new = [wire for wire in pair if seen <= wire < FIRST_GATE]
            if new in ([], [seen], [seen, seen + 1]):
                yield from wirings([*made, pair], seen + len(new))

    for pairs in wirings([], 0):
        for chosen in product(tables, repeat=gates):
            parts = (from_table(pair, table) for pair, table in zip(pairs, chosen, strict=True))
            yield Circuit(tuple(parts), tuple(f"g{g + 1}" for g in range(gates)))
