"""Condition numbers of a pretext task: closed forms, the transfer theorem, and what no linear head can do."""

from itertools import product
from math import inf, prod, sqrt

import numpy as np
import pytest
from flint import acb_mat, arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from keyhole.apps.pretrain.condition import (
    block_law,
    canonical_correlations,
    condition_numbers,
    estimate_least_correlation,
    linear_head,
    rounding,
    transfer_bound,
)
from keyhole.errors import ArgumentError
from keyhole.latent.models import FiniteModel, GaussianMixture, sum_zero_basis

FIRST = np.full((4, 3), 0.1) + 0.6 * np.eye(4, 3)
SECOND = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.1], [0.1, 0.2, 0.2], [0.1, 0.2, 0.6]])
UNIFORM = np.full(3, 1 / 3)
ONE = np.array([[1.0, 0.0, 0.0]])
VALUES = np.array([[-2.0, -1.0, 0.0, 1.0, 2.0]])
EQUAL_MEANS = np.array([[0.05, 0.1, 0.7, 0.1, 0.05], [0.3, 0.15, 0.1, 0.15, 0.3]]).T


def random_model(seed, letters=5, m=3):
    """A model with a random emission table and prior."""
    rng = np.random.default_rng(seed)
    return FiniteModel(rng.dirichlet(np.ones(letters), size=m).T, rng.dirichlet(np.ones(m)))


def test_closed_forms_of_two_tables():
    """κ, cond and κ_T of two small tables are the known numbers."""
    even, uneven = condition_numbers(FIRST, ONE), condition_numbers(SECOND, ONE)
    assert even.singular == pytest.approx((0.6, 0.6), abs=1e-12)
    assert even.least == pytest.approx(1 / 0.6, abs=1e-12)
    assert even.downstream == pytest.approx(sqrt(2 / 3) / 0.6, abs=1e-12)
    assert uneven.singular == pytest.approx((0.514952, 0.167802), abs=5e-7)
    assert (uneven.least, uneven.ratio) == pytest.approx((5.959415, 3.068815), abs=5e-7)
    assert uneven.downstream == pytest.approx(3.273268, abs=5e-7)
    assert condition_numbers(SECOND, np.array([[0.0, 1.0, 0.0]])).downstream == pytest.approx(4.818121, abs=5e-7)
    assert condition_numbers(SECOND).downstream == pytest.approx(5.959415, abs=5e-7)


def test_spectral_closed_forms():
    """Canonical correlations of the two tables, by block size, are the known numbers."""
    assert canonical_correlations(FiniteModel(FIRST, UNIFORM), 1)[1:] == pytest.approx((0.632456, 0.632456), abs=5e-7)
    assert canonical_correlations(FiniteModel(FIRST, UNIFORM), 2)[-1] == pytest.approx(0.761423, abs=5e-7)
    inverse = [1 / canonical_correlations(FiniteModel(SECOND, UNIFORM), block)[-1] for block in (1, 2, 3, 4)]
    assert inverse == pytest.approx([5.045119, 3.273019, 2.585155, 2.202019], abs=5e-7)


@pytest.mark.parametrize("block", [1, 2, 3])
def test_blocks_by_counts_and_by_sequences_agree(block):
    """The table over counts has the condition numbers and correlations of the table over all sequences."""
    model = random_model(block, letters=3)
    full = np.array([np.prod(model.emission[list(word)], axis=0) for word in product(range(3), repeat=block)])
    by_counts, by_words = condition_numbers(block_law(model, block), ONE), condition_numbers(full, ONE)
    assert by_counts.singular == pytest.approx(by_words.singular, rel=1e-9)
    assert by_counts.downstream == pytest.approx(by_words.downstream, rel=1e-9)
    joint = full * model.prior
    table = joint / np.sqrt(joint.sum(axis=1, keepdims=True) * model.prior)
    assert canonical_correlations(model, block) == pytest.approx(np.linalg.svd(table)[1], rel=1e-9)


@given(seed=st.integers(0, 10**6))
def test_correlations_grow_with_the_block(seed):
    """Each s_k is non-decreasing in the block, s₁ is 1, and all lie in [0, 1]."""
    found = np.array([canonical_correlations(random_model(seed), block) for block in (1, 2, 3)])
    assert np.allclose(found[:, 0], 1)
    assert np.all(np.diff(found, axis=0) >= -1e-9)
    assert np.all((found >= 0) & (found <= 1))


