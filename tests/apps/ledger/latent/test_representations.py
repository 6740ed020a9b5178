"""What representations keep of the latent: by enumeration, exactly; contraction and regret beside it."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.apps.ledger.latent.definetti import (
    chernoff_information,
    contraction_rate,
    cumulative_regret,
    regret_ceiling,
)
from keyhole.apps.ledger.latent.representations import (
    compare_representations,
    determines,
    enumerate_sequences,
    joint_probabilities,
    partition,
)
from keyhole.errors import AssumptionError
from keyhole.latent.models.finite import FiniteModel, counts_of

THREE = FiniteModel(np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), np.array([0.5, 0.5]))


def random_model(letters, values, seed):
    """A generic model: columns and prior from a flat Dirichlet."""
    rng = np.random.default_rng(seed)
    return FiniteModel(rng.dirichlet(np.ones(letters), size=values).T, rng.dirichlet(np.ones(values)))


def test_vectors_by_enumeration():
    """Stored numbers: classes, H(R) and I(z; R) for the sequence, counts, posterior, and its first tokens."""
    held = compare_representations(THREE, 3, {"two tokens": lambda x: x[:, :2], "one token": lambda x: x[:, :1]})
    expected = {
        "sequence": (27, 3.264963, 0.176004),
        "counts": (10, 2.217362, 0.176004),
        "posterior": (7, 1.861196, 0.176004),
        "two tokens": (9, 2.183822, 0.124516),
        "one token": (3, 1.096067, 0.066414),
    }
    for name, (classes, entropy, about) in expected.items():
        assert held[name].classes == classes
        assert held[name].entropy == pytest.approx(entropy, abs=5e-7)
        assert held[name].about_latent == pytest.approx(about, abs=5e-7)


def test_equal_rows_merge():
    """m = 3, V = 4, T = 5, two letters with equal rows: 1024 sequences, 56 counts, 21 posteriors = merged counts."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(0.1, 1, size=(4, 3))
    rows[3] = rows[2]
    model = FiniteModel(rows / rows.sum(axis=0), np.array([0.2, 0.3, 0.5]))
    held = compare_representations(model, 5, {"merged": lambda x: np.sort(np.minimum(x, 2), axis=1)})
    assert [held[name].classes for name in ("sequence", "counts", "posterior", "merged")] == [1024, 56, 21, 21]
    assert determines(model, 5, model.posterior, lambda x: np.sort(np.minimum(x, 2), axis=1))


@given(st.integers(2, 3), st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**32), st.data())
def test_posterior_is_sufficient_and_minimal(letters, values, length, seed, data):
    """The posterior keeps I(z; X); every sufficient R determines it and has H(R) ≥ H(π); others keep less."""
    model = random_model(letters, values, seed)
    groups = data.draw(st.lists(st.integers(0, 3), min_size=letters**length, max_size=letters**length))
    digits = letters ** np.arange(length)[::-1]

    def own(tokens):
        return np.array(groups)[tokens @ digits]

    held = compare_representations(model, length, {"own": own})
    everything = pytest.approx(held["sequence"].about_latent, abs=1e-9)
    assert held["posterior"].about_latent == everything
    assert held["counts"].about_latent == everything
    assert determines(model, length, counts_of(model), model.posterior)
    assert held["own"].about_latent <= held["sequence"].about_latent + 1e-12
    assert held["posterior"].entropy <= held["counts"].entropy + 1e-12
    if determines(model, length, own, model.posterior):
        assert held["own"].about_latent == everything
        assert held["posterior"].entropy <= held["own"].entropy + 1e-12


def test_information_by_its_definition():
    """H and I from the sums that define them, one class at a time."""
    sequences = enumerate_sequences(3, 3)
    joint, groups = joint_probabilities(THREE, sequences), partition(sequences[:, :2])
    entropy = about = 0.0
    for group in np.unique(groups):
        both = joint[groups == group].sum(axis=0)
        entropy -= both.sum() * log(both.sum())
        about += sum(p * log(p / (both.sum() * prior)) for p, prior in zip(both, THREE.prior, strict=True))
    held = compare_representations(THREE, 3, {"two": lambda x: x[:, :2]})["two"]
    assert (held.entropy, held.about_latent) == pytest.approx((entropy, about))


def test_beliefs_near_certainty_stay_apart():
    """A nearly sure coin, T = 9: ten counts are ten posteriors, from 1e-27 to 1; nothing of H(counts) is lost."""
    coin = FiniteModel(np.array([[0.999, 0.001], [0.001, 0.999]]), np.array([0.5, 0.5]))
    held = compare_representations(coin, 9)
    assert held["posterior"].classes == held["counts"].classes == 10
    assert held["posterior"].entropy == pytest.approx(held["counts"].entropy, abs=1e-12)
    assert determines(coin, 9, coin.posterior, counts_of(coin))


