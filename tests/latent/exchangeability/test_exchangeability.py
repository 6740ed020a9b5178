"""Tests of exchangeability: exact under the null, powerful against the contrasts, and refusing in words."""

import tracemalloc
from itertools import permutations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.apps.ledger.latent.exchangeability import binomial_limit, rejection_rate
from keyhole.errors import AssumptionError, DataError
from keyhole.latent.exchangeability.balance import balance_ceiling, balance_p_value, choose_balance, covariance_within
from keyhole.latent.exchangeability.extendibility import (
    as_letters,
    extendibility_test,
    least_direction,
    least_eigenvalue,
    least_letter_direction,
    pair_matrix,
)
from keyhole.latent.exchangeability.order import neighbours_test, places_test, rank_levels
from keyhole.latent.exchangeability.permutations import deviations, p_value, require_permutations
from keyhole.latent.models.base import letter_counts
from keyhole.latent.models.conjugate import GaussianLocation, Polya
from keyhole.latent.models.finite import FiniteModel
from keyhole.latent.models.not_exchangeable import MarkovChain, Urn

UNIFORM = FiniteModel(np.full((4, 1), 0.25), np.ones(1))


@given(st.lists(st.integers(0, 3), min_size=2, max_size=30))
def test_p_values_are_exact(statistics):
    """Whichever of exchangeable statistics is the data, P(p ≤ α) ≤ α for every α: counted over all choices."""
    numbers = np.array(statistics, dtype=float)
    ps = np.array([p_value(numbers[i], np.delete(numbers, i)) for i in range(len(numbers))])
    for alpha in (0.01, 0.05, 0.1, 0.2, 0.5):
        assert (ps <= alpha).mean() <= alpha + 1e-12


@given(st.integers(2, 12), st.integers(1, 4), st.integers(0, 2**32))
def test_deviations_treat_every_row_alike(rows, looks, seed):
    """Rows that change places change nothing else, each look has mean 0 and spread 1, and one that is level is 0."""
    rng = np.random.default_rng(seed)
    numbers, order = rng.integers(0, 5, (rows, looks)) * 1e6, rng.permutation(rows)
    off = deviations(numbers)
    assert np.allclose(deviations(numbers[order]), off[order])
    varies = numbers.std(axis=0) > 0
    assert np.allclose(off.mean(axis=0), 0)
    assert np.allclose(off.std(axis=0), varies)


def test_one_sided_ranks():
    """Without ties the p-values are the ranks over B + 1."""
    others = np.arange(9.0)
    assert p_value(9.0, others) == 0.1
    assert p_value(-1.0, others) == 1.0
    assert p_value(4.5, others) == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("test", [neighbours_test, places_test])
@pytest.mark.parametrize("real", [False, True])
def test_reorderings_of_a_small_table_have_the_right_law(test, real):
    """The looks and p near those of all reorderings, enumerated: 4 standard errors, and of the looks' own law."""
    data = np.array([[0, 0, 1, 2], [1, 1, 0, 2]])
    coded = np.array([0.3, -1.0, 2.0])[data] if real else data
    looks = place_looks if test is places_test else lag_looks
    every = np.array(
        [
            looks(np.array([one, two]))
            for one, two in product(permutations(coded[0].tolist()), permutations(coded[1].tolist()))
        ]
    )
    off, own = (every - every.mean(axis=0)) / every.std(axis=0), (looks(coded) - every.mean(axis=0)) / every.std(axis=0)

    def size(deviations):
        return np.abs(deviations) - 0.3 * np.arange(3) if test is neighbours_test else np.asarray(deviations)

    found = test(coded, permutations=9999, rng=1)
    assert [look.deviations for look in found.looks] == pytest.approx(own.tolist(), abs=0.08)
    assert found.statistic == max(size([look.deviations for look in found.looks]))
    # the deviations are known to 1 %, and values this near to the data's own count as either
    shares = [np.mean(size(off).max(axis=1) >= size(own).max() + side) for side in (0.05, -0.05)]
    slack = 4 * np.sqrt(0.25 / 10_000)
    assert shares[0] - slack <= found.p_value <= shares[1] + slack


