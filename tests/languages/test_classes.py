"""Classes of words: the least sum of costs against enumeration in exact arithmetic, and how classes are cut."""

from fractions import Fraction
from itertools import product as tuples

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.errors import ShapeError
from keyhole.languages import Automaton, AutomatonClasses, CountClasses, product

from helpers.planted_juntas import all_sequences

seeds = st.integers(0, 10**6)


def counted(length, kind, bounds):
    """Count classes from a list of (low, high)."""
    return CountClasses(length, kind, np.array([low for low, _ in bounds]), np.array([high for _, high in bounds]))


def counter(length, kind):
    """The automaton that counts symbols of the kind up to the length."""
    moves = np.array([[min(state + counts, length) for counts in kind] for state in range(length + 1)])
    return Automaton(moves, 0, np.zeros(length + 1, dtype=bool))


def random_automaton(rng, states, symbols):
    """A random complete automaton."""
    return Automaton(rng.integers(0, states, (states, symbols)), 0, rng.random(states) < 0.5)


def word_classes(seed):
    """Classes of both kinds over 2 or 3 symbols, none of them empty, with costs and masses."""
    rng = np.random.default_rng(seed)
    length, symbols = int(rng.integers(1, 6)), int(rng.integers(2, 4))
    if rng.random() < 0.5:
        kind = tuple(bool(symbol) for symbol in range(symbols))
        ends = np.sort(rng.integers(0, length + 1, (3, 2)), axis=1)
        classes = CountClasses(length, kind, ends[:, 0], ends[:, 1])
    else:
        automaton = random_automaton(rng, 4, symbols)
        reached = np.flatnonzero(automaton.reached(length))
        final = np.zeros((len(reached) + 1, 4), dtype=bool)
        final[np.arange(len(reached)), reached] = True
        final[-1, reached] = True
        classes = AutomatonClasses(length, automaton, final)
    size = 10.0 ** rng.integers(-8, 9, (length, symbols))
    cost = rng.normal(size=(classes.count, 2, length, symbols)) * size
    if rng.random() < 0.5:
        cost = np.round(cost)  # ties
    return classes, cost, rng.random((length, symbols)) + 0.5


def test_the_empty_word_costs_nothing():
    """Where no symbol is left to choose, the least sum is 0, and the word that has it is empty."""
    empty = counted(0, (False, True), [(0, 0)])
    value, weight = empty.best(np.zeros((1, 3, 0, 2)), np.zeros((0, 2)))
    assert value == pytest.approx(np.zeros((1, 3)), abs=1e-300)
    assert weight.tolist() == [[0.0, 0.0, 0.0]]
    assert empty.chosen(np.zeros((1, 0, 2))).shape == (1, 0)


@pytest.mark.slow
@given(seeds)
def test_the_least_sum_is_never_above_the_true_one_and_close_to_it(seed):
    """For every part and functional the value is at most the least exact sum, and within rounding of it."""
    classes, cost, mass = word_classes(seed)
    words = all_sequences(classes.length, cost.shape[-1])
    member = classes.contains(words)
    value, weight = classes.best(cost, mass)
    place = range(classes.length)
    for part, row in tuples(range(classes.count), range(cost.shape[1])):
        sums = [sum(Fraction(cost[part, row, t, word[t]]) for t in place) for word in words[member[part]]]
        masses = [sum(mass[t, word[t]] for t in place) for word in words[member[part]]]
        scale = float(np.abs(cost[part, row]).sum())
        assert Fraction(float(value[part, row])) <= min(sums)
        assert float(min(sums)) - value[part, row] <= 1e-13 * scale + 1e-200
        near = [m for m, s in zip(masses, sums, strict=True) if float(s - min(sums)) <= 1e-13 * scale + 1e-200]
        assert np.isclose(near, weight[part, row], rtol=1e-12).any()


@given(seeds)
def test_the_chosen_word_is_in_the_part_and_costs_least(seed):
    """The word of each part is a member of it, and its sum is the least one up to rounding."""
    classes, cost, mass = word_classes(seed)
    words = classes.chosen(cost[:, 0])
    assert classes.contains(words).diagonal().all()
    paid = cost[np.arange(classes.count)[:, None], 0, np.arange(classes.length), words].sum(axis=1)
    scale = np.abs(cost[:, 0]).sum(axis=(1, 2))
    assert (paid - classes.best(cost, mass)[0][:, 0] <= 1e-12 * scale + 1e-200).all()


