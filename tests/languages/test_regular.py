"""Regular expressions as automata, against Python's own, and what is refused."""

import re

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
