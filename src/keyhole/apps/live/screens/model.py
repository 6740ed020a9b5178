"""Read a model: checkpoints named on the command line, by their heads, and by what is proved of their answers."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.api.compile import compile as compile_function
from keyhole.apps.heads.checkpoint_norms import checkpoint_norms
from keyhole.apps.heads.head_data import Images, Rows, Text, reads_images
from keyhole.apps.heads.heads import heads
from keyhole.apps.heads.model_source import open_checkpoint
from keyhole.apps.live.images import image_folder
from keyhole.apps.live.limits import CLAIM, LENGTHS, TEXT
from keyhole.apps.live.query import Query
from keyhole.apps.live.screens.base import Answer, Command, Screen, Serving
from keyhole.checkpoints import Vocabulary, read_vocabulary
from keyhole.errors import ArgumentError
from keyhole.files.model import is_ours, read_model

MOST_LAYERS = 200
MOST_TOKENS = 64  # of the sentence
SOME = 8  # names of tokens that a page shows
TIME_LIMIT = 5  # seconds for each length of a claim
RANDOM_WORDS = 10_000  # tried beside the proof
TOKENS = 100  # letters of a list of tokens
IN_WORDS = "regex"  # the one kind of claim that begins with its name and a colon and reads no file
WRONG = 1  # the exit code that says that a wrong word was found


def models(_query: Query, serving: Serving) -> Answer:
    """The names of the models, in the order of the command line."""
    return {"models": [_name(source) for source in serving.models]}


def norms(query: Query, serving: Serving) -> Answer:
    """The norms of every head, the bound of the model's stand-in, and what the model can be asked."""
    return _norms(_model(query, serving))


def attention(query: Query, serving: Serving) -> Answer:
    """Return the statistics of every head on a sentence or an image, and the attention of one head."""
    model = _model(query, serving)
    head = query.whole("layer", 1, MOST_LAYERS, 1) - 1, query.whole("head", 1, MOST_LAYERS, 1) - 1
    if image := query.text("image", 64):
        return heads(model, Images(image_folder(serving.store, image)), head=head, controls=False).record()
    text = query.text("text", TEXT).strip()
    if not text:
        raise ArgumentError("Type a sentence, or drop an image, to see what the heads do with it.")
    if is_ours(Path(model)):
        bits = _bits(model, text)
        read = heads(model, Rows(bits), head=head, controls=False).record()
        rows = [*(f"x{place}" for place in range(bits.shape[1])), "[CLS]"]
        return {**read, "map": {**read["map"], "rows": rows}}
    vocabulary = _word_list(model)
    if vocabulary is None:
        return heads(model, Text([text], MOST_TOKENS), head=head, controls=False).record()
    words = text.split()[:MOST_TOKENS]
    tokens = np.array([[vocabulary.number(word) for word in words]])
    read = heads(model, Rows(tokens), head=head, controls=False).record()
    return {**read, "map": {**read["map"], "rows": words}}


def example_model(store: Path) -> str:
    """Write a small compiled function beside the runs, and return its path: for a lab that was given no model."""
    return str(compile_function("x1 & ~x3 | x4 & x6", 8).save(store / "example.safetensors"))


def _bits(model: str, text: str) -> np.ndarray:
    """Return the bits of a text for a compiled function; where it has none, every second bit is 1."""
    bits = [int(letter) for letter in text if letter in "01"]
    context = int(read_model(Path(model)).description["context"])
    return np.array([bits if len(bits) == context else [place % 2 for place in range(context)]])


def prove(query: Query, serving: Serving) -> Command:
    """The command that proves a claim about a model's answers, or finds a wrong word, at each length."""
    model, claim = _model(query, serving), query.text("claim", CLAIM).strip()
    kind, colon, _ = claim.partition(":")
    if not claim:
        raise ArgumentError('Say what the model should answer, such as "majority" or "even number of 1".')
    if colon and kind != IN_WORDS:
        raise ArgumentError(
            f"The lab takes claims in words, as a formula, or as regex:…; {claim[:40]!r} is for a terminal, where a "
            "file can be named."
        )
    words = ["prove", f"--claim={claim}", f"--time-limit={TIME_LIMIT}", f"--samples={RANDOM_WORDS}", "--rows"]
    if lengths := query.lengths("lengths", LENGTHS["count"], LENGTHS["longest"]):
        words.append(f"--lengths={','.join(map(str, lengths))}")
    given = {name: query.text(name, TOKENS).strip() for name in ("alphabet", "before", "read-at", "answers")}
    words += [f"--{name}={tokens}" for name, tokens in given.items() if tokens]
    words += ["--store", str(serving.store), "--", model]
    return Command(f"{claim}, by {_name(model)}", tuple(words), answered=(0, WRONG))


@lru_cache(maxsize=8)
def _norms(source: str) -> dict[str, Any]:
    checkpoint, vocabulary = open_checkpoint(source), _word_list(source)
    read = checkpoint_norms(checkpoint)
    options = {
        "tokens": None if vocabulary is None else list(vocabulary.numbers)[:SOME],
        "reads_images": reads_images(checkpoint),
        "verifiable": checkpoint.sizes.layers == 1 and checkpoint.embedding.tokens is not None,
    }
    return {**read.record(), **options}


def _word_list(source: str) -> Vocabulary | None:
    """The names of the tokens of a folder that has them and no tokenizer: its texts are tokens between spaces."""
    folder = Path(source)
    if not folder.is_dir() or (folder / "tokenizer.json").exists():
        return None
    found = read_vocabulary(folder)
    return found if found.numbers else None


def _name(source: str) -> str:
    """A model as a page names it: without the folders above it."""
    return Path(source).name or source


def _model(query: Query, serving: Serving) -> str:
    """The model of this number; a browser names numbers, never paths."""
    if not serving.models:
        raise ArgumentError("No model was named. Start the lab with `keyhole serve --model DIR`, or with minilm.")
    return serving.models[query.whole("model", 1, len(serving.models), 1) - 1]


SCREEN = Screen(
    "model",
    "Read a model",
    "Checkpoints that were named when the lab was started: norms of their heads, their attention on a sentence or an "
    "image, and claims about their answers, proved or broken.",
    {"models": models, "norms": norms, "attention": attention},
    commands={"prove": prove},
)
