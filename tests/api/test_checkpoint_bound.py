"""A checkpoint's bound is its stand-in's, says so, and says by how much it is vacuous."""

import json

import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from keyhole.api.checkpoint_bound import checkpoint_bound, is_checkpoint
from keyhole.cli.app import app
from keyhole.errors import AssumptionError
from keyhole.pretrained import STAND_IN

from helpers import tiny_checkpoints as tiny
from helpers.torch_files import heads_of


@pytest.fixture
def folder(tmp_path):
    """A small BERT."""
    arrays, config = tiny.bert()
    save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config))
    return tmp_path


def test_it_is_the_bound_of_a_stand_in(folder):
    """Theorem D answers, theorems of one layer are refused with their reasons, and the words say whose bound it is."""
    answer = checkpoint_bound(folder, 1e6, 50)
    assert [stated.route.key for stated in answer.guarantees] == ["deep"]
    assert answer.vacuous
    assert any("one attention layer" in reason for _, reason in answer.refused)
    text = " ".join(str(answer).split())
    assert STAND_IN in text
    assert "vacuous by 10^" in text
    assert "not covered: feed-forward parts" in text
    assert answer.guarantees[0].profile.tokens == 51


def test_on_the_command_line(folder):
    """`keyhole bound DIR` prints it, as JSON too, and a model without norms is refused in a sentence."""
    words = ["bound", str(folder), "--samples", "1e6", "--context", "50"]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0
    assert "Not a bound for this network" in answer.stdout
    record = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert record["stand_in"]["sentence"].startswith("vacuous by 10^")
    assert record["schema"] == "bound/1"
    assert record["source"] == str(folder)
    save_file(heads_of(), folder / "model.safetensors")
    (folder / "config.json").unlink()
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert "Nothing bounds the rows" in refused.stderr


def test_what_is_a_checkpoint(folder):
    """Folders, foreign files and packaged names are; names of functions, JSON and files that are not there are not."""
    assert is_checkpoint(str(folder / "model.safetensors"))
    assert not is_checkpoint(str(folder / "config.json"))
    assert not is_checkpoint(str(folder / "nowhere.safetensors"))
    with pytest.raises(AssumptionError, match="at least one position"):
        checkpoint_bound(folder, 1e6, 0)
