"""torch's own encoder layer, read at [CLS], is one of our models."""

from dataclasses import asdict

import numpy as np
import pytest

from keyhole.attention.evaluation import evaluate
from keyhole.attention.forward_pass import forward, transform
from keyhole.attention.layers import GELU, Affine, FeedForward, LayerNorm, ReLU
from keyhole.attention.norms import profile
from keyhole.attention.positions import LearnedPositions
from keyhole.attention.score import FactoredScore
from keyhole.attention.tables import tabulate
from keyhole.attention.tokens import AdditiveEmbedding
from keyhole.attention.weights import Block, Head, Model, ReadOut, Wiring

NEEDS_TORCH = pytest.mark.extra("torch")
T, A, D, HEADS, HIDDEN = 11, 3, 8, 4, 13


def random_layer(norm_first, activation, seed):
    """An encoder layer in double precision with every weight and bias drawn, norms included."""
    import torch

    torch.manual_seed(seed)
    layer = torch.nn.TransformerEncoderLayer(
        D, HEADS, HIDDEN, 0.0, activation, batch_first=True, norm_first=norm_first, dtype=torch.float64
    )
    with torch.no_grad():
        for weight in layer.parameters():
            weight.normal_(0, 0.5)
    return layer


def block_of(layer, convert):
    """The same weights as one of our blocks: torch keeps (outputs, inputs) and packs the three."""
    attention, k = layer.self_attn, D // HEADS
    packed, biases = attention.in_proj_weight, attention.in_proj_bias

    def part(which, head):
        rows = slice(which * D + head * k, which * D + (head + 1) * k)
        return convert(packed[rows].T), convert(biases[rows])

    heads = []
    for index in range(HEADS):
        (query, query_bias), (key, key_bias), (value, value_bias) = (part(which, index) for which in range(3))
        heads.append(Head(FactoredScore(query, key, query_bias, key_bias), Affine(value, value_bias)))

    def affine(linear):
        return Affine(convert(linear.weight.T), convert(linear.bias))

    def norm(layer_norm):
        return LayerNorm(convert(layer_norm.weight), convert(layer_norm.bias), layer_norm.eps)

    activation = ReLU() if layer.activation_relu_or_gelu == 1 else GELU()
    wiring = Wiring(
        join="concatenate",
        output=affine(attention.out_proj),
        feedforward=FeedForward(affine(layer.linear1), activation, affine(layer.linear2)),
        residual="each",
        placement="pre" if layer.norm_first else "post",
        attention_norm=norm(layer.norm1),
        feedforward_norm=norm(layer.norm2),
    )
    return Block(tuple(heads), wiring)


@NEEDS_TORCH
@pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_equal_to_the_encoder_layer(norm_first, activation, library):
    """Every row of the layer by the general pass; [CLS] read off by the general pass and by tables."""
    import torch

    def convert(tensor):
        return tensor.detach() if library == "torch" else tensor.detach().numpy()

    layer = random_layer(norm_first, activation, seed=3)
    rng = np.random.default_rng(4)
    tokens, positions, cls, weight = (torch.asarray(rng.normal(size=shape)) for shape in [(A, D), (T, D), (D,), (D,)])
    batch = torch.asarray(rng.integers(0, A, (6, T)))
    rows = torch.cat([tokens[batch] + positions, cls.expand(6, 1, D)], dim=1)
    expected = layer(rows).detach().numpy()
    block = block_of(layer, convert)
    np.testing.assert_allclose(transform((block,), convert(rows)), expected, rtol=1e-12, atol=1e-12)
    embedding = AdditiveEmbedding(convert(tokens), LearnedPositions(convert(positions)), convert(cls))
    model = Model(embedding, (block,), ReadOut(convert(weight)))
    at_cls = expected[:, -1] @ weight.numpy()
    np.testing.assert_allclose(forward(model, convert(batch)), at_cls, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(evaluate(tabulate(model), convert(batch)), at_cls, rtol=1e-12, atol=1e-12)


@NEEDS_TORCH
def test_weights_under_training_have_a_profile():
    """Norms of tensors that require a gradient equal those of numpy's arrays, and no warning is given."""
    layer = random_layer(norm_first=True, activation="relu", seed=5)
    rng = np.random.default_rng(6)
    table, positions, cls = (rng.normal(size=shape) for shape in [(A, D), (T, D), (D,)])

    def profile_of(convert, bring):
        embedding = AdditiveEmbedding(bring(table), LearnedPositions(bring(positions)), bring(cls))
        model = Model(embedding, (block_of(layer, convert),), ReadOut(convert(layer.norm2.weight)))
        return profile(model)

    one = profile_of(lambda tensor: tensor, layer.norm1.weight.new_tensor)
    two = profile_of(lambda tensor: tensor.detach().numpy(), np.asarray)
    for tensors, numbers in zip(one.blocks[0].heads, two.blocks[0].heads, strict=True):
        for name, matrix in asdict(numbers).items():  # the two libraries add up products in another order
            assert asdict(tensors)[name] == (matrix if matrix is None else pytest.approx(matrix, rel=1e-12)), name
    assert one.spread == pytest.approx(two.spread, rel=1e-12)
    assert one.token_diameter == pytest.approx(two.token_diameter, rel=1e-12)
