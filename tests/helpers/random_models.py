"""Random transformers, of any library's arrays, for every test that needs one."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from keyhole.attention.layers import GELU, Affine, FeedForward, LayerNorm, ReLU
from keyhole.attention.normalisers import Softmax
from keyhole.attention.positions import LearnedPositions, SignCodes
from keyhole.attention.score import DenseScore, FactoredScore
from keyhole.attention.tokens import AdditiveEmbedding, PairEmbedding
from keyhole.attention.weights import Block, Head, Model, ReadOut, Wiring


@dataclass(frozen=True)
class Plan:
    """What a random model is to look like."""

    seed: int = 0
    tokens: int = 5
    symbols: int = 2
    heads: int = 2
    placement: str = "post"
    norms: bool = True
    residual: str = "each"
    feedforward: bool = True
    gelu: bool = False
    factored: bool = True
    join: str = "concatenate"
    embedding: str = "learned"
    depth: int = 1
    width: int = 6
    final_norm: bool = False
    projected: bool = False


plans = st.builds(
    Plan,
    seed=st.integers(0, 10**6),
    tokens=st.integers(1, 9),
    symbols=st.integers(2, 4),
    heads=st.integers(1, 3),
    placement=st.sampled_from(["pre", "post"]),
    norms=st.booleans(),
    residual=st.sampled_from(["none", "each", "block"]),
    feedforward=st.booleans(),
    gelu=st.booleans(),
    factored=st.booleans(),
    join=st.sampled_from(["sum", "concatenate"]),
    embedding=st.sampled_from(["learned", "signs", "pair"]),
    final_norm=st.booleans(),
    projected=st.booleans(),
)


def random_model(plan, convert=lambda array: array):
    """A model drawn from the plan's seed; `convert` brings numpy's arrays to another library."""
    rng = np.random.default_rng(plan.seed)
    d, k, hidden = plan.width, 3, 7

    def draw(*shape):
        return convert(rng.normal(size=shape) / np.sqrt(shape[0] if len(shape) > 1 else 1))

    def norm():
        return LayerNorm(draw(d), draw(d)) if plan.norms else None

    if plan.embedding == "pair":
        embedding = PairEmbedding(convert(rng.normal(size=(plan.tokens, plan.symbols, d))), draw(d))
    else:
        table = convert(rng.normal(size=(plan.symbols, d)))
        learned = plan.embedding == "learned"
        codes = LearnedPositions(convert(rng.normal(size=(plan.tokens, d)))) if learned else None
        embedding = AdditiveEmbedding(table, codes or SignCodes(plan.tokens, d - 2, seed=plan.seed), draw(d))
    blocks = []
    for _ in range(plan.depth):
        heads = tuple(
            Head(
                FactoredScore(draw(d, k), draw(d, k), draw(k), draw(k)) if plan.factored else DenseScore(draw(d, d)),
                Affine(draw(d, k), draw(k)),
                Softmax(0.5 + rng.random()),
            )
            for _ in range(plan.heads)
        )
        joined = k * plan.heads if plan.join == "concatenate" else k
        feedforward = FeedForward(
            Affine(draw(d, hidden), draw(hidden)),
            GELU() if plan.gelu else ReLU(),
            Affine(draw(hidden, d), draw(d)),
        )
        wiring = Wiring(
            join=plan.join,
            output=Affine(draw(joined, d), draw(d)),
            feedforward=feedforward if plan.feedforward else None,
            residual=plan.residual,
            placement=plan.placement,
            attention_norm=norm(),
            feedforward_norm=norm(),
            projected=plan.projected,
        )
        blocks.append(Block(heads, wiring))
    final = LayerNorm(draw(d), draw(d)) if plan.final_norm else None
    return Model(embedding, tuple(blocks), ReadOut(draw(d), convert(rng.normal(size=())), final))


def random_sequences(plan, count, seed=1):
    """A batch of sequences over the plan's alphabet, as numpy's integers."""
    return np.random.default_rng([plan.seed, seed]).integers(0, plan.symbols, (count, plan.tokens))


def deeper(plan, depth):
    """The same plan with more blocks."""
    return replace(plan, depth=depth)
