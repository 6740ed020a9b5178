"""The search finds exactly the juntas that brute force finds."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean.fitting import minimal
from keyhole.boolean.fitting.minimal import every_cell_seen, fitted_junta, juntas_that_fit
from keyhole.boolean.junta import Junta

from helpers.planted import every_sequence


def samples(most_tokens, symbols):
    """A few labelled inputs, labels at will but never contradicting each other."""
    return st.integers(1, most_tokens).flatmap(
        lambda tokens: st.dictionaries(
            st.tuples(*[st.integers(0, symbols - 1)] * tokens), st.booleans(), min_size=1, max_size=14
        ).map(lambda rows: (np.array(list(rows), dtype=np.int8), np.array(list(rows.values()))))
    )


def consistent_functions(sample, symbols, sparsity):
    """All functions of at most S positions that fit, each as its answers to every input: the slow way."""
    inputs, labels = sample
    tokens = inputs.shape[1]
    everything = every_sequence(tokens, symbols)
    found = {}
    for size in range(min(sparsity, tokens) + 1):
        for positions in combinations(range(tokens), size):
            for table in product([False, True], repeat=symbols**size):
                junta = Junta(positions, symbols, np.array(table))
                if np.array_equal(junta(inputs), labels):
                    found.setdefault(junta(everything).tobytes(), positions)
    return found


def minimal_fitting_sets(sample, sparsity):
    """The sets of at most so many positions on which a table of bits fits, those around a smaller one left out."""
    kept = []
    for size in range(min(sparsity, sample[0].shape[1]) + 1):
        for places in combinations(range(sample[0].shape[1]), size):
            fits = np.array_equal(fitted_junta(sample, 2, places)(sample[0]), sample[1])
            if fits and not any(set(smaller) <= set(places) for smaller in kept):
                kept.append(places)
    return set(kept)


@given(sample=samples(5, 2), sparsity=st.integers(0, 2))
def test_bits_by_brute_force(sample, sparsity):
    """The fewest positions, the sets of that size, and whether one function is left."""
    functions = consistent_functions(sample, 2, sparsity)
    found = juntas_that_fit(sample, 2, sparsity)
    assert found.finished
    assert bool(found.fitting) == bool(functions)
    if functions:
        fewest = min(len(places) for places in functions.values())
        assert {junta.sparsity for junta in found.fitting} == {fewest}
        assert {junta.positions for junta in found.fitting} == {
            places for places in combinations(range(sample[0].shape[1]), fewest)
            if np.array_equal(fitted_junta(sample, 2, places)(sample[0]), sample[1])
        }  # fmt: skip
        assert {junta.positions for junta in found.known} == minimal_fitting_sets(sample, sparsity)
    assert (found.only is not None) == (len(functions) == 1)
    if found.only is not None:
        assert found.only(every_sequence(sample[0].shape[1])).tobytes() in functions


@given(sample=samples(3, 3))
def test_three_symbols_by_brute_force(sample):
    """The same over an alphabet of three, one position at most (a table of two has 2^9 fillings)."""
    functions = consistent_functions(sample, 3, 1)
    found = juntas_that_fit(sample, 3, 1)
    assert bool(found.fitting) == bool(functions)
    assert (found.only is not None) == (len(functions) == 1)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "fewest"), [("and", 3), ("literal", 1), ("pair", 2), ("constant", 0)])
def test_long_contexts(target, fewest):
    """T = 400, m = 300: the target is the only function of at most three positions (expected rivals below 1e-9)."""
    rng = np.random.default_rng(5)
    inputs = rng.integers(0, 2, (300, 400 if fewest else 60), dtype=np.int8)
    labels = inputs[:, [7, 30, 55][:fewest]].all(axis=1)
    found = juntas_that_fit((inputs, labels), 2, 3, time_limit=60)
    assert target
    assert found.only is not None
    assert found.only.positions == (7, 30, 55)[:fewest]
    assert len(found.fitting) == 1


def test_samples_beyond_the_kept_pairs_are_asked(monkeypatch):
    """With ten pairs kept, what survives them still has to fit every sample."""
    monkeypatch.setattr(minimal, "PAIRS", 10)
    rng = np.random.default_rng(6)
    inputs = rng.integers(0, 2, (400, 12), dtype=np.int8)
    labels = inputs[:, 2] == 1
    assert [junta.positions for junta in juntas_that_fit((inputs, labels), 2, 2).fitting] == [(2,)]
    labels[123] ^= True
    assert juntas_that_fit((inputs, labels), 2, 1).fitting == ()


def test_a_search_that_is_not_finished_says_so():
    """No time at all; and more fitting sets than are kept."""
    rng = np.random.default_rng(7)
    inputs = rng.integers(0, 2, (200, 50), dtype=np.int8)
    late = juntas_that_fit((inputs, inputs[:, :3].all(axis=1)), 2, 3, time_limit=0.0)
    assert not late.finished
    assert "time" in late.reason
    few = juntas_that_fit((rng.integers(0, 2, (6, 200), dtype=np.int8), np.arange(6) % 2 == 0), 2, 3)
    assert not few.finished
    assert "more than 1000 sets" in few.reason
    assert few.fitting
    assert few.only is None


def test_witnessed():
    """Every cell needs a sample."""
    junta = Junta((0, 2), 2, np.array([False, False, False, True]))
    rows = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]])
    assert every_cell_seen(rows, junta)
    assert not every_cell_seen(rows[:3], junta)
