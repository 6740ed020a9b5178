"""Laws of the diagnosis of a head: what it finds is what was put in."""

from dataclasses import replace

import numpy as np
import pytest

from keyhole.apps.heads.diagnosis import _up_to_a_factor, diagnose_head
from keyhole.errors import AssumptionError
from keyhole.latent.models.sphere import draw_sphere_function, uniform_on_sphere


def head(seed=0, tokens=500, noise=0.3):
    """Keys on the sphere, values a function of them with noise, queries on the sphere."""
    rng = np.random.default_rng(seed)
    function = draw_sphere_function(rng)
    keys, queries = uniform_on_sphere(tokens, 3, rng), uniform_on_sphere(60, 3, rng)
    return queries, keys, function(keys) + noise * rng.normal(size=(tokens, 2))


def named(found):
    """Fits by the first word of their name."""
    return {"own": found.own} | {fit.name.split()[0]: fit for fit in found.fits[:3]}


def test_a_blunt_head_is_told_from_the_best_estimator():
    """Values are a function of keys: conditional-mean attention explains all but the noise, a hot softmax less.

    The noise is 2 · 0.09 of the held-out spread; nothing explains more than chance allows, and the conditional mean of
    250 tokens comes within a fifth of it.
    """
    queries, keys, values = head()
    found = diagnose_head(queries, keys, values, temperature=1.0, rng=np.random.default_rng(0))
    fits = named(found)
    floor = 0.18 / np.square(values - values.mean(axis=0)).sum(axis=1).mean()
    assert fits["mean"].unexplained == pytest.approx(1, abs=4 * fits["mean"].standard_error)
    best = fits["conditional"]
    assert floor - 4 * best.standard_error < best.unexplained < 1.2 * floor + 4 * best.standard_error
    assert best.unexplained <= fits["softmax"].unexplained + best.standard_error
    assert found.own.unexplained > fits["softmax"].unexplained + 5 * best.standard_error
    assert found.own.unexplained > found.best.unexplained
    assert fits["softmax"].temperature < 1.0
    assert found.informative


def test_values_without_relation_to_keys_are_found_so():
    """Nothing explains them: every fit is within four standard errors of the mean's."""
    queries, keys, _ = head(1)
    values = np.random.default_rng(5).normal(size=(500, 2))
    found = diagnose_head(queries, keys, values, temperature=1.0, rng=np.random.default_rng(0))
    assert all(fit.unexplained > 1 - 4 * fit.standard_error for fit in (found.own, *found.fits))
    assert not found.informative


def test_the_head_at_its_best_temperature_agrees_with_itself():
    """The head's own fit gives its outputs exactly, by the factor 1."""
    queries, keys, values = head(2)
    found = diagnose_head(queries, keys, values, temperature=0.1, rng=np.random.default_rng(0))
    assert found.own.factor == pytest.approx(1, abs=1e-9)
    assert found.own.disagreement < 1e-9
    assert named(found)["mean"].disagreement == 1


def test_agreement_with_the_head_is_that_of_two_solutions_by_hand():
    """The head's softmax and the conditional mean at the settings chosen, each written out, and one least square."""
    queries, keys, values = head(9, tokens=60)
    found = diagnose_head(queries, keys, values, temperature=0.3, rng=np.random.default_rng(0))
    fit = named(found)["conditional"]
    alike, middle = np.exp(queries @ keys.T / 0.3), values.mean(axis=0)
    outputs = alike / alike.sum(axis=1, keepdims=True) @ values - middle
    gram = np.exp((keys @ keys.T - 1) / fit.temperature) + fit.ridge * np.eye(60)
    answers = np.exp((queries @ keys.T - 1) / fit.temperature) @ np.linalg.inv(gram) @ (values - middle)
    factor, left, *_ = np.linalg.lstsq(answers.reshape(-1, 1), outputs.ravel())
    assert fit.factor == pytest.approx(factor[0], rel=1e-6)  # the reach of drawn keys is 1 up to rounding
    assert fit.disagreement == pytest.approx(left[0] / np.square(outputs).sum(), rel=1e-6)


@pytest.mark.slow
def test_one_degree_is_the_conditional_mean_up_to_a_constant_and_two_are_not():
    """Values linear in the keys: a hot softmax is a constant times them. With a second degree it is not."""
    rng = np.random.default_rng(3)
    keys, queries = uniform_on_sphere(800, 3, rng), uniform_on_sphere(60, 3, rng)
    linear = keys @ rng.normal(size=(3, 1))
    curved = linear + 3 * keys[:, :1] * keys[:, 1:2]
    one, two = (diagnose_head(queries, keys, values, temperature=0.5, rng=rng) for values in (linear, curved))
    fits = [named(found)["conditional"] for found in (one, two)]
    assert fits[0].factor == pytest.approx(0.5373, rel=0.1)  # A_{3,1}(2), from 800 random keys
    assert fits[0].disagreement < 0.02 < fits[1].disagreement


@pytest.mark.slow
def test_rotation_changes_nothing():
    """Keys and queries turned together, values scaled: the same shares."""
    queries, keys, values = head(4)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    first = diagnose_head(queries, keys, values, temperature=0.4, rng=np.random.default_rng(0))
    second = diagnose_head(queries @ turn, keys @ turn, 7 * values, temperature=0.4, rng=np.random.default_rng(0))
    for one, other in zip((first.own, *first.fits), (second.own, *second.fits), strict=True):
        assert other.unexplained == pytest.approx(one.unexplained, rel=1e-6)
        assert replace(other, unexplained=0, standard_error=0, factor=0, disagreement=0, ridge=0) == pytest.approx(
            replace(one, unexplained=0, standard_error=0, factor=0, disagreement=0, ridge=0)
        )


@pytest.mark.parametrize(("tokens", "seed", "temperature"), [(60, 1, 0.01), (200, 2, np.sqrt(8))])
def test_long_queries_do_not_overflow(tokens, seed, temperature):
    """Queries much longer than the keys: every number of every fit is finite, a share at most 1 of its spread."""
    rng = np.random.default_rng(seed)
    keys, queries, values = rng.normal(size=(tokens, 8)), 3 * rng.normal(size=(tokens, 8)), rng.normal(size=(tokens, 8))
    found = diagnose_head(queries, keys, values, temperature=temperature, rng=rng)
    for fit in (found.own, *found.fits):
        assert np.isfinite([fit.unexplained, fit.standard_error, fit.factor, fit.disagreement]).all()
        assert 0 <= fit.disagreement <= 1


def test_a_scaled_fit_has_the_same_share():
    """Outputs are the fit plus what is orthogonal to it: the share is its part, also where squares overflow."""
    for scale in (1e60, 1e100):
        factor, left = _up_to_a_factor(scale * np.array([[3.0, 0.0]]), 1e60 * np.array([[6.0, 8.0]]))
        assert factor * scale == pytest.approx(2e60)
        assert left == pytest.approx(0.64)


def test_queries_beyond_all_temperatures_are_refused():
    """The exponential kernel at such queries is no double at any temperature of the grid."""
    queries, keys, values = head(9, tokens=20)
    with pytest.raises(AssumptionError, match=r"exceeds e\^150 at every temperature up to 64"):
        diagnose_head(1e6 * queries, keys, values, temperature=1.0, rng=np.random.default_rng(0))


def test_values_without_a_spread_are_refused():
    """Equal values leave nothing to explain."""
    queries, keys, values = head(7, tokens=20)
    with pytest.raises(AssumptionError, match="values are equal"):
        diagnose_head(queries, keys, 0 * values, temperature=1.0, rng=np.random.default_rng(0))
