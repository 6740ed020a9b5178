"""The page as a story: what each paper says, in its order, and the claims that answer each sentence.

A sentence is a paraphrase, with its place. What is not in a paper (proofs about trained networks, say) comes last. Every
claim of the library answers one sentence: it decides it, or it is a question of ours that stands beside it. What limits
an answer, whatever is measured, is written here; the answer itself follows from the verdicts.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from keyhole.papers import EDELMAN_2022, ZHANG_2022, Paper


@dataclass(frozen=True)
class Sentence:
    """A sentence of a paper, its place, the claims that decide it, and questions of ours beside it."""

    short: str  # what it is about, for the contents
    says: str
    place: str
    claims: tuple[str, ...]
    besides: tuple[str, ...] = ()  # their verdicts do not bear on the sentence
    limit: str = ""  # what keeps the answer from being a plain yes, though every claim holds
    partly: bool = False  # the claims reach a part of the sentence only
    absent: int = 0  # claims that decide it and were not looked at

    @property
    def names(self) -> tuple[str, ...]:
        """The claims that decide the sentence, then the questions beside it."""
        return (*self.claims, *self.besides)


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
                "Sparse functions have bounded weights",
                "A bounded attention head represents a function of a few tokens of a long context: exactly, with norms "
                "2^O(s) for s relevant tokens, and poly(s) for symmetric functions.",
                "abstract, slides",
                ("representation", "sharpness"),
            ),
            Sentence(
                "The gap grows like log T",
                "The gap between training and test error depends on the length T of the context only through its "
                "logarithm, for every law of bounded inputs. The reason is that softmax is smooth, with a constant that "
                "does not depend on T.",
                "abstract, slides",
                ("softmax-smoothness", "bound-growth", "theorem-t", "theorem-l", "gap-and-bounds", "joined"),
                besides=("normaliser-constants", "bound-shape", "floor", "bound-rivals"),
                limit="The theorems that are checked are keyhole's own, at fixed norms, for one layer in most cases and "
                "with every constant; the paper's are known to us by its abstract and slides alone. None of them says "
                "that training reaches the norms they ask for. Three counts of samples appear for T = 100: Theorem T's for "
                "a gap of 0.1 and for one of 0.2, which takes about a quarter, both for the weights of one AND, and the "
                "count for an error of 0.1 on any function of 3 bits, which asks for larger norms and so for most. What is shown is that "
                "bounds grow so: no gap that is large enough to be seen growing was measured, and of laws three, all of bits.",
                partly=True,
            ),
            Sentence(
                "Samples of training grow slowly with T",
                "In experiments the samples that training needs for a sparse conjunction grow slowly with T.",
                "slides",
                ("conjunctions-uniform", "conjunctions-balanced"),
                besides=("registered-growth-12800", "registered-growth-3200", "registered-growth"),
                limit="What is judged is the power of T nearest to the measured sample sizes, with the default settings. "
                "An offset a lowers that exponent, so that a + b √T is not excluded by it, and which law holds is a "
                "further question. The protocol of the public reproduction is reported beside it, and not judged. All of it is of the "
                "sample size at which half of the runs reach 99 % accuracy, at one rate: that size levels off at long contexts, elsewhere "
                "at each rate, where the sizes of larger shares of runs were not seen to.",
                partly=True,
            ),
            Sentence(
                "Attention settles on what matters",
                "The attention of trained networks settles on the relevant positions.",
                "slides",
                ("sparse-heads",),
                besides=("trained-construction",),
                limit="Judged for ANDs of three among 100 bits at one sample size, and for the best head of each run.",
            ),
            Sentence(
                "Parities are learned, suddenly",
                "Gradient descent learns sparse parities, suddenly, after a long plateau.",
                "abstract, slides",
                ("parity-online", "parity-sudden"),
                besides=("parity-foretold", "parity-fixed-set"),
                limit="Judged for parities of three bits among a few tens at most, with settings chosen for them.",
            ),
            Sentence(
                "Attention of real models is sparse or uniform",
                "Attention weights of real models are sparse, or close to uniform: in language, vision and "
                "reinforcement learning.",
                "slides",
                ("language-heads", "vision-heads", "reinforcement-heads"),
                besides=("heads-against-syntax",),
                limit="The claim on language counts heads that look at neighbours, or at a token that the tokenizer adds, "
                "as well; the sentence names neither, so that it supports the sentence weakly even where it holds. The "
                "models that the slides show are not the ones that are measured here.",
                partly=True,
            ),
        ),
    ),
    Part(
        "Exchangeability and latent variables",
        ZHANG_2022,
        (
            Sentence(
                "The posterior is sufficient and minimal",
                "Exchangeable tokens have a latent variable, and its posterior is a sufficient and minimal "
                "representation of the input.",
                "abstract, claim (a)",
                ("exchangeability", "sufficiency", "minimality"),
                besides=(
                    "exchangeability-tests",
                    "posterior-contraction",
                    "posterior-probes",
                    "checkpoint-exchangeability",
                ),
                limit="This is so of sequences that stay exchangeable however long they are made. Tokens that carry "
                "their positions are near a latent model in short parts alone: a whole sentence of them is not. Sufficiency and minimality "
                "are enumerated for finite latents, and no tokens of real data were tested.",
            ),
            Sentence(
                "Attention infers the posterior",
                "Attention infers that posterior, up to an error that falls as the input grows.",
                "abstract, claim (b)",
                ("attention-conditional-mean", "inference-rates", "trained-encoder"),
                limit="This is so of conditional-mean attention. The error of softmax attention with a fixed bandwidth "
                "stops at a floor; it goes on falling where the bandwidth shrinks with the length. These weights are designed: what was "
                "trained is one small encoder, on fresh samples.",
            ),
            Sentence(
                "Training learns it; a condition number decides",
                "Training, supervised or masked, learns the desired parameter with a generalization error that does not "
                "depend on the size of the input; a condition number decides what it is worth downstream.",
                "abstract, claim (c)",
                ("supervised-length", "masked-length", "sink-recovery", "condition-number"),
                besides=("risk-parts",),
                limit="The condition number that is measured is our version; the paper's own definition is not known to "
                "us, and is not tested; in the experiment it rises only with the noise of the pretext, so that the two are not told apart. "
                "That the error does not grow with the input (of tied regression it falls) is measured on small models whose exact answer is "
                "known, with weights that all places share: no attention with learned keys and queries was trained on a finite sample and judged.",
                partly=True,
            ),
        ),
    ),
    Part(
        "Beyond the two papers",
        None,
        (
            Sentence(
                "Trained networks can be proved",
                "What a trained network computes can be read off its weights, and proved on every input.",
                "keyhole",
                ("trained-heads-settled",),
                besides=("tested-models",),
                limit="Judged for single layers trained on ANDs of three, among as many bits as the card says; runs that end neither "
                "proved nor refuted are counted against it.",
            ),
            Sentence(
                "What one head cannot compute",
                "One head is a mixture of decision lists: this limits what it can compute without hidden units behind it.",
                "keyhole",
                ("head-degree", "head-influence", "head-parity"),
            ),
            Sentence(
                "Heads of other people's models",
                "Heads of other people's models do what their authors say.",
                "keyhole",
                ("atom-mapping-head",),
                limit="One head of one model was looked at, and what is judged is whether it is the best of its model at its task.",
                partly=True,
            ),
        ),
    ),
)


def story_of(names: Iterable[str]) -> list[Part]:
    """Return the story with those of its claims that were looked at; claims that it does not name come last."""
    wanted = list(names)

    def measured(sentence: Sentence) -> Sentence:
        claims, besides = (tuple(n for n in names if n in wanted) for names in (sentence.claims, sentence.besides))
        return replace(sentence, claims=claims, besides=besides, absent=len(sentence.claims) - len(claims))

    parts = [replace(part, sentences=tuple(map(measured, part.sentences))) for part in STORY]
    named = {name for part in STORY for sentence in part.sentences for name in sentence.names}
    parts.append(Part("Claims of your own", None, (Sentence("", "", "", tuple(n for n in wanted if n not in named)),)))
    parts = [replace(part, sentences=tuple(each for each in part.sentences if each.names)) for part in parts]
    return [part for part in parts if part.sentences]
