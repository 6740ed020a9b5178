"""Networks that read sets: what order and padding do to them, and that training lowers their loss."""

from dataclasses import asdict

import numpy as np
import pytest

from keyhole.errors import ArgumentError
from keyhole.training.learners.settings import SetSettings
from keyhole.training.network.sets import Batches, train_set

SHORT = {"layers": 1, "heads": 2, "width": 8, "hidden": 8, "batch": 16, "steps": 50}


def coins(rng):
    """Sequences of 2 to 6 tosses of one of two coins, which is to be told."""

    def draw(n):
        which = rng.integers(2, size=n)
        tosses = (rng.random((n, 6)) < np.array([0.1, 0.9])[which][:, None]).astype(np.float32)
        return Batches(
            np.stack([tosses, 1 - tosses], axis=2), rng.integers(2, 7, size=n), np.eye(2, dtype=np.float32)[which]
        )

    return draw


@pytest.mark.slow
@pytest.mark.parametrize("network", ["encoder", "pooling", "positions"])
def test_order_padding_and_learning(network):
    """Sets do not see order, positions do; padding is never seen; training lowers the loss; a seed repeats it."""
    settings = SetSettings(network, **SHORT)
    before, after = train_set(settings, coins(np.random.default_rng(0)), 2, 2, 6, 3, pause=50)
    *_, again = train_set(settings, coins(np.random.default_rng(0)), 2, 2, 6, 3, pause=settings.steps)
    assert all(np.array_equal(after.parameters[name], again.parameters[name]) for name in after.parameters)
    batch = coins(np.random.default_rng(1))(200)
    found = after.predict(batch.tokens, batch.lengths)
    assert found.sum(axis=1) == pytest.approx(1)
    other = np.where(np.arange(6)[None, :, None] < batch.lengths[:, None, None], batch.tokens, 7.0)
    assert after.predict(other, batch.lengths) == pytest.approx(found, abs=1e-5)
    whole = np.full(200, 6)
    turned = after.predict(batch.tokens[:, ::-1], whole)
    same = np.allclose(turned, after.predict(batch.tokens, whole), atol=1e-5)
    assert same == (network != "positions")
    losses = [
        -np.log((one.predict(batch.tokens, batch.lengths) * batch.targets).sum(axis=1)).mean()
        for one in (before, after)
    ]
    assert losses[1] < losses[0]
    assert all(len(state) == 200 for state in after.states(batch.tokens, batch.lengths))


def test_settings():
    """The record names the network beside every setting; what is not known is refused."""
    settings = SetSettings("pooling", "squared", steps=7)
    assert settings.record() == {"name": "pooling", **asdict(settings)}
    with pytest.raises(ArgumentError, match="networks are encoder"):
        SetSettings("tree")
    with pytest.raises(ArgumentError, match="heads divide"):
        SetSettings(heads=3)
