"""Tables of sequences are data: letters, reals and words are told apart, the rest is refused in a sentence."""

import numpy as np
import pytest

from keyhole.errors import DataError
from keyhole.files.sequences import read_sequences


@pytest.mark.parametrize(
    ("text", "expected", "kind"),
    [
        ("0,1,2\n2,1,0\n", [[0, 1, 2], [2, 1, 0]], "i"),
        ("0.5, 1\n2,-1e3\n\n", [[0.5, 1], [2, -1000]], "f"),
        ("the,cat\ncat,sat\n", [[2, 0], [0, 1]], "i"),
        ('"a, b",c\nc,c\n', [[0, 1], [1, 1]], "i"),
        ("\ufeff0,1\n1,1\n", [[0, 1], [1, 1]], "i"),  # spreadsheets begin with a byte-order mark
    ],
)
def test_tables_of_text(tmp_path, text, expected, kind):
    """Whole numbers and words are letters, words in their order; other numbers are reals."""
    (tmp_path / "table.csv").write_text(text, "utf8")
    found = read_sequences(tmp_path / "table.csv")
    assert found.tolist() == expected
    assert found.dtype.kind == kind


@pytest.mark.parametrize(("given", "kind"), [(np.uint8, "i"), (bool, "i"), (np.float32, "f"), (np.int64, "i")])
def test_arrays(tmp_path, given, kind):
    """Numbers of any width come back as letters or reals of full width."""
    np.save(tmp_path / "a.npy", np.array([[0, 1], [1, 1]]).astype(given))
    found = read_sequences(tmp_path / "a.npy")
    assert found.tolist() == [[0, 1], [1, 1]]
    assert found.dtype.kind == kind
    assert found.dtype.itemsize == 8


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "holds no sequence"),
        ("1,2\n3\n", "Row 2 of .* has 1 values and the first has 2"),
        ("1,,2\n3,4,5\n", "no empty cell"),
        ("a,b\n1,2\n", "the first row looks like a heading: remove it"),
        ("1;2\n3;4\n", "has semicolons between its values; write commas"),
        ("1\t2\n3\t4\n", "has tabs between its values; write commas"),
        ("1,b\n1,2\n", "mixes numbers and words; use one kind"),
    ],
)
def test_refused_tables(tmp_path, text, sentence):
    """Ragged, empty, headed or mixed tables are refused with what to do."""
    (tmp_path / "table.csv").write_text(text, "utf8")
    with pytest.raises(DataError, match=sentence):
        read_sequences(tmp_path / "table.csv")


def test_refused_files(tmp_path):
    """A pickle is never loaded; a missing, foreign or cut file is refused."""
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    for name, sentence in [
        ("evil.npy", "no array of numbers"),
        ("cut.npy", "no array of numbers"),
        ("none.npy", "No such file"),
        ("none.csv", "No such file"),
        ("bytes.csv", "no text of values between commas"),
        ("table.txt", r"neither \.npy nor \.csv"),
    ]:
        with pytest.raises(DataError, match=sentence):
            read_sequences(tmp_path / name)
