"""Drawing from, and counting, all sets of positions, against trying every hypothesis."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.apps.ledger.generalization import floor
from keyhole.boolean.fitting.subsets import ConjunctionSearch, JuntaSearch, draw_fitting_set
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
    assert draw_fitting_set(ConjunctionSearch.of(bits, labels), 3, np.random.default_rng(0)) == (1, 4, 7)


@given(sample=samples, size=st.integers(1, 3))
@pytest.mark.parametrize("few", [-1, 9])
def test_conjunctions_are_counted(few, sample, size):
    """Set by set, and by inclusion and exclusion, as many fit as by brute force."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(floor, "FEW_EXAMPLES", few)
        assert floor.count_fitting(*sample, size) == sum(fitting("and", *sample, size).values())
