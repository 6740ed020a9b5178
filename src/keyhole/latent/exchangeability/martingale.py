"""A posterior is a martingale: what one expects to believe after the next token is what one believes now."""

from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.latent.models.base import Letters
from keyhole.latent.models.conjugate import Polya
from keyhole.latent.models.finite import FiniteModel


def expected_posterior(model: FiniteModel | Polya, tokens: Letters) -> Float[Any, "n *m"]:
    """Σ_v P(v | X) π_{X,v}: the belief expected after one more letter, summed over all letters.

    Statement  It equals π_X; for a posterior known by its mean, the means obey the same.
    Proof      Σ_v P(v | X) P(z | X, v) = Σ_v P(z, v | X) = P(z | X).
    Source     Standard.

    >>> expected_posterior(Polya(np.array([1.0, 2.0, 1.0])), np.array([[0, 0, 1]])).round(6).tolist()
    [[0.428571, 0.428571, 0.142857]]
    """
    chances = model.posterior_mean(tokens)
    expected = np.zeros_like(beliefs(model.posterior(tokens)))
    for letter in range(model.letters):
        possible = chances[:, letter] > 0  # a letter that cannot come has no posterior, and weighs nothing
        if not bool(np.any(possible)):
            continue
        longer = np.concatenate([tokens[possible], np.full((possible.sum(), 1), letter)], axis=1)
        belief = beliefs(model.posterior(longer))
        expected[possible] += chances[possible, letter].reshape(-1, *[1] * (belief.ndim - 1)) * belief
    return expected


def martingale_drift(model: FiniteModel | Polya, tokens: Letters) -> float:
    """The largest difference between a belief and what it is expected to be one letter later; 0 but for rounding."""
    return float(np.abs(expected_posterior(model, tokens) - beliefs(model.posterior(tokens))).max())


def beliefs(posterior: Any) -> Float[Any, "n *m"]:
    """A posterior as numbers: its probabilities, or its mean."""
    return np.asarray(posterior if isinstance(posterior, np.ndarray) else posterior.mean)
