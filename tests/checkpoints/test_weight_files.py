"""Files of weights are read without running anything; what is hostile, broken or unknown is refused in a sentence."""

import json
import os
import pickle
import struct
import sys
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save_file

from keyhole.checkpoints import load_checkpoint
from keyhole.checkpoints.weight_files import open_weights
from keyhole.errors import CheckpointError, MissingError

from helpers.tiny_checkpoints import heads_of


def refusal(path):
    """The sentence with which a file or folder is refused."""
    with pytest.raises(CheckpointError) as refused:
        load_checkpoint(path)
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.extra("torch")
@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(
    "around", [dict, lambda state: {"rng": state.pop("seed"), "model": state}, lambda state: (state, 3)]
)
def test_torch_files_hold_their_numbers(tmp_path, zipped, around):
    """Both kinds of torch's files give their tensors, transposed views too, wherever the state dict is."""
    torch = pytest.importorskip("torch")
    arrays = heads_of()
    state = {name: torch.from_numpy(array.swapaxes(-1, -2).copy()).mT for name, array in arrays.items()}
    kept = around(state | {"seed": torch.arange(3)})
    torch.save(kept, tmp_path / "model.pt", _use_new_zipfile_serialization=zipped)
    tensors = open_weights(tmp_path / "model.pt").tensors
    assert set(tensors) - {"seed"} == set(arrays)
    assert all(np.array_equal(tensors[name].numbers(), array) for name, array in arrays.items())


def test_a_torch_file_needs_torch(tmp_path, monkeypatch):
    """Without torch the sentence says how to get it, and what to do without it."""
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "model.pt").write_bytes(b"PK")
    with pytest.raises(MissingError, match=r"'.\[torch\]' in keyhole's folder, or save the weights with safetensors"):
        load_checkpoint(tmp_path / "model.pt")


class Payload:
    """Leaves a mark when it is unpickled."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


@pytest.mark.extra("torch")
@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("kind", ["zip", "older", "bare"])
def test_a_payload_is_refused_and_never_run(tmp_path, kind, protocol):
    """A pickle that calls a function is refused in every protocol and place, and nothing of it ran."""
    torch = pytest.importorskip("torch")
    mark, path = tmp_path / "ran", tmp_path / "model.pt"
    payload = {"w": Payload(mark)}
    if kind == "bare":
        path.write_bytes(pickle.dumps(payload, protocol))
    else:
        torch.save(payload, path, pickle_protocol=protocol, _use_new_zipfile_serialization=kind == "zip")
    assert "nothing of it was run" in refusal(path)
    assert not mark.exists()
    pickle.loads(pickle.dumps(payload, protocol))  # noqa: S301  (our own: the payload does work where pickles are run)
    assert mark.exists()


@pytest.mark.extra("torch")
def test_broken_torch_files_are_refused(tmp_path):
    """A file that is cut off anywhere, an archive of something else, and a state dict without tensors are refused."""
    torch = pytest.importorskip("torch")
    path, cut = tmp_path / "model.pt", tmp_path / "cut.pt"
    for zipped in (False, True):
        torch.save({"w": torch.ones(9)}, path, _use_new_zipfile_serialization=zipped)
        whole = path.read_bytes()
        for length in (*range(0, len(whole) - 1, 53), len(whole) - 1):
            cut.write_bytes(whole[:length])
            refusal(cut)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "no weights")
    assert "not a whole file" in refusal(path)
    torch.save({"epoch": 3}, path)
    assert "without tensors" in refusal(path)


def test_broken_safetensors_are_refused(tmp_path):
    """A cut file, a header of 10 GB, one that is no JSON, and offsets beyond the end are refused without being read."""
    path = tmp_path / "model.safetensors"
    save_file(heads_of(), path)
    whole = path.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])
    header["blocks.0.attn.W_Q"]["data_offsets"][1] += 10**6
    beyond = json.dumps(header).encode()
    for content in (
        whole[:-1],
        whole[: 8 + size // 2],
        whole[:5],
        b"",
        struct.pack("<Q", 10 * 2**30) + b"{" * 100,
        struct.pack("<Q", 6) + b"[[[[[[",
        struct.pack("<Q", len(beyond)) + beyond + whole[8 + size :],
    ):
        path.write_bytes(content)
        assert "not a whole safetensors" in refusal(path)


def test_nan_and_quantised_weights_are_refused_where_they_are_read(tmp_path):
    """NaN, infinity and whole numbers in a weight are refused by the weight's name."""
    for spoilt, sentence in (
        (np.float32(np.nan), "W_V holds NaN or infinity"),
        (np.float32(-np.inf), "W_V holds NaN or infinity"),
        (np.int8(3), "W_V holds int8 numbers"),
    ):
        arrays = heads_of()
        arrays["blocks.0.attn.W_V"] = np.full((2, 6, 3), spoilt)
        path = tmp_path / "model.safetensors"
        save_file(arrays, path)
        with pytest.raises(CheckpointError, match=sentence):
            load_checkpoint(path).layers[0].heads  # noqa: B018


