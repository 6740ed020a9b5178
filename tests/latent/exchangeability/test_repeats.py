"""Repeated sequences: copies are found whatever the tokens are, and chance is not taken for copies."""

import time
from itertools import permutations
from math import log

import numpy as np
import pytest

from keyhole.latent.exchangeability.repeats import LEVEL, _log_orders, _numbered, repeated_sequences
from keyhole.latent.models.conjugate import Polya

RNG = np.random.default_rng(0)
TABLES = {
    "letters": RNG.integers(4, size=(30, 12)),
    "bits": RNG.integers(2, size=(60, 8)),
    "reals": RNG.normal(size=(10, 5)),
    "vectors": RNG.normal(size=(6, 5, 2)),
}


@pytest.mark.parametrize("name", TABLES)
def test_copies_count_once(name):
    """A table written four times counts as itself; written once, all of it counts."""
    table = TABLES[name]
    assert len(repeated_sequences(table).kept) == len(table)
    four = repeated_sequences(np.concatenate([table] * 4))
    assert len(four.kept) < four.sequences
    assert four.chance < LEVEL
    assert np.array_equal(np.concatenate([table] * 4)[four.kept], table)


def test_shuffled_copies_count_once():
    """Copies in another order are found too, each sequence then counts once."""
    table = TABLES["letters"]
    shuffled = RNG.permutation(np.concatenate([table, table, table]))
    assert sorted(map(tuple, shuffled[repeated_sequences(shuffled).kept])) == sorted(map(tuple, table))


def test_tokens_that_leave_one_order_are_no_copies():
    """Sequences of one letter each have one order: however often they occur, all count, and the chance is 1."""
    constant = np.repeat([[0] * 6, [1] * 6], 50, axis=0)
    found = repeated_sequences(constant)
    assert (found.chance, len(found.kept)) == (1, 100)


def test_the_number_of_orders():
    """T!/Π n_a! by listing all orders."""
    rows = np.array([[0, 0, 1, 2], [0, 0, 0, 0], [0, 1, 2, 3], [1, 1, 2, 2]])
    listed = [log(len(set(permutations(row)))) for row in rows.tolist()]
    assert _log_orders(rows) == pytest.approx(listed)


def test_the_bound_is_above_the_chance():
    """Two fair bits, three sequences: P(k or more repeats, given the tokens) is at most the bound, for each table."""
    for ones in ([1, 1, 1], [0, 1, 1], [1, 1, 1, 1], [2, 1, 1, 0]):
        rows = [[0] * (2 - k) + [1] * k for k in ones]
        tables = [[]]
        for row in rows:
            tables = [[*table, order] for table in tables for order in sorted(set(permutations(row)))]
        repeats = np.array([len(table) - len(set(table)) for table in tables])
        for table, k in zip(tables, repeats, strict=True):
            assert (repeats >= k).mean() <= repeated_sequences(np.array(table)).chance + 1e-12


def test_repeats_by_chance_all_count():
    """Of 200 tables of short sequences with a latent, which repeat often, none loses a row: 1e-6 each."""
    model = Polya(np.full(3, 0.5))
    tables = [model.sample(40, 4, seed).tokens for seed in range(200)]
    assert np.mean([len(np.unique(table, axis=0)) < 40 for table in tables]) > 0.9
    assert all(len(repeated_sequences(table).kept) == len(table) for table in tables)


def test_rows_are_numbered_by_equality_at_any_length():
    """Equal rows, −0 and 0 alike, share a number; one row of a million tokens takes no time to speak of."""
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    numbers = _numbered(rows)
    assert numbers[0] == numbers[1] == numbers[3] != numbers[2]
    rng = np.random.default_rng(0)
    letters = rng.integers(0, 2, (50, 5))
    numbers = _numbered(letters)
    assert np.array_equal(
        numbers[:, None] == numbers[None, :], (letters[:, None, :] == letters[None, :, :]).all(axis=2)
    )
    began = time.process_time()
    repeated_sequences(rng.integers(0, 2, (1, 10**6)))
    assert time.process_time() - began < 3
