"""Encoders move with their (row, position) pairs; causal and rotary models are reported, and asked one question."""

import numpy as np
import pytest

from keyhole.apps.heads.order import order_of_rows, order_of_tokens
from keyhole.checkpoints import load_checkpoint, prepare
from keyhole.errors import DataError

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
    """Moved together, nothing changes beyond rounding; moved alone, rows do, and so does the last behind the others."""
    found = order_of_tokens(model_of(tiny.bert), texts())
    assert found.moved_together <= 1e-12
    assert found.moved_alone > 0.01
    assert found.moved_context > 0.01
    assert (found.exchangeable, found.ignores_order) == (True, False)


def test_without_positions_order_is_nothing():
    """With all positions alike, tokens moved alone are rows moved alone: nothing changes beyond rounding."""
    found = order_of_tokens(model_of(tiny.bert, without=["bert.embeddings.position_embeddings.weight"]), texts())
    assert found.moved_alone <= 1e-12
    assert found.moved_context <= 1e-12
    assert found.ignores_order


def test_patches_of_images():
    """The patches of an image move with their positions, [CLS] staying; without them the read-out changes."""
    rows = np.random.default_rng(2).normal(size=(3, 4, 9))
    found = order_of_rows(model_of(tiny.vit), rows)
    assert found.moved_together <= 1e-12
    assert found.moved_alone > 0.01


@pytest.mark.parametrize("family", [tiny.gpt2, tiny.llama])
def test_causal_models(family):
    """Causal models are not exchangeable; how far the last row changes behind a reordered context is still told."""
    found = order_of_tokens(model_of(family), texts())
    assert "sees only those before" in found.verdict
    assert found.moved_together is None
    assert found.moved_alone is None
    assert found.moved_context > 0.01
    assert found.exchangeable is False


def test_one_layer_without_positions_forgets_the_order_of_its_context():
    """The last row of a causal layer without positions sees all rows before it alike, in whatever order they come."""
    found = order_of_tokens(model_of(lambda: tiny.gpt2(layers=1), without=["wpe.weight"]), texts())
    assert found.exchangeable is False
    assert found.ignores_order


def set_encoder():
    """An encoder without positions, two layers, of points in the plane."""
    rng = np.random.default_rng(3)
    shapes = {"init_embed.weight": (6, 2), "init_embed.bias": (6,)}
    for layer in range(2):
        shapes |= {f"layers.{layer}.0.module.W_{name}": (2, 6, 3) for name in ("query", "key", "val")}
        shapes |= {f"layers.{layer}.0.module.W_out": (2, 3, 6)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}, {}


def test_rows_after_a_context():
    """Rows that see a context alone do not change with its order, nor with each other."""
    model, points = model_of(set_encoder), np.random.default_rng(4).random((3, 9, 2))
    found = order_of_rows(model, points, context=6)
    assert found.ignores_order
    assert found.moved_together <= 1e-12
    assert found.moved_alone is None
    visible = (np.arange(9) < 6)[None]
    changed = points[0].copy()
    changed[7] += 1.0  # another query
    one, two = (model.run(model.embed_features(rows)[None], visible)[0] for rows in (points[0], changed))
    assert one[6] == pytest.approx(two[6], rel=1e-12)
    moved = points[0].copy()
    moved[2] += 1.0  # the context itself
    assert np.abs(model.run(model.embed_features(moved)[None], visible)[0][6] - one[6]).max() > 1e-3


def prior_fitted():
    """A stock encoder under the names of a prior-fitted network, with what embeds and reads beside it."""
    arrays, config = tiny.encoder()
    arrays = {f"module.transformer_{name}": array for name, array in arrays.items() if "layers" in name}
    beside = {"encoder.weight": (tiny.D, 5), "y_encoder.weight": (tiny.D, 1), "decoder.0.weight": (7, tiny.D)}
    rng = np.random.default_rng(5)
    return arrays | {f"module.{name}": rng.normal(size=shape) for name, shape in beside.items()}, config


def test_a_prior_fitted_network():
    """It is known by its names, as an encoder without positions; rows behind a context do not change with its order."""
    model = model_of(prior_fitted)
    checkpoint = model.checkpoint
    assert (checkpoint.architecture, checkpoint.unknown) == ("prior-fitted network", ())
    assert (checkpoint.placement, checkpoint.positions.kind, checkpoint.causal) == ("post", "none", False)
    assert {each.name for each in checkpoint.unused} == {"encoder.weight", "y_encoder.weight", "decoder.0.weight"}
    found = order_of_rows(model, np.random.default_rng(6).normal(size=(2, 9, tiny.D)), context=5)
    assert found.ignores_order
    assert found.exchangeable


def test_rows_after_a_context_see_it_alone():
    """With a context both runs hide the other rows from all; without one nothing is hidden."""
    model = model_of(set_encoder)
    seen = []

    class Spy(type(model)):
        def run(self, rows, visible=None, *more):
            seen.append(None if visible is None else int(visible.sum()))
            return super().run(rows, visible, *more)

    spy = Spy(model.checkpoint, model.layers, model.final_norm, model.number_format)
    points = np.random.default_rng(4).random((1, 9, 2))
    order_of_rows(spy, points, context=6)
    assert seen[-2:] == [6, 6]
    seen.clear()
    order_of_rows(spy, points)
    assert set(seen) == {None}


def test_a_model_that_looks_at_places():
    """A forward pass that treats a place in its own way is found out."""
    model = model_of(tiny.bert)

    class Odd(type(model)):
        def run(self, rows, *more):
            return super().run(rows, *more) + np.arange(rows.shape[1])[:, None]

    odd = Odd(model.checkpoint, model.layers, model.final_norm, model.number_format)
    found = order_of_tokens(odd, texts())
    assert found.verdict.startswith("not equivariant")
    assert found.exchangeable is False


def test_refusals():
    """Too short a text, too few rows, a context that leaves nothing, and a file that is silent on positions."""
    with pytest.raises(DataError, match="3 tokens"):
        order_of_tokens(model_of(tiny.bert), [np.array([1, 2, 3])])
    with pytest.raises(DataError, match="three rows or more"):
        order_of_rows(model_of(set_encoder), np.zeros((1, 2, 2)))
    with pytest.raises(DataError, match="one row less"):
        order_of_rows(model_of(set_encoder), np.zeros((1, 4, 2)), context=4)
    silent = model_of(tiny.encoder, norm_first=True, causal=False, activation="relu")
    found = order_of_rows(silent, np.random.default_rng(0).normal(size=(1, 4, tiny.D)))
    assert found.verdict.startswith("undecided")
    assert found.exchangeable is None