@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-6, 1e-3, 0.1]))
def test_the_transfer_theorem(seed, size):
    """The head is exact on exact predictions, never above κ_T²ε², and reaches it in its worst direction."""
    rng = np.random.default_rng(seed)
    model = random_model(seed, letters=6)
    task = rng.normal(size=(2, 3))
    law = block_law(model, 1)
    head, numbers = linear_head(law, task), condition_numbers(law, task)
    posterior = model.posterior(model.sample(50, 5, rng).tokens)
    assert np.allclose(head(posterior @ law.T), posterior @ task.T, atol=1e-7 * numbers.downstream)
    noise = size * rng.normal(size=(50, len(law)))
    excess = np.square(head(posterior @ law.T + noise) - posterior @ task.T).sum(axis=1).mean()
    assert excess <= transfer_bound(numbers.downstream, np.square(noise).sum(axis=1).mean()) * (1 + 1e-6)
    worst = np.linalg.svd(head.weights)[2][0]
    reached = np.square(head.weights @ (size * worst)).sum()
    assert reached == pytest.approx(transfer_bound(numbers.downstream, size**2), rel=1e-6)
    assert numbers.downstream <= np.linalg.norm(task - task.mean(axis=1, keepdims=True), 2) * numbers.least * (1 + 1e-9)


@given(seed=st.integers(0, 10**6))
def test_the_bound_from_log_loss(seed):
    """2κ²KL bounds the excess for κ_T and for the largest column norm, which is no larger."""
    rng = np.random.default_rng(seed)
    model = random_model(seed, letters=4, m=2)
    law, task = model.emission, np.array([[1.0, 0.0]])
    posterior = model.posterior(model.sample(20, 4, rng).tokens)
    exact = posterior @ law.T
    guess = rng.dirichlet(np.ones(4), size=20)
    divergence = float((exact * np.log(exact / guess)).sum(axis=1).mean())
    numbers = condition_numbers(law, task)
    excess = np.square(linear_head(law, task)(guess) - posterior @ task.T).sum(axis=1).mean()
    assert numbers.column <= numbers.downstream * (1 + 1e-9)
    assert excess <= 2 * numbers.column**2 * divergence * (1 + 1e-9)


def test_the_bound_from_log_loss_is_reached():
    """Two fair letters and a guess 1e-3 away: Pinsker's inequality and the column norm are tight, and so is 2κ²KL."""
    law, task = np.array([[0.7, 0.3], [0.3, 0.7]]), np.array([[1.0, 0.0]])
    exact, guess = np.array([[0.5, 0.5]]), np.array([[0.501, 0.499]])
    divergence = float((exact * np.log(exact / guess)).sum())
    excess = float(np.square(linear_head(law, task)(guess) - 0.5).sum())
    assert excess == pytest.approx(2 * condition_numbers(law, task).column ** 2 * divergence, rel=1e-4)


def test_equal_means_are_invisible_to_squared_error():
    """Two latents of equal mean: squared error has κ = ∞ and no head; log loss has σ = .4949747 and an exact one."""
    model = FiniteModel(EQUAL_MEANS, np.array([0.5, 0.5]))
    squared, log = condition_numbers(VALUES @ EQUAL_MEANS), condition_numbers(EQUAL_MEANS)
    assert squared.least == squared.downstream == inf
    assert log.singular == pytest.approx((0.4949747,), abs=5e-8)
    with pytest.raises(ArgumentError, match="No linear head"):
        linear_head(VALUES @ EQUAL_MEANS, np.array([[1.0, 0.0]]))
    posterior = model.posterior(model.sample(2000, 30, 0).tokens)
    task = np.array([[1.0, 0.0]])
    assert np.square(linear_head(EQUAL_MEANS, task)(posterior @ EQUAL_MEANS.T) - posterior @ task.T).max() < 1e-24
    assert posterior[:, 0].var() == pytest.approx(0.24998, abs=0.001)


def test_a_rank_deficient_pretext_still_serves_some_tasks():
    """With P(1 | z) = (.2, .5, .8): T = [1, 0, −1] is served, [0, 1, 0] is not, and σ(AU) = (.6, 0)."""
    law = np.array([[0.8, 0.5, 0.2], [0.2, 0.5, 0.8]])
    assert condition_numbers(law).singular == pytest.approx((0.6, 0.0), abs=1e-12)
    served = condition_numbers(law, np.array([[1.0, 0.0, -1.0]]))
    assert served.downstream == pytest.approx(sqrt(2) / 0.6)
    assert condition_numbers(law, np.array([[0.0, 1.0, 0.0]])).downstream == inf
    posterior = FiniteModel(law, UNIFORM).posterior(np.array([[0, 1, 1], [0, 0, 0]]))
    head = linear_head(law, np.array([[1.0, 0.0, -1.0]]))
    assert head(posterior @ law.T) == pytest.approx(posterior[:, :1] - posterior[:, 2:])


