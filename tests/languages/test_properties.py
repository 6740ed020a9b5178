"""Properties as values: the classes of each length against the definition, word by word."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.errors import AssumptionError, FormulaError, ShapeError
from keyhole.languages import (
    CountProperty,
    EqualCounts,
    RegularProperty,
    Restricted,
    TableProperty,
    automaton_of,
    read_property,
    with_last,
)

from helpers.planted_juntas import all_sequences

BITS, ABC = ("0", "1"), ("a", "b", "c")
ones = (False, True)


def _alternates(word):
    return len(word) % 2 == 0 and all(symbol == place % 2 for place, symbol in enumerate(word))


PROPERTIES = {
    "majority": (CountProperty(BITS, ones), lambda w: 2 * w.sum() > len(w)),
    "at least 2": (CountProperty(BITS, ones, "at least", 2), lambda w: w.sum() >= 2),
    "at most 1": (CountProperty(BITS, ones, "at most", 1), lambda w: w.sum() <= 1),
    "exactly 2": (CountProperty(BITS, ones, "exactly", 2), lambda w: w.sum() == 2),
    "odd": (CountProperty(BITS, ones, "remainder", 1), lambda w: w.sum() % 2 == 1),
    "1 modulo 3": (CountProperty(BITS, ones, "remainder", 1, 3), lambda w: w.sum() % 3 == 1),
    "majority of two": (CountProperty(BITS, ones, positions=(0, 1)), lambda w: w[:2].sum() > 1),
    "b or c in most": (CountProperty(ABC, (False, True, True)), lambda w: 2 * (w > 0).sum() > len(w)),
    "as many a as b": (EqualCounts(ABC, 0, 1), lambda w: (w == 0).sum() == (w == 1).sum()),
    "(ab)*": (RegularProperty(("a", "b"), automaton_of("(ab)*", ("a", "b"))), _alternates),
    "x1 and not x0": (TableProperty(BITS, (0, 1), np.array([False, False, True, False])), lambda w: w[1] > w[0]),
    "a at 1 is b at 0": (TableProperty(ABC, (1,), np.array([True, False, False])), lambda w: w[1] == 0),
}


@pytest.mark.parametrize("name", PROPERTIES)
@given(length=st.integers(2, 6))
def test_the_classes_are_the_definition(name, length):
    """Every word is in exactly one class, and its answer is the definition's."""
    claim, definition = PROPERTIES[name]
    words = all_sequences(length, len(claim.alphabet))
    at = claim.at(length)
    answers, spoken = at.answers(words)
    assert spoken.all()
    assert answers.tolist() == [bool(definition(word)) for word in words]
    inside = sum(classes.contains(words[:, list(at.reads)]).sum(axis=0) for _, classes in at.classes)
    assert (inside == 1).all()
    assert all(classes.contains(words[:, list(at.reads)]).any(axis=1).all() for _, classes in at.classes)


@pytest.mark.parametrize("name", [name for name, (claim, _) in PROPERTIES.items() if claim.alphabet == BITS])
@given(length=st.integers(2, 6))
def test_a_restricted_claim_speaks_of_its_domain_alone(name, length):
    """With the domain 0*1* only sorted words are spoken of, and the answers to them stay."""
    claim, definition = PROPERTIES[name]
    at = Restricted(claim, RegularProperty(BITS, automaton_of("0*1*", BITS))).at(length)
    words = all_sequences(length, 2)
    answers, spoken = at.answers(words)
    inside = [bool((np.diff(word) >= 0).all()) for word in words]
    assert spoken.tolist() == inside
    assert answers[spoken].tolist() == [bool(definition(word)) for word in words[spoken]]


@pytest.mark.parametrize("name", PROPERTIES)
@given(length=st.integers(3, 6), symbol=st.integers(0, 1))
def test_the_last_symbol_may_be_given(name, length, symbol):
    """The words before a given last symbol have the answers of the whole words, each in exactly one class."""
    stated, definition = PROPERTIES[name]
    left = with_last(stated.at(length), symbol)
    words = all_sequences(length - 1, len(stated.alphabet))
    answers, spoken = left.answers(words)
    assert spoken.all()
    assert answers.tolist() == [bool(definition(np.append(word, symbol))) for word in words]
    assert all(classes.contains(words[:, list(left.reads)]).any(axis=1).all() for _, classes in left.classes)


def test_a_claim_that_nothing_answers_has_one_class():
    """(ab)* has no word of odd length: the class of true words is left out, not empty."""
    claim, _ = PROPERTIES["(ab)*"]
    assert [answer for answer, _ in claim.at(3).classes] == [False]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: CountProperty(BITS, ones, "mostly"), ShapeError),
        (lambda: CountProperty(BITS, ones, positions=(7,)).at(4), AssumptionError),
        (lambda: TableProperty(BITS, (0, 1), np.array([True])), ShapeError),
        (lambda: TableProperty(BITS, tuple(range(13)), np.zeros(2**13, dtype=bool)), AssumptionError),
        (lambda: RegularProperty(ABC, automaton_of("a*", ("a", "b"))), ShapeError),
        (lambda: Restricted(PROPERTIES["majority"][0], PROPERTIES["(ab)*"][0]), ShapeError),
    ],
)
def test_what_does_not_fit_is_refused(make, error):
    """A rule that is not known, a position beyond the word, a table or an alphabet of another size: a sentence each."""
    with pytest.raises(error):
        make()


