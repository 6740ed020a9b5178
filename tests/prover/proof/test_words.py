"""Lemma F with a language, and half-spaces of outputs: lower bounds against enumeration of every word."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.languages import Automaton, AutomatonClasses, CountClasses
from keyhole.prover.proof.tables import HeadTable, Tables, outputs
from keyhole.prover.proof.words import HalfSpaces, WordRegion
from keyhole.rigorous import exact

from helpers.planted_juntas import FEW, all_sequences

seeds = st.integers(0, 10**6)


def random_region(seed):
    """A region over all words of a few positions, with some rows that the language does not read."""
    rng = np.random.default_rng(seed)
    length, symbols, heads = int(rng.integers(1, 5)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
    rows, sharpness = length + int(rng.integers(0, 3)), float(rng.choice([0.1, 2.0, 6.0]))
    made = tuple(
        HeadTable(
            np.exp(sharpness * rng.normal(size=(rows, symbols))),
            rng.normal(size=(rows, symbols, 2)),
            float(np.exp(rng.normal())),
            rng.normal(size=2),
        )
        for _ in range(heads)
    )
    tables = Tables(rows, made, np.ones(rows, dtype=np.int64), tuple((place,) for place in range(rows)))
    if rng.random() < 0.5:
        kind = (True, *(False,) * (symbols - 1))
        words = CountClasses(length, kind, np.arange(length + 1), np.minimum(np.arange(length + 1) + 1, length))
    else:
        automaton = Automaton(rng.integers(0, 3, (3, symbols)), 0, np.zeros(3, dtype=bool))
        words = AutomatonClasses(length, automaton, np.eye(3, dtype=bool)[automaton.reached(length)])
    reads = tuple(rng.permutation(rows)[:length].tolist())
    return WordRegion(tables, reads, words), rng.normal(size=(3, 2 * heads)), rng


def enumerated(region):
    """The outputs of all heads at every sequence, and which sequences each part holds."""
    tables = region.tables
    sequences = all_sequences(tables.tokens, tables.symbols)
    shown = np.eye(tables.symbols, dtype=np.int64)[sequences]
    return outputs(tables, shown).mid, region.words.contains(sequences[:, list(region.reads)])


@given(seeds)
def test_the_least_value_is_never_above_enumeration_and_exact_for_one_head(seed):
    """For one head the least value over a class is the enumerated one to 1e-9; for several it is below it."""
    region, directions, _ = random_region(seed)
    found = region.least(exact(directions[None]))
    values, member = enumerated(region)
    truth = np.array([(values[some] @ directions.T).min(axis=0) for some in member])
    assert (found <= truth).all()
    if len(region.tables.heads) == 1:
        assert np.abs(found - truth).max() <= 1e-9


@given(seeds)
def test_several_heads_gain_over_their_sum(seed):
    """The joint bound is no worse than the sum of the heads' own least values, which enumeration gives."""
    region, directions, _ = random_region(seed)
    values, member = enumerated(region)
    heads = [slice(2 * head, 2 * head + 2) for head in range(len(region.tables.heads))]
    sums = np.array([sum((values[some, h] @ directions[0, h]).min() for h in heads) for some in member])
    assert (region.least(exact(directions[None]))[:, 0] >= sums - 1e-9).all()


@given(seeds)
def test_the_minimiser_is_a_word_of_the_class(seed):
    """The point shown is in the part, and for one head it attains the bound."""
    region, directions, _ = random_region(seed)
    found = region.minimisers(exact(directions[None, :1]))
    words = found.shown[:, list(region.reads)].argmax(axis=-1)
    assert region.words.contains(words).diagonal().all()
    assert (found.shown.sum(axis=-1) == 1).all()
    if len(region.tables.heads) == 1:
        assert np.allclose(outputs(region.tables, found.shown).mid @ directions[0], found.low, rtol=0, atol=1e-9)


@settings(max_examples=FEW)
@given(seeds, st.integers(1, 2))
def test_cuts_only_raise_the_bound_and_stay_below_the_truth(seed, cuts):
    """Over what a half-space leaves, the bound is at most the enumerated least value, and at least the bound before."""
    region, directions, rng = random_region(seed)
    values, member = enumerated(region)
    normals = rng.normal(size=(region.count, cuts, directions.shape[1]))
    levels = np.array(
        [[np.median(values[some] @ normal) for normal in each] for some, each in zip(member, normals, strict=True)]
    )
    cut = HalfSpaces(region, normals, levels)
    whole, found = region.least(exact(directions[None])), cut.least(exact(directions[None]))
    low = cut.minimisers(exact(np.repeat(directions[None, :1], region.count, axis=0))).low
    assert (found >= whole).all()
    assert (low >= whole[:, 0] - 1e-9).all()
    for part, some in enumerate(member):
        left = (values @ normals[part].T >= levels[part]).all(axis=1) & some
        if left.any():
            truth = (values[left] @ directions.T).min(axis=0)
            assert (found[part] <= truth).all()
            assert low[part] <= truth[0]


@given(seeds)
def test_a_cut_bounds_its_own_direction(seed):
    """Where ⟨w, o⟩ ≥ τ is cut out, the bound of ⟨w, o⟩ is τ or more, up to rounding."""
    region, directions, _ = random_region(seed)
    levels = np.full((region.count, 1), 0.25)
    normals = np.repeat(directions[None, :1], region.count, axis=0)
    found = HalfSpaces(region, normals, levels).least(exact(directions[None, :1]))
    assert (found >= 0.25 - 1e-6).all()