def lag_looks(data):
    """Equal tokens, or centred products, at each lag, by loops."""
    real, T = data.dtype.kind == "f", data.shape[1]
    return np.array(
        [
            sum(
                (row[t] - row.mean()) * (row[t + lag] - row.mean()) if real else float(row[t] == row[t + lag])
                for row in data
                for t in range(T - lag)
            )
            for lag in range(1, T)
        ]
    )


def place_looks(data):
    """Laws, drift and, for reals, spread by place, by loops: cube roots."""
    N, T = data.shape
    steps = np.arange(T) - (T - 1) / 2
    if data.dtype.kind != "f":
        agreeing = float(sum((data[:, t] == v).sum() ** 2 for t in range(T) for v in np.unique(data)))
        drift = sum((steps * (data == v)).sum() ** 2 / (data == v).sum() for v in np.unique(data))
        return np.cbrt([agreeing, drift])
    centred = np.round(data - np.sort(data, axis=1).mean(axis=1, keepdims=True), 12)
    laws = drift = spread = 0.0
    for column in (data, centred):
        laws += law_distance(column)
        pooled = column.ravel()
        ranks = np.array([[(pooled < x).sum() + (pooled == x).sum() // 2 for x in row] for row in column])
        drift += ((steps * ranks.mean(axis=0)).sum() / (N * T)) ** 2
        squares = (ranks - (N * T - 1) / 2) ** 2 / (N * T) ** 2
        spread += ((squares.mean(axis=0) - squares.mean()) ** 2).sum()
    return np.cbrt([laws, drift, spread])


def law_distance(data):
    """The mean over places of ∫(F_t − F)²/(F(1 − F)) dF at the ranks of all N·T tokens, by loops."""
    N, T = data.shape
    everything = np.sort(data.ravel())
    total = 0.0
    for t in range(T):
        for k in range(1, N * T):  # a level is passed by the tokens whose mean rank is at most k + ½
            edge = [x for x in everything if ((everything < x).sum() + (everything <= x).sum() + 1) / 2 < k + 0.5]
            if 0 < len(edge) < N * T:
                pooled, here = len(edge) / (N * T), sum(x in edge for x in data[:, t]) / N
                total += (here - pooled) ** 2 / (pooled * (1 - pooled))
    return total / (T * N * T)


def signs_at_the_first_place(tokens):
    """The first token is its own sign: the mean and the spread of a standard normal, and another law."""
    changed = tokens.copy()
    changed[:, 0] = np.sign(changed[:, 0])
    return changed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "shape"),
    [
        (signs_at_the_first_place, (200, 12)),
        (signs_at_the_first_place, (200, 12, 3)),
        (lambda x: x * np.where(np.arange(8) == 0, 2.0, 1.0), (200, 8)),
        (lambda x: x + 0.6 * (np.arange(8) == 0), (150, 8)),
        (lambda x: x + 0.6 * (np.arange(8) == 0) + 10 * x[:, 3:4] ** 2, (150, 8)),
    ],
    ids=["signs", "signs of vectors", "spread", "mean", "mean, far apart"],
)
def test_places_of_reals_are_compared_by_their_whole_laws(change, shape):
    """A first place of another law is rejected in each of 10 tables: a mean, a spread, or neither mean nor spread."""
    rng = np.random.default_rng(5)
    found = [places_test(change(rng.normal(size=shape)), permutations=39, rng=rng).p_value for _ in range(10)]
    assert max(found) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=(12, 5)) + 3 * rng.normal(size=(12, 1)),
        lambda rng: rng.standard_cauchy(size=(12, 5)) * rng.exponential(size=(12, 1)),
        lambda rng: np.round(rng.normal(size=(12, 5))),
        lambda rng: rng.permuted(np.broadcast_to(np.arange(5.0), (12, 5)), axis=1),
        lambda rng: rng.normal(size=(6, 4, 3)) * rng.exponential(size=(6, 1, 1)),
    ],
    ids=["Gaussian location", "Cauchy", "ties", "permutations", "vectors"],
)
def test_places_of_reals_keep_their_level(draw):
    """Of 300 exchangeable tables at most the one-sided 99.9 % limit is rejected at 5 %, and at 20 %."""
    rng = np.random.default_rng(3)
    found = np.array([places_test(draw(rng), permutations=19, rng=rng).p_value for _ in range(300)])
    for level in (0.05, 0.2):
        assert (found <= level).sum() <= binomial_limit(300, level)


