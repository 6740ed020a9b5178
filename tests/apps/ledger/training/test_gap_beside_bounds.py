"""What is concluded from gaps beside bounds, on numbers made by hand, and what the bounds and the floor are made of."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from keyhole.apps.ledger.training import gap_beside_bounds as gaps
from keyhole.apps.ledger.training.gap_beside_bounds import ANY, COUNTED, OCCAM, PRODUCT, TABLES, Rungs

LAYER = Rungs(
    "uniform", 100, 8000, 1.5, 20.0, 0.01, 0.0, 0.02, 0.0, 0.1, {PRODUCT: 0.4, ANY: 2.0, TABLES: 3.0, COUNTED: 9.0}
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "holds"),
        ({"bounds": {**LAYER.bounds, PRODUCT: 1.1}}, "holds"),  # vacuous is not wrong
        ({"bounds": {**LAYER.bounds, TABLES: 0.9}}, "holds"),
        ({"bounds": {**LAYER.bounds, PRODUCT: 0.09}}, "fails here"),  # below the floor
        ({"gap": 0.6, "low": 0.5}, "fails here"),  # below the gap
        ({"gap": 9.6, "low": 9.5}, "fails here"),
        ({"error": 0.05, "bounds": {**LAYER.bounds, OCCAM: 0.06}}, "holds"),
        ({"error": 0.05, "bounds": {**LAYER.bounds, OCCAM: 0.04}}, "fails here"),
        ({"gap": 0.45, "low": 0.35, "high": 0.55}, "holds"),  # within the interval
    ],
)
def test_gaps_beside_bounds_are_judged_clause_by_clause(change, verdict):
    """A bound below its gap or floor turns the verdict, a vacuous one does not."""
    small = replace(LAYER, samples=1000, bounds={PRODUCT: 1.2, ANY: 2.0, TABLES: 3.0})
    outcome = gaps.conclude([small, replace(LAYER, **change)], deep=lambda: 50.0)
    assert outcome.verdict == verdict
    assert "vacuous" in outcome.measurement


def test_the_floor_is_the_complexity_of_functions_of_one_position():
    """On a few inputs the drawn signs give what all signs and all functions of one bit give, to the noise of draws."""
    rng = np.random.default_rng(2)
    inputs = rng.integers(0, 2, (7, 4)).astype(np.uint8)
    best = [
        max(
            sum(x * e[b] for x, b in zip(signs, inputs[:, t], strict=True))
            for t in range(4)
            for e in product((-1, 1), repeat=2)
        )
        for signs in product((-1, 1), repeat=7)
    ]
    drawn = np.mean([gaps.one_position_complexity(inputs, rng) for _ in range(40)])
    assert abs(drawn - np.mean(best) / 7) < 5 * np.std(best) / 7 / np.sqrt(40 * gaps.SIGNS)


def test_the_laws_are_what_they_are_called():
    """Fair bits, bits that are 1 four times in five, and fair bits that repeat the one before four times in five."""
    rng = np.random.default_rng(3)
    uniform, biased, sticky = (gaps.draw(law, 4000, 30, rng) for law in ("uniform", "biased", "sticky"))
    assert [round(float(part.mean()), 1) for part in (uniform, biased, sticky)] == [0.5, 0.8, 0.5]
    stays = [float((part[:, 1:] == part[:, :-1]).mean()) for part in (uniform, biased, sticky)]
    assert np.abs(np.array(stays) - [0.5, 0.68, 0.8]).max() < 0.01


def test_independent_symbols_are_used_only_where_they_are():
    """Sticky bits have no bound for independent symbols; the spread moves the bounds for any law, and not that one."""
    assert PRODUCT not in gaps.norm_bounds(1.5, 2.0, 100, 8000, None, odd_units=True)
    narrow, wide = (gaps.norm_bounds(1.5, spread, 100, 80_000, 0.5, odd_units=True) for spread in (1.0, 6.0))
    assert narrow[PRODUCT] == wide[PRODUCT] < 1
    assert narrow[ANY] < wide[ANY]
    assert narrow[TABLES] < wide[TABLES]
    assert gaps.depth_two() >= 1


def test_a_margin_is_taken_from_a_grid_and_paid_for():
    """γ is the largest 64 · 2^{−j/4} below the margin, at a share of 1/(j(j + 1)) of δ; the shares add up to one."""
    for j in (1, 2, 7, 30):
        assert gaps.grid_margin(64 * 2 ** (-j / 4) * 1.0001) == pytest.approx((64 * 2 ** (-j / 4), 1 / (j * (j + 1))))
    assert gaps.grid_margin(500.0) == pytest.approx((64 * 2**-0.25, 0.5))
    assert gaps.grid_margin(-1.0)[0] <= gaps.SMALLEST
    assert sum(gaps.grid_margin(64 * 2 ** (-j / 4))[1] for j in range(1, 40)) == pytest.approx(1 - 1 / 40)
    for margin in (0.01, 0.5, 1.0, 5.2):  # no more than a quarter of a doubling is lost
        assert 2**-0.25 * margin * 0.999 <= gaps.grid_margin(margin)[0] <= margin


def test_layers_without_units_pay_half_for_their_path_norm():
    """At a large sample, where chance hardly counts, the bounds are half of those of layers with units."""
    odd, other = (gaps.norm_bounds(8.0, 0.0, 100, 10**12, 0.5, odd_units=odd) for odd in (True, False))
    assert all(other[name] > 1.7 * odd[name] for name in odd)
