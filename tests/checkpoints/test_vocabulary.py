"""Names of tokens are read from the first file of a folder that has them."""

import json

import pytest

from keyhole.checkpoints import read_vocabulary
from keyhole.errors import ArgumentError

NESTED = {"model": {"vocab": {"a": 0, "b": 1}}, "added_tokens": [{"content": "SEP", "id": 2}]}


def test_each_file(tmp_path):
    """vocab.txt numbers its lines, tokenizer.json adds tokens to its model's, and vocab.json goes before both."""
    (tmp_path / "vocab.txt").write_text("x\ny\n")
    assert read_vocabulary(tmp_path).numbers == {"x": 0, "y": 1}
    (tmp_path / "tokenizer.json").write_text(json.dumps(NESTED))
    assert read_vocabulary(tmp_path / "model.safetensors").numbers == {"a": 0, "b": 1, "SEP": 2}
    (tmp_path / "vocab.json").write_text(json.dumps({"0": 5, "no": -1, "half": 0.5}))
    assert read_vocabulary(tmp_path).numbers == {"0": 5}


@pytest.mark.parametrize("broken", ["", "[", "[1]", '"a"', "[" * 10**5, '{"model": {"vocab": [["a", 0]]}}'])
def test_a_file_of_another_kind_is_passed_over(tmp_path, broken):
    """What is not a vocabulary leaves the next file, or no names."""
    (tmp_path / "tokenizer.json").write_text(broken)
    assert read_vocabulary(tmp_path).numbers == {}
    (tmp_path / "vocab.txt").write_text("x\n")
    assert read_vocabulary(tmp_path).numbers == {"x": 0}


def test_tokens_by_name_and_by_number(tmp_path):
    """A token goes by its name; only a model without names has tokens by their numbers."""
    bare = read_vocabulary(tmp_path)
    assert (bare.number("7"), bare.name(7)) == (7, "7")
    (tmp_path / "vocab.txt").write_text("x\n7\n")
    named = read_vocabulary(tmp_path)
    assert (named.number("7"), named.name(0)) == (1, "x")
    for vocabulary, name in ((bare, "x"), (named, "5")):
        with pytest.raises(ArgumentError, match=name):
            vocabulary.number(name)
