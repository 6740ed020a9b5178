"""Exact identification: the spectrum of rivals, the sample size, and δ kept in simulation."""

from itertools import combinations, product
from math import ceil, comb, log, sqrt

import numpy as np
import pytest

from keyhole.bounds.finite.identification import (
    essential_targets,
    identification_size,
    rival_chance,
    rival_spectrum,
    smallest_samples,
)

AND_2, LITERAL, PARITY_2, CONSTANT = (0, 0, 0, 1), (0, 1), (0, 1, 1, 0), (0,)
AND_3, PARITY_3 = (0, 0, 0, 0, 0, 0, 0, 1), (0, 1, 1, 0, 1, 0, 0, 1)


def cube(T):
    """All inputs, the first position least significant."""
    return (np.arange(2**T)[:, None] >> np.arange(T)) & 1


def admissible(T, s):
    """Every function of at most s of T bits once: its values on the cube, the positions it depends on."""
    inputs, found = cube(T), {}
    for size in range(s + 1):
        for chosen in combinations(range(T), size):
            code = (inputs[:, chosen] << np.arange(size)).sum(1)
            for table in product((0, 1), repeat=2**size):
                found.setdefault(np.array(table)[code].tobytes(), (np.array(table)[code], chosen))
    return list(found.values())  # smaller sets come first, so the positions are the essential ones


@pytest.mark.parametrize("witnessed", [False, True])
@pytest.mark.parametrize("table", [CONSTANT, LITERAL, AND_2, PARITY_2, (1, 0, 1, 1)])
def test_the_spectrum_by_brute_force(table, witnessed):
    """T = 5, s = 2: every admissible function enumerated, its distance and its cells looked up."""
    T, s, inputs = 5, 2, cube(5)
    n = len(table).bit_length() - 1
    target = np.array(table)[(inputs[:, :n] << np.arange(n)).sum(1)]
    counts = {}
    for values, chosen in admissible(T, s):
        if (values == target).all():
            continue
        if witnessed:
            cells = (inputs[:, chosen] << np.arange(len(chosen))).sum(1)
            if len(set(cells[values == target])) < 2 ** len(chosen):
                continue  # some cell of this rival never agrees with the target
        distance = float((values != target).mean())
        counts[distance] = counts.get(distance, 0) + 1
    found = {r.distance: r.functions for r in rival_spectrum(table, T, s, witnessed=witnessed)}
    assert found == counts


def test_the_class_has_298_functions():
    """T = 8, s = 2: two constants, 16 literals, 280 functions of two bits."""
    assert sum(r.functions for r in rival_spectrum(AND_2, 8, 2)) + 1 == 298


@pytest.mark.parametrize(("T", "m", "parity"), [(50, 79, 29), (100, 85, 32), (400, 98, 38), (1000, 107, 42)])
def test_theory_table(T, m, parity):
    """m_id for s = 3, its worst target the AND, and the smaller size for parity alone."""
    assert identification_size(T, 3) == m
    assert smallest_samples(rival_spectrum(AND_3, T, 3, witnessed=True), 0.01) == m
    assert smallest_samples(rival_spectrum(PARITY_3, T, 3, witnessed=True), 0.01) == parity


def test_vectors_at_eight_bits():
    """T = 8, s = 2: 28 for AND and one literal, sum .0090 there; 33 for the constant without the rule."""
    assert identification_size(8, 2) == 28
    assert smallest_samples(rival_spectrum(AND_2, 8, 2), 0.01) == 28
    assert smallest_samples(rival_spectrum(LITERAL, 8, 2), 0.01) == 28
    assert smallest_samples(rival_spectrum(CONSTANT, 8, 2), 0.01) == 33
    assert round(rival_chance(rival_spectrum(AND_2, 8, 2), 28), 4) == 0.0090
    assert rival_spectrum(CONSTANT, 8, 2, witnessed=True) == ()


@pytest.mark.slow
@pytest.mark.parametrize("table", [AND_2, LITERAL, CONSTANT, PARITY_2])
def test_delta_is_kept(table):
    """Version spaces at m = m_id, T = 8, s = 2: a rival that fits, all its cells seen, has chance ≤ δ.

    4000 draws: the count of wrong issues is compared with δ plus three standard errors of a proportion δ; for
    the AND the union bound .0090 is nearly attained, so the count must also not be far below it.
    """
    T, draws, delta, m = 8, 4000, 0.01, identification_size(8, 2)
    rng, inputs = np.random.default_rng(6), cube(T)
    n = len(table).bit_length() - 1
    target = np.array(table)[(inputs[:, :n] << np.arange(n)).sum(1)]
    rivals = [(values, chosen) for values, chosen in admissible(T, 2) if (values != target).any()]
    disagree = np.array([values != target for values, _ in rivals], dtype=np.float32)
    cells = [(inputs[:, chosen] << np.arange(len(chosen))).sum(1) for _, chosen in rivals]
    samples = rng.integers(0, 2**T, size=(draws, m))
    wrong = 0
    for sample in samples:
        fitting = np.flatnonzero(~disagree[:, sample].any(1))
        wrong += any(len(set(cells[i][sample])) == 2 ** len(rivals[i][1]) for i in fitting)
    error = sqrt(delta * (1 - delta) / draws)
    assert wrong / draws <= delta + 3 * error
    if table == AND_2:
        assert wrong / draws >= 0.0084 - 3 * error


@pytest.mark.parametrize(("variables", "classes"), [(0, 2), (1, 1), (2, 3), (3, 16)])
def test_targets_up_to_symmetry(variables, classes):
    """Functions that need all their variables, up to permuting and negating inputs."""
    assert len(list(essential_targets(variables))) == classes


def test_many_variables_use_the_crude_size():
    """s = 4: |H|(1 − 1/16)^m ≤ δ, larger than any exact size would be."""
    crude = identification_size(100, 4)
    exact = smallest_samples(rival_spectrum((0,) * 15 + (1,), 100, 4, witnessed=True), 0.01)
    functions = sum(comb(100, j) * 2**2**j for j in range(5))
    assert exact < crude == ceil(log(functions / 0.01) / -log(15 / 16))
