"""Keys and attributions are data: what is not is refused, and nothing is unpickled."""

import json

import numpy as np
import pytest

from keyhole.apps.tables.score import read_key, score
from keyhole.errors import DataError


@pytest.fixture
def read(tmp_path):
    """Score a file of attributions to a model of context 3."""
    key = {"context": 3, "models": [{"file": "a", "positions": [1]}]}
    (tmp_path / "key.json").write_text(json.dumps(key), "utf8")
    return lambda path: score(tmp_path / "key.json", path, model="a")


def test_a_pickle_is_never_loaded(read, tmp_path):
    """An array of objects would run code when read."""
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"not an array of numbers in the \.npy format"):
        read(tmp_path / "evil.npy")


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01\x00", b"hello"])
def test_what_is_no_array_is_refused(read, tmp_path, content):
    """Empty, cut off, or something else."""
    (tmp_path / "broken.npy").write_bytes(content)
    with pytest.raises(DataError, match=r"not an array of numbers in the \.npy format"):
        read(tmp_path / "broken.npy")


def test_a_missing_file_is_refused(read, tmp_path):
    """With the reason."""
    with pytest.raises(DataError, match="does not exist"):
        read(tmp_path / "none.npy")
    with pytest.raises(DataError, match="No such file"):
        read_key(tmp_path / "none.json")


def test_one_array_of_two_axes(read, tmp_path):
    """A row per input and a column per position."""
    np.save(tmp_path / "flat.npy", np.zeros(3))
    with pytest.raises(DataError, match=r"holds \(3,\)"):
        read(tmp_path / "flat.npy")
    np.savez(tmp_path / "several.npz", a=np.zeros((2, 2)))
    with pytest.raises(DataError, match="several arrays"):
        read(tmp_path / "several.npz")
    np.save(tmp_path / "right.npy", np.eye(3))
    assert read(tmp_path / "right.npy").models[0].score.auc.value == 0.5


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", '{"models": []}', '{"models": [{"file": "a"}]}', '{"models": [{"file": 3, "positions": []}]}',
     '{"models": [{"file": "a", "positions": ["?"]}]}', '{"models": 3}'],
)  # fmt: skip
def test_what_is_no_key_is_refused(tmp_path, content):
    """A key has models, each with a file and positions."""
    (tmp_path / "key.json").write_text(content, "utf8")
    with pytest.raises(DataError, match="answer key"):
        read_key(tmp_path / "key.json")


def test_bytes_are_no_key(tmp_path):
    """Nor is what is no text."""
    (tmp_path / "key.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="answer key"):
        read_key(tmp_path / "key.json")


def test_a_key_is_read(tmp_path):
    """As it was written."""
    (tmp_path / "key.json").write_text(
        json.dumps({"context": 9, "models": [{"file": "a", "positions": [1, 2]}]}), "utf8"
    )
    assert read_key(tmp_path / "key.json") == ({"file": "a", "positions": [1, 2], "context": 9},)
