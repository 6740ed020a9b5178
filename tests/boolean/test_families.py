"""Families: the named functions of the field say what their names say."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean.families import (
    FAMILIES,
    conjunction,
    disjunction,
    majority,
    parity,
    random_junta,
    read_function,
    threshold,
)
from keyhole.errors import FormulaError

from helpers.oracles import ones, relevant, table_from_number
from helpers.strategies import positions


@given(positions(least=1, most=8), st.integers(-1, 9))
def test_families_count_ones(places, least):
    """Each family is its rule of the number of ones, on every pattern."""
    s = len(places)
    rules = [
        (conjunction(places), lambda n: n == s),
        (disjunction(places), lambda n: n > 0),
        (parity(places), lambda n: n % 2 == 1),
        (majority(places), lambda n: 2 * n > s),
        (threshold(least, places), lambda n: n >= least),
    ]
    for function, rule in rules:
        expected = [rule(ones(b)) for b in range(1 << s)]
        assert function.positions == (tuple(sorted(places)) if len(set(expected)) == 2 else ())
        assert function.table.tolist() == (expected if function.positions else expected[:1])


def test_random_juntas_use_every_position():
    """A random table depends on all its positions, and the generator alone decides which it is."""
    for seed in range(50):
        function = random_junta((7, 3), np.random.default_rng(seed))
        assert function.positions == (3, 7)
        assert function == random_junta((7, 3), np.random.default_rng(seed))


def test_random_juntas_are_uniform(unchecked):
    """Each of the ten functions of two bits that matter is drawn equally often.

    The χ² statistic of 5,000 draws has nine degrees of freedom; it exceeds 45.1 with probability below 1e-6.
    """
    del unchecked
    rng, draws = np.random.default_rng(11), 5000
    seen = Counter(random_junta((0, 1), rng) for _ in range(draws))
    assert len(seen) == sum(len(relevant(table_from_number(n, 2))) == 2 for n in range(16)) == 10
    assert sum((count - draws / 10) ** 2 / (draws / 10) for count in seen.values()) < 45.1


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("and:3", conjunction((0, 1, 2))),
        ("or:1", disjunction((0,))),
        ("parity:4", parity((0, 1, 2, 3))),
        ("majority:5", majority((0, 1, 2, 3, 4))),
        ("threshold:2:5", threshold(2, (0, 1, 2, 3, 4))),
        ("threshold:0:5", threshold(0, (0, 1, 2, 3, 4))),
        ("and:10000", conjunction(tuple(range(10000)))),
        ("random:3", random_junta((0, 1, 2), np.random.default_rng(0))),
    ],
)
def test_names(name, function):
    """A family's name and numbers give its member on the first positions."""
    assert read_function(name) == function


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nand:3", "'nand' is not a family"),
        ("and:", "does not name"),
        ("and:-1", "does not name"),
        ("and:٣", "does not name"),
        ("and:²", "does not name"),
        ("and:2:3", "write it like and:3"),
        ("threshold:2", r"threshold:2:5"),
        ("and:0", "asks for 0 positions"),
        ("and:10001", "asks for 10001 positions"),
        ("and:" + "9" * 5000, "1 to 10000"),
        ("random:25", "random table on 25"),
    ],
)
def test_bad_names(name, sentence):
    """A name that stands for nothing is refused in a sentence."""
    with pytest.raises(FormulaError, match=sentence):
        read_function(name)


@given(
    st.text(max_size=12) | st.builds(lambda f, n: f"{f}:{n}", st.sampled_from([*FAMILIES, "x"]), st.text(max_size=3))
)
def test_names_never_crash(name):
    """Any text is a family member or refused."""
    try:
        read_function(name)
    except FormulaError as error:
        assert str(error)  # noqa: PT017  (both outcomes are right)
