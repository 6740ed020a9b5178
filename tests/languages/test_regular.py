"""Regular expressions as automata, against Python's own, and what is refused."""

import random
import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.errors import FormulaError
from keyhole.languages import Automaton, automaton_of, minimal

from helpers.planted_juntas import all_sequences

MARKS = ["*", "+", "?", "{2}", "{1,2}", "{1,}"]
expressions = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{1,}"])).map(
            lambda pair: f"({pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


LETTERS = [*"aabb.()|*+?[]-^$", "\\", "[^", "{2}", "{1,2}", "{1,}", "{0}"]
ALPHABETS = [("a", "b"), ("a", "-"), ("a", "$"), ("b", "\\")]


STRANGE = ["[a-c]", "[-a]", "[]", "[^]", "[]a]", "[^]a]", "a$", "$", "\\a", "a" * 50_000, "(" * 50_000]


def outcome(text, alphabet, longest):
    """An expression is refused, or read as Python reads it: the same; else it is different."""
    try:
        ours = automaton_of(text, alphabet)
    except FormulaError:
        return "refused"
    try:
        with warnings.catch_warnings(action="ignore"):
            python = re.compile(text)
    except re.error:
        return "different"
    for length in range(1, longest + 1):
        words = all_sequences(length, 2)
        matched = [python.fullmatch("".join(alphabet[symbol] for symbol in word)) is not None for word in words]
        if ours.accepts(words).tolist() != matched:
            return "different"
    return "same"


def random_expressions(count, seed):
    """Expressions of the grammar with quantifiers put anywhere, and letters in any order."""
    draw = random.Random(seed)  # noqa: S311  (no secret)

    def grown(depth):
        if depth == 0 or draw.random() < 0.2:
            return draw.choice(["a", "b", ".", "[ab]", "[^a]"])
        parts = [grown(depth - 1) for _ in range(draw.randint(1, 3))]
        marks = draw.choice(["", *MARKS]) + (draw.choice(MARKS) if draw.random() < 0.03 else "")
        return f"({draw.choice(['', '|']).join(parts)}){marks}"

    for place in range(count):
        yield grown(2) if place % 4 else "".join(draw.choices(LETTERS, k=draw.randint(1, 6)))


@pytest.mark.parametrize(
    ("count", "longest"), [(150, 5), pytest.param(1200, 10, marks=pytest.mark.long)], ids=["some", "many"]
)
def test_any_text_is_read_as_python_reads_it_or_refused(count, longest):
    """Random expressions over several alphabets, well formed or not: none has another meaning here."""
    texts = list(random_expressions(count, seed=count))
    alphabets = [ALPHABETS[0] if place % 4 else ALPHABETS[place // 4 % 4] for place in range(count)]
    outcomes = [outcome(*pair, longest) for pair in zip(texts, alphabets, strict=True)]
    assert [text for text, came in zip(texts, outcomes, strict=True) if came == "different"] == []
    assert outcomes.count("same") > count / 3


@pytest.mark.parametrize("text", ["ab+?", "a{1,2}?", "a?+", "a*+", "a++", "a**", "a??", "a{2}{2}", "a{2}*", "(ab)*?"])
def test_a_quantifier_upon_a_quantifier_is_refused(text):
    """Lazy, possessive and stacked quantifiers are refused in one sentence."""
    with pytest.raises(FormulaError, match="lazy, possessive and stacked ones are not taken"):
        automaton_of(text, ("a", "b"))


@pytest.mark.parametrize("text", STRANGE, ids=lambda text: text[:6])
def test_what_python_reads_otherwise_is_refused(text):
    """Ranges, empty lists, anchors, escapes and text without end are refused, also where their letters are symbols."""
    with pytest.raises(FormulaError):
        automaton_of(text, ("a", "c", "-", "$", "\\"))


def test_numbers_in_braces_are_read_whole():
    """Leading zeros count for nothing, and a number that is too long to be read is refused."""
    words = all_sequences(2, 2)
    assert automaton_of(f"a{{{'0' * 5000}2}}", ("a", "b")).accepts(words).tolist() == [not word.any() for word in words]
    with pytest.raises(FormulaError, match="256 at most"):
        automaton_of(f"a{{{'9' * 5000}}}", ("a", "b"))


@given(expressions, st.integers(1, 5))
def test_the_automaton_accepts_what_python_matches(text, length):
    """Every word up to length 5 over a, b is accepted exactly where Python's full match is."""
    words = all_sequences(length, 2)
    matched = [re.fullmatch(text, "".join("ab"[symbol] for symbol in word)) is not None for word in words]
    assert automaton_of(text, ("a", "b")).accepts(words).tolist() == matched


@given(st.integers(0, 10**6))
def test_the_smallest_automaton_accepts_the_same(seed):
    """Merging states that no word tells apart changes no answer, and no two states that are left agree on all words."""
    rng = np.random.default_rng(seed)
    big = Automaton(rng.integers(0, 6, (6, 2)), 0, rng.random(6) < 0.5)
    small = minimal(big)
    for length in range(1, 7):
        words = all_sequences(length, 2)
        assert (small.accepts(words) == big.accepts(words)).all()
    words = all_sequences(len(small.moves), 2)
    rows = [
        np.concatenate(
            [Automaton(small.moves, state, small.accepting).accepts(all_sequences(n, 2)) for n in range(1, 7)]
        )
        for state in range(len(small.moves))
    ]
    kinds = {(bool(small.accepting[state]), row.tobytes()) for state, row in enumerate(rows)}
    assert len(kinds) == len(small.moves)


@pytest.mark.parametrize("text", ["(ab", "ab)", "*a", "a{x}", "a{3,1}", "a{2,9999}", "c", "[a", "[c]", "a|*", "a{2"])
def test_what_is_no_expression_is_refused(text):
    """An expression that cannot be read is refused with the place where reading stopped."""
    with pytest.raises(FormulaError, match=r"at place|more than"):
        automaton_of(text, ("a", "b"))


def test_an_alphabet_of_longer_symbols_has_no_expressions():
    """Symbols of more than one character have no place in an expression."""
    with pytest.raises(FormulaError, match="one character"):
        automaton_of("a", ("a", "SEP"))


def test_an_expression_with_too_many_states_is_refused():
    """What blows up is refused before it fills the memory."""
    with pytest.raises(FormulaError, match="states"):
        automaton_of("(a|b)*a(a|b){16}", ("a", "b"))
