"""Functions that fit a table: against enumeration, and with what they promise."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import keyhole
from keyhole.bounds.finite import certificate_nats, exact_error
from keyhole.cli.app import app
from keyhole.errors import ArgumentError, DataError


def table(rows=300, context=20, seed=0):
    """Rows of bits, labelled by x3 & ~x7."""
    inputs = np.random.default_rng(seed).integers(0, 2, (rows, context))
    return inputs, inputs[:, 3] & (1 - inputs[:, 7])


def all_that_fit(inputs, labels, sparsity):
    """By enumeration: the answers, on every input, of each function of at most so many positions that fits."""
    context = inputs.shape[1]
    everything = np.array(list(product((0, 1), repeat=context)))
    found = set()
    for size in range(sparsity + 1):
        for places in combinations(range(context), size):
            powers = 1 << np.arange(size)
            cells, seen = everything[:, places] @ powers, inputs[:, places] @ powers
            for answers in product((0, 1), repeat=1 << size):
                if (np.array(answers)[seen] == labels).all():
                    found.add(tuple(np.array(answers)[cells]))
    return found


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
@settings(max_examples=25)
def test_the_answer_is_that_of_enumeration(seed, rows):
    """`only` says that exactly one function fits; `fits` that one does; the function agrees with every row."""
    rng = np.random.default_rng(seed)
    inputs = rng.integers(0, 2, (rows, 4))
    labels = rng.integers(0, 2, rows) if seed % 3 == 0 else inputs[:, 1] ^ inputs[:, 2]
    answer = keyhole.fit((inputs, labels), sparsity=2)
    expected = all_that_fit(inputs, labels, 2)
    assert answer.fits == bool(expected)
    assert answer.only == (len(expected) == 1)
    if expected:
        assert (answer.junta(inputs) == labels).all()


def test_the_promise_is_occams():
    """The error bound is the inverted binomial tail at the price of a function of two of twenty positions."""
    answer = keyhole.fit(table())
    assert answer.function == "x3 & ~x7"
    assert answer.error_bound == exact_error(certificate_nats(20, 2, 0.01, 2), 300, 0)


def test_rows_written_twice_promise_no_more():
    """Copies of rows are no new draws: the promise stays that of the rows there were."""
    inputs, labels = table()
    once, twice = (keyhole.fit((np.tile(inputs, (n, 1)), np.tile(labels, n))) for n in (1, 2))
    assert once.error_bound == twice.error_bound
    assert (twice.rows, twice.rows_distinct) == (600, 300)
    assert "300" in str(twice)


def test_a_table_with_a_header_names_its_columns(tmp_path):
    """The positions are shown with the names of their columns."""
    inputs, labels = table()
    file = tmp_path / "data.csv"
    lines = [",".join([*(f"gene {i}" for i in range(20)), "ill"])]
    lines += [",".join(map(str, [*row, label])) for row, label in zip(inputs.tolist(), labels.tolist(), strict=True)]
    file.write_text("\n".join(lines))
    answer = keyhole.fit(file)
    assert answer.columns == ("gene 3", "gene 7")
    assert answer.only
    assert "x3 (gene 3), x7 (gene 7)" in str(answer)


def test_no_function_is_the_answer_no(tmp_path):
    """Labels that no function of so few positions explains give exit code 1 and what to try."""
    inputs, labels = table()
    np.savez(tmp_path / "data.npz", inputs=inputs, labels=labels ^ (inputs.sum(axis=1) % 2))
    answer = CliRunner().invoke(app, ["fit", str(tmp_path / "data.npz"), "--sparsity", "2"])
    assert answer.exit_code == 1


def test_a_search_cut_short_is_undecided():
    """Without time nothing is found, and nothing is denied."""
    inputs, labels = table()
    answer = keyhole.fit((inputs, labels ^ (inputs.sum(axis=1) % 2)), time_limit=1e-9)
    assert answer.fits is None
    assert "undecided" in str(answer)


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"symbols": 1}, DataError, "and 1 symbols"),
        ({"sparsity": 40}, ArgumentError, "Ask for fewer positions"),
        ({"sparsity": -1}, ArgumentError, "Ask for fewer positions"),
        ({"delta": 0.0}, ArgumentError, "use 0 < δ < 1"),
        ({"time_limit": 0.0}, ArgumentError, "some time"),
    ],
)
def test_what_cannot_be_asked_is_refused(change, error, sentence):
    """Numbers that make no question."""
    with pytest.raises(error, match=sentence):
        keyhole.fit(table(), **change)


def test_negative_symbols_and_endless_tables_are_refused(monkeypatch):
    """Symbols count from 0; sizes are asked before the search takes memory."""
    inputs, labels = table()
    with pytest.raises(DataError, match="run from -1 to 1"):
        keyhole.fit((np.where(inputs == 0, -1, 1), labels))
    monkeypatch.setattr("keyhole.api.fit.LONGEST", 10)
    with pytest.raises(DataError, match="more than is searched"):
        keyhole.fit((inputs, labels))
