"""The question joins the tests at one shared level, and says no only when one of them does."""

import time
from importlib import import_module

import numpy as np
import pytest

import keyhole
from keyhole.apps.ledger.latent.exchangeability import binomial_limit, rejection_rate
from keyhole.errors import ArgumentError, AssumptionError, DataError
from keyhole.latent import FiniteModel, GaussianLocation, MarkovChain, Polya, Urn
from keyhole.latent.exchangeability.order import places_test

exchangeable_module = import_module("keyhole.api.exchangeable")


def test_each_contrast_is_rejected_for_its_own_reason():
    """A chain by its neighbours, a headed table by its places, an urn by its covariance; a latent model by nothing."""
    chain = MarkovChain(4, 0.4).sample(40, 12, 0).tokens
    urn = Urn(np.full(4, 2)).sample(100, 8, 0).tokens
    polya = Polya(np.full(4, 0.7)).sample(100, 8, 1).tokens
    headed = np.concatenate([np.zeros((100, 1), dtype=int), polya[:, 1:]], axis=1)
    answers = [keyhole.exchangeable(data) for data in (chain, headed, urn, polya)]
    rejecting = [[test.name for test in answer.tests if test.rejects] for answer in answers]
    assert rejecting == [["neighbours"], ["places"], ["extendible"], []]
    assert [answer.rejected for answer in answers] == [True, True, True, False]


@pytest.mark.slow
def test_the_shared_level_is_kept():
    """Of 120 tables from a latent model at most the one-sided 99.9 % limit is rejected by any of the three tests."""

    def any_p(tokens, rng):
        found = keyhole.exchangeable(tokens, permutations=119, seed=int(rng.integers(2**31)))
        return 0.0 if found.rejected else 1.0

    rate = rejection_rate(any_p, GaussianLocation(np.zeros(1), 0.01, 1.0), sequences=30, length=6, runs=120, rng=5)
    assert rate.rejections <= binomial_limit(120, 0.05)


def test_reals_vectors_and_one_sequence():
    """Reals and vectors are named so; one sequence has no places to compare."""
    tokens = GaussianLocation(np.zeros(2)).sample(20, 6, 0).tokens
    assert keyhole.exchangeable(tokens).kind == "vectors"
    assert keyhole.exchangeable(tokens[:, :, 0]).kind == "reals"
    alone = keyhole.exchangeable(MarkovChain(3, 0.8).sample(1, 200, 0).tokens, test="order")
    assert [test.name for test in alone.tests] == ["neighbours"]
    assert alone.rejected


def test_one_seed_gives_one_answer():
    """The same seed gives the same p-values."""
    tokens = Polya(np.ones(3)).sample(30, 6, 0).tokens
    first, again = (keyhole.exchangeable(tokens, seed=3) for _ in range(2))
    assert first == again
    assert first != keyhole.exchangeable(tokens, seed=4)


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        ({"test": "sideways"}, ArgumentError, "'sideways' is not a test"),
        ({"seed": -1}, ArgumentError, "seed -1"),
        ({"permutations": 58}, AssumptionError, "58 .* at least 59"),
        ({"level": 0.0}, AssumptionError, "got 0.0"),
    ],
)
def test_refused_questions(options, kind, sentence):
    """What cannot be asked is said so before anything is drawn."""
    with pytest.raises(kind, match=sentence):
        keyhole.exchangeable(np.zeros((5, 4), dtype=int), **options)


def test_the_answer_names_what_was_looked_at():
    """Lags, places and division of letters; a lag that rejects is named; a rejecting test is never powerless."""
    urn = keyhole.exchangeable(Polya(np.full(4, 0.7)).sample(100, 8, 1).tokens)
    looks = ("lags 1 to 5", "laws of places", "drift along places", "even division and repeats of tokens")
    assert urn.looked_at == looks
    assert all(look in urn.answer for look in looks)
    tokens = np.random.default_rng(0).integers(4, size=(40, 12))
    tokens[:, 2:] = np.where(np.random.default_rng(1).random((40, 10)) < 0.5, tokens[:, :-2], tokens[:, 2:])
    assert "lag 2" in keyhole.exchangeable(tokens).answer
    assert keyhole.exchangeable(tokens + 0.5).looked_at[1:4] == (*looks[1:3], "spread by place")


