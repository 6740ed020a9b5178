"""Labelled samples: what is written is read back, from either format; anything else is refused in a sentence."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.errors import DataError
from keyhole.files.labelled import as_sample, read_labelled

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
    "words.csv": (b"a,b\nyes,no\n", "is no labelled sample"),
    "half.csv": (b"0.5,1\n", "not whole numbers"),
    "labels.csv": (b"0,2\n1,1\n", "give 0 and 1, or −1 and 1"),
    "pickle.npz": (pickle.dumps([1, 2]), "not an archive of arrays"),
    "broken.npz": (b"PK\x03\x04 no zip", "is no labelled sample"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(tmp_path, name):
    """What is no labelled sample is said to be none."""
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
    with pytest.raises(DataError, match="is no labelled sample"):
        read_labelled(tmp_path / "o.npz")
    with pytest.raises(DataError, match=r"inputs of shape \(2, 3\) and labels of shape \(3,\)"):
        as_sample(np.zeros((2, 3), dtype=int), np.zeros(3))
