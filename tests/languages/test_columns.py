"""Claims by columns hold what arithmetic says, in every order of digits; what is not a claim is refused."""

import json
from itertools import product

import numpy as np
import pytest

from keyhole.errors import AssumptionError, DataError, ShapeError
from keyhole.languages import NOWHERE, Column, Columns, Prompt, read_columns

ORDERS = list(product((True, False), repeat=2))


def number(digits, base, *, lowest_first):
    """The number that some digits write."""
    ordered = digits if lowest_first else digits[::-1]
    return sum(int(digit) * base**place for place, digit in enumerate(ordered))


@pytest.mark.parametrize(("lowest_first", "answer_lowest_first"), ORDERS)
@pytest.mark.parametrize(
    ("claim", "weights", "base", "length"),
    [
        ("addition:2:3", (1, 1), 3, 2),
        ("addition:3:2", (1, 1), 2, 3),
        ("subtraction:2:3", (1, -1), 3, 2),
        ("sum:3:2:2", (1, 1, 1), 2, 2),
        ("sum:5:1:2", (1,) * 5, 2, 1),
    ],
)
def test_every_word_writes_its_sum(claim, weights, base, length, lowest_first, answer_lowest_first):
    """All words with a sum of at least 0 occur once, with their separators, and their answers write the sum."""
    prompt = Prompt((7,), (8,), (9,), (6,), None, lowest_first, answer_lowest_first)
    columns = read_columns(claim, prompt)
    prompts, answers = columns.shown(columns.every_word())
    sums = set()
    for shown, written in zip(prompts, answers, strict=True):
        assert shown[0] == 7
        assert shown[-1] == 9
        assert written[-1] == 6
        terms = [shown[1 + i * (length + 1) :][:length] for i in range(len(weights))]
        values = tuple(number(term, base, lowest_first=lowest_first) for term in terms)
        total = sum(w * value for w, value in zip(weights, values, strict=True))
        assert total == number(written[:-1], base, lowest_first=answer_lowest_first)
        sums.add(values)
    expected = [v for v in product(range(base**length), repeat=len(weights)) if np.dot(v, weights) >= 0]
    assert len(sums) == len(prompts) == columns.count == len(expected)


def test_ten_digits():
    """There are 10^20 sums of two numbers of ten digits; drawn words are right."""
    columns = read_columns("addition:10", Prompt(between=(10,), after=(11,)))
    assert columns.count == 10**20
    prompts, answers = columns.shown(columns.draw(np.random.default_rng(0), 50))
    for shown, written in zip(prompts.tolist(), answers.tolist(), strict=True):
        a, b = (number(part, 10, lowest_first=True) for part in (shown[:10], shown[11:21]))
        assert number(written, 10, lowest_first=True) == a + b


def test_drawn_words_are_uniform_over_what_may_be():
    """Every word of a small claim is drawn about as often as every other, and no other choice of symbols is drawn."""
    columns = read_columns("subtraction:1:4", Prompt())
    words = columns.draw(np.random.default_rng(1), 4000)
    assert columns.contains(words).all()
    counts = np.unique(words, axis=0, return_counts=True)[1]
    assert len(counts) == columns.count == 10
    assert counts.min() > 300  # 400 ± 19 are expected: the alarm is false with probability below 1e-5


def test_copies_and_residues():
    """A copy writes the word, a reversal its reverse, a residue the sum modulo p."""
    for claim, order in (("copy:3:2", 1), ("reverse:3:2", -1)):
        prompts, answers = (columns := read_columns(claim, Prompt())).shown(columns.every_word())
        assert (answers == prompts[:, ::order]).all()
        assert columns.count == 8
    columns = read_columns("modular:5", Prompt(between=(5,), after=(6,)))
    prompts, answers = columns.shown(columns.every_word())
    assert (answers[:, 0] == (prompts[:, 0] + prompts[:, 2]) % 5).all()


def test_a_claim_of_ones_own(tmp_path):
    """A file with edges is the claim that they spell; the parity of two bits, say."""
    edges = [[state, [bit], state ^ bit, state ^ bit] for state in (0, 1) for bit in (0, 1)]
    record = {"prompt": 2, "start": 0, "final": [0, 1], "columns": [{"places": [i], "edges": edges} for i in (0, 1)]}
    path = tmp_path / "claim.json"
    path.write_text(json.dumps(record))
    columns = read_columns(f"columns:{path}", Prompt())
    prompts, answers = columns.shown(columns.every_word())
    assert (answers == np.cumsum(prompts, axis=1) % 2).all()
    record["columns"][0]["edges"] = [*edges, edges[0]]
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match="two edges from state 0"):
        read_columns(f"columns:{path}", Prompt())
    for broken in ("[]", "{", '{"prompt": 2}', json.dumps(record | {"final": [7]})):
        path.write_text(broken)
        with pytest.raises(DataError, match=r"is not a claim|two edges"):
            read_columns(f"columns:{path}", Prompt())
    with pytest.raises(DataError, match="cannot be read"):
        read_columns(f"columns:{tmp_path}/none.json", Prompt())


@pytest.mark.parametrize(
    "text", ["add:3", "addition", "addition:x", "addition:3:2:1", "sum:2", "copy:-1", "addition:٣"]
)
def test_what_is_not_a_claim_is_refused(text):
    """A claim that is not of a known form is refused with the forms."""
    with pytest.raises(AssumptionError, match="is not addition:N"):
        read_columns(text, Prompt())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("addition:0", "one digit|a digit or more"),
        ("addition:3:1", "base 2 or more"),
        ("modular:1", "at least 2"),
        ("copy:0", "a symbol or more"),
        ("sum:9:3", "at most 10,000 symbols"),
        ("sum:20:3", "1 to 13 numbers"),
    ],
)
def test_sizes_that_are_refused(text, says):
    """Sizes without words, or with too many symbols a column, are refused."""
    with pytest.raises(AssumptionError, match=says):
        read_columns(text, Prompt())
    with pytest.raises(AssumptionError, match="has 2 digits"):
        read_columns("addition:2:3", Prompt(digits=(0, 1)))


def test_columns_that_do_not_fit_are_refused():
    """Every position belongs to one column or is fixed, and tables have one size."""
    column = Column((0,), np.array([[0], [1]]), np.array([[0, NOWHERE]]), np.array([[0, 1]]))
    with pytest.raises(ShapeError, match="each of them in one column"):
        Columns((column,), 0, np.ones(1, dtype=bool), {}, 2)
    with pytest.raises(ShapeError, match="column 0 needs 1 tokens"):
        Columns((column,), 0, np.ones(2, dtype=bool), {}, 1)