def test_monotone_functions_of_reals_are_compared_alike():
    """Of sequences of two tokens the ranks alone decide, whatever is written for them, and ties share a level."""
    rng = np.random.default_rng(0)
    levels = rank_levels(np.array([[1.0, 1.0, 2.0], [3.0, 2.0, 2.0]]), rng)
    assert levels[:, :, 0].tolist() == [[1, 1, 3], [5, 3, 3]]
    assert rank_levels(rng.normal(size=(500, 4)), rng).max() == 255


def order_p(tokens, rng):
    """The test of lags, 99 permutations."""
    return neighbours_test(tokens, permutations=99, rng=rng).p_value


def test_binomial_limit_is_the_quantile():
    """The least c with P(Bin ≤ c) ≥ 0.999."""
    from scipy.special import bdtr

    for runs, chance in [(1000, 0.05), (200, 0.05), (50, 0.3)]:
        limit = binomial_limit(runs, chance)
        assert bdtr(limit - 1, runs, chance) < 0.999 <= bdtr(limit, runs, chance)


@pytest.mark.parametrize("coding", [lambda x: x, lambda x: x.astype(float)], ids=["letters", "reals"])
def test_size_and_power_against_the_chain(coding):
    """200 null data sets (exceeds the limit 1 in 1000); power ≥ .95 at stay .4, and more than the size at .2."""

    def test(tokens, rng):
        return order_p(coding(tokens), rng)

    null, weak, strong = (
        rejection_rate(test, MarkovChain(4, stay), sequences=20, length=12, runs=runs, rng=7)
        for stay, runs in ((0.0, 200), (0.2, 100), (0.4, 60))
    )
    assert null.rejections <= binomial_limit(200, 0.05)
    assert weak.low > 0.2
    assert strong.value >= 0.95
    assert null.low <= 0.05


def test_vectors_keep_together():
    """Vector tokens are reordered whole: a chain of directions is seen, its shuffled self is not."""
    chain = MarkovChain(3, 0.5).sample(30, 12, 0).tokens
    vectors = np.eye(3)[chain] + 0.01
    assert neighbours_test(vectors, permutations=99).p_value == 0.01
    shuffled = np.random.default_rng(0).permuted(chain, axis=1)
    assert neighbours_test(np.eye(3)[shuffled], permutations=99).p_value > 0.02
    assert places_test(vectors, permutations=99).p_value > 0.02


def test_alternation_is_seen_at_each_lag():
    """Tokens that alternate differ from their neighbours and equal the next but one: both looks are far off."""
    found = neighbours_test(np.tile(np.arange(12) % 2, (10, 1)), permutations=99)
    assert found.p_value == 0.01
    assert [np.sign(look.deviations) for look in found.looks] == [-1, 1, -1, 1, -1]


@pytest.mark.slow
@pytest.mark.parametrize("lag", [1, 2, 3])
@pytest.mark.parametrize("coding", [lambda x: x, lambda x: x + 0.5], ids=["letters", "reals"])
def test_power_at_each_lag(lag, coding):
    """A token that repeats the one so far before with chance .4: at least 90 of 100 tables are rejected."""

    def draw(rng):
        tokens = rng.integers(4, size=(20, 12))
        for t in range(lag, 12):
            stays = rng.random(20) < 0.4
            tokens[stays, t] = tokens[stays, t - lag]
        return coding(tokens)

    rng = np.random.default_rng(2)
    assert sum(order_p(draw(rng), rng) <= 0.05 for _ in range(100)) >= 90


def test_the_least_p_of_a_table():
    """Two sequences of three tokens have so few orders that p is never small; two of twelve have enough."""
    small = np.array([[0, 1, 2], [2, 0, 1]])
    orders = np.array([lag_looks(np.array([a, b])) for a, b in product(permutations(range(3)), repeat=2)])
    assert np.ptp(orders) == 0  # different tokens are never equal
    assert neighbours_test(small, permutations=199).least_p == 1
    assert places_test(small, permutations=199).least_p > 0.05
    assert neighbours_test(MarkovChain(4, 0.4).sample(2, 12, 0).tokens, permutations=199).least_p < 0.02


def extendible_p(tokens, rng):
    """The p-value of the extendibility test."""
    return extendibility_test(tokens, rng=rng).p_value


def rare_spread(chance):
    """Two letters by a fair coin under a rare latent value, a third under the common one: all spread is rare."""
    return FiniteModel(np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]]), np.array([chance, 1 - chance]))


