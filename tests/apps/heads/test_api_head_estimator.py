"""A head as an estimator: planted heads get their family, heads whose keys say nothing get none."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from keyhole.apps.heads.diagnosis import diagnose_head
from keyhole.apps.heads.estimator import head_estimator
from keyhole.apps.heads.head_data import Rows
from keyhole.checkpoints import load_checkpoint, prepare
from keyhole.cli.app import app
from keyhole.errors import ArgumentError, DataError

from helpers import tiny_checkpoints as tiny


def planted(rows=96, inputs=3):
    """One layer of two heads on rows (key's two coordinates on the circle, a value that is their wave, noise).

    The first head's keys are the point on the circle and its value the wave; the second reads noise that is independent
    of its keys.
    """
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, (inputs, rows))
    wave = np.sin(2 * angle) + 0.1 * rng.normal(size=angle.shape)
    points = np.stack([np.cos(angle), np.sin(angle), wave, rng.normal(size=angle.shape)], axis=-1)
    select = np.eye(4)
    score = np.stack([2.0 * select[:, :2], 2.0 * select[:, :2]])
    values = np.stack([select[:, [2, 2]], select[:, [3, 3]]])
    arrays = {
        "layers.0.0.module.W_query": score,
        "layers.0.0.module.W_key": score,
        "layers.0.0.module.W_val": values,
        "layers.0.0.module.W_out": np.zeros((2, 2, 4)),
        "init_embed.weight": select,
    }
    return arrays, points


def test_a_planted_estimator():
    """Keys tell of the wave, and a conditional mean finds it; of noise they tell nothing, and no family is named."""
    arrays, points = planted()
    found = head_estimator(arrays, Rows(points), controls=False)
    wave, noise = found.heads
    assert wave.family.startswith("conditional mean")
    assert min(wave.unexplained.values()) < 0.1
    assert wave.unexplained["mean of the values"] > 0.9
    assert wave.own > wave.unexplained[wave.family]  # at its own temperature it smooths too much
    assert (wave.informative, wave.inputs) == (3, 3)
    assert noise.family == "none"
    assert noise.informative == 0


def test_it_is_the_diagnosis_at_the_heads_own_temperature():
    """What the head itself leaves is what the diagnosis of its keys and values says at √k, on average over inputs."""
    arrays, points = planted(inputs=2)
    found = head_estimator(arrays, Rows(points), controls=False, head=(0, 0)).heads[0]
    told = [
        diagnose_head(
            2 * rows[:, :2],
            2 * rows[:, :2],
            rows[:, [2, 2]],
            temperature=np.sqrt(2),
            rng=np.random.default_rng((0, index, 0, 0)),
        )
        for index, rows in enumerate(points)
    ]
    assert found.own == pytest.approx(np.mean([each.own.unexplained for each in told]), rel=1e-6)
    assert found.unexplained["softmax"] == pytest.approx(np.mean([each.fits[1].unexplained for each in told]), rel=1e-6)


@pytest.mark.parametrize("family", [tiny.bert, tiny.llama])
def test_queries_keys_and_values_give_the_maps(family):
    """What is diagnosed is what scores read: softmax of scale · q kᵀ is the map, biases, turns and sharing included."""
    arrays, config = family()
    model = prepare(load_checkpoint(arrays, config=config))
    seen, maps = {}, {}
    model.run(
        model.embed(np.arange(10))[None],
        look=lambda layer, found: maps.setdefault(layer, found.copy()),
        inside=lambda layer, *parts: seen.setdefault(layer, [part.copy() for part in parts]),
    )
    for layer, (query, key, value) in seen.items():
        scores = query @ key.transpose(0, 1, 3, 2) * model.layers[layer].attention.scale
        if model.checkpoint.causal:
            scores = np.where(np.tri(10, dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        assert weights / weights.sum(axis=-1, keepdims=True) == pytest.approx(maps[layer], rel=1e-9, abs=1e-12)
        assert value.shape[:3] == query.shape[:3]


def test_on_the_command_line(tmp_path):
    """JSON has every head and the counts of both controls; the figure of one head alone has one cell."""
    arrays, points = planted(rows=40, inputs=2)
    save_file(arrays, tmp_path / "set.safetensors")
    np.save(tmp_path / "points.npy", points)
    words = ["checkpoint", "estimator", str(tmp_path / "set.safetensors"), "--rows", str(tmp_path / "points.npy")]
    facts = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert facts["schema"] == "head-estimator/1"
    assert set(facts["counts"]) == {"trained", "shuffled", "random"}
    assert [each["head"] for each in facts["heads"]] == [0, 1]
    assert CliRunner().invoke(app, [*words, "--head", "1-1", "--out", str(tmp_path / "map.csv")]).exit_code == 0
    assert len((tmp_path / "map.csv").read_text().splitlines()) == 2


def test_refusals():
    """Inputs of too few rows, and a head that is not there."""
    arrays, points = planted(rows=12)
    with pytest.raises(DataError, match="No input has 16 rows"):
        head_estimator(arrays, Rows(points))
    with pytest.raises(ArgumentError, match=r"Head 1-3 was asked for.*counted from 1"):
        head_estimator(arrays, Rows(points), head=(0, 2))
