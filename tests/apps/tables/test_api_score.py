"""Scores from files: a key and attributions in, a line per model out."""

import numpy as np
import pytest

from keyhole.apps.tables.score import score
from keyhole.apps.tables.suites import make_suite
from keyhole.errors import DataError

SUITE = make_suite(3, 12)
MEMBERS = SUITE.models


@pytest.fixture
def key(tmp_path):
    """The key of a small suite."""
    return SUITE.save(tmp_path / "key.json")


def perfect(member):
    """Attributions that name the relevant positions and no others."""
    return np.tile(np.isin(np.arange(12), member.plan.function.positions).astype(float), (5, 1))


def test_a_file_is_known_by_its_name_or_by_the_option(key, tmp_path):
    """model-001.npy is scored against model-001; any other name needs to be told."""
    for name, told in (("model-001.npy", None), ("mine.npy", "model-001"), ("mine.npy", "model-001.safetensors")):
        np.save(tmp_path / name, perfect(MEMBERS[1]))
        scores = score(key, tmp_path / name, model=told)
        assert [model.file for model in scores.models] == ["model-001.safetensors"]
        assert scores.models[0].score.auc.value == 1.0
        assert scores.models[0].positions == MEMBERS[1].plan.function.positions


def test_a_folder_is_scored_model_by_model(key, tmp_path):
    """Each model with a file of its name; the mean is over models."""
    np.save(tmp_path / "model-000.npy", perfect(MEMBERS[0]))
    np.save(tmp_path / "model-002.npy", np.ones((5, 12)))
    scores = score(key, tmp_path)
    assert [model.file for model in scores.models] == ["model-000.safetensors", "model-002.safetensors"]
    assert scores.mean["auc"] == 0.75
    assert scores.record()["mean"]["auc"] == 0.75


def test_an_unknown_model_is_refused(key, tmp_path):
    """The key is asked for names it has."""
    np.save(tmp_path / "mine.npy", perfect(MEMBERS[0]))
    with pytest.raises(DataError, match=r"no model 'mine'.*such as model-000"):
        score(key, tmp_path / "mine.npy")


def test_an_empty_folder_is_refused(key, tmp_path):
    """Nothing to score."""
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match=r"no model of the key; name them as 'model-000\.npy'"):
        score(key, tmp_path / "none")
