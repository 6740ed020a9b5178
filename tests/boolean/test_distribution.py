"""Laws of the bits: samples are reproducible, packed or not, and follow their law."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean import distribution
from keyhole.boolean.distribution import UNIFORM, Bernoulli, balanced, sample
from keyhole.boolean.families import conjunction, disjunction, majority, parity
from keyhole.boolean.function import constant, from_levels, literal
from keyhole.boolean.influence import probability
from keyhole.errors import AssumptionError

laws = st.sampled_from([Bernoulli(p) for p in (0.0, 0.1, 0.5, 0.7937005, 1.0)])
seeds = st.integers(0, 2**64)


@given(laws, st.integers(0, 40), st.integers(1, 70), seeds)
def test_one_seed_one_sample(law, n, context, seed):
    """The same bits each time."""
    bits = sample(law, n, context, seed)
    assert bits.shape == (n, context)
    assert np.array_equal(bits, sample(law, n, context, seed))


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 20), seeds, st.sampled_from([1, 7, 64, 1 << 22]))
def test_fewer_rows_are_a_prefix(fewer, more, context, seed, block):
    """The first rows do not depend on how many are drawn, nor on how they are cut into blocks."""
    law = Bernoulli(0.3)
    whole = sample(law, fewer + more, context, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distribution, "BLOCK", block)
        assert np.array_equal(sample(law, fewer, context, seed), whole[:fewer])


def test_seeds_matter():
    """Different seeds give different bits (two equal samples of 1,000 fair bits have probability 2^−1000)."""
    assert not np.array_equal(sample(UNIFORM, 10, 100, 0), sample(UNIFORM, 10, 100, 1))


@pytest.mark.parametrize("p", [0.0, 0.01, 0.5, 0.7937005, 1.0])
def test_the_mean_of_the_bits(p):
    """By Hoeffding the mean of n bits is off by more than √(log(2/δ)/2n) with probability below δ = 1e-9."""
    bits = sample(Bernoulli(p), 2000, 250, seed=5)
    slack = sqrt(log(2 / 1e-9) / (2 * bits.size))
    assert abs(bits.mean() - p) <= (slack if 0 < p < 1 else 0)
    column = sqrt(log(2 * 250 / 1e-9) / (2 * 2000))  # every column at once, by a union bound
    assert np.abs(bits.mean(axis=0) - p).max() <= column


def test_bits_are_independent():
    """Parities of any two columns of fair bits are fair: 45 pairs of 20,000, by Hoeffding at δ = 1e-9."""
    bits = sample(UNIFORM, 20_000, 10, seed=9)
    pairs = [(bits[:, i] ^ bits[:, j]).mean() for i in range(10) for j in range(i)]
    assert np.abs(np.array(pairs) - 0.5).max() <= sqrt(log(2 * 45 / 1e-9) / (2 * 20_000))


@pytest.mark.parametrize(("s", "p"), [(2, 0.7071068), (3, 0.7937005), (4, 0.8408964), (5, 0.8705506)])
def test_balanced_conjunctions(s, p):
    """Here p = 2^{−1/s}, and the mirror image for a disjunction."""
    assert balanced(conjunction(tuple(range(s)))).p == pytest.approx(p, abs=5e-8)
    assert balanced(conjunction(tuple(range(s)))).p == pytest.approx(2 ** (-1 / s), rel=1e-15)
    assert balanced(disjunction(tuple(range(s)))).p == pytest.approx(1 - 2 ** (-1 / s), rel=1e-14)


@pytest.mark.parametrize(
    "function",
    [
        ~conjunction((0, 1, 2)),
        literal(0) & majority((1, 2, 3)),
        ~literal(0) & ~literal(1),
        conjunction(tuple(range(300))),
        from_levels((0, 1, 2, 3), (False, True, False, True, True)),
    ],
)
def test_balanced_laws_balance(function):
    """Under the balanced law the function is 1 half of the time."""
    assert probability(function, balanced(function).p) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("function", [parity((0, 1, 2, 3)), majority((0, 1, 2)), literal(7), ~literal(7)])
def test_what_is_balanced_stays_uniform(function):
    """Fair bits are kept where they balance the function, as for every parity."""
    assert balanced(function) == UNIFORM


@pytest.mark.parametrize(
    "function",
    [constant(value=False), constant(value=True), conjunction((0, 1)) & ~literal(2), literal(0) & ~literal(1)],
)
def test_no_balance_is_certain(function):
    """With one value on all-zero and all-one inputs there may be no balanced law."""
    with pytest.raises(AssumptionError, match=r"balanced law was asked for, but .* same value on all-zero and all-one"):
        balanced(function)


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan")])
def test_a_law_needs_a_probability(p):
    """Here p lies in [0, 1]."""
    with pytest.raises(AssumptionError, match=f"probability {p} were asked for"):
        Bernoulli(p)


@pytest.mark.parametrize(("n", "context"), [(-1, 3), (2, 0), (2, -1)])
def test_sizes_are_refused(n, context):
    """No negative number of inputs, and no empty context."""
    with pytest.raises(AssumptionError, match=f"{n} inputs of {context} bits were asked for"):
        sample(UNIFORM, n, context, 0)


def test_negative_seeds_are_refused():
    """A seed is a natural number."""
    with pytest.raises(AssumptionError, match="seed -1 was given; a seed is at least 0"):
        sample(UNIFORM, 2, 3, -1)
