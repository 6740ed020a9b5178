"""Canonical form: equal functions have equal positions and equal rules.

Positions that do not matter are dropped and the rest sorted. A function that only counts its literals is held
as `Levels`, any other as `Table`. The literals of a counting function are determined up to negating all of them
(which reverses the levels), and for a parity up to anything at all; so the first literal is taken positive, and
every literal of a parity.
"""

import numpy as np

from keyhole.boolean.rules import Levels, Rule, Table, Values, halves

Canonical = tuple[tuple[int, ...], Rule]


def canonical_levels(positions: tuple[int, ...], rule: Levels) -> Canonical:
    """Canonical form of a counting rule on distinct positions."""
    if rule.constant:
        return (), Levels(rule.levels[:1], ())
    order = sorted(range(len(positions)), key=positions.__getitem__)
    places = tuple(positions[i] for i in order)
    negated = tuple(rule.negated[i] for i in order)
    if rule.alternating:  # negating one literal flips the value, whatever the others are
        start = rule.levels[0] ^ (sum(negated) % 2 == 1)
        levels = tuple(start ^ (count % 2 == 1) for count in range(len(rule.levels)))
        return places, Levels(levels, (False,) * len(places))
    if negated[0]:
        return places, Levels(rule.levels[::-1], tuple(not flip for flip in negated))
    return places, Levels(rule.levels, negated)


def canonical_table(positions: tuple[int, ...], values: Values) -> Canonical:
    """Canonical form of a table on distinct positions."""
    order = sorted(range(len(positions)), key=positions.__getitem__)
    if order != list(range(len(positions))):
        axes = [len(positions) - 1 - i for i in reversed(order)]  # the last axis is the first position
        values = np.ascontiguousarray(values.reshape((2,) * len(positions)).transpose(axes)).reshape(-1)
    places = [positions[i] for i in order]
    for index in reversed(range(len(places))):
        zero, one = halves(values, index)
        if np.array_equal(zero, one):
            values = zero.reshape(-1)
            del places[index]
    levels = counting_rule(values, len(places))
    return tuple(places), levels or Table(values.copy())


def counting_rule(values: Values, size: int) -> Levels | None:
    """The function as a counting rule with first literal positive, or None if it is not one.

    Statement  A function is symmetric in some literals ℓ_i ∈ {x_i, ~x_i} with ℓ_0 = x_0 if and only if for every
               i ≥ 1 it is unchanged by exchanging x_0 with x_i, or by exchanging x_0 with ~x_i.
    Proof      The exchanges of ℓ_0 with each ℓ_i generate all permutations of the literals.
    Source     Standard (switching theory); the choice is unique but for parities, where both exchanges hold.
    """
    negated = [False] * size
    for index in range(1, size):
        pair = values.reshape(-1, 2, 1 << (index - 1), 2)  # (higher, b_index, between, b_0)
        if np.array_equal(pair[:, 0, :, 1], pair[:, 1, :, 0]):
            continue
        if not np.array_equal(pair[:, 0, :, 0], pair[:, 1, :, 1]):
            return None
        negated[index] = True
    pattern = sum(flip << i for i, flip in enumerate(negated))  # no literal true
    levels = [bool(values[pattern])]
    for index in range(size):
        pattern ^= 1 << index
        levels.append(bool(values[pattern]))
    return Levels(tuple(levels), tuple(negated))
