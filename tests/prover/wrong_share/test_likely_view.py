"""What is said of functionals on a slab holds but for a set no more probable than was counted."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from keyhole.attention import tabulate
from keyhole.boolean import SymbolLaw, biased_bits, uniform_law
from keyhole.prover.proof.tables import outputs, split, tables_of
from keyhole.prover.wrong_share.linear_statistic import LinearStatistic
from keyhole.prover.wrong_share.slab_bounds import likely_view, slab_of
from keyhole.rigorous import exact

from helpers.random_models import Plan, random_model

TOKENS = 10
INPUTS = np.array(list(product(range(2), repeat=TOKENS)))


def case(seed, chance, heads=2):
    """A random model's heads over a random slab, the inputs of the slab, their chances and the heads' outputs there."""
    rng = np.random.default_rng(seed)
    law = uniform_law(2) if seed % 2 else biased_bits(0.3)
    tables = tables_of(tabulate(random_model(Plan(seed=seed, tokens=TOKENS, heads=heads))), ())
    statistic = LinearStatistic(rng.integers(0, 12, (TOKENS, 2)), law)
    low, high = sorted(rng.integers(0, statistic.most + 2, 2).tolist())
    high = max(high, low + 1)
    seen = likely_view(tables, split(tables, ((),), ()), slab_of(statistic, low, high), range(TOKENS), chance)
    sums = statistic.weights[np.arange(TOKENS), INPUTS].sum(axis=1)
    inside = (sums >= low) & (sums < high)
    chances = np.prod(np.asarray(law.chances)[INPUTS], axis=1)
    shown = np.stack([INPUTS == 0, INPUTS == 1], axis=2).astype(np.float64)
    order = [places[0] for places in tables.places]
    return seen, chances, inside, outputs(tables, shown[:, order]).mid, rng


@pytest.mark.parametrize("chance", [0.1, 1e-3])
def test_a_bound_fails_on_no_more_than_the_sets_counted(chance):
    """P(slab and a functional below its bound) ≤ the number of events counted times the chance of each."""
    binding = 0
    for seed in range(24):
        seen, chances, inside, mixed, rng = case(seed, chance)
        w = rng.normal(size=(1, 1, mixed.shape[1]))
        low = seen.least(exact(w))[0, 0]
        failing = inside & (mixed @ w[0, 0] < low)
        assert chances[failing].sum() <= seen.events * chance
        binding += bool(failing.any())
        everywhere = (mixed @ w[0, 0])[inside].min(initial=np.inf)
        assert low <= everywhere + 4 * np.abs(w).sum()
    assert binding or chance < 0.1  # some bounds do leave inputs out: this is not a bound of all


def test_the_slab_is_no_likelier_than_its_bound():
    """P(slab ∩ E) ≤ e^{log_chance} Q(E) for E all inputs, single inputs, and all between."""
    for seed in range(20):
        seen, chances, inside, _, rng = case(seed, 0.1)
        slab = seen.slab
        tilted = np.prod(slab.chances[np.arange(TOKENS), INPUTS], axis=1)
        ratio = chances[inside] / tilted[inside]
        assert (ratio <= np.exp(slab.log_chance)).all() or slab.log_chance > -1e-8
        some = inside & (rng.random(len(inside)) < 0.5)
        assert chances[some].sum() <= np.exp(slab.log_chance) * max(tilted[some].sum(), 0.0) or slab.log_chance > -1e-8
        if inside.any():  # and no farther off than a tilt to the slab's nearest value
            assert chances[inside].sum() <= np.exp(slab.log_chance)


def test_the_deviation_is_chernoffs():
    """The deviation allowed is within 2 % of the best that any λ gives, found by another method."""
    rng = np.random.default_rng(1)
    statistic = LinearStatistic(np.tile([0, 1], (60, 1)), SymbolLaw((0.5, 0.5)))
    tables = tables_of(tabulate(random_model(Plan(seed=1, tokens=60))), ())
    slab = slab_of(statistic, 0, 61)
    seen = likely_view(tables, split(tables, ((),), ()), slab, range(60), 1e-6)
    terms = rng.normal(size=(60, 2, 1))
    low, rest, _ = seen.low(terms)
    _, least, _ = seen._orthogonal(terms)
    centred = rest[:, :, 0] - rest[:, :, 0].mean(axis=1, keepdims=True)
    allowed = rest[:, :, 0].mean(axis=1).sum() + least[0] - low[0]

    def deviation(rate):
        return (np.log(np.exp(-rate * centred).mean(axis=1)).sum() + np.log(1e6)) / rate

    best = minimize_scalar(deviation, bounds=(1e-3, 20.0), method="bounded").fun
    assert best <= allowed <= 1.02 * best


def test_the_quick_width_is_hoeffdings():
    """Of 400 fair signs no more than 2τ lie beyond the width; √2 times nearer, ten times as many would."""
    n, chance = 400, 1e-4
    statistic = LinearStatistic(np.tile([0, 1], (n, 1)), SymbolLaw((0.5, 0.5)))
    tables = tables_of(tabulate(random_model(Plan(seed=1, tokens=n))), ())
    seen = likely_view(tables, split(tables, ((),), ()), slab_of(statistic, 0, n + 1), range(n), chance)
    signs = np.where(np.arange(n) < n // 2, 1.0, -1.0)  # at right angles to the statistic
    low, high = seen._wide((signs[:, None] * np.array([-1.0, 1.0]))[:, :, None])
    assert high[0] == pytest.approx(np.sqrt(n * 4 * np.log(1 / chance) / 2), rel=1e-5)  # padded by a millionth
    assert low[0] == pytest.approx(-high[0], rel=1e-6)

    def beyond(width):
        return 2 * binom.sf(np.ceil((width + n) / 2) - 1, n, 0.5)

    assert beyond(high[0]) <= 2 * chance < 20 * chance < beyond(high[0] / np.sqrt(2))