def test_too_few_sequences_for_halves():
    """Three sequences are asked about their order alone; asked for a latent variable, they are refused."""
    few = np.array([[0, 1, 0]] * 3)
    assert [test.name for test in keyhole.exchangeable(few).tests] == ["neighbours", "places"]
    assert [test.name for test in keyhole.exchangeable(few[:1]).tests] == ["neighbours"]
    two = keyhole.exchangeable(np.array([[0, 1, 2], [2, 0, 1]]))
    assert (two.looked_at, two.answer) == ((), "cannot reject: 2 sequences of 3 tokens are too few.")
    with pytest.raises(DataError, match="at least four, or ask for the order alone"):
        keyhole.exchangeable(few, test="extendible")


@pytest.mark.slow
def test_a_rare_latent_keeps_the_shared_level():
    """One sequence in twenty has all the spread: of 150 tables at most the one-sided 99.9 % limit is rejected."""
    rare = FiniteModel(np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]]), np.array([0.05, 0.95]))

    def any_p(tokens, rng):
        found = keyhole.exchangeable(tokens, permutations=119, seed=int(rng.integers(2**31)))
        return 0.0 if found.rejected else 1.0

    rate = rejection_rate(any_p, rare, sequences=100, length=8, runs=150, rng=5)
    assert rate.rejections <= binomial_limit(150, 0.05)


def test_copies_are_not_taken_for_evidence():
    """A table written ten times is not rejected for it, and says so; without the check it is rejected."""
    table = Polya(np.ones(4)).sample(20, 8, 3).tokens
    once, tenfold = keyhole.exchangeable(table), keyhole.exchangeable(np.tile(table, (10, 1)))
    assert (once.rows, once.sequences, tenfold.rows, tenfold.sequences) == (20, 20, 200, 20)
    assert [test.p_value for test in tenfold.tests] == [test.p_value for test in once.tests]
    assert (once.answer == tenfold.answer, tenfold.rejected) == (False, False)
    assert places_test(np.tile(table, (10, 1)), permutations=119).p_value == 1 / 120


def test_positions_are_rejected_for_repeating_too_seldom():
    """8 of 100 positions: only the count of sequences of different tokens rejects."""
    found = keyhole.exchangeable(Urn(np.ones(100, dtype=int)).sample(400, 8, 0).tokens)
    assert [test.rejects for test in found.tests] == [False, False, True]
    extendible = found.tests[2]
    assert (extendible.sequences, extendible.birthday.distinct, extendible.birthday.letters) == (200, 200, 100)
    assert extendible.birthday.p_value < extendible.balance_p_value
    assert "repeat too seldom" in found.answer


def test_large_tables_are_reordered_less_often_or_refused(monkeypatch):
    """Unasked, no more tokens are moved than the limit, and a table too large is refused; a named number is obeyed."""
    tokens = Polya(np.ones(3)).sample(30, 6, 0).tokens  # 180 tokens, two tests of order, 59 permutations at least
    monkeypatch.setattr(exchangeable_module, "MOST_MOVED", 2 * 180 * 150)
    assert {test.permutations for test in keyhole.exchangeable(tokens).tests if test.name != "extendible"} == {150}
    monkeypatch.setattr(exchangeable_module, "MOST_MOVED", 2 * 180 * 58)
    with pytest.raises(DataError, match=r"59 permutations, the fewest .* 21,240 tokens.*Give fewer sequences, or name"):
        keyhole.exchangeable(tokens)
    assert keyhole.exchangeable(tokens, permutations=119).tests[0].permutations == 119
    monkeypatch.setattr(exchangeable_module, "MOST_MOVED", 4 * 2 * 180 * 130)  # reals cost four times as much
    assert keyhole.exchangeable(tokens + 0.5).tests[0].permutations == 130


@pytest.mark.slow
def test_a_table_of_ten_million_letters_is_refused_at_once():
    """What takes minutes is refused before any token moves, in words that say how to have it all the same."""
    began = time.process_time()
    with pytest.raises(DataError, match="name a number of permutations"):
        keyhole.exchangeable(np.random.default_rng(0).integers(0, 2, (20_000, 513)))
    assert time.process_time() - began < 8


def test_the_text_fits_a_screen():
    """At most ten lines and a row for each test, of at most 80 letters; -v adds what each test counted."""
    answer = keyhole.exchangeable(np.tile(Polya(np.ones(4)).sample(20, 8, 3).tokens, (10, 1)))
    lines = answer.text(80).splitlines()
    assert len(lines) <= 10 + len(answer.tests)
    assert max(map(len, lines)) <= 80
    assert len(answer.text(80, verbose=True).splitlines()) > len(lines)
