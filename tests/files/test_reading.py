"""Files of others: what they claim is asked before memory is taken, and every fault is a ValueError or an OSError."""

import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from keyhole.apps.tables.score import read_key
from keyhole.errors import DataError
from keyhole.files import reading
from keyhole.files.data import read_labelled
from keyhole.files.norms import norms_template, read_norms
from keyhole.files.reading import parse_arrays, parse_json, read_bytes

ZERO = Path("/dev/zero")


def array(*shape, head="'descr': '<f8', 'fortran_order': False, 'shape': {}"):
    """A .npy file whose header claims this shape, and which holds eight numbers."""
    text = "{" + head.format(tuple(shape)) + "}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.ljust(117).encode() + b"\n" + bytes(64)


def saved(values):
    """A .npy file."""
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def archive(inputs, labels=None, method=zipfile.ZIP_DEFLATED):
    """A .npz file of these two."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as zipped:
        zipped.writestr("inputs.npy", inputs)
        zipped.writestr("labels.npy", saved(np.zeros(8)) if labels is None else labels)
    return file.getvalue()


def patched(content, *, method=None, flag=0):
    """The archive with another compression method, or said to be encrypted."""
    made = bytearray(content)
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = -1
        while (start := made.find(mark, start + 1)) >= 0:
            made[start + at] |= flag
            if method is not None:
                made[start + at + 2 : start + at + 4] = struct.pack("<H", method)
    return bytes(made)


GOOD = archive(saved(np.zeros((8, 3))))
SPOILT = bytes(GOOD[:60]) + b"\xff" * 20 + bytes(GOOD[80:])
BROKEN = {
    "claims terabytes": archive(array(8 * 10**12, 8)),
    "claims a negative length": archive(array(-1, 8)),
    "no header": archive(array(8, head="'descr': '<f8', ((((( {}")),
    "a pickle inside": archive(array(8, head="'descr': '|O', 'fortran_order': False, 'shape': {}")),
    "bad deflate": SPOILT,
    "unknown method": patched(GOOD, method=77),
    "encrypted": patched(GOOD, flag=1),
    "said to be lzma": patched(GOOD, method=14),
    "said to be bzip2": patched(GOOD, method=12),
    "cut": GOOD[:-30],
    "not an archive": b"PK\x03\x04",
    "no labels": b"PK\x05\x06" + bytes(18),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_archive_is_refused_in_a_sentence(content, tmp_path):
    """Whatever is wrong with an .npz, the refusal is a DataError that says how to write one."""
    file = tmp_path / "data.npz"
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"numpy\.savez"):
        read_labelled(file)


def test_an_archive_is_read():
    """What is whole is read."""
    inputs, labels = parse_arrays(archive(saved(np.arange(6).reshape(2, 3)), saved(np.ones(2))), ("inputs", "labels"))
    assert inputs.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert labels.tolist() == [1, 1]


@pytest.mark.parametrize("text", ["[" * 10**5 + "]" * 10**5, '{"a":' * 10**5 + "1" + "}" * 10**5])
def test_deep_json_is_a_value_error(text, tmp_path):
    """Text nested deeper than Python follows is no JSON to any reader."""
    with pytest.raises(ValueError, match="nested too deep"):
        parse_json(text)
    file = tmp_path / "deep.json"
    file.write_text(text)
    for read in (read_norms, read_key):
        with pytest.raises(DataError):
            read(file)


def test_a_file_too_long_is_refused_unread(monkeypatch, tmp_path):
    """A file larger than is ever read is refused."""
    monkeypatch.setattr(reading, "MOST_BYTES", 1000)
    file = tmp_path / "long"
    file.write_bytes(bytes(1001))
    with pytest.raises(OSError, match="longer than 1,000 bytes"):
        read_bytes(file)


def test_a_name_with_a_null_character_is_an_os_error():
    """What no file can be called is refused as what cannot be opened is."""
    with pytest.raises(OSError, match="null"):
        read_bytes(Path("a\0b"))


@pytest.mark.parametrize(
    "line", [f"0,1,{'1' * 200_000},1", f'0,1,"{"1" * 200_000}",1', "0,1,inf,1", f"0,1,{10**23},1", "0,1,nan,1", "0,1,2"]
)
def test_cells_that_are_no_symbols_are_refused(line, tmp_path, recwarn):
    """A cell beyond all measure, infinite or undefined is no symbol; numpy says nothing of its own."""
    file = tmp_path / "data.csv"
    file.write_text(f"{line}\n0,1,0,1\n")
    with pytest.raises(DataError):
        read_labelled(file)
    assert not recwarn.list


@pytest.mark.parametrize(
    "change",
    [
        {"positions": [True, False]},
        {"positions": [0, 0]},
        {"positions": [0, 64]},
        {"positions": [-1]},
        {"positions": "01"},
        {"context": "64"},
        {"context": True},
        {"schema": "suite/9"},
        {"file": 3},
    ],
)
def test_a_key_that_says_what_no_suite_says_is_refused(change, tmp_path):
    """Positions are different places of the context; the schema is the one we write."""
    model = {"file": "model-000.safetensors", "positions": [3, 5]}
    inner = {name: value for name, value in change.items() if name in model}
    outer = {name: value for name, value in change.items() if name not in model}
    key = {"schema": "suite/1", "context": 64, "models": [{**model, **inner}], **outer}
    file = tmp_path / "key.json"
    file.write_text(json.dumps(key))
    with pytest.raises(DataError, match="answer key"):
        read_key(file)


@pytest.mark.parametrize("value", [10**400, 1e308])
def test_norms_beyond_computing_are_refused(value, tmp_path):
    """A number of 400 digits, or one whose square is no number, is refused and shown in short."""
    file = tmp_path / "norms.json"
    file.write_text(norms_template().replace('"readout": 3.0', f'"readout": {value!r}'))
    with pytest.raises(DataError, match=r"at most 1e\+100") as refused:
        read_norms(file)
    assert len(str(refused.value)) < 250
