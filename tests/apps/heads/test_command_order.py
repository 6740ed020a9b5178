"""`keyhole checkpoint order`: does a model depend on the order of its rows?"""

import json

import numpy as np
from safetensors.numpy import save_file
from typer.testing import CliRunner

from keyhole.cli.app import app

from helpers import tiny_checkpoints as tiny


def points(tmp_path):
    """A set encoder in a file, and points for it."""
    rng = np.random.default_rng(3)
    shapes = {f"layers.0.0.module.W_{name}": (2, 6, 3) for name in ("query", "key", "val")}
    shapes |= {"layers.0.0.module.W_out": (2, 3, 6), "init_embed.weight": (6, 2)}
    save_file({name: rng.normal(size=shape) for name, shape in shapes.items()}, tmp_path / "set.safetensors")
    np.save(tmp_path / "points.npy", rng.random((4, 7, 2)))
    return (str(tmp_path / "set.safetensors"), "--rows", str(tmp_path / "points.npy"))


def test_a_model(tmp_path):
    """An encoder of a set is exchangeable, exit code 0; JSON has the three numbers."""
    words = points(tmp_path)
    answer = CliRunner().invoke(app, ["checkpoint", "order", *words, "--context", "4", "--json"])
    assert answer.exit_code == 0, answer.stderr
    facts = json.loads(answer.stdout)
    assert facts["schema"] == "model-order/1"
    assert facts["moved_together"] <= 1e-12
    assert facts["moved_context"] <= 1e-12
    assert (facts["moved_alone"], facts["exchangeable"], facts["ignores_order"]) == (None, True, True)


def test_a_causal_model(tmp_path):
    """It is reported as not exchangeable, exit code 1."""
    arrays, config = tiny.gpt2()
    save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config))
    np.save(tmp_path / "tokens.npy", np.arange(24).reshape(2, 12) % tiny.SYMBOLS)
    words = ["checkpoint", "order", str(tmp_path), "--rows", str(tmp_path / "tokens.npy"), "--json"]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 1
    assert json.loads(answer.stdout)["exchangeable"] is False