MOVED = FiniteModel(0.25 + 0.24 * np.array([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]), np.full(2, 0.5))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "sequences", "length", "runs"),
    [
        (UNIFORM, 100, 8, 300),
        (FiniteModel(np.array([[0.7], [0.1], [0.1], [0.1]]), np.ones(1)), 100, 8, 300),
        (Polya(np.full(4, 5.0)), 100, 8, 150),
        (MOVED, 100, 8, 1000),
        (rare_spread(0.05), 100, 8, 1000),
        (rare_spread(0.02), 400, 8, 300),
        (rare_spread(0.1), 100, 4, 300),
    ],
    ids=["uniform", "skew", "Pólya", "one direction moved", "rare .05", "rare .02", "rare .1"],
)
def test_size_on_mixtures(model, sequences, length, runs):
    """Null data sets, at the boundary, inside, and with rare spread: at most the one-sided 99.9 % limit."""
    rate = rejection_rate(extendible_p, model, sequences=sequences, length=length, runs=runs, rng=3)
    assert rate.rejections <= binomial_limit(runs, 0.05)


@pytest.mark.slow
def test_power_against_urns():
    """Four copies of each letter, N = 400, are seen for sure; more copies are harder to see."""
    full, half, large = (
        rejection_rate(extendible_p, Urn(np.full(4, copies)), sequences=400, length=8, runs=100, rng=3)
        for copies in (4, 8, 16)
    )
    assert full.value >= 0.9  # {3, 4, 5} of a 2-and-2 split: .868 against .711, 4.9 standard errors of 200 sequences
    assert full.value > half.value > large.value
    assert half.value >= 0.3  # .780 against .711: 2.1 standard errors, where 1.6 reject


@given(st.integers(2, 12), st.data())
def test_no_latent_variable_passes_the_ceiling(length, data):
    """π* is the maximum over p of the chance of a ≤ Bin(T, p) ≤ b: never below a fine grid, and reached on it."""
    least = data.draw(st.integers(0, length))
    most = data.draw(st.integers(least, length))
    p = np.linspace(0, 1, 2001)[:, None]
    k = np.arange(least, most + 1)
    grid = (np.array([comb(length, int(j)) for j in k]) * p**k * (1 - p) ** (length - k)).sum(axis=1).max()
    found = balance_ceiling(length, least, most)
    assert grid - 1e-12 <= found
    # the second derivative of a binomial probability in p is at most T(T − 1), and p is off by 1/4000 at most
    assert found <= grid + length * (length - 1) * 2.5e-4**2 / 2 + 1e-10


def test_ceilings_of_long_sequences():
    """Near the normal law for T = 10⁵: ± one standard deviation holds .683 of the middle binomial."""
    assert balance_ceiling(100_000, 50_000 - 158, 50_000 + 158) == pytest.approx(0.6843, abs=1e-3)
    with pytest.raises(AssumptionError, match="Counts from 5 to 4 of 8 tokens are none"):
        balance_ceiling(8, 5, 4)


@pytest.mark.parametrize("sequences", [1, 7, 30])
@pytest.mark.parametrize("ceiling", [0.1, 0.7109375])
def test_balance_p_values_are_exact(sequences, ceiling):
    """P(p ≤ α) ≤ α by summing the binomial law, at its worst chance π* and below; some α is reached."""
    counts = np.arange(sequences + 1)
    ps = np.array([balance_p_value(int(k), sequences, ceiling) for k in counts])
    for chance in (ceiling, 0.8 * ceiling):
        law = (
            np.array([comb(sequences, int(k)) for k in counts]) * chance**counts * (1 - chance) ** (sequences - counts)
        )
        assert all(law[ps <= alpha].sum() <= alpha * (1 + 1e-9) for alpha in ps)
    assert ps[-1] == pytest.approx(ceiling**sequences)
    assert ps[0] == 1


def test_the_chosen_event_is_narrow_where_counts_agree():
    """Counts that are all 4 of 8 choose {4}; counts that pile up at the ends leave nothing to see."""
    event = choose_balance(np.full(10, 4), 8)
    assert (event.least, event.most, event.ceiling) == (4, 4, pytest.approx(70 / 256))
    ends = np.repeat([0, 8], 20)
    ended = choose_balance(ends, 8)
    hits = int(((ends >= ended.least) & (ends <= ended.most)).sum())
    assert balance_p_value(hits, 40, ended.ceiling) == 1
    assert choose_balance(np.array([1, 1, 1]), 2).ceiling == pytest.approx(0.5)