def test_folders(tmp_path):
    """Links in a circle, an empty folder, two files, an adapter, a missing shard and a way out of the folder."""
    loop = tmp_path / "loop"
    loop.symlink_to(tmp_path / "pool")
    (tmp_path / "pool").symlink_to(loop)
    assert "cannot be read" in refusal(loop)
    assert "cannot be read" in refusal(tmp_path / "nowhere")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "model.safetensors").symlink_to(folder / "model.safetensors")
    assert "no file of weights" in refusal(folder)
    (folder / "model.safetensors").unlink()
    save_file(heads_of(), folder / "one.safetensors")
    assert load_checkpoint(folder).sizes.heads == 2
    save_file(heads_of(), folder / "two.safetensors")
    assert "name one file" in refusal(folder)
    index = folder / "model.safetensors.index.json"
    for shard, sentence in (
        ("../one.safetensors", "not a file of its own folder"),
        ("/etc/passwd", "not a file of its own folder"),
        ("three.safetensors", "which is not there"),
    ):
        index.write_text(json.dumps({"weight_map": {"w": shard}}))
        assert sentence in refusal(folder)
    index.write_text(json.dumps({"weight_map": {"w": "one.safetensors"}}))
    assert "'w', which no file holds" in refusal(folder)
    index.write_text("[]")
    assert "is not a record" in refusal(folder)
    index.unlink()
    (folder / "adapter_config.json").write_text("{}")
    assert "holds an adapter" in refusal(folder)
    (tmp_path / "pipe.pt").symlink_to("/dev/null")
    assert "neither a file" in refusal(tmp_path / "pipe.pt")


def test_only_what_is_asked_for_is_read(tmp_path):
    """Names and shapes need no numbers: a NaN in the token table is not seen before the table is asked for."""
    path = tmp_path / "model.safetensors"
    save_file(heads_of() | {"embed.W_E": np.full((5, 6), np.nan, np.float32)}, path)
    checkpoint = load_checkpoint(path)
    assert len(checkpoint.layers[0].heads) == 2
    with pytest.raises(CheckpointError, match=r"embed\.W_E holds NaN"):
        checkpoint.embedding  # noqa: B018


def test_bfloat16_is_the_upper_half_of_float32(tmp_path):
    """Numbers whose lower half is zero are kept exactly by bfloat16, and read so."""
    numbers = np.array([1.0, -2.5, 3.0e38, 1e-38, 0.0078125], np.float32)
    upper = numbers.view(np.uint32) >> 16
    header = json.dumps({"w": {"dtype": "BF16", "shape": [5], "data_offsets": [0, 10]}}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + upper.astype("<u2").tobytes())
    tensor = open_weights(path).tensors["w"]
    assert tensor.number_format == "bfloat16"
    assert np.array_equal(tensor.numbers(), (upper << 16).view(np.float32).astype(np.float64))
    assert tensor.numbers()[:2].tolist() == [1.0, -2.5]