WORDS = {
    "majority": lambda w: 2 * w.sum() > len(w),
    "majority of 0": lambda w: 2 * (w == 0).sum() > len(w),
    "at least half of 1": lambda w: 2 * w.sum() >= len(w),
    "at least 00000000000003 of 1": lambda w: w.sum() >= 3,
    "exactly 00000000000002 of 1": lambda w: w.sum() == 2,
    f"at most {'0' * 5000}2 of 1": lambda w: w.sum() <= 2,
    "even number of 1's": lambda w: w.sum() % 2 == 0,
    "odd number of 0": lambda w: (w == 0).sum() % 2 == 1,
    "at least 3 of 1": lambda w: w.sum() >= 3,
    "at most 2 of 0": lambda w: (w == 0).sum() <= 2,
    "exactly 2 of 1s": lambda w: w.sum() == 2,
    "equal numbers of 0 and 1": lambda w: 2 * w.sum() == len(w),
    "first is 1": lambda w: w[0] == 1,
    "last is 0": lambda w: w[-1] == 0,
    "regex:0*1*": lambda w: bool((np.diff(w) >= 0).all()),
}


@pytest.mark.parametrize("text", WORDS, ids=lambda text: text[:30])
def test_words_name_properties(text):
    """Each form in words has the answers that it says, at every length from 1 to 6."""
    for length in range(1, 7):
        words = all_sequences(length, 2)
        answers, spoken = read_property(text, BITS).at(length).answers(words)
        assert spoken.all()
        assert answers.tolist() == [bool(WORDS[text](word)) for word in words]


@pytest.mark.parametrize(
    "text", ["majority of 2", "majority of 0 or 1", "equal numbers of 1 and 1", "regex:(", "automaton:nowhere.json"]
)
def test_words_that_do_not_fit_are_refused(text):
    """A symbol that is not in the alphabet, all of them, one compared with itself: a sentence each."""
    with pytest.raises(FormulaError):
        read_property(text, BITS)


def test_other_words_are_left_to_others():
    """What is none of the forms is no property here: it may be a formula."""
    for text in ("x3 & x7", *(f"at least {number} of 1" for number in ("1000000001", "9" * 50_000))):
        assert read_property(text, BITS) is None


def test_an_automaton_from_a_file(tmp_path):
    """The automaton of an even number of a, as JSON; one that lacks a move is refused."""
    path = tmp_path / "even.json"
    path.write_text('{"start": 0, "accepting": [0], "moves": [{"a": 1, "b": 0}, {"a": 0, "b": 1}]}')
    words = all_sequences(4, 2)
    answers, _ = read_property(f"automaton:{path}", ("a", "b")).at(4).answers(words)
    assert answers.tolist() == [int((word == 0).sum()) % 2 == 0 for word in words]
    path.write_text('{"start": 0, "accepting": [0], "moves": [{"a": 1}]}')
    with pytest.raises(FormulaError, match="every state and symbol"):
        read_property(f"automaton:{path}", ("a", "b"))


@pytest.mark.parametrize(
    "text",
    [
        '{"start": 0, "accepting": "", "moves": [{"a": 0, "b": 0}]}',
        '{"start": 0, "accepting": {}, "moves": [{"a": 0, "b": 0}]}',
        '{"start": 0, "accepting": [0], "moves": {"a": 0}}',
        '{"start": 0, "accepting": [0], "moves": [{"a": 0, "b": 0}], "note": "x"}',
        '{"start": 0, "accepting": [0], "moves": [{"a": 0, "b": 0, "c": 0}]}',
        '{"start": 0, "accepting": [1], "moves": [{"a": 0, "b": 0}]}',
        '{"start": true, "accepting": [0], "moves": [{"a": 0, "b": 0}]}',
        '[0, [0], [{"a": 0, "b": 0}]]',
        '{"start": 0, "accepting": [0], "moves": [{"a": 0, "b": 0, "a": 0}]}',
        '{"start": 0, "start": 0, "accepting": [0], "moves": [{"a": 0, "b": 0}]}',
    ],
)
def test_an_automaton_with_anything_else_in_its_file_is_refused(tmp_path, text):
    """Words for lists, states that are not there, entries twice or that nothing reads: each is refused."""
    path = tmp_path / "automaton.json"
    path.write_text(text)
    with pytest.raises(FormulaError, match=r"written twice|nothing else"):
        read_property(f"automaton:{path}", ("a", "b"))
