"""Infer a latent: tokens come one by one; the exact posterior stands beside each kind of attention."""

from keyhole.api.follow import follow
from keyhole.api.infer import infer
from keyhole.latent import model_names
from keyhole.serve.limits import TOKENS
from keyhole.serve.query import Query
from keyhole.serve.screens.base import Answer, Screen, figure_record
from keyhole.serve.settings import Serving

REPEATS = 24  # contexts behind a curve of errors
SIZES = (4, 8, 16, 32, 64, 128)


def context(query: Query, _serving: Serving) -> Answer:
    """One context, followed token by token."""
    options = _options(query)
    return follow(**options, length=query.whole("length", 1, TOKENS, 24)).record()


def errors(query: Query, _serving: Serving) -> Answer:
    """The squared distance of each attention from the posterior mean against the length."""
    measured = infer(**_options(query), sizes=SIZES, repeats=REPEATS)
    return {"figure": figure_record(measured.figure()), "repeats": REPEATS}


def _options(query: Query) -> dict[str, object]:
    """The model and the settings of attention that the page chose; what it left out follows the model."""
    options: dict[str, object] = {
        "model": query.choice("model", model_names(), "gaussian"),
        "seed": query.whole("seed", 0, 10**6, 0),
    }
    kinds = query.text("attention", 60)
    if kinds:
        options["attention"] = tuple(kinds.split(","))
    for name in ("bandwidth", "ridge", "kernel"):
        if value := query.text(name, 20):
            options[name] = value
    return options


SCREEN = Screen(
    "latent",
    "Infer a latent",
    "Tokens are drawn from a model with a hidden variable. Watch the exact posterior and each kind of attention.",
    {"context": context, "errors": errors},
)
