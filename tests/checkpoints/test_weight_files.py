"""Files of weights are read without running anything; what is hostile, broken or unknown is refused in a sentence."""

import json
import os
import pickle
import pickletools
import struct
import zipfile
from contextlib import suppress
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from keyhole.checkpoints import load_checkpoint
from keyhole.checkpoints.weight_files import open_weights
from keyhole.checkpoints.weight_files.opcodes import read_pickle
from keyhole.errors import CheckpointError

from helpers import torch_files as made


def refusal(path):
    """The sentence with which a file or folder is refused."""
    with pytest.raises(CheckpointError) as refused:
        load_checkpoint(path)
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("older", [False, True])
def test_torch_files_hold_their_numbers(tmp_path, older):
    """Both kinds of torch's files give the arrays that were put into them, transposed and offset views too."""
    arrays = made.heads_of()
    program, storages = made.state_of(arrays, older=older)
    write = made.older_file if older else made.zip_file
    tensors = open_weights(write(tmp_path / "model.pt", program, storages)).tensors
    assert set(tensors) == set(arrays)
    assert all(np.array_equal(tensors[name].numbers(), array) for name, array in arrays.items())
    line = np.arange(24, dtype=np.float64)
    view = made.tensor("0", line, shape=(3, 4), strides=(1, 3), offset=5, older=older)
    tensors = open_weights(write(tmp_path / "view.pt", made.state({"v": view}), {"0": line})).tensors
    assert np.array_equal(tensors["v"].numbers(), line[5:17].reshape(4, 3).T)


def test_the_state_dict_is_found_beside_other_things(tmp_path):
    """A state dict under the usual names is taken, and tensors beside it (a random state) are not."""
    arrays = made.heads_of()
    program, storages = made.state_of(arrays)
    seed = np.arange(3)
    beside = b"}(" + made.text("rng") + made.tensor("9", seed) + made.text("model") + program + b"u"
    path = made.zip_file(tmp_path / "model.pt", beside, storages | {"9": seed})
    assert set(open_weights(path).tensors) == set(arrays)


class Payload:
    """Leaves a mark when it is unpickled."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("kind", ["zip", "older", "bare"])
def test_a_payload_is_refused_and_never_run(tmp_path, kind, protocol):
    """A pickle that calls a function is refused with the function's name, in every protocol and place; nothing ran."""
    mark, path = tmp_path / "ran", tmp_path / "model.pt"
    program = pickle.dumps({"w": Payload(mark)}, protocol)
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", program)
    elif kind == "older":
        magic = made.pickled(b"\x8a\x0a" + (0x1950A86A20F9469CFC6C).to_bytes(10, "little"))
        system = made.pickled(b"}" + made.text("little_endian") + b"\x88s")
        path.write_bytes(magic + made.pickled(made.number(1001)) + system + program)
    else:
        path.write_bytes(program)
    assert "Nothing of it was run" in refusal(path)
    assert not mark.exists()
    pickle.loads(program)  # noqa: S301  (our own: the payload does work where pickles are run)
    assert mark.exists()


@pytest.mark.parametrize(
    "name", ["posix system", "builtins eval", "torch.nn.modules.linear Linear", "torch._utils _rebuild_tensor_v3"]
)
def test_unknown_names_are_refused(name):
    """A name outside the few that weights need ends the reading, whether or not it would be called."""
    program = made.pickled(b"c" + name.replace(" ", "\n").encode() + b"\n")
    with pytest.raises(CheckpointError, match=f"it names {name.replace(' ', '.')}, which weights do not need"):
        read_pickle(BytesIO(program), "the file")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content):
    """Random bytes end in a value or in a refusal, never in another error."""
    with suppress(CheckpointError):
        read_pickle(BytesIO(content), "the file")


PROGRAM = made.pickled(made.state_of(made.heads_of(heads=1, width=2, k=1))[0])
CODES = [opcode.code.encode("latin-1") for opcode in pickletools.opcodes]


CHANGES = st.lists(st.tuples(st.integers(0, len(PROGRAM) - 1), st.sampled_from(CODES)), min_size=1, max_size=6)


@given(CHANGES, st.booleans())
def test_changed_programs_are_read_or_refused(changes, cut):
    """A state dict's pickle with some bytes replaced by opcodes, or cut off, is a plain value or is refused."""
    changed = bytearray(PROGRAM)
    for place, code in changes:
        changed[place : place + 1] = code
    content = bytes(changed[: changes[0][0]] if cut else changed)
    try:
        value = read_pickle(BytesIO(content), "the file")
    except CheckpointError:
        return
    assert not callable(value)


