"""Models that `transformers` runs: the same heads as by our own forward pass, and families that ours does not know."""

import json
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from keyhole.apps.heads.head_data import Rows, Text
from keyhole.apps.heads.heads import heads
from keyhole.apps.heads.transformers_maps import outside_model
from keyhole.cli.app import app
from keyhole.errors import ArgumentError, CheckpointError

from helpers import tiny_checkpoints as tiny

WORDS = ["[UNK]", "[CLS]", "[SEP]", "the", "cat", "saw", "a", "dog", "and", "ran", "far", "away"]
TEXTS = ["the cat saw a dog and ran", "a dog saw the cat and the dog ran far away"]


@pytest.mark.extra("torch")
def test_the_same_heads_by_both(tmp_path):
    """On a small BERT every statistic of every head agrees to single precision; the control is one, with its words."""
    arrays, config = tiny.bert()
    arrays = {name: 0.3 * array for name, array in arrays.items()}
    save_file(arrays, tiny.save_tokenizer(tmp_path, WORDS) / "model.safetensors", metadata={"format": "pt"})
    sizes = {"hidden_size": tiny.D, "intermediate_size": tiny.UNITS, "vocab_size": tiny.SYMBOLS}
    sizes |= {"max_position_embeddings": tiny.PLACES, "hidden_act": "gelu"}
    (tmp_path / "config.json").write_text(json.dumps({**config, **sizes}))
    ours = heads(tmp_path, Text(TEXTS), controls=False)
    theirs = heads(outside_model(tmp_path), Text(TEXTS))
    assert theirs.uses["trained"].kept == pytest.approx(ours.uses["trained"].kept, abs=1e-5, nan_ok=True)
    assert theirs.uses["trained"].without == pytest.approx(ours.uses["trained"].without, abs=1e-5, nan_ok=True)
    assert list(theirs.control_is) == ["random"]
    assert outside_model(tmp_path).checkpoint.causal is False


@pytest.mark.extra("torch")
@pytest.mark.parametrize(("family", "causal"), [("MPNet", False), ("GPTNeo", True)])
def test_families_that_our_pass_does_not_know(tmp_path, family, causal):
    """Our reader refuses them; transformers' maps give every head a verdict, and show whether the model is causal."""
    transformers = pytest.importorskip("transformers")
    sizes = {"vocab_size": 20, "hidden_size": 16, "max_position_embeddings": 32}
    if family == "MPNet":
        sizes |= {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
    else:
        sizes |= {
            "num_layers": 2,
            "num_heads": 2,
            "attention_types": [[["global", "local"], 1]],
            "intermediate_size": 20,
        }
    config = getattr(transformers, f"{family}Config")(**sizes)
    getattr(transformers, f"{family}Model")(config).save_pretrained(tmp_path)
    tiny.save_tokenizer(tmp_path, WORDS)
    with pytest.raises(CheckpointError):
        heads(tmp_path, Text(TEXTS))
    model = outside_model(tmp_path)
    found = heads(model, Text(TEXTS), head=(1, 1))
    assert (found.sizes.layers, found.sizes.heads) == (2, 2)
    assert model.checkpoint.causal is causal
    assert found.map.weights.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert sum(found.counts["trained"].values()) == 4


def test_what_cannot_be_run(tmp_path, monkeypatch):
    """Settings, another name and an absent package are refused with exit code 2."""
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "text.txt").write_text("a\n")
    words = ["heads", str(tmp_path), "--text", str(tmp_path / "text.txt"), "--through"]
    for more, fact in (
        (["jax"], "'jax' is not a forward pass"),
        (["transformers", "--config", str(tmp_path / "config.json")], "leave out --config"),
        (["transformers"], "pip install -e '.[transformers]'"),
    ):
        answer = CliRunner().invoke(app, [*words, *more])
        assert answer.exit_code == 2
        assert fact in " ".join(answer.stderr.split())


@pytest.mark.extra("torch")
def test_no_folder_of_a_model(tmp_path):
    """A file, and a folder without a configuration, are refused in a sentence."""
    pytest.importorskip("transformers")
    with pytest.raises(CheckpointError, match="is not a folder"):
        outside_model(tmp_path / "absent")
    with pytest.raises(CheckpointError, match="transformers does not read"):
        outside_model(tmp_path)


@pytest.mark.extra("torch")
def test_rows_are_not_text(tmp_path):
    """transformers runs a model on text alone."""
    pytest.importorskip("transformers")
    arrays, config = tiny.bert()
    save_file(arrays, tmp_path / "model.safetensors", metadata={"format": "pt"})
    sizes = {"hidden_size": tiny.D, "intermediate_size": tiny.UNITS, "vocab_size": tiny.SYMBOLS}
    (tmp_path / "config.json").write_text(json.dumps({**config, **sizes, "max_position_embeddings": tiny.PLACES}))
    with pytest.raises(ArgumentError, match="on text alone"):
        heads(outside_model(tmp_path), Rows(np.zeros((1, 3), dtype=int)))
