"""Infer a latent: tokens come one by one; the exact posterior stands beside each kind of attention."""

from typing import TypedDict

import numpy as np

from keyhole.api.infer import infer
from keyhole.apps.live.follow import follow
from keyhole.apps.live.limits import TOKENS
from keyhole.apps.live.query import Query
from keyhole.apps.live.screens.base import Answer, Screen, figure_record
from keyhole.apps.live.settings import Serving
from keyhole.latent import GaussianLocation, model_names
from keyhole.latent.inference import Problem

REPEATS = 24  # contexts behind a curve of errors
SIZES = (4, 8, 16, 32, 64, 128)


def context(query: Query, _serving: Serving) -> Answer:
    """One context, followed token by token."""
    model, options, seed = _settings(query)
    return follow(model, query.whole("length", 1, TOKENS, 24), seed=seed, **options).record()


def errors(query: Query, _serving: Serving) -> Answer:
    """The squared distance of each attention from the posterior mean against the length."""
    model, options, seed = _settings(query)
    measured = infer(model, SIZES, repeats=REPEATS, seed=seed, **options)
    return {"figure": figure_record(measured.figure()), "repeats": REPEATS}


class Options(TypedDict, total=False):
    """Settings of attention; what is left out follows the model."""

    attention: tuple[str, ...]
    bandwidth: str
    ridge: str
    kernel: str


def _model(query: Query) -> str | Problem:
    """The model by its name; a Gaussian one with the variances that the page chose."""
    name = query.choice("model", model_names(), "gaussian")
    prior, noise = query.number("prior", 0.01, 100, 2.0), query.number("noise", 0.01, 100, 0.5)
    return GaussianLocation(np.zeros(1), prior_variance=prior, noise_variance=noise) if name == "gaussian" else name


def _settings(query: Query) -> tuple[str | Problem, Options, int]:
    """The model, the settings of attention that the page chose, and the number of the draw."""
    options: Options = {}
    if kinds := query.text("attention", 60):
        options["attention"] = tuple(kinds.split(","))
    if bandwidth := query.text("bandwidth", 20):
        options["bandwidth"] = bandwidth
    if ridge := query.text("ridge", 20):
        options["ridge"] = ridge
    if kernel := query.text("kernel", 20):
        options["kernel"] = kernel
    return _model(query), options, query.whole("seed", 0, 10**6, 0)


SCREEN = Screen(
    "latent",
    "Infer a latent",
    "Tokens are drawn from a model with a hidden variable. Watch the exact posterior and each kind of attention.",
    {"context": context, "errors": errors},
)
