"""Latent models by name, each at a setting worth looking at first; a model's own file registers it here."""

from collections.abc import Callable

from keyhole.errors import ArgumentError
from keyhole.latent.inference.problem import Problem

_MODELS: dict[str, Callable[[], Problem]] = {}


def register_model(name: str, make: Callable[[], Problem]) -> None:
    """Let `keyhole.infer` find a latent model by name; `make` builds it, and may be its class."""
    if name in _MODELS:
        raise ArgumentError(f"A model named {name!r} is registered already; choose another name.")
    _MODELS[name] = make


def model_names() -> tuple[str, ...]:
    """The registered latent models, in the order of the alphabet."""
    return tuple(sorted(_MODELS))


def find_model(name: str) -> Problem:
    """The latent model of that name.

    >>> import numpy as np
    >>> find_model("polya").posterior_mean(np.array([[0, 0, 1]])).round(3).tolist()
    [[0.429, 0.429, 0.143]]
    """
    if name not in _MODELS:
        raise ArgumentError(f"{name!r} is not a latent model; there are {', '.join(model_names())}.")
    return _MODELS[name]()
