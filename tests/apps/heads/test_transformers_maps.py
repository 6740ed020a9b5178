"""Models that `transformers` runs: the same heads as by our own forward pass, and families that ours does not know."""

import json
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from keyhole.apps.heads.heads import heads
from keyhole.apps.heads.transformers_maps import outside_model
from keyhole.cli.app import app
from keyhole.errors import ArgumentError, CheckpointError, MissingError

from helpers import tiny_checkpoints as tiny

WORDS = ["[UNK]", "[CLS]", "[SEP]", "the", "cat", "saw", "a", "dog", "and", "ran", "far", "away"]
TEXTS = ["the cat saw a dog and ran", "a dog saw the cat and the dog ran far away"]


def tokenized(folder):
    """A tokenizer of whole words in a folder."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: number for number, word in enumerate(WORDS)}, WORDS[0])
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.mark.extra("torch")
def test_the_same_heads_by_both(tmp_path):
    """On a small BERT every statistic of every head agrees to single precision; the control is one, with its words."""
    arrays, config = tiny.bert()
    arrays = {name: 0.3 * array for name, array in arrays.items()}
    save_file(arrays, tokenized(tmp_path) / "model.safetensors", metadata={"format": "pt"})
    sizes = {"hidden_size": tiny.D, "intermediate_size": tiny.UNITS, "vocab_size": tiny.SYMBOLS}
    sizes |= {"max_position_embeddings": tiny.PLACES, "hidden_act": "gelu"}
    (tmp_path / "config.json").write_text(json.dumps({**config, **sizes}))
    ours = heads(tmp_path, text=TEXTS, controls=False)
    theirs = heads(tmp_path, text=TEXTS, through="transformers")
    assert theirs.use.kept == pytest.approx(ours.use.kept, abs=1e-5, nan_ok=True)
    assert theirs.use.without == pytest.approx(ours.use.without, abs=1e-5, nan_ok=True)
    assert list(theirs.controls) == ["random"]
    assert theirs.record()["control_is"] == {"random": "all weights drawn as they are before training"}
    assert theirs.checkpoint.causal is False


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
    tokenized(tmp_path)
    with pytest.raises(CheckpointError):
        heads(tmp_path, text=TEXTS)
    found = heads(tmp_path, text=TEXTS, through="transformers", head=(1, 1))
    assert (found.checkpoint.sizes.layers, found.checkpoint.sizes.heads) == (2, 2)
    assert found.checkpoint.causal is causal
    assert found.shown.weights.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert sum(found.record()["counts"]["trained"].values()) == 4


def test_what_cannot_be_asked(tmp_path, monkeypatch):
    """Without the package the command that brings it is said; rows, settings and other names are refused."""
    with pytest.raises(ArgumentError, match="folder's own model on text"):
        heads(tmp_path, rows=np.zeros((1, 3, 4)), through="transformers")
    with pytest.raises(ArgumentError, match="there are keyhole's and transformers'"):
        heads(tmp_path, text=TEXTS, through="jax")
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingError, match=r"pip install 'keyhole\[transformers\]'"):
        outside_model(tmp_path)
    (tmp_path / "text.txt").write_text("a\n")
    words = ["heads", str(tmp_path), "--text", str(tmp_path / "text.txt"), "--through", "transformers"]
    assert CliRunner().invoke(app, words).exit_code == 2
    refused = CliRunner().invoke(app, [*words, "--estimator"])
    assert "--through was given, and would be ignored" in " ".join(refused.stderr.split())


@pytest.mark.extra("torch")
def test_no_folder_of_a_model(tmp_path):
    """A file, and a folder without a configuration, are refused in a sentence."""
    pytest.importorskip("transformers")
    with pytest.raises(CheckpointError, match="is no folder"):
        outside_model(tmp_path / "absent")
    with pytest.raises(CheckpointError, match="transformers does not read"):
        outside_model(tmp_path)
