"""The page as a story: what each paper says, in its order, and the claims that answer each sentence.

A sentence is a paraphrase, with its place. What is not in a paper (proofs about trained networks, say) comes last. Every
claim of the library answers one sentence.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from keyhole.papers import EDELMAN_2022, ZHANG_2022, Paper


@dataclass(frozen=True)
class Sentence:
    """What is said, where, and the claims that answer it."""

    says: str
    place: str
    claims: tuple[str, ...]
    missing: str = ""  # what of it no claim covers


@dataclass(frozen=True)
class Part:
    """A paper, or what goes beyond both."""

    title: str
    paper: Paper | None
    sentences: tuple[Sentence, ...]


STORY = (
    Part(
        "Sparse variable creation",
        EDELMAN_2022,
        (
            Sentence(
                "A bounded attention head represents a function of a few tokens of a long context: exactly, with norms "
                "2^O(s) for s relevant tokens, and poly(s) for symmetric functions.",
                "abstract, slides",
                ("representation", "sharpness"),
            ),
            Sentence(
                "The gap between training and test error depends on the length T of the context only through its "
                "logarithm, for every law of bounded inputs. The reason is that softmax is smooth, with a constant that "
                "does not depend on T.",
                "abstract, slides",
                (
                    "softmax-smoothness",
                    "normaliser-constants",
                    "bound-growth",
                    "bound-shape",
                    "theorem-t",
                    "theorem-l",
                    "gap-and-bounds",
                    "joined",
                    "floor",
                    "bound-rivals",
                ),
                "The theorems that are checked are keyhole's own, for one layer in most cases and with every constant; the "
                "paper's are known to us by its abstract and slides alone. None of them says that training reaches the "
                "norms they ask for.",
            ),
            Sentence(
                "In experiments the samples that training needs for a sparse conjunction grow slowly with T.",
                "slides",
                ("registered-growth", "conjunctions-uniform", "conjunctions-balanced"),
            ),
            Sentence(
                "The attention of trained networks settles on the relevant positions.",
                "slides",
                ("sparse-heads", "trained-construction"),
            ),
            Sentence(
                "Gradient descent learns sparse parities, suddenly, after a long plateau.",
                "abstract, slides",
                ("parity-online", "parity-sudden", "parity-foretold", "parity-fixed-set", "parity-memorised"),
            ),
            Sentence(
                "Attention weights of real models are sparse, or close to uniform: in language, vision and "
                "reinforcement learning.",
                "slides",
                ("language-heads", "vision-heads", "reinforcement-heads", "heads-against-syntax"),
                "The models that the slides show are not the ones that are measured here.",
            ),
        ),
    ),
    Part(
        "Exchangeability and latent variables",
        ZHANG_2022,
        (
            Sentence(
                "Exchangeable tokens have a latent variable, and its posterior is a sufficient and minimal "
                "representation of the input.",
                "abstract, claim (a)",
                (
                    "exchangeability",
                    "exchangeability-tests",
                    "sufficiency",
                    "minimality",
                    "posterior-contraction",
                    "posterior-probes",
                    "checkpoint-exchangeability",
                ),
            ),
            Sentence(
                "Attention infers that posterior, up to an error that falls as the input grows.",
                "abstract, claim (b)",
                ("attention-conditional-mean", "inference-rates", "trained-encoder"),
            ),
            Sentence(
                "Training, supervised or masked, learns the desired parameter with a generalization error that does not "
                "depend on the size of the input; a condition number decides what it is worth downstream.",
                "abstract, claim (c)",
                ("supervised-length", "masked-length", "sink-recovery", "risk-parts", "condition-number"),
                "The paper's own definition of the condition number is not known to us; the one measured is keyhole's.",
            ),
        ),
    ),
    Part(
        "Beyond the two papers",
        None,
        (
            Sentence(
                "What a trained network computes can be read off its weights, and proved on every input.",
                "keyhole",
                ("trained-heads-settled", "tested-models"),
            ),
            Sentence(
                "One head is a mixture of decision lists: this limits which functions it can compute.",
                "keyhole",
                ("head-degree", "head-influence", "head-parity"),
            ),
            Sentence(
                "Heads of other people's models do what their authors say.",
                "keyhole",
                ("atom-mapping-head",),
            ),
        ),
    ),
)

OWN = Part("Claims of your own", None, ())


def story_record(found: Iterable[str]) -> list[dict[str, Any]]:
    """The story with those of its claims that were looked at; claims that it does not name come last."""
    wanted = list(found)
    parts: list[dict[str, Any]] = []
    for part in STORY:
        sentences = [
            {
                "says": sentence.says,
                "place": sentence.place,
                "claims": [name for name in sentence.claims if name in wanted],
                "missing": sentence.missing,
            }
            for sentence in part.sentences
        ]
        parts.append(
            {
                "title": part.title,
                "paper": None if part.paper is None else f"{part.paper.short}: {part.paper.title}",
                "sentences": [sentence for sentence in sentences if sentence["claims"]],
            }
        )
    named = {name for part in STORY for sentence in part.sentences for name in sentence.claims}
    if own := [name for name in wanted if name not in named]:
        parts.append(
            {"title": OWN.title, "paper": None, "sentences": [{"says": "", "place": "", "claims": own, "missing": ""}]}
        )
    return [part for part in parts if part["sentences"]]
