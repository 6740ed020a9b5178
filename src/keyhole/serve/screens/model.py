"""Read a model: checkpoints named on the command line, their heads by any statistic, a sentence through one head."""

from functools import lru_cache
from typing import Any

from keyhole.api.checkpoint_norms import checkpoint_norms
from keyhole.api.heads import heads
from keyhole.errors import ArgumentError
from keyhole.serve.limits import TEXT
from keyhole.serve.query import Query
from keyhole.serve.screens.base import Answer, Screen
from keyhole.serve.settings import Serving

MOST_LAYERS = 200
MOST_TOKENS = 64  # of the sentence


def models(_query: Query, serving: Serving) -> Answer:
    """The names of the models, in the order of the command line."""
    return {"models": [name.rstrip("/").rpartition("/")[2] for name in serving.models]}


def norms(query: Query, serving: Serving) -> Answer:
    """The norms of every head, and the bound of the model's stand-in."""
    return _norms(_model(query, serving))


def attention(query: Query, serving: Serving) -> Answer:
    """What every head does on a sentence, and the attention of one head on it."""
    text = query.text("text", TEXT).strip()
    if not text:
        raise ArgumentError("Type a sentence to see what the heads do with it.")
    layer, head = query.whole("layer", 1, MOST_LAYERS, 1), query.whole("head", 1, MOST_LAYERS, 1)
    read = heads(_model(query, serving), text=[text], head=(layer - 1, head - 1), controls=False, longest=MOST_TOKENS)
    return read.record()


@lru_cache(maxsize=8)
def _norms(source: str) -> dict[str, Any]:
    return checkpoint_norms(source).record()


def _model(query: Query, serving: Serving) -> str:
    """The model of this number; a browser names numbers, never paths."""
    if not serving.models:
        raise ArgumentError("No model was named. Start the lab with `keyhole serve --model DIR`, or with minilm.")
    return serving.models[query.whole("model", 1, len(serving.models), 1) - 1]


SCREEN = Screen(
    "model",
    "Read a model",
    "Checkpoints that were named when the lab was started: norms of their heads, and their attention on a sentence.",
    {"models": models, "norms": norms, "attention": attention},
)