def test_values_that_hold_themselves_end(tmp_path):
    """A list that holds itself, and lists of lists that would unfold to 2^60 items, are looked at once each."""
    itself = b"]q\x00h\x00a"
    doubling = b"]" + b"".join(b"q%ch%c\x86" % (i, i) for i in range(60))
    for program in (itself, doubling):
        path = made.older_file(tmp_path / "model.pt", program, {})
        assert "no state dict" in refusal(path)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"shape": (1 << 20, 1 << 20), "strides": (0, 0)}, "its storage holds 36 numbers"),
        ({"shape": (100,), "strides": (1,)}, "its storage holds 36 numbers"),
        ({"offset": 30}, "its storage holds 36 numbers"),
        ({"shape": (-1, 3), "strides": (1, 1)}, "something else than a storage"),
        ({"shape": (2, 3), "strides": (1,)}, "2 sides and 1 strides"),
        ({"length": 2**30}, None),
    ],
)
def test_tensors_stay_inside_their_storage(tmp_path, wrong, sentence):
    """Sides, strides and offsets that leave the storage are refused before anything is read."""
    array = np.arange(36, dtype=np.float32).reshape(2, 6, 3)
    path = made.zip_file(tmp_path / "model.pt", made.state({"w": made.tensor("0", array, **wrong)}), {"0": array})
    if sentence is None:  # a storage that is said to be longer than it is, and is not read beyond its end
        assert np.array_equal(open_weights(path).tensors["w"].numbers(), array)
    else:
        assert sentence in refusal(path)


def test_zip_bombs_are_refused(tmp_path):
    """A compressed entry is refused before it is unpacked: torch compresses nothing."""
    program, storages = made.state_of(made.heads_of())
    bomb = storages | {"bomb": bytes(10**7)}
    path = made.zip_file(tmp_path / "model.pt", program, bomb, compression=zipfile.ZIP_DEFLATED)
    assert "torch compresses nothing" in refusal(path)


def test_broken_archives_are_refused(tmp_path):
    """An archive that is cut off anywhere, lacks a storage, or has the big end first is refused."""
    program, storages = made.state_of(made.heads_of())
    whole = made.zip_file(tmp_path / "model.pt", program, storages).read_bytes()
    for length in (*range(4, len(whole) - 1, 97), len(whole) - 1):
        path = tmp_path / "cut.pt"
        path.write_bytes(whole[:length])
        refusal(path)
    lacking = made.zip_file(tmp_path / "lacking.pt", program, {"0": storages["0"]})
    assert "which it does not hold" in refusal(lacking)
    assert "big end first" in refusal(made.zip_file(tmp_path / "big.pt", program, storages, byteorder=b"big"))


def test_cut_older_files_are_refused(tmp_path):
    """An older file that is cut off anywhere is refused."""
    program, storages = made.state_of(made.heads_of(), older=True)
    whole = made.older_file(tmp_path / "model.pt", program, storages).read_bytes()
    for length in (*range(0, len(whole) - 1, 53), len(whole) - 1):
        path = tmp_path / "cut.pt"
        path.write_bytes(whole[:length])
        refusal(path)


def test_broken_safetensors_are_refused(tmp_path):
    """A cut file, a header of 10 GB, one that is no JSON, and offsets beyond the end are refused without being read."""
    path = tmp_path / "model.safetensors"
    save_file(made.heads_of(), path)
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
        assert "is not a whole safetensors file" in refusal(path)


def test_nan_and_quantised_weights_are_refused_where_they_are_read(tmp_path):
    """NaN, infinity and whole numbers in a weight are refused by the weight's name."""
    for spoilt, sentence in (
        (np.float32(np.nan), "W_V holds NaN or infinity"),
        (np.float32(-np.inf), "W_V holds NaN or infinity"),
        (np.int8(3), "W_V holds int8 numbers"),
    ):
        arrays = made.heads_of()
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
    save_file(made.heads_of(), folder / "one.safetensors")
    assert load_checkpoint(folder).sizes.heads == 2
    save_file(made.heads_of(), folder / "two.safetensors")
    assert "one.safetensors, two.safetensors; name one file" in refusal(folder)
    index = folder / "model.safetensors.index.json"
    for shard, sentence in (
        ("../one.safetensors", "no file of its own folder"),
        ("/etc/passwd", "no file of its own folder"),
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
    assert "neither a file nor a folder" in refusal(tmp_path / "pipe.pt")


def test_only_what_is_asked_for_is_read(tmp_path):
    """Names and shapes need no numbers: a NaN in the token table is not seen before the table is asked for."""
    path = tmp_path / "model.safetensors"
    save_file(made.heads_of() | {"embed.W_E": np.full((5, 6), np.nan, np.float32)}, path)
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
