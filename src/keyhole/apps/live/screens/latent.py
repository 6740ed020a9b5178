"""Infer a latent: tokens come one by one; the exact posterior stands beside each kind of attention."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from keyhole.api.infer import infer
from keyhole.apps.live.limits import TOKENS
from keyhole.apps.live.query import Query
from keyhole.apps.live.screens.base import Answer, Screen, Serving
from keyhole.files.record import record_of
from keyhole.latent import GaussianLocation, model_names
from keyhole.latent.inference import Problem, Settings, make_attentions, read_settings
from keyhole.latent.models import find_model

REPEATS = 24  # contexts behind a curve of errors
SIZES = (4, 8, 16, 32, 64, 128)


def context(query: Query, _serving: Serving) -> Answer:
    """Follow one context token by token."""
    model, attention, settings, seed = _words(query)
    return follow(model, attention, settings, query.whole("length", 1, TOKENS, 24), seed)


def errors(query: Query, _serving: Serving) -> Answer:
    """Measure the squared distance of each attention from the posterior mean against the length."""
    model, attention, settings, seed = _words(query)
    measured = infer(model, SIZES, attention=attention, settings=settings, repeats=REPEATS, seed=seed)
    return {"figure": asdict(measured.figure()), "repeats": REPEATS}


def follow(
    model: str | Problem, attention: Sequence[str], settings: Settings, length: int, seed: int
) -> dict[str, Any]:
    """Draw one context of a latent model, and compute the posterior and every attention after each token.

    Answers are at the first query; gaps are squared distances from the posterior mean, over all queries. The posterior
    is that of a latent with finitely many values.

    >>> last = follow("gaussian", ["sink", "softmax"], Settings(), 4, 0)["steps"][-1]
    >>> last["gaps"]["sink"] < 1e-18 < last["gaps"]["softmax"]
    True
    """
    name, problem = (model, find_model(model)) if isinstance(model, str) else (type(model).__name__, model)
    kinds = make_attentions(tuple(attention) or problem.attentions, problem, settings, name)
    drawn = problem.draw_context(length, np.random.default_rng([seed, 0]))
    finite, steps = problem.prototypes, []
    for tokens in range(1, length + 1):
        part = drawn.first(tokens)
        mean = np.asarray(problem.solve(part).mean)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            answers = {kind.name: np.asarray(kind.answer(part)) for kind in kinds}
        steps.append(
            {
                "tokens": tokens,
                "token": np.ravel(part.tokens[-1]),
                "posterior_mean": np.ravel(mean[0]),
                "answers": {name: np.ravel(answer[0]) for name, answer in answers.items()},
                "gaps": {name: np.square(answer - mean).sum(axis=1).mean() for name, answer in answers.items()},
                "posterior": None if finite is None else finite.weigh(np.asarray(part.tokens)[None])[0],
            }
        )
    record: dict[str, Any] = record_of({"truth": np.ravel(np.asarray(drawn.truth)[0]), "steps": steps})
    return record


def _words(query: Query) -> tuple[str | Problem, tuple[str, ...], Settings, int]:
    """Read the model, a Gaussian one with the page's variances; attentions and their settings; the draw's number."""
    name = query.choice("model", model_names(), "gaussian")
    prior, noise = query.number("prior", 0.01, 100, 2.0), query.number("noise", 0.01, 100, 0.5)
    gaussian = GaussianLocation(np.zeros(1), prior_variance=prior, noise_variance=noise)
    settings = read_settings(*(query.text(key, 20) or None for key in ("kernel", "bandwidth", "ridge")))
    kinds = query.text("attention", 60)
    model = gaussian if name == "gaussian" else name
    return model, tuple(kinds.split(",")) if kinds else (), settings, query.whole("seed", 0, 10**6, 0)


SCREEN = Screen(
    "latent",
    "Infer a latent",
    "Tokens are drawn from a model with a hidden variable. Watch the exact posterior and each kind of attention.",
    {"context": context, "errors": errors},
)
