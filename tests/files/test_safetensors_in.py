"""Somebody else's weights: plain numbers are read, code is never run, and what is missing is said."""

import json
import os
import pickle

import numpy as np
import pytest
from safetensors.numpy import save_file

from keyhole.errors import CheckpointError
from keyhole.files.model import is_ours, read_weights, write_model


class Malice:
    """Unpickling it would leave a trace."""

    def __reduce__(self):
        return (os.mkdir, ("malice",))


@pytest.mark.parametrize("where", ["metadata", "beside"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numbers_and_description(tmp_path, where, dtype):
    """Single precision comes as exactly the same numbers in double; the description from either place."""
    path, said = tmp_path / "w.safetensors", {"architecture": "x"}
    array = np.random.default_rng(0).normal(size=(2, 3)).astype(dtype)
    save_file({"a": array}, path, {"keyhole": json.dumps(said)} if where == "metadata" else None)
    if where == "beside":
        (tmp_path / "w.json").write_text(json.dumps(said))
    tensors, described = read_weights(path)
    assert described == said
    assert tensors["a"].dtype == np.float64
    assert np.array_equal(tensors["a"], array)


def test_pickles_are_not_opened(tmp_path, monkeypatch):
    """A pickle and a zip of one are refused by their first bytes, and nothing in them runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pt").write_bytes(pickle.dumps(Malice()))
    (tmp_path / "b.pt").write_bytes(b"PK\x03\x04")
    for name in ("a.pt", "b.pt"):
        with pytest.raises(CheckpointError, match="is a pickle, which runs code when it is read"):
            read_weights(tmp_path / name)
    assert not (tmp_path / "malice").exists()


def test_refusals(tmp_path):
    """A wrong path, no arrays, no description, a description that is none, numbers that are no weights."""
    with pytest.raises(CheckpointError, match="cannot be read: No such file"):
        read_weights(tmp_path / "none.safetensors")
    (tmp_path / "text.safetensors").write_text("hello")
    with pytest.raises(CheckpointError, match="holds no arrays that can be read"):
        read_weights(tmp_path / "text.safetensors")
    path = tmp_path / "w.safetensors"
    save_file({"a": np.zeros(2, dtype=np.float32)}, path)
    with pytest.raises(CheckpointError, match="comes without a description; write one into"):
        read_weights(path)
    for text, sentence in (("{", "is not JSON"), ("[]", "is not a record")):
        path.with_suffix(".json").write_text(text)
        with pytest.raises(CheckpointError, match=sentence):
            read_weights(path)
    save_file({"a": np.array([1.0, np.nan], dtype=np.float32)}, path)
    with pytest.raises(CheckpointError, match=r"a in .* holds NaN or infinity"):
        read_weights(path)
    save_file({"a": np.array([1, 2])}, path)
    with pytest.raises(CheckpointError, match="holds int64 numbers"):
        read_weights(path)


def test_a_refusal_names_the_same_array_again(tmp_path):
    """Of twelve arrays that are all refused, the first by name."""
    names = [f"{letter}.{index}" for letter in "cab" for index in range(4)]
    save_file({name: np.full(2, np.nan) for name in names}, tmp_path / "a.safetensors", {"keyhole": "{}"})
    for _ in range(3):
        with pytest.raises(CheckpointError, match=r"^a\.0 in .* holds NaN"):
            read_weights(tmp_path / "a.safetensors")


def test_whose_file(tmp_path):
    """Ours says so in its header; others, and nothing at all, do not."""
    write_model(tmp_path / "ours.safetensors", {"a": np.zeros(1)}, {})
    save_file({"a": np.zeros(2, dtype=np.float32)}, tmp_path / "theirs.safetensors")
    assert is_ours(tmp_path / "ours.safetensors")
    assert not is_ours(tmp_path / "theirs.safetensors")
    assert not is_ours(tmp_path / "none.safetensors")
