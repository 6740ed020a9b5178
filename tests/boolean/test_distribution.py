"""Laws of the bits: the balanced one, and what is not a law."""

import pytest

from keyhole.boolean.families import conjunction, disjunction, majority, parity
from keyhole.boolean.function import constant, from_levels, literal
from keyhole.boolean.influence import UNIFORM, Bernoulli, balanced, probability
from keyhole.errors import AssumptionError


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
