"""What is accepted is what others read: spoilt files that pass are read again by numpy, zipfile and safetensors.

Some hundred spoilt files run with the suite; `KEYHOLE_FUZZ=5000 pytest tests/files/test_second_look.py` draws so many
of each kind, from other seeds each time.
"""

import io
import os
import random
import re
import time
import zipfile
from itertools import product

import numpy as np
import pytest
from safetensors.numpy import load

from keyhole.boolean import read_function
from keyhole.compiler import Compiled, choose
from keyhole.compiler.export.stored import save_model
from keyhole.errors import KeyholeError
from keyhole.files.data import read_labelled, read_sequences
from keyhole.files.model import read_model
from keyhole.files.norms import dumps, read_norms, template

from helpers.spoiling import spoilt, spoilt_json

CASES = int(os.environ.get("KEYHOLE_FUZZ", "150"))
SEED = int(os.environ.get("KEYHOLE_FUZZ_SEED", time.time_ns() if "KEYHOLE_FUZZ" in os.environ else 2024))


def drawn(right, folder, suffix, read, spoil=spoilt, cases=CASES):
    """The spoilt copies of a right file that are accepted: their bytes, and what was read; the right one first."""
    rng, path = random.Random(SEED), folder / f"spoilt{suffix}"  # noqa: S311  (no secret)
    for case in range(cases):
        content = spoil(rng, right) if case else right
        path.write_bytes(content)
        try:
            found = read(path)
        except KeyholeError:
            assert case, "the right file is accepted"
            continue
        yield content, found


@pytest.fixture
def sample():
    """Inputs, and the labels of a conjunction."""
    inputs = np.random.default_rng(0).integers(0, 2, (40, 12))
    return inputs, inputs[:, 1] & (1 - inputs[:, 5])


@pytest.mark.parametrize("pack", [np.savez, np.savez_compressed])
def test_an_archive_is_whole(sample, tmp_path, pack):
    """An accepted .npz passes every checksum, and numpy reads the same arrays, which fill their members."""
    right = io.BytesIO()
    pack(right, inputs=sample[0], labels=sample[1])
    for content, (inputs, labels) in drawn(right.getvalue(), tmp_path, ".npz", read_labelled):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in ("inputs.npy", "labels.npy"):
                archive.read(name)  # the checksum
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            assert np.array_equal(arrays["inputs"], inputs)
            assert np.array_equal(arrays["labels"] > 0, labels)


def test_an_array_is_whole(sample, tmp_path):
    """Numpy reads the same numbers from an accepted .npy, and no byte is left over."""
    right = io.BytesIO()
    np.save(right, sample[0][:12])
    for content, found in drawn(right.getvalue(), tmp_path, ".npy", read_sequences):
        stream = io.BytesIO(content)
        read = np.load(stream, allow_pickle=False)
        assert stream.read() == b""
        if read.dtype.kind in "buif":
            wanted = read.astype(np.float64 if read.dtype.kind == "f" else np.int64)
            assert np.array_equal(wanted, found, equal_nan=found.dtype.kind == "f")


@pytest.mark.parametrize("read", [read_labelled, read_sequences])
def test_a_table_is_what_numpy_reads(sample, tmp_path, read):
    """Where every cell is a number, numpy reads the same table; a row that is spoilt is no heading."""
    right = io.StringIO()
    np.savetxt(right, np.c_[sample], fmt="%d", delimiter=",")
    plain = re.compile(rb"[0-9,\r\n+.eE-]*")
    for content, found in drawn(right.getvalue().encode(), tmp_path, ".csv", read):
        table = np.c_[found[0], found[1]] if isinstance(found, tuple) else found
        rows = [line for line in content.replace(b"\r", b"\n").split(b"\n") if line]
        if isinstance(found, tuple):
            assert len(table) >= len(rows) - (not re.search(rb"[0-9]", rows[0])), content
        if plain.fullmatch(content):
            read_again = np.loadtxt(io.BytesIO(content), delimiter=",", ndmin=2)
            if isinstance(found, tuple):
                read_again[:, -1] = read_again[:, -1] > 0  # labels may be −1 and 1
            assert np.array_equal(read_again, table)


def test_a_model_is_what_safetensors_reads(tmp_path):
    """A model file of which no damage is told holds the arrays that safetensors reads from it."""
    right = save_model(
        Compiled.from_choice(choose(read_function("x1 & ~x5", 0), 12)), tmp_path / "right.safetensors"
    ).read_bytes()
    for content, found in drawn(right, tmp_path, ".safetensors", read_model):
        if found.damage:
            continue  # told, and refused by whoever wants to use it
        read = load(content)
        assert {name: array.tolist() for name, array in found.tensors.items()} == {
            name: array.tolist() for name, array in read.items()
        }


def test_norms_come_back(tmp_path):
    """Accepted norms, written and read again, are the same."""
    for _, found in drawn(template().encode(), tmp_path, ".json", read_norms, spoilt_json):
        path = tmp_path / "again.json"
        path.write_text(dumps(found), "utf8")
        assert read_norms(path) == found


def test_a_formula_means_what_python_says():
    """An accepted formula of bits and operators has the truth table that Python gives it, and its text comes back."""
    rng = random.Random(SEED)  # noqa: S311  (no secret)
    words = ["x0", "x1", "x2", "x3", "&", "|", "^", "~", "(", ")", "&", "|", "^", "0", "1", "x"]
    accepted = 0
    for _ in range(20 * CASES):
        text = " ".join(rng.choice(words) for _ in range(rng.randint(1, 8)))
        try:
            function = read_function(text, 0)
        except KeyholeError:
            continue
        accepted += 1
        for bits in product((0, 1), repeat=4):
            value = eval(text, {"__builtins__": {}}, {f"x{i}": bit for i, bit in enumerate(bits)})  # noqa: S307
            assert function(np.array(bits)) == bool(value & 1), text
        assert read_function(str(function), 0) == function
    assert accepted > CASES / 10