def test_permutations_of_an_alphabet_have_no_spread():
    """Positions in random order: covariance −1/(T(T − 1)) exactly, beyond doubt."""
    found = extendibility_test(Urn(np.ones(8, dtype=int)).sample(20, 8, 0).tokens)
    assert found.p_value < 1e-3
    assert found.statistic == found.sequences == 10
    assert found.covariance == pytest.approx(-1 / 56, rel=1e-9)  # a unit vector of sum 0, whatever it is
    assert sum(found.direction) == pytest.approx(0, abs=1e-9)


@given(st.integers(0, 2**32))
def test_covariance_is_unbiased_by_its_definition(seed):
    """θ̂ from loops over pairs of tokens; a large shift does not change it."""
    seen = np.random.default_rng(seed).normal(size=(5, 4))
    pairs = [np.mean([row[s] * row[t] for s in range(4) for t in range(4) if s != t]) for row in seen]
    means = seen.mean(axis=1)
    theta = np.mean(pairs) - means.mean() ** 2 + means.var(ddof=1) / 5
    assert covariance_within(seen) == pytest.approx(theta, abs=1e-12)
    assert covariance_within(seen + 1e6) == pytest.approx(theta, abs=1e-8)  # 1e6 rounds its tokens by 1e-10


def test_theta_is_unbiased():
    """Averaged over all 4² data sets of two sequences of two fair bits, θ̂ is the true covariance, 0."""
    every = [covariance_within(np.array(bits, dtype=float).reshape(2, 2)) for bits in product((0, 1), repeat=4)]
    assert np.mean(every) == pytest.approx(0, abs=1e-12)


def test_least_eigenvalues_of_the_theory():
    """Pólya α = .7: .0657895 in expectation; without replacement −1/56 exactly at T = 8; i.i.d. near 0."""
    polya = Polya(np.full(4, 0.7)).sample(20000, 8, 1).tokens
    assert least_eigenvalue(letter_counts(polya, 4), 8) == pytest.approx(0.0657895, abs=0.004)
    emptied = Urn(np.ones(8, dtype=int)).sample(5, 8, 0).tokens
    assert least_eigenvalue(letter_counts(emptied, 8), 8) == pytest.approx(-1 / 56, abs=1e-12)
    assert abs(least_eigenvalue(letter_counts(UNIFORM.sample(5000, 8, 0).tokens, 4), 8)) < 0.004


def test_pair_matrix_by_pairs():
    """The matrix from counts is the share of ordered pairs of places, counted one by one, less the product."""
    tokens = np.array([[0, 1, 1], [2, 0, 0]])
    slow = np.zeros((3, 3))
    for row in tokens:
        for s, t in permutations(range(3), 2):
            slow[row[s], row[t]] += 1 / 12
    edge = slow.sum(axis=1)
    assert pair_matrix(letter_counts(tokens, 3), 3) == pytest.approx(slow - np.outer(edge, edge), abs=1e-12)


def test_reals_and_vectors_can_be_asked():
    """A Gaussian location passes, alone and as vectors; tokens whose sum is fixed do not."""
    model = GaussianLocation(np.zeros(2))
    tokens = model.sample(200, 6, 0).tokens
    assert extendibility_test(tokens).p_value > 0.05
    assert extendibility_test(tokens[:, :, 0]).p_value > 0.05
    fixed = tokens - tokens.mean(axis=1, keepdims=True)  # exchangeable, and each sums to 0
    assert extendibility_test(fixed).p_value <= 0.01
    assert extendibility_test(fixed[:, :, 0]).p_value <= 0.01
    assert covariance_within(fixed @ least_direction(fixed)) < 0


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1.0])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_shift_and_scale_are_not_seen(scale, offset):
    """Every p-value is that of the data as it was, however large, small or far from 0 it is written."""
    tokens = GaussianLocation(np.zeros(2)).sample(60, 6, 0).tokens
    fixed = tokens - tokens.mean(axis=1, keepdims=True)
    for data in (fixed, tokens):
        written = (data + offset) * scale
        for test in (neighbours_test, places_test):
            expected = test(data, permutations=99).p_value
            assert test(written, permutations=99).p_value == expected
        assert extendibility_test(written).p_value == extendibility_test(data).p_value
        assert extendibility_test(written[:, :, 0]).p_value == extendibility_test(data[:, :, 0]).p_value
    assert extendibility_test((fixed + offset) * scale).p_value < 0.05