def exact_singular(columns):
    """Singular values of AU from columns of exact numbers, in 300 bits: roots of the eigenvalues of the Gram matrix."""
    with ctx.workprec(300):
        mean = [sum(row, start=arb(0)) / len(columns) for row in zip(*columns, strict=True)]
        centred = [[entry - middle for entry, middle in zip(column, mean, strict=True)] for column in columns]
        gram = [[sum((a * b for a, b in zip(x, y, strict=True)), start=arb(0)) for y in centred] for x in centred]
        squares = acb_mat(gram).eig(algorithm="approx")
    found = sorted((abs(float(value.real.mid())) for value in squares), reverse=True)
    return np.sqrt(found[:-1])  # the last is that of the constant vector, which U leaves out


def exact_block(model, block):
    """The columns of a block's law over all sequences, in 300 bits."""
    with ctx.workprec(300):
        letters = [[arb(float(chance)) for chance in column] for column in model.emission.T]
        words = list(product(range(model.letters), repeat=block))
        return [[prod((chances[letter] for letter in word), start=arb(1)) for word in words] for chances in letters]


@pytest.mark.parametrize(("block", "letters", "m"), [(1, 5, 4), (1, 30, 8), (3, 4, 4), (6, 2, 3), (5, 2, 6)])
def test_singular_values_are_known_to_within_the_rounding(block, letters, m):
    """Of blocks' laws: those in doubles are within τ of those in 300 bits, and 0 where those are below it."""
    for seed in range(5):
        model = random_model(seed, letters=letters, m=m)
        law = block_law(model, block)
        found, exact = condition_numbers(law), exact_singular(exact_block(model, block))
        assert found.rounding == rounding(law) == pytest.approx(2.0**-52 * max(law.shape) * np.linalg.norm(law, 2))
        assert np.abs(np.where(exact > found.rounding, exact, 0.0) - found.singular).max() <= found.rounding


