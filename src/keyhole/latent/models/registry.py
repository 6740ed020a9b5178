"""The models by name, each at a setting worth looking at first."""

from collections.abc import Callable

import numpy as np

from keyhole.errors import ArgumentError
from keyhole.latent.models.base import LatentModel, Sampler
from keyhole.latent.models.conjugate import BetaBernoulli, GaussianLocation, Polya
from keyhole.latent.models.finite import FiniteModel
from keyhole.latent.models.mixture import GaussianMixture
from keyhole.latent.models.not_exchangeable import MarkovChain, Urn
from keyhole.latent.models.regression import LinearRegression, SphereProcess

MODELS: dict[str, Callable[[], LatentModel]] = {
    "finite": lambda: FiniteModel(np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), np.array([0.5, 0.5])),
    "polya": lambda: Polya(np.array([1.0, 2.0, 1.0])),
    "beta": BetaBernoulli,
    "gaussian": lambda: GaussianLocation(np.zeros(1), prior_variance=2.0, noise_variance=0.5),
    "mixture": lambda: GaussianMixture(
        np.array([[-2.0], [0.0], [2.0]]), np.array([[0.6, 0.2], [0.2, 0.2], [0.2, 0.6]]), np.array([0.5, 0.5])
    ),
    "linear": lambda: LinearRegression(key_width=3, value_width=2, prior_variance=1.0, noise_variance=0.5),
    "gp": lambda: SphereProcess(key_width=3, value_width=2),
}
CONTRASTS: dict[str, Callable[[], Sampler]] = {
    "markov": MarkovChain,
    "urn": lambda: Urn(np.array([4, 4, 4, 4])),
}


def find_model(name: str) -> LatentModel:
    """The latent model of that name.

    >>> find_model("polya").predictive(np.array([[0, 0, 1]])).round(3).tolist()
    [[0.429, 0.429, 0.143]]
    """
    if name not in MODELS:
        also = f"; {name} is a contrast, which has no posterior" if name in CONTRASTS else ""
        raise ArgumentError(f"There is no latent model {name!r}{also}; there are {', '.join(MODELS)}.")
    return MODELS[name]()
