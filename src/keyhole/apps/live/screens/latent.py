"""Infer a latent: tokens come one by one; the exact posterior stands beside each kind of attention."""

from dataclasses import asdict
from typing import TypedDict

import numpy as np

from keyhole.api.infer import infer
from keyhole.apps.live.follow import follow
from keyhole.apps.live.limits import TOKENS
from keyhole.apps.live.query import Query
from keyhole.apps.live.screens.base import Answer, Screen, Serving
from keyhole.latent import GaussianLocation, model_names
from keyhole.latent.inference import Problem, Settings, read_settings

REPEATS = 24  # contexts behind a curve of errors
SIZES = (4, 8, 16, 32, 64, 128)


def context(query: Query, _serving: Serving) -> Answer:
    """One context, followed token by token."""
    model, options, seed = _settings(query)
    return asdict(follow(model, query.whole("length", 1, TOKENS, 24), seed=seed, **options))


def errors(query: Query, _serving: Serving) -> Answer:
    """The squared distance of each attention from the posterior mean against the length."""
    model, options, seed = _settings(query)
    measured = infer(model, SIZES, repeats=REPEATS, seed=seed, **options)
    return {"figure": asdict(measured.figure()), "repeats": REPEATS}


class Options(TypedDict, total=False):
    """Kinds of attention and their settings; what is left out follows the model."""

    attention: tuple[str, ...]
    settings: Settings


def _model(query: Query) -> str | Problem:
    """The model by its name; a Gaussian one with the variances that the page chose."""
    name = query.choice("model", model_names(), "gaussian")
    prior, noise = query.number("prior", 0.01, 100, 2.0), query.number("noise", 0.01, 100, 0.5)
    return GaussianLocation(np.zeros(1), prior_variance=prior, noise_variance=noise) if name == "gaussian" else name


def _settings(query: Query) -> tuple[str | Problem, Options, int]:
    """The model, the settings of attention that the page chose, and the number of the draw."""
    names = ("kernel", "bandwidth", "ridge")
    options: Options = {"settings": read_settings(*(query.text(name, 20) or None for name in names))}
    if kinds := query.text("attention", 60):
        options["attention"] = tuple(kinds.split(","))
    return _model(query), options, query.whole("seed", 0, 10**6, 0)


SCREEN = Screen(
    "latent",
    "Infer a latent",
    "Tokens are drawn from a model with a hidden variable. Watch the exact posterior and each kind of attention.",
    {"context": context, "errors": errors},
)