@pytest.mark.parametrize(("rows", "m"), [(4, 3), (8, 4), (40, 6), (200, 12)])
def test_dependent_columns_are_infinite_and_those_that_can_be_told_are_not(rows, m):
    """A last column that mixes others, but for rounding, has κ = κ_T = ∞; moved by 100 τ it has the κ of 300 bits."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        law = rng.dirichlet(np.ones(rows), size=m).T
        law[:, -1] = law[:, :-1] @ rng.dirichlet(np.ones(m - 1))
        task = np.eye(m)[-1:]
        flat = condition_numbers(law, task)
        assert flat.least == flat.downstream == inf
        with pytest.raises(ArgumentError, match="as far as double precision tells"):
            linear_head(law, task)
        law[:, -1] += 100 * flat.rounding * np.linalg.qr(law, mode="complete")[0][:, -1]
        told = condition_numbers(law, task)
        exact = exact_singular([[arb(float(entry)) for entry in column] for column in law.T])
        assert told.least == pytest.approx(1 / exact[-1], rel=0.05)
        assert 1e10 < told.downstream < inf


def test_a_task_that_is_served_but_for_little_is_not_served():
    """A part of 1e-9 in the direction that the pretext cannot see makes κ_T infinite; one of 1e-16 is rounding."""
    law = np.array([[0.8, 0.5, 0.2], [0.2, 0.5, 0.8]])
    unseen = np.array([[1.0, -2.0, 1.0]])
    served = np.array([[1.0, 0.0, -1.0]])
    for share, told in [(1e-9, inf), (1e-12, inf), (1e-16, sqrt(2) / 0.6)]:
        assert condition_numbers(law, served + share * unseen).downstream == pytest.approx(told)


def test_equal_latents_have_no_correlation_to_tell():
    """Two latent values of one law: s_m is 0, not the rounding of 0."""
    law = np.array([[0.3, 0.3, 0.1], [0.1, 0.1, 0.7], [0.6, 0.6, 0.2]])
    for block in (1, 2, 3):
        assert canonical_correlations(FiniteModel(law, UNIFORM), block)[-1] == 0
        assert canonical_correlations(FiniteModel(law, UNIFORM), block)[1] > 0.3


@pytest.mark.slow
def test_estimated_correlations_cover_the_exact_one():
    """For letters, where s_m is known, 95 % intervals from draws hold it in at least 90 % of 200 estimates."""
    model = FiniteModel(SECOND, UNIFORM)
    exact = canonical_correlations(model, 2)[-1]
    found = [estimate_least_correlation(model, 2, draws=2000, rng=seed) for seed in range(200)]
    assert sum(one.contains(exact) for one in found) >= 180
    assert np.mean([one.value for one in found]) == pytest.approx(exact, rel=0.01)


def test_estimated_correlations_of_real_tokens():
    """Two Gaussian clusters: the estimate agrees with the integral of its definition, and grows with the block."""
    pair = GaussianMixture(np.array([[-1.0], [1.0]]), np.eye(2), np.array([0.5, 0.5]))
    grid = np.linspace(-12, 12, 20001)
    laws = np.exp(-((grid[:, None] - np.array([-1.0, 1.0])) ** 2) / 2) / np.sqrt(2 * np.pi)
    both = laws.mean(axis=1)
    exact = float(np.sqrt(((laws[:, 0] - laws[:, 1]) ** 2 / (4 * both)).sum() * (grid[1] - grid[0])))
    one, four = (estimate_least_correlation(pair, block, rng=1) for block in (1, 4))
    assert one.contains(exact)
    assert one.high < four.low < 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: condition_numbers(SECOND, np.ones((1, 3))), "constant"),
        (lambda: condition_numbers(SECOND, np.ones((1, 2))), "a column for each of the 3"),
        (lambda: condition_numbers(np.ones((3, 1))), "one value"),
        (lambda: block_law(FiniteModel(SECOND, UNIFORM), 0), "at least 1"),
        (lambda: canonical_correlations(FiniteModel(SECOND, UNIFORM), 0), "at least 1"),
        (lambda: estimate_least_correlation(FiniteModel(SECOND, UNIFORM), 1, draws=5), "at least 100"),
    ],
)
def test_refusals(call, words):
    """A constant task, another number of latents, one latent, an empty block and too few draws are refused."""
    with pytest.raises(ArgumentError, match=words):
        call()


@pytest.mark.parametrize(("outside", "served"), [(0.1, True), (10.0, False)])
def test_what_a_task_may_have_outside_the_rows(outside, served):
    """With σ = 1e-6 the rows turn by τ/σ: a tenth of it outside them is rounding, ten times it is not served."""
    U = sum_zero_basis(4)
    pretext = np.diag([1.0, 1e-6, 0.0]) @ U.T
    turned = rounding(pretext @ U) / 1e-6
    task = np.array([[0.0, 1.0, outside * turned]]) @ U.T
    assert (condition_numbers(pretext, task).downstream < inf) == served


def test_the_reciprocal_of_the_least_singular_value_is_no_kappa_of_log_loss():
    """For T = (10, 0) the excess is 25 times 2κ²KL with κ = 1/σ_min(AU), and equals 2κ_T²KL with the column norm."""
    law, task = np.array([[0.6, 0.4], [0.4, 0.6]]), np.array([[10.0, 0.0]])
    exact, guess = np.array([[0.5, 0.5]]), np.array([[0.501, 0.499]])
    divergence = float((exact * np.log(exact / guess)).sum())
    numbers = condition_numbers(law, task)
    excess = float(np.square(linear_head(law, task)(guess) - 5.0).sum())
    assert excess / (2 * numbers.least**2 * divergence) == pytest.approx(25.0, rel=1e-4)
    assert excess <= 2 * numbers.column**2 * divergence * (1 + 1e-9) <= 2 * numbers.downstream**2 * divergence * 1.01


def test_kappa_of_longer_blocks_need_not_fall():
    """In the example of `block_law` κ rises from 5.96 to 57.0, and cond falls to 1.77."""
    model = FiniteModel(SECOND, UNIFORM)
    found = [condition_numbers(block_law(model, block)) for block in (1, 2, 3, 4, 6, 8)]
    assert [float(f"{each.least:.3g}") for each in found] == [5.96, 6.27, 8.09, 11.3, 24.7, 57.0]
    assert [found[0].ratio, found[-1].ratio] == pytest.approx([3.07, 1.77], abs=0.005)
