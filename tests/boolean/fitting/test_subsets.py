"""Counting and drawing over all sets of positions, against trying every hypothesis."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.boolean.fitting import subsets
from keyhole.boolean.fitting.subsets import ConjunctionSearch, JuntaSearch, count_fitting, draw_fitting_set
from keyhole.boolean.junta import Junta

samples = st.tuples(st.integers(0, 9), st.integers(1, 5)).flatmap(
    lambda shape: st.tuples(arrays(np.bool_, shape), arrays(np.bool_, shape[0]))
)


def tables(kind, size):
    """The tables of one kind of hypothesis on `size` positions."""
    if kind == "and":
        return [np.arange(2**size) == 2**size - 1]
    return [np.array(table) for table in product([False, True], repeat=2**size)]


def fitting(kind, bits, labels, size):
    """How many hypotheses on each set of positions agree with every label."""
    return {
        places: sum(bool((Junta(places, 2, table)(bits) == labels).all()) for table in tables(kind, size))
        for places in combinations(range(bits.shape[1]), size)
    }


def searched(kind, sample):
    """The search of one kind on a sample."""
    return (ConjunctionSearch if kind == "and" else JuntaSearch).of(*sample)


@pytest.mark.parametrize("kind", ["and", "junta"])
@given(sample=samples, size=st.integers(1, 3))
def test_counts_by_brute_force(kind, sample, size):
    """As many hypotheses fit as there are tables on sets of positions that agree with every label."""
    assert count_fitting(searched(kind, sample), size) == sum(fitting(kind, *sample, size).values())


@pytest.mark.parametrize("few", [-1, 9], ids=["block by block", "by inclusion"])
@given(sample=samples, size=st.integers(1, 3))
def test_many_conjunctions_are_counted_alike(few, sample, size):
    """What is counted at once where sets are few is counted alike in the two ways that serve where they are many."""
    search = searched("and", sample)
    with pytest.MonkeyPatch.context() as many:
        many.setattr(subsets, "AT_ONCE", -1)
        many.setattr(subsets, "FEW_EXAMPLES", few)
        assert count_fitting(search, size) == search.count_at_once(size)


def test_few_examples_and_many_positions():
    """At the largest number of examples, and one more, half of their bits 1: 4060 sets of 30, counted in three ways."""
    for negatives in (subsets.FEW_EXAMPLES, subsets.FEW_EXAMPLES + 1):
        bits = np.random.default_rng(negatives).random((negatives, 30)) < 0.5
        search = ConjunctionSearch.of(bits, np.zeros(negatives, dtype=bool))
        counts = {search.count_at_once(3), search.count_by_inclusion(3), count_fitting(search, 3)}
        assert len(counts) == 1
        assert 100 < min(counts) < 4000


@pytest.mark.parametrize("kind", ["and", "junta"])
@given(sample=samples, size=st.integers(1, 3), seed=st.integers(0, 3))
def test_a_drawn_set_fits(kind, sample, size, seed):
    """A set is drawn exactly when one fits, and then a hypothesis on it does."""
    counts = fitting(kind, *sample, size)
    drawn = draw_fitting_set(searched(kind, sample), size, np.random.default_rng(seed))
    assert (drawn is None) == (sum(counts.values()) == 0)
    assert drawn is None or counts[drawn] > 0


def test_more_negative_samples_than_a_word_holds():
    """200 false samples, four words: the AND of three positions of ten is the only one of its size that fits."""
    bits = np.random.default_rng(0).random((230, 10)) < 0.5
    labels = bits[:, [1, 4, 7]].all(axis=1)
    assert (~labels).sum() > 192
    assert count_fitting(ConjunctionSearch.of(bits, labels), 3) == 1
