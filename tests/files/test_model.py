"""Model files: what is written is read back, what is no model is refused, what is damaged is told apart."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from keyhole.errors import CheckpointError, OutputError
from keyhole.files.model import read_model, write_model


@given(
    tensors=st.dictionaries(st.text("abc.", min_size=1), st.lists(st.floats(allow_nan=False), max_size=4), max_size=3)
)
def test_written_and_read(tmp_path_factory, tensors):
    """Arrays, names and description come back bit by bit."""
    path = tmp_path_factory.mktemp("model") / "a.safetensors"
    arrays = {name: np.array(row, dtype=np.float64) for name, row in tensors.items()}
    write_model(path, arrays, {"function": "x1", "scalar": 0.1})
    stored = read_model(path)
    assert stored.damage is None
    assert stored.description["scalar"] == 0.1
    assert {name: array.tobytes() for name, array in stored.tensors.items()} == {
        name: array.tobytes() for name, array in arrays.items()
    }


def test_arrays_come_by_name(tmp_path):
    """In one order at every reading, whatever the order of writing, so that a refusal names the same array again."""
    names = [f"{letter}.{index}" for letter in "cab" for index in range(4)]
    path = write_model(tmp_path / "a.safetensors", {name: np.zeros(1) for name in names}, {})
    assert [list(read_model(path).tensors) for _ in range(3)] == [sorted(names)] * 3


def test_a_number_keeps_its_shape(tmp_path):
    """A single number stays one, and is no row of length 1."""
    write_model(tmp_path / "a.safetensors", {"one": np.array(2.5), "row": np.array([2.5])}, {})
    tensors = read_model(tmp_path / "a.safetensors").tensors
    assert tensors["one"].shape == ()
    assert tensors["row"].shape == (1,)


NO_MODELS = {
    "empty": b"",
    "short": b"abc",
    "text": b"x3 & x17 & x40\n" * 100,
    "a pickle": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94\x8c\x06system\x94\x93\x94.",
    "another safetensors": save({"weight": np.zeros(3)}),
    "a long header": (2**62).to_bytes(8, "little") + b"{}",
}


@pytest.mark.parametrize("content", NO_MODELS.values(), ids=NO_MODELS)
def test_no_models_are_refused(tmp_path, content):
    """Whatever is not a model of ours is refused by name, and nothing of it is run."""
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="is not a keyhole model"):
        read_model(path)


def test_missing_files_and_folders(tmp_path):
    """A file that is not there, or is a folder, cannot be read; a folder cannot be written over."""
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(CheckpointError, match="cannot be read"):
            read_model(path)
    with pytest.raises(OutputError, match="is a folder"):
        write_model(tmp_path, {}, {})


@given(cut=st.floats(0, 1))
def test_cut_files_are_damaged_or_refused(tmp_path_factory, cut):
    """However short a file is cut, it is refused, or read as damaged with the place."""
    folder = tmp_path_factory.mktemp("cut")
    path = write_model(folder / "a.safetensors", {"one": np.arange(5.0), "two": np.ones(9)}, {"function": "x1"})
    content = path.read_bytes()
    path.write_bytes(content[: int(cut * (len(content) - 1))])
    try:
        stored = read_model(path)
    except CheckpointError:
        return
    assert stored.damage is not None
    assert "ends inside" in stored.damage or "lacks its last" in stored.damage


def test_other_damage(tmp_path):
    """A header that is no JSON, a description that is no record, and numbers of another kind are told."""
    metadata = {"format": "keyhole-model/1", "description": "[1]"}
    cases = {
        "not the JSON it": save({"a": np.zeros(1)}, metadata),
        "not in double precision": save({"a": np.zeros(1, dtype=np.float32)}, metadata | {"description": "{}"}),
        "not the JSON": save({"a": np.zeros(1)}, metadata).replace(b'"a":{', b'"a":;'),
    }
    for reason, content in cases.items():
        (tmp_path / "a").write_bytes(content)
        assert reason in read_model(tmp_path / "a").damage
    header = json.dumps({"__metadata__": metadata | {"description": "{}"}, "a": {"dtype": "F64"}}).encode()
    (tmp_path / "a").write_bytes(len(header).to_bytes(8, "little") + header)
    assert "does not fit the arrays" in read_model(tmp_path / "a").damage
