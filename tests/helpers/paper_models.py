"""The function classes of the theory as instances of the general head: head, layer, scalar, deep.

Formulas follow Edelman, Goel, Kakade, Zhang (arXiv 2110.10090), recalled: their constants are not quoted
here.
"""

from collections.abc import Sequence
from typing import Any, Literal

from keyhole.arrays import Float
from keyhole.attention.layers import Activation, Affine, FeedForward, ReLU
from keyhole.attention.score import DenseScore, FactoredScore
from keyhole.attention.tokens import Embedding
from keyhole.attention.weights import Block, Head, Model, ReadOut, Wiring

Score = DenseScore | FactoredScore
Pair = tuple[Score, Float[Any, "d k"]]  # a head's score and its W_V


def query_score(vector: Float[Any, "d"], query: Float[Any, "d"]) -> FactoredScore:
    """The rank-one score M = q zᵀ, which asks tokens for their product with q wherever the query is z."""
    return FactoredScore(query=query[:, None], key=vector[:, None])


def tf_head(score: Score, value: Float[Any, "d k"], activation: Activation | None = None) -> Head:
    """h(X, z) = σ(W_Vᵀ Xᵀ softmax(X M z))."""
    return Head(score, Affine(value), activation=activation or ReLU())


def tf_layer(
    heads: Sequence[Pair],
    output: Float[Any, "k d_out"] | None = None,
    *,
    activation: Activation | None = None,
    summed: Literal["before", "after"] = "before",
) -> Block:
    """Every row τ becomes W_Cᵀ h(X, x_τ); several heads are summed before or after the activation."""
    sigma = activation or ReLU()
    outer = None if output is None else Affine(output)
    if summed == "after":
        return Block(tuple(tf_head(*pair, sigma) for pair in heads), Wiring(output=outer))
    plain = tuple(Head(score, Affine(value)) for score, value in heads)
    return Block(plain, Wiring(feedforward=FeedForward(activation=sigma, outer=outer)))


def tf_scalar(
    embedding: Embedding,
    heads: Sequence[Pair],
    readout: Float[Any, "k_out"],
    *,
    activation: Activation | None = None,
    summed: Literal["before", "after"] = "before",
) -> Model:
    """f = ⟨v, h(X, x_CLS)⟩ with [CLS] appended to X and as the query."""
    layer = tf_layer(heads, activation=activation, summed=summed)
    return Model(embedding, (layer,), ReadOut(readout))


def tf_block(
    embedding: Embedding,
    layers: Sequence[tuple[Score, Float[Any, "d k"], Float[Any, "k d"]]],
    readout: Float[Any, "d"],
    *,
    activation: Activation | None = None,
    residual: Literal["none", "block"] = "none",
) -> Model:
    """X ← Π(W_Cᵀ σ(W_Vᵀ Xᵀ softmax(X M x_τ))) row by row, layer after layer; then wᵀ at [CLS]."""
    blocks = tuple(
        Block(
            (Head(score, Affine(value)),),
            Wiring(
                feedforward=FeedForward(activation=activation or ReLU(), outer=Affine(output)),
                residual=residual,
                projected=True,
            ),
        )
        for score, value, output in layers
    )
    return Model(embedding, blocks, ReadOut(readout))