def test_narrow_floats_are_widened():
    """Half-width reals near their limit 65504 are tested as the reals they are."""
    tokens = (30000 * np.random.default_rng(0).uniform(-1, 1, size=(40, 12))).astype(np.float16)
    for test in (neighbours_test, places_test):
        assert test(tokens, permutations=99) == test(tokens.astype(float), permutations=99)
    assert extendibility_test(tokens).p_value == extendibility_test(tokens.astype(float)).p_value


def test_a_statistic_that_is_no_number_is_refused():
    """NaN compares as neither larger nor smaller, and would pass for a surprise."""
    for observed, others in [(np.nan, [1.0]), (1.0, [np.nan]), (np.inf, [1.0])]:
        with pytest.raises(DataError, match="not finite"):
            deviations(np.array([[observed], *[[other] for other in others]]))


def test_places_of_many_letters_need_no_table(monkeypatch):
    """All tokens distinct: counting by sorting gives the same answer, in memory of the data's size."""
    tokens = np.random.default_rng(0).integers(5, size=(20, 6))
    table = places_test(tokens, permutations=39)
    distinct = np.arange(160_000).reshape(400, 400)
    tracemalloc.start()
    assert places_test(distinct, permutations=3).p_value == 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20  # places × letters would be 512 MB
    monkeypatch.setattr("keyhole.latent.exchangeability.order.BLOCK", 1)
    assert places_test(tokens, permutations=39) == table


def test_a_half_without_spread_shows_nothing():
    """If the first half holds one letter only, nothing is rejected and the ceiling is 1; so for one letter in all."""
    tokens = np.zeros((40, 4), dtype=int)
    assert extendibility_test(tokens).ceiling == extendibility_test(tokens.astype(float)).p_value == 1
    tokens[0, 0] = 1
    assert {extendibility_test(tokens, rng=seed).p_value for seed in range(8)} == {1.0}


def test_many_letters_are_merged():
    """A large vocabulary is coded by its frequent letters; codes are a function of the token."""
    rng = np.random.default_rng(0)
    words = (rng.pareto(1.0, size=(40, 30)) * 50).astype(int)
    first, second = as_letters(words[:20], words[20:])
    assert max(first.max(), second.max()) < 64
    assert len(set(zip(words.ravel(), np.concatenate([first, second]).ravel(), strict=True))) == len(np.unique(words))
    assert 0 <= extendibility_test(words).p_value <= 1
    assert least_letter_direction(first, int(first.max()) + 1).sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        (np.zeros(4), "got 1 axis"),
        (np.zeros((3, 1), dtype=int), "3 sequences of 1 tokens"),
        (np.array([[1.0, np.nan]]), "hold NaN or infinity"),
        (np.array([["a", "b"]]), "got an array of <U1"),
        (np.zeros((2, 2, 2), dtype=int), "Vectors must be reals"),
    ],
)
def test_refused_data(tokens, sentence):
    """One clear sentence for each kind of bad table."""
    with pytest.raises(DataError, match=sentence):
        neighbours_test(tokens)
    with pytest.raises(DataError, match=sentence):
        extendibility_test(tokens)


def test_refused_questions():
    """Too few sequences, a constant coordinate, a level that cannot be reached."""
    with pytest.raises(DataError, match="at least two"):
        places_test(np.array([[0, 1]]))
    with pytest.raises(DataError, match="at least four"):
        extendibility_test(np.array([[0, 1]] * 3))
    with pytest.raises(DataError, match="vectors is constant"):
        extendibility_test(np.zeros((8, 3, 2)))
    with pytest.raises(
        AssumptionError, match=r"19 permutations can never reject at level 0.05 shared by 2 .* least 39"
    ):
        require_permutations(19, 0.05, 2)
    with pytest.raises(AssumptionError, match=r"between 0 and 1; got 1\.5"):
        require_permutations(99, 1.5, 1)
    require_permutations(39, 0.05, 2)
