"""The birthday test: its ceiling by enumeration, its level on mixtures with letters unseen, its power on positions."""

from itertools import product
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.apps.ledger.latent.exchangeability import binomial_limit
from keyhole.latent.exchangeability.balance import birthday_test, distinct_ceilings
from keyhole.latent.exchangeability.extendibility import extendibility_test
from keyhole.latent.models.not_exchangeable import Urn


def all_distinct(p, j):
    """The chance that j independent draws of p are all different, by listing them."""
    return sum(np.prod(p[list(word)]) for word in product(range(len(p)), repeat=j) if len(set(word)) == j)


@given(st.integers(1, 5), st.integers(0, 4), st.integers(0, 2**32))
def test_no_mixture_passes_the_ceiling(letters, tokens, seed):
    """k!·e_k(p) is at most (V)_k/V^k for every p, and reaches it to 1e-10 where letters are equally likely."""
    p = np.random.default_rng(seed).dirichlet(np.ones(letters))
    ceiling = distinct_ceilings(letters, tokens)[tokens]
    assert all_distinct(p, tokens) <= ceiling + 1e-15
    falling = factorial(letters) / factorial(letters - tokens) if tokens <= letters else 0
    assert falling / letters**tokens <= ceiling <= falling / letters**tokens + 1e-10


def test_counts_by_hand():
    """Letters of the first half: 0 to 3. Tokens outside them are left out of account, however often they occur."""
    first = np.array([[0, 1, 2], [1, 2, 3]])
    second = np.array([[0, 1, 2], [0, 0, 9], [9, 9, 1], [7, 8, 9], [3, 9, 3]])
    found = birthday_test(first, second)
    assert (found.letters, found.distinct) == (4, 3)
    assert found.ceiling == pytest.approx((6 / 16 + 3 / 4 + 1 + 1 + 3 / 4) / 5)
    assert found.p_value == 1  # 3 is not one above the mean 3.875
    sure = birthday_test(first, np.tile([0, 1, 2], (20, 1)))
    assert sure.p_value == pytest.approx((6 / 16) ** 20)


@pytest.mark.parametrize(
    ("draw", "shape"),
    [
        (lambda rng, shape: rng.integers(100, size=shape), (60, 8)),
        (lambda rng, shape: rng.integers(10**6, size=shape), (10, 8)),
        (lambda rng, shape: rng.integers(30, size=shape), (8, 8)),
        (lambda rng, shape: rng.integers(40, size=shape) + 40 * rng.integers(3, size=(shape[0], 1)), (40, 6)),
        (lambda rng, shape: (rng.pareto(1.0, size=shape) * 20).astype(int), (40, 6)),
    ],
    ids=["equal letters", "most letters unseen", "some letters unseen", "latent third", "skewed"],
)
def test_level_on_mixtures(draw, shape):
    """Of 400 tables of a mixture at most the one-sided 99.9 % limit is rejected, at levels 1 %, 5 % and 20 %."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(400):
        tokens = draw(rng, shape)
        found.append(birthday_test(tokens[: shape[0] // 2], tokens[shape[0] // 2 :]).p_value)
    for level in (0.01, 0.05, 0.2):
        assert (np.array(found) <= level).sum() <= binomial_limit(400, level)


def test_the_level_is_used_where_letters_are_equally_likely():
    """Of 600 tables of 300 sequences, equal letters, at least 2 % are rejected at 5 %: a smaller ceiling would show."""
    rng = np.random.default_rng(2)
    tokens = rng.integers(60, size=(600, 300, 6))
    found = np.array([birthday_test(table[:100], table[100:]).p_value for table in tokens])
    assert 0.02 <= (found <= 0.05).mean() <= binomial_limit(600, 0.05) / 600
    assert (np.diff(np.sort(tokens, axis=2)) > 0).all(axis=2).mean() == pytest.approx(
        distinct_ceilings(60, 6)[6], rel=0.02
    )


def test_positions_drawn_without_replacement_are_seen():
    """8 of 100 positions, 400 sequences: rejected in 20 of 20 tables, where evenness alone rejects 2 at most."""
    urn = Urn(np.ones(100, dtype=int))
    found = [extendibility_test(urn.sample(400, 8, seed).tokens, rng=seed) for seed in range(20)]
    assert max(test.p_value for test in found) < 1e-9
    assert sum(test.balance_p_value <= 0.05 for test in found) <= 2


def test_both_looks_share_the_level():
    """Twice the lesser where all tokens can differ; one look has the whole level where they cannot, or are reals."""
    rng = np.random.default_rng(0)
    both = extendibility_test(rng.integers(20, size=(40, 6)))
    assert both.p_value == min(1, 2 * min(both.balance_p_value, both.birthday.p_value))
    for tokens in (rng.integers(5, size=(40, 6)), rng.normal(size=(40, 6))):
        one = extendibility_test(tokens)
        assert one.birthday is None
        assert one.p_value == one.balance_p_value


def test_hoeffdings_comparison_begins_one_above_the_mean():
    """With Mc̄ = 7.5 sequences expected at most, 8 are within one of that and say nothing; 9 may."""
    first = np.array([[0, 1], [2, 3]])
    for distinct, says in ((8, False), (9, True)):
        second = np.array([[0, 1]] * distinct + [[0, 0]] * (10 - distinct))
        found = birthday_test(first, second)
        assert found.ceiling == pytest.approx(0.75)
        assert (found.p_value < 1) == says
