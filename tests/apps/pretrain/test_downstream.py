"""Baselines of transfer: training on labels alone, and a head on the exact posterior."""

import numpy as np
import pytest

from keyhole.apps.pretrain.downstream import block_representation, fit_from_scratch, fit_head, transfer
from keyhole.errors import ArgumentError
from keyhole.latent.models import FiniteModel, letter_counts

THREE = FiniteModel(np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.1], [0.1, 0.2, 0.2], [0.1, 0.2, 0.6]]), np.full(3, 1 / 3))
FIRST = np.array([[1.0, 0.0, 0.0]])


@pytest.mark.slow
def test_trained_on_many_labels_it_is_the_posterior():
    """Attention trained on labels alone holds the posterior, and finds it; more labels bring it nearer."""
    drawn = THREE.sample(40_000, 8, 0)
    counts = letter_counts(drawn.tokens, 4).astype(float)
    exact = THREE.posterior(drawn.tokens[:500])
    errors = []
    for n in (400, 40_000):
        found = fit_from_scratch(counts[:n], np.eye(3)[drawn.latents[:n]] / n)(counts[:500])
        errors.append(float(np.square(found - exact).sum(axis=1).mean()))
    assert errors[1] < 1e-3 < errors[0]
    assert errors[1] < errors[0] / 20


def test_the_truth_transfers_without_loss():
    """With the exact model as representation ε and the theorem's head have no error; the fitted one is the oracle's."""
    found = transfer(
        THREE, THREE.emission[::-1], block_representation(THREE, 1), FIRST, 8, 500, np.random.default_rng(0)
    )
    assert found.pretext_error == pytest.approx(0, abs=1e-20)
    assert found.exact_head == pytest.approx(0, abs=1e-20)
    assert found.fitted_head == pytest.approx(found.oracle, rel=1e-6)
    assert 0 < found.oracle < found.scratch < found.blind


def test_a_head_is_least_squares():
    """It is exact where answers are linear in the rows, directions that do not vary left out."""
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.normal(size=(30, 2)), np.ones((30, 1))], axis=1)
    answers = rows @ np.array([[1.0], [-2.0], [3.0]])
    assert fit_head(rows, answers)(rows) == pytest.approx(answers)


def test_refusals():
    """One label, and a constant task, are refused."""
    for task, labels, words in ((FIRST, 1, "at least 2"), (np.ones((1, 3)), 50, "constant")):
        with pytest.raises(ArgumentError, match=words):
            transfer(THREE, THREE.emission, block_representation(THREE, 1), task, 4, labels, np.random.default_rng(0))