def test_reals_are_told_apart_by_gaps_and_not_by_a_grid():
    """Rounding on both sides of half a unit of the ninth digit is one number; a gap of 2e-9 makes two."""
    edge = 0.5e-9
    assert partition(np.array([edge - 1e-16, edge + 1e-16, edge + 2e-9, -0.0, 0.0])).tolist() == [0, 0, 1, 0, 0]
    assert partition(np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])).tolist() == [0, 0, 1]


def test_fixed_label_needs_less():
    """A representation for one label only (here: which token came first) is no sufficient one."""
    assert not determines(THREE, 3, lambda x: x[:, :1], THREE.posterior)


COIN = FiniteModel(np.array([[0.6, 0.4], [0.4, 0.6]]), np.array([0.5, 0.5]))


def test_vectors_of_contraction():
    """E[−log π(z*)] at T = 20..160, its local rates, and the Chernoff information they fall to; KL is far off."""
    losses = [COIN.bayes_risk(length) for length in (20, 40, 80, 160)]
    assert losses == pytest.approx([0.3997445, 0.2403963, 0.0917106, 0.0146944], abs=5e-8)
    rates = [log(a / b) / gap for a, b, gap in zip(losses, losses[1:], (20, 40, 80), strict=False)]
    assert rates == pytest.approx([0.025427, 0.024091, 0.022890], abs=5e-7)
    assert contraction_rate(COIN) == pytest.approx(0.0204110, abs=5e-8)
    assert rates[0] > rates[1] > rates[2] > contraction_rate(COIN)


@given(st.integers(2, 5), st.integers(0, 2**32))
def test_chernoff_by_a_fine_grid(letters, seed):
    """The golden section finds what a grid of 2001 exponents finds, and is symmetric in its laws."""
    first, second = np.random.default_rng(seed).dirichlet(np.ones(letters), size=2)
    grid = np.linspace(0, 1, 2001)[:, None]
    slow = float((-np.log((first**grid * second ** (1 - grid)).sum(axis=1))).max())
    fast = chernoff_information(first, second)
    assert slow - 1e-12 <= fast <= slow + 1e-3 * (1 + slow)  # the grid misses the top by a second-order term
    assert fast == pytest.approx(chernoff_information(second, first), abs=1e-9)


def test_chernoff_edges():
    """Equal laws are never told apart, disjoint ones at once."""
    assert chernoff_information(np.array([0.3, 0.7]), np.array([0.3, 0.7])) == pytest.approx(0, abs=1e-12)
    assert chernoff_information(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == float("inf")


@given(st.integers(2, 4), st.integers(1, 5), st.integers(0, 2**32))
def test_regret_never_exceeds_its_ceiling(letters, values, seed):
    """On every sequence, at every t: regret ≤ log(1/p_z) of the best z ≤ the ceiling; it telescopes."""
    model = random_model(letters, values, seed)
    tokens = np.random.default_rng(seed).integers(letters, size=(4, 12))
    regret = cumulative_regret(model, tokens)
    assert regret.max() <= regret_ceiling(model) + 1e-10
    logs = model.log_likelihood(tokens)
    slow = np.zeros(4)
    for t in range(12):
        chances = model.posterior_mean(tokens[:, :t])[np.arange(4), tokens[:, t]]
        slow -= np.log(chances)
        best = logs[:, : t + 1].sum(axis=1)
        assert regret[:, t] == pytest.approx(slow + best.max(axis=1), abs=1e-9)
        assert (regret[:, t] <= -np.log(model.prior[best.argmax(axis=1)]) + 1e-10).all()


def test_a_latent_the_prior_excludes_has_no_ceiling():
    """Prior (1, 0): the best latent in hindsight may be the excluded one, and the regret grows without end."""
    model = FiniteModel(np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([1.0, 0.0]))
    regret = cumulative_regret(model, np.ones((1, 20), dtype=int))
    assert regret[0] == pytest.approx(np.arange(1, 21) * log(9))
    assert regret.max() <= regret_ceiling(model) == float("inf")


def test_regret_where_a_sequence_cannot_be():
    """Impossible under the prior's latents alone: regret ∞. Impossible under all: refused."""
    model = FiniteModel(np.array([[1.0, 0.5], [0.0, 0.5], [0.0, 0.0]]), np.array([1.0, 0.0]))
    assert cumulative_regret(model, np.array([[0, 1]])).tolist() == [[0.0, float("inf")]]
    with pytest.raises(AssumptionError, match="its regret is not defined"):
        cumulative_regret(model, np.array([[0, 2]]))


def test_eight_latents_pay_at_most_log_eight():
    """A uniform prior on eight latents: ceiling log 8, nearly paid in full after 400 tokens."""
    model = FiniteModel(random_model(5, 8, 1).emission, np.full(8, 1 / 8))
    assert regret_ceiling(model) == pytest.approx(log(8))
    paid = cumulative_regret(model, model.sample(200, 400, 0).tokens).mean(axis=0)
    assert paid.max() <= log(8) + 1e-12
    assert paid[399] > 0.95 * log(8)
