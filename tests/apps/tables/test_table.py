"""Tables of one's own: what is read, and the sentence for what cannot be learned from."""

import numpy as np
import pytest

from keyhole.apps.tables.table import append_irrelevant, make_table, read_table
from keyhole.errors import DataError

ROWS = [f"{place},{place % 3},{'yes' if place % 2 else 'no'}" for place in range(24)]


def written(tmp_path, lines, name="data.csv"):
    """A file of these lines."""
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n", "utf8")
    return path


def test_a_csv_is_read_by_name_number_or_last_column(tmp_path):
    """The target is the column that is named or numbered, or the last; the others are the features, in order."""
    path = written(tmp_path, ["age,kind,ill", *ROWS])
    by_name, last = read_table(path, "ill"), read_table(path)
    assert by_name.columns == last.columns == ("age", "kind")
    assert by_name.positive == "yes"
    assert by_name.labels.tolist() == [bool(place % 2) for place in range(24)]
    assert by_name.features[:, 0].tolist() == list(range(24))
    bare = read_table(written(tmp_path, ROWS, "bare.csv"), "3", "no")
    assert bare.labels.tolist() == [place % 2 == 0 for place in range(24)]
    assert bare.columns == ("column 1", "column 2")
    kinds = make_table(by_name.features, by_name.features[:, 1], positive="2.0")
    assert kinds.labels.sum() == 8


def test_an_npz_is_read(tmp_path):
    """The arrays inputs and labels are the table."""
    np.savez(tmp_path / "data.npz", inputs=np.eye(24), labels=np.arange(24) % 2)
    table = read_table(tmp_path / "data.npz")
    assert table.features.shape == (24, 24)
    assert table.labels.mean() == 0.5


def test_bits_are_above_the_median_of_the_rows_learned_from():
    """A bit says whether a value is above its column's median over the rows given, whatever the others are."""
    table = make_table(np.arange(40.0).reshape(40, 1), np.arange(40) % 2)
    assert table.bits(np.arange(10)).ravel().tolist() == [int(value > 4.5) for value in range(40)]
    for ones in (10, 30):
        bits = (np.arange(40) < ones).astype(float).reshape(40, 1)
        assert np.array_equal(make_table(bits, np.arange(40) % 2).bits(np.arange(40)), bits)


def test_irrelevant_columns_are_shuffled_copies():
    """Each appended column has the values of a column there is; the first columns stay as they are."""
    rng = np.random.default_rng(0)
    table = make_table(rng.normal(size=(30, 2)), np.arange(30) % 2)
    wide = append_irrelevant(table, 5, rng)
    assert np.array_equal(wide.features[:, :2], table.features)
    originals = [sorted(column) for column in table.features.T]
    for column in wide.features[:, 2:].T:
        assert sorted(column) in originals
        assert not any(np.array_equal(column, other) for other in table.features.T)


@pytest.mark.parametrize(
    ("lines", "target", "positive", "message"),
    [
        (["a,b,y", *ROWS[:20], "1,,yes"], "y", "", "1 rows of column 'b'"),
        (["a,b,y", *ROWS[:20], "NA,2,yes"], "y", "", "1 rows of column 'a'"),
        (["a,b,y", *ROWS[:20], "1,Rome,yes"], "y", "", "1 rows of column 'b'"),
        (["a,b,y", *ROWS[:20], "1,2,"], "y", "", "1 rows of its target 'y'"),
        (["a,b,y", *(f"{place},1,yes" for place in range(24))], "y", "", "'yes' in every row"),
        (["a,b,y", *(f"{place},1,{place % 3}" for place in range(24))], "y", "", "3 classes .*`positive`"),
        (["a,b,y", *ROWS], "y", "maybe", "no 'maybe' .* it has no, yes"),
        (["a,b,y", *ROWS], "z", "", "no column 'z'.* a, b, y"),
        (ROWS, "9", "", "no column '9'.* 3 columns"),
        (["a,b,y", *ROWS[:5]], "y", "", "5 rows; .* at least 20"),
        (["a,b,y", *ROWS, "1,2"], "y", "", "Line 26 .* 2 values.* 3"),
        (["a,y,y", *ROWS], "y", "", "has 2 columns named 'y'"),
        ([], "y", "", "holds no row"),
        (["a;b;y", *(row.replace(",", ";") for row in ROWS)], "y", "", "one column, .*';'"),
        (["y", *("01" * 15)], "y", "", "one column"),
    ],
)
def test_what_cannot_be_learned_from_gets_a_sentence(tmp_path, lines, target, positive, message):
    """Missing values, text, one class, many classes, no such column, few rows, ragged rows: each is named."""
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines), "utf8")
    with pytest.raises(DataError, match=message):
        read_table(path, target, positive)


def spoilt(folder):
    """A picture that is named as a table."""
    path = folder / "picture.csv"
    path.write_bytes(b"\x89PNG\r\n")
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: read_table(folder / "none.csv"), "cannot be read"),
        (lambda folder: read_table(folder / "none.xls"), "neither .csv nor .npz"),
        (lambda folder: read_table(spoilt(folder)), "not text"),
        (lambda _: make_table(np.full((30, 2), np.nan), np.arange(30) % 2), "30 rows of column"),
        (lambda _: make_table(np.zeros(30), np.arange(30) % 2), "features of shape"),
        (lambda _: make_table(np.array([["a"]] * 30), np.arange(30) % 2), "not numbers"),
        (lambda _: make_table(np.broadcast_to(0.0, (30, 2**26)), np.arange(30) % 2), "entries; use at most"),
    ],
)
def test_other_files_and_arrays_get_a_sentence(tmp_path, make, message):
    """A file that is not there, or of another kind, and arrays that are no table."""
    with pytest.raises(DataError, match=message):
        make(tmp_path)
