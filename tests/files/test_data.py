"""Labelled samples are read back as written, from either format; tables of sequences hold letters or reals.

Anything else is refused in a sentence.
"""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.errors import DataError
from keyhole.files.data import as_sample, read_labelled, read_sequences

rows = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(st.tuples(*[st.integers(0, 3)] * width), st.booleans()), min_size=1, max_size=5)
)


@given(drawn=rows, header=st.booleans(), signs=st.booleans())
def test_both_formats_agree(tmp_path_factory, drawn, header, signs):
    """Arrays and text give the same symbols and truth values, with a header or without, 0/1 or −1/1."""
    folder = tmp_path_factory.mktemp("data")
    inputs, truths = np.array([row for row, _ in drawn]), np.array([label for _, label in drawn])
    labels = np.where(truths, 1, -1 if signs else 0)
    np.savez(folder / "a.npz", inputs=inputs, labels=labels)
    lines = [",".join(map(str, [*row, label])) for row, label in zip(inputs.tolist(), labels.tolist(), strict=True)]
    (folder / "a.csv").write_text("\n".join([*(["a,b,label"] if header else []), *lines]) + "\n")
    for name in ("a.npz", "a.csv"):
        symbols, answers = read_labelled(folder / name)
        assert np.array_equal(symbols, inputs)
        assert np.array_equal(answers, truths)
        assert (symbols.dtype, answers.dtype) == (np.dtype(np.int64), np.dtype(bool))


REFUSED = {
    "a.txt": (b"1,0", "neither .npz nor .csv"),
    "empty.csv": (b"", "no row with a symbol and a label"),
    "ragged.csv": (b"1,0,1\n1,0\n", "different lengths"),
    "words.csv": (b"a,b\nyes,no\n", "is not a labelled sample"),
    "half.csv": (b"0.5,1\n", "column 1 that are not symbols"),
    "labels.csv": (b"0,2\n1,1\n", "give 0 and 1, or −1 and 1"),
    "pickle.npz": (pickle.dumps([1, 2]), "is not a labelled sample"),
    "broken.npz": (b"PK\x03\x04 no zip", "is not a labelled sample"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(tmp_path, name):
    """What is not a labelled sample is said to be none."""
    content, sentence = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=sentence.replace(".", r"\.")):
        read_labelled(tmp_path / name)


def test_missing_files_and_arrays(tmp_path):
    """A path that leads nowhere; an archive without labels; arrays that do not fit."""
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_labelled(tmp_path / "none.npz")
    np.savez(tmp_path / "a.npz", inputs=np.zeros((2, 2), dtype=int))
    with pytest.raises(DataError, match="labels"):
        read_labelled(tmp_path / "a.npz")
    np.savez(tmp_path / "o.npz", inputs=np.array([[{}]], dtype=object), labels=np.zeros(1))
    with pytest.raises(DataError, match="is not a labelled sample"):
        read_labelled(tmp_path / "o.npz")
    with pytest.raises(DataError, match=r"inputs of shape \(2, 3\) and labels of shape \(3,\)"):
        as_sample(np.zeros((2, 3), dtype=int), np.zeros(3))


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
def test_sequences_of_text(tmp_path, text, expected, kind):
    """Whole numbers and words are letters, words in their order; other numbers are reals."""
    (tmp_path / "table.csv").write_text(text, "utf8")
    found = read_sequences(tmp_path / "table.csv")
    assert found.tolist() == expected
    assert found.dtype.kind == kind


@pytest.mark.parametrize(("dtype", "kind"), [(np.uint8, "i"), (bool, "i"), (np.float32, "f"), (np.int64, "i")])
def test_arrays_of_sequences(tmp_path, dtype, kind):
    """Numbers of any width come back as letters or reals of full width."""
    np.save(tmp_path / "a.npy", np.array([[0, 1], [1, 1]]).astype(dtype))
    found = read_sequences(tmp_path / "a.npy")
    assert found.tolist() == [[0, 1], [1, 1]]
    assert found.dtype.kind == kind
    assert found.dtype.itemsize == 8


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "holds no sequence"),
        ("1,2\n3\n", "Row 2 of .* has 1 .* first has 2"),
        ("1,,2\n3,4,5\n", "no empty cell"),
        ("a,b\n1,2\n", "looks like a heading"),
        ("1;2\n3;4\n", "has semicolons"),
        ("1\t2\n3\t4\n", "has tabs"),
        ("1,b\n1,2\n", "mixes numbers"),
    ],
)
def test_refused_tables_of_sequences(tmp_path, text, sentence):
    """Ragged, empty, headed or mixed tables are refused with what to do."""
    (tmp_path / "table.csv").write_text(text, "utf8")
    with pytest.raises(DataError, match=sentence):
        read_sequences(tmp_path / "table.csv")


def test_refused_files_of_sequences(tmp_path):
    """A pickle is never loaded; a missing, foreign or cut file is refused."""
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    for name, sentence in [
        ("evil.npy", "not an array of numbers"),
        ("cut.npy", "not an array of numbers"),
        ("none.npy", "No such file"),
        ("none.csv", "No such file"),
        ("bytes.csv", "not a text of values"),
        ("table.txt", r"neither \.npy nor \.csv"),
    ]:
        with pytest.raises(DataError, match=sentence):
            read_sequences(tmp_path / name)


def test_the_cell_that_is_no_number_is_named(tmp_path):
    """A table with a word in it is refused with the row, the column and the word, and nothing of Python."""
    (tmp_path / "bad.csv").write_text("a,b,label\n0,1,1\n1,x,0\n")
    with pytest.raises(DataError, match=r"row 2 of the data holds 'x' in column 2, which is not a number"):
        read_labelled(tmp_path / "bad.csv")
