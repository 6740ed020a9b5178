"""Encoders move with their (token, position) pairs; causal and rotary models are reported and not run."""

import numpy as np
import pytest

from keyhole.errors import DataError
from keyhole.pretrained import load_checkpoint, order_of_rows, order_of_tokens, prepare

from helpers import tiny_checkpoints as tiny


def model_of(family, *, without=(), **more):
    """A tiny model, some of its arrays set to zero."""
    arrays, config = family()
    for name in without:
        arrays[name] = np.zeros_like(arrays[name])
    return prepare(load_checkpoint(arrays, config={**config, **more}))


def texts():
    """Three texts of different tokens."""
    rng = np.random.default_rng(0)
    return [rng.permutation(tiny.SYMBOLS)[:length] for length in (6, 9, 12)]


def test_an_encoder():
    """Moved together, nothing changes beyond rounding; moved alone, rows do."""
    found = order_of_tokens(model_of(tiny.bert), texts())
    assert found.moved_together <= 1e-12
    assert found.moved_alone > 0.01
    assert found.verdict.startswith("equivariant")


def test_without_positions_order_is_nothing():
    """With all positions alike, tokens moved alone are rows moved alone: nothing changes beyond rounding."""
    found = order_of_tokens(model_of(tiny.bert, without=["bert.embeddings.position_embeddings.weight"]), texts())
    assert found.moved_alone <= 1e-12


@pytest.mark.parametrize(
    ("family", "told"), [(tiny.gpt2, "sees only those before"), (tiny.llama, "sees only those before")]
)
def test_causal_models(family, told):
    """Causal models are not exchangeable, and have no number."""
    found = order_of_tokens(model_of(family), texts())
    assert told in found.verdict
    assert found.moved_together is None


def test_a_model_that_looks_at_places():
    """A forward pass that treats a place in its own way is found out."""
    model = model_of(tiny.bert)

    class Odd(type(model)):
        def run(self, rows, *more):
            return super().run(rows, *more) + np.arange(rows.shape[1])[:, None]

    odd = Odd(model.checkpoint, model.layers, model.final_norm, model.number_format)
    assert order_of_tokens(odd, texts()).verdict.startswith("not equivariant")


def test_refusals():
    """Too short a text, rows for a model with positions, and a file that is silent on positions."""
    with pytest.raises(DataError, match="3 tokens"):
        order_of_tokens(model_of(tiny.bert), [np.array([1, 2, 3])])
    with pytest.raises(DataError, match="give it tokens"):
        order_of_rows(model_of(tiny.bert), np.zeros((1, 4, tiny.D)))
    silent = model_of(tiny.encoder, norm_first=True, causal=False, activation="relu")
    assert order_of_rows(silent, np.zeros((1, 4, tiny.D))).verdict.startswith("undecided")
