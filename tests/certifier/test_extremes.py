"""No verdict is false whatever the exponents: numbers that underflow, that overflow, and both in one product."""

from fractions import Fraction

import numpy as np
import pytest

from keyhole.api.certify import certify
from keyhole.attention.activations import ReLU
from keyhole.attention.layers import Affine, FeedForward, LayerNorm
from keyhole.attention.normalisers import Softmax
from keyhole.attention.positions import LearnedPositions
from keyhole.attention.score import DenseScore
from keyhole.attention.tables import tabulate
from keyhole.attention.tokens import AdditiveEmbedding
from keyhole.attention.weights import Block, Head, Model, ReadOut, Wiring
from keyhole.boolean.junta import Junta
from keyhole.certifier.prove.verify import verify
from keyhole.pretrained.keyhole_tables import save_tabulated

TOKENS, WIDTH = 8, 32


def cancelling_model(seed):
    """A model whose f is −1/2 on every input, though doubles may say 1/2; None if its draw cannot mislead.

    The norm writes its bias, about 1e301, whatever it reads; the inner weights are about 1e-310. Their products are
    ordinary numbers, and their sum, less the inner bias, is below zero: the unit is off, and f its bias −1/2. Added up
    in doubles the sum is above zero, and the outer weight makes it 1.
    """
    rng = np.random.default_rng(seed)
    bias, weight = rng.normal(size=WIDTH) * 1e301, rng.normal(size=(WIDTH, 1)) * 1e-310
    computed = float((bias @ weight)[0])
    truth = sum(Fraction(b) * Fraction(w) for b, w in zip(bias.tolist(), weight[:, 0].tolist(), strict=True))
    above = float((Fraction(computed) + truth) / 2)
    if not truth < Fraction(above) < Fraction(computed):
        return None
    outer = np.zeros((1, WIDTH))
    outer[0, 0] = 1 / (computed - above)
    rest = np.zeros(WIDTH)
    wiring = Wiring(
        output=Affine(rng.normal(size=(2, WIDTH)), rng.normal(size=WIDTH)),
        feedforward=FeedForward(Affine(weight, np.array([-above])), ReLU(), Affine(outer, rest)),
        residual="none",
        placement="post",
        attention_norm=LayerNorm(np.zeros(WIDTH), bias),
    )
    embedding = AdditiveEmbedding(rng.normal(size=(2, 4)), LearnedPositions(rng.normal(size=(TOKENS, 4))), np.ones(4))
    head = Head(DenseScore(rng.normal(size=(4, 4)) / 4), Affine(rng.normal(size=(4, 2)), rng.normal(size=2)), Softmax())
    readout = np.zeros(WIDTH)
    readout[0] = 1.0
    return Model(embedding, (Block((head,), wiring),), ReadOut(readout, np.array(-0.5)))


MISLEADING = [model for model in map(cancelling_model, range(40)) if model is not None]


def test_the_misleading_models_mislead():
    """Doubles say f > 0 of some of the models, so the tests below could fail."""
    assert len(MISLEADING) >= 5


@pytest.mark.parametrize("answer", [True, False])
def test_underflow_in_one_factor_and_a_large_other_give_no_false_verdict(answer):
    """With f = −1/2 everywhere, `always true` is never proved, and `always false` has no counterexample."""
    for model in MISLEADING:
        found = verify(tabulate(model), Junta((), 2, np.array([answer])), time_limit=1.0)
        assert found.status != ("PROVED" if answer else "COUNTEREXAMPLE")


def test_the_same_through_a_file(tmp_path):
    """No certificate of a file says of such a model that it is 1, or shows an input where it is."""
    for index, model in enumerate(MISLEADING[:2]):
        path = save_tabulated(tabulate(model), tmp_path / f"{index}.safetensors", {})
        found = certify(path, time_limit=1.0).record()
        assert (found["status"], found["function"]) != ("PROVED", "1")
        assert found["status"] != "COUNTEREXAMPLE" or found["function"] != "0"
