"""The cover calculus: sums, concatenations, maps and depth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.bounds.covers.calculus import Cover, concatenated, deepened, plain
from keyhole.bounds.covers.linear import bilinear_cover, matrix_cover, scalar_cover
from keyhole.errors import AssumptionError

positives = st.floats(0.01, 100)
triples = st.lists(st.tuples(positives, positives, positives), min_size=1, max_size=6)


def cover_of(rows):
    """A cover with these terms."""
    return sum((plain(*row, name=f"part {i}") for i, row in enumerate(rows)), Cover(()))


@given(triples, st.lists(positives, min_size=6, max_size=6), st.floats(0.1, 10))
def test_no_split_of_the_error_costs_less(rows, shares, accuracy):
    """Rule 1 is optimal: any split with Σ c_j ε_j = ε costs at least C/ε², and its own split costs that."""
    cover = cover_of(rows)
    total = sum(shares[: len(rows)])
    other = [accuracy * share / (total * c) for share, (c, _, _) in zip(shares, rows, strict=False)]
    cost = sum(a * a * nats / e**2 for (_, a, nats), e in zip(rows, other, strict=True))
    assert cover.capacity / accuracy**2 <= cost * (1 + 1e-12)
    own = cover.split(accuracy)
    assert sum(c * e for (c, _, _), e in zip(rows, own, strict=True)) == pytest.approx(accuracy)
    assert cover.log_size(accuracy) == pytest.approx(cover.capacity / accuracy**2)


@given(triples, st.lists(positives, min_size=6, max_size=6), st.floats(0.1, 10))
def test_no_split_of_the_squared_error_costs_less(rows, shares, accuracy):
    """Rule 2 is optimal: any split with Σ ε_h² = ε² costs at least (Σ√C_h)²/ε²."""
    each = [cover_of([row]) for row in rows]
    total = sum(shares[: len(rows)])
    squares = [accuracy**2 * share / total for share, _ in zip(shares, rows, strict=False)]
    cost = sum(cover.capacity / square for cover, square in zip(each, squares, strict=True))
    joined = concatenated(each)
    assert joined.capacity / accuracy**2 <= cost * (1 + 1e-12)
    assert joined.log_size(accuracy) == pytest.approx(joined.capacity / accuracy**2)


@given(triples, st.floats(0, 10))
def test_a_lipschitz_map_multiplies_capacity_by_its_square(rows, lipschitz):
    """C(g∘F) = L² C(F)."""
    assert cover_of(rows).through(lipschitz).capacity == pytest.approx(lipschitz**2 * cover_of(rows).capacity)


@given(triples)
def test_shares_add_up_to_one(rows):
    """The shares of the terms in the derivation sum to one, and its value is C."""
    step = cover_of(rows).step
    assert sum(part.share for part in step.parts) == pytest.approx(1)
    assert step.value == pytest.approx(cover_of(rows).capacity)


def test_vectors():
    """Sum and concatenation of the theory's three terms, and the split of the first."""
    summed = plain(1, 1, 1) + plain(2, 1, 1) + plain(1, 3, 4)
    assert round(summed.capacity, 6) == 204.266569
    assert tuple(round(e, 6) for e in summed.split(1.0)) == (0.169799, 0.134769, 0.560663)
    parts = [plain(1, 1, 1), plain(1, 2, 1), plain(1, 3, 1)]
    assert concatenated(parts).capacity == pytest.approx(36, rel=1e-12)
    assert round(sum(parts, Cover(())).capacity, 6) == 101.683095


def test_equal_heads_cost_their_cube_as_a_sum_and_their_square_side_by_side():
    """H³ against H²."""
    heads = [plain(1, 2, 3)] * 5
    assert sum(heads, Cover(())).capacity == pytest.approx(5**3 * heads[0].capacity)
    assert concatenated(heads).capacity == pytest.approx(5**2 * heads[0].capacity)


def test_depth_multiplies_what_came_before():
    """Errors from below arrive multiplied by Lip, and once more with a residual connection."""
    below, own = plain(1, 1, 1), plain(1, 1, 1)
    assert [t.weight for t in deepened(below, 3.0, own).terms] == [3.0, 1.0]
    assert [t.weight for t in deepened(below, 3.0, own, residual=True).terms] == [4.0, 1.0]


@given(st.floats(0.05, 3))
def test_whole_steps_never_cost_more_than_the_smooth_form(accuracy):
    """The size of a cover counted in steps is at most C/ε²."""
    cover = matrix_cover(2.0, 1.0, 4, 50) + bilinear_cover(5.0, 1.0, 1.0, 50).through(2.0) + scalar_cover(3, 1, 9)
    assert cover.log_size(accuracy) <= cover.capacity / accuracy**2 * (1 + 1e-9)


def test_terms_that_cost_nothing_are_left_out():
    """A part of scale or weight zero needs no accuracy, and nothing divides by it."""
    cover = plain(1, 0, 1) + plain(0, 1, 1) + plain(1, 1, 1)
    assert cover.capacity == pytest.approx(1)
    assert cover.log_size(1.0) == pytest.approx(1)
    assert concatenated([plain(1, 0, 1)]).log_size(1.0) == 0


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_refuses_what_is_not_a_norm(bad):
    """Weights, scales and Lipschitz constants are finite and not negative."""
    with pytest.raises(AssumptionError, match="≥ 0 and finite"):
        plain(1, bad, 1)
    with pytest.raises(AssumptionError, match="≥ 0 and finite"):
        plain(1, 1, 1).through(bad)
