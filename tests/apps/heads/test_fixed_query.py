"""One layer read at [CLS] in coordinates that were fixed before the data: the same network, and its path norm."""

from dataclasses import replace
from math import hypot, sqrt

import numpy as np
import pytest

from keyhole.apps.heads.fixed_query import FixedQueryLayer, fixed_query_layer, fixed_query_profile
from keyhole.checkpoints import load_checkpoint, prepare
from keyhole.errors import AssumptionError

from helpers import tiny_checkpoints as tiny


def opened(**more):
    """The tiny vision transformer."""
    arrays, config = tiny.vit()
    return load_checkpoint(arrays, config={**config, **more})


def test_it_is_the_same_network():
    """On random images the logits are those of the forward pass, to rounding, and so in other units of pixels."""
    checkpoint = opened()
    layer, model = fixed_query_layer(checkpoint), prepare(checkpoint)
    for features in np.random.default_rng(1).normal(size=(20, 4, 9)):
        wanted = checkpoint.unembedding(model.run(model.embed_features(features)[None])[0][0])
        assert layer(features) == pytest.approx(wanted, rel=1e-9, abs=1e-9)
        assert layer.in_units_of(7.0)(features / 7.0) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_every_number_counts():
    """The count of numbers is that of all tensors of the file."""
    arrays, _ = tiny.vit()
    assert fixed_query_layer(opened()).numbers == sum(array.size for array in arrays.values())


def small():
    """Two heads, two units, two classes, one feature and [CLS] with one patch: coordinates (pixel, two places, 1)."""
    maps = np.zeros((2, 4, 2))
    maps[0, :, 0], maps[1, :, 0] = (3, 0, 4, 0), (0, 1, 0, 0)  # unit 0 reads norms 5 and 1
    maps[1, :, 1] = (0, 0, 2, 0)  # unit 1 reads 0 and 2
    lines = np.zeros((2, 4, 2))
    lines[0, :, 0], lines[1, :, 1] = (0, 3, 0, 0), (0, 0, 0, 0)
    return FixedQueryLayer(
        queries=np.array([[1.0, 0, 0, 0], [0, 2.0, 0, 0]]),
        maps=maps,
        constants=np.array([12.0, 0.0]),  # of unit 0: with the head that reads 5, hypot(5, 12) = 13
        weights=np.array([[1.0, -1.0], [0.5, 0.0]]),
        lines=lines,
        shift=np.array([4.0, 0.0]),  # with the line of norm 3: 5
        features=1,
        tokens=2,
        numbers=0,
    )


def test_the_path_norm_by_hand():
    """P = 2 · (13 + 1) + ½ · 2 + 5, and the difference of the classes is at most P times the largest token."""
    layer = small()
    assert layer.path(0, 1) == pytest.approx(34.0, rel=1e-12)
    assert layer.steepest() == (1, 0, pytest.approx(34.0, rel=1e-12))
    largest = hypot(1.0, sqrt(2.0))
    for pixel in np.linspace(-1, 1, 41):
        logits = layer(np.array([[pixel]]))
        assert abs(logits[0] - logits[1]) <= 34.0 * largest


def test_the_norms_of_the_profile():
    """Tokens of pixels in [−1, 3], in units of 3: at most √3 long; a patch and another are √(16/9 + 2) apart."""
    profile = fixed_query_profile(small(), -1.0, 3.0)
    assert profile.token_radius == pytest.approx(sqrt(3.0), rel=1e-12)
    assert profile.token_diameter == pytest.approx(sqrt(16 / 9 + 2), rel=1e-12)
    assert [head.query for head in profile.blocks[0].heads] == pytest.approx([3.0, 2.0])  # the pixel's share times 3
    scaled = small().in_units_of(3.0)
    assert profile.path == pytest.approx(scaled.path(1, 0), rel=1e-12)
    rows = [scaled.rows(np.array([[pixel / 3.0]])) for pixel in (-1.0, 3.0)]
    together = np.concatenate(rows)
    assert np.linalg.norm(together, axis=1).max() == pytest.approx(profile.token_radius, rel=1e-12)
    apart = np.linalg.norm(together[:, None] - together[None], axis=-1).max()
    assert apart <= profile.token_diameter + 1e-12


@pytest.mark.parametrize(
    ("more", "told"), [({"norm": "layer"}, "divide by a deviation"), ({"hidden_act": "gelu"}, "no ReLU units")]
)
def test_other_networks_are_refused(more, told):
    """A norm that divides, or smooth units, are not of this kind."""
    with pytest.raises(AssumptionError, match=told):
        fixed_query_layer(opened(**more))


def test_a_bert_is_refused():
    """So is a model of several layers."""
    arrays, config = tiny.bert()
    with pytest.raises(AssumptionError, match="more than one layer"):
        fixed_query_layer(load_checkpoint(arrays, config=config))


def test_a_line_counts_once():
    """Doubling what passes the units by doubles its part of P alone."""
    layer = small()
    doubled = replace(layer, lines=2 * layer.lines, shift=2 * layer.shift)
    assert doubled.path(0, 1) - layer.path(0, 1) == pytest.approx(5.0, rel=1e-12)