@given(seeds)
def test_halves_are_the_part(seed):
    """Every word of a part is in exactly one of its halves, and a part that is not cut has one count or state."""
    classes, cost, _ = word_classes(seed)
    words = all_sequences(classes.length, cost.shape[-1])
    for part in range(classes.count):
        halves = classes.halves(part)
        if halves is not None:
            assert (halves.contains(words).sum(axis=0) == classes.contains(words)[part]).all()
            assert (classes.take([part]).joined([halves]).count) == 1 + halves.count


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 3))
def test_counts_are_an_automaton(seed, length, symbols):
    """The counting automaton and the count classes give the same least sums."""
    rng = np.random.default_rng(seed)
    kind = tuple(symbol == 0 for symbol in range(symbols))
    both = (
        counted(length, kind, [(k, k) for k in range(length + 1)]),
        AutomatonClasses(length, counter(length, kind), np.eye(length + 1, dtype=bool)),
    )
    cost, mass = rng.normal(size=(length + 1, 3, length, symbols)), rng.random((length, symbols))
    first, second = (classes.best(cost, mass) for classes in both)
    assert np.allclose(first, second, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 10**6))
def test_the_product_runs_both(seed):
    """It accepts what both accept, and its states are the pairs in which the two end."""
    rng = np.random.default_rng(seed)
    first, second = random_automaton(rng, 3, 2), random_automaton(rng, 4, 2)
    both, pairs = product(first, second)
    words = all_sequences(5, 2)
    assert (both.accepts(words) == (first.accepts(words) & second.accepts(words))).all()
    assert (pairs[both.ends(words)] == np.stack([first.ends(words), second.ends(words)], axis=1)).all()
    assert both.reached(5)[np.unique(both.ends(words))].all()
    assert both.reached(5).sum() == len(np.unique(both.ends(words)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: counted(3, (True, True), [(0, 1)]),
        lambda: counted(3, (False, True), [(2, 1)]),
        lambda: counted(3, (False, True), [(0, 4)]),
        lambda: Automaton(np.array([[0, 2]]), 0, np.array([True])),
        lambda: Automaton(np.array([[0, 0]]), 1, np.array([True])),
        lambda: product(
            random_automaton(np.random.default_rng(0), 2, 2), random_automaton(np.random.default_rng(0), 2, 3)
        ),
    ],
)
def test_what_is_no_class_is_refused(make):
    """A kind that is all of the alphabet, counts out of range, and states that do not exist get a sentence."""
    with pytest.raises(ShapeError):
        make()


@given(seeds)
def test_all_words_of_a_class_are_listed_once(seed):
    """The words are those that the class holds, each once, and their number is the size."""
    classes, _, _ = word_classes(seed)
    every = all_sequences(classes.length, symbols_of(classes))
    wanted = every[classes.contains(every).any(axis=0)]
    found = classes.words()
    assert classes.size == len(found) == len(wanted)
    assert sorted(found.tolist()) == sorted(wanted.tolist())


def symbols_of(classes):
    """How many symbols the words are made of."""
    return len(classes.kind) if isinstance(classes, CountClasses) else classes.automaton.symbols


def test_a_size_beyond_doubles_is_infinite():
    """4,000 letters have more words than a double holds; 2^60 are counted."""
    assert counted(4000, (False, True), [(0, 4000)]).size == np.inf
    assert counted(60, (False, True), [(0, 60)]).size == 2.0**60


@given(st.integers(1, 40), st.data())
def test_counts_beside_a_change_of_the_answer_are_cut_first(length, data):
    """The pieces are the interval, and the count at each end beyond which others lie is soon alone."""
    low = data.draw(st.integers(0, length))
    high = data.draw(st.integers(low, length))
    pieces = counted(length, (False, True), [(low, high)]).halves(0)
    if low == high:
        assert pieces is None
        return
    ends = list(zip(pieces.low.tolist(), pieces.high.tolist(), strict=True))
    assert [count for first, last in ends for count in range(first, last + 1)] == list(range(low, high + 1))
    assert len(ends) >= 2
    assert low == 0 or ends[0] == (low, low)
    assert high == length or ends[-1] == (high, high)
