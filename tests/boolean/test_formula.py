"""The formula language: its values against Python's own parser, and errors that point at the place."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyhole.boolean.families import conjunction, disjunction, majority, parity
from keyhole.boolean.formula import MAX_DEPTH, parse
from keyhole.boolean.function import literal
from keyhole.errors import FormulaError

from helpers.oracles import value_of_formula
from helpers.strategies import FAR, formulas

INPUTS = np.array(list(product((0, 1), repeat=6)))


@given(formulas())
@example("x0 | x1 ^ x2 & x3 | ~x4 ^ x5 & x0")
@example("~x0 & x1 ^ ~~x2 | ~(x3 ^ 1)")
@example("table(0x6; maj(x0, x1, x2), ~x3)")
@example("maj(x1 ^ x2, 0)")
@example("table(0110; x1 & x2, 1)")
@example("symmetric(010; x1 ^ x2 ^ x3, x1)")
def test_formulas_mean_what_python_says(text):
    """On all 64 inputs a formula has the value that Python's grammar and one line per function give it."""
    expected = [value_of_formula(text, row.__getitem__) for row in INPUTS]
    assert parse(text)(INPUTS).tolist() == expected


@given(st.integers(0, FAR), st.integers(0, 3))
def test_positions(place, zeros):
    """An x and digits name a position; leading zeros change nothing."""
    assert parse(f"x{'0' * zeros}{place}") == literal(place)


def test_edges_of_positions():
    """Positions have 18 digits at most, not counting any number of leading zeros."""
    assert parse("x" + "9" * 18).positions == (10**18 - 1,)
    assert parse("x" + "0" * 5000 + "3") == literal(3)
    assert parse("x" + "0" * 5000) == literal(0)


def test_the_example():
    """The formula of the manual reads positions 1, 2, 3, 5 and 17."""
    assert parse("x3 & ~x17 | maj(x1,x2,x5)").positions == (1, 2, 3, 5, 17)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "function"),
    [
        (" & ".join(f"x{i}" for i in range(5000)), conjunction(tuple(range(5000)))),
        ("|".join(f"x{i}" for i in range(5000)), disjunction(tuple(range(5000)))),
        (" ^ ".join(f"x{i}" for i in range(5000)), parity(tuple(range(5000)))),
        (f"and({','.join(f'x{i}' for i in range(5000))})", conjunction(tuple(range(5000)))),
        (f"or({','.join(f'x{i}' for i in range(5000))})", disjunction(tuple(range(5000)))),
        (f"parity({','.join(f'x{i}' for i in range(5000))})", parity(tuple(range(5000)))),
        (f"maj({','.join(f'x{i}' for i in range(5000))})", majority(tuple(range(5000)))),
        ("(" * MAX_DEPTH + "x7" + ")" * MAX_DEPTH, literal(7)),
        ("and(" * MAX_DEPTH + "x7" + ")" * MAX_DEPTH, literal(7)),
        ("~" * 100_001 + "x7", ~literal(7)),
    ],
    ids=["infix and", "infix or", "infix parity", "and", "or", "parity", "maj", "brackets", "calls", "negations"],
)
def test_long_formulas(text, function, unchecked):
    """Thousands of literals, brackets to the allowed depth, any number of negations."""
    del unchecked
    assert parse(text) == function


MISTAKES = [  # text, sentence, the character the caret stands under
    ("()", "Expected a variable such as x3, a bracket or a function, but found '\\)'", 2),
    ("x1 &", "Expected a variable .* but the formula ends", 5),
    ("x1 & ", "Expected a variable .* but the formula ends", 5),
    ("~", "Expected a variable .* but the formula ends", 2),
    ("(x1", "This bracket is never closed", 1),
    ("x0 & maj(x1, x2", "This bracket is never closed", 9),
    ("(x1))", "This bracket was never opened", 5),
    (")", "Expected a variable .* but found '\\)'", 1),
    ("x1)", "This bracket was never opened", 3),
    ("x-1", "x must be followed by its position in digits", 2),
    ("x", "x must be followed by its position in digits, such as x3", 1),
    ("x0 | x & x1", "x must be followed by its position", 6),
    ("xor(x1)", "x must be followed by its position", 1),
    ("x٣", "x must be followed by its position in digits", 2),
    ("x²", "x must be followed by its position in digits", 2),
    ("x0 ∧ x1", "'∧' is not part of a formula", 4),
    ("X3", "'X' is not part of a formula", 1),
    ("x1 + x2", r"'\+' is not part of a formula", 4),
    ("x1.5", r"'\.' is not part of a formula", 3),
    ("x1\x00", r"'\\x00' is not part of a formula", 3),
    ("x1 x2", "Expected &, |, ^ or the end, found 'x2'", 4),
    ("(x1 x2)", "or a closing bracket, found 'x2'", 5),
    ("maj(x1 x2)", "or a comma or a closing bracket, found 'x2'", 8),
    ("x1 ~ x2", "found '~'", 4),
    ("x1, x2", "or the end, found ','", 3),
    ("(x1, x2)", "or a closing bracket, found ','", 4),
    ("maj(x1; x2)", "found ';'", 7),
    ("x1 & & x2", "but found '&'", 6),
    ("2", "but found '2'", 1),
    ("01", "but found '01'", 1),
    ("maj()", r"maj needs at least one argument, such as maj\(x1, x2, x5\)", 5),
    ("x0 & and()", "and needs at least one argument", 10),
    ("table(01;)", r"table needs at least one argument, such as table\(0110; x4, x9\)", 10),
    ("maj(x1,)", "but found '\\)'", 8),
    ("maj(,x1)", "but found ','", 5),
    ("maj x1", r"Expected a bracket after maj, as in maj\(x1, x2, x5\)", 5),
    ("x0 | maj", "Expected a bracket after maj", 6),
    ("nand(x1)", "'nand' is not a function; there are and, or, parity, maj", 1),
    ("table(0110; x1)", "Here 4 values are listed, but 1 arguments need 2", 7),
    ("table(011; x1, x2)", "Here 3 values are listed, but 2 arguments need 4", 7),
    ("table(0120; x1, x2)", "Expected values 0 and 1, or a hexadecimal number such as 0x96", 7),
    ("table(0x; x1, x2)", "Expected values 0 and 1", 7),
    ("table(0x10; x1, x2)", "hexadecimal number has more than 4 binary digits; 2 arguments need 4", 7),
    ("table(x1, x2)", r"table begins with its values and a semicolon, as in table\(0110; x4, x9\)", 7),
    ("table(0110, x1, x2)", "table begins with its values and a semicolon", 11),
    ("table(0110", "table begins with its values and a semicolon", 7),
    ("table(word; x1)", "Expected values 0 and 1", 7),
    ("symmetric(01; x1, x2)", "Here 2 values are listed, but 2 arguments need 3, one for each count", 11),
    ("symmetric(0x8; x1, x2)", "more than 3 binary digits", 11),
    ("atleast(x1, x2)", r"atleast begins with its values and a semicolon, as in atleast\(2; x1, x2, x5\)", 9),
    ("atleast(0x2; x1)", r"atleast begins with a number, as in atleast\(2; x1, x2, x5\)", 9),
    ("atleast(" + "1" * 5000 + "; x1)", "atleast begins with a number", 9),
    ("x" + "1" * 19, "A position has at most 18 digits, but this has more", 1),
    ("x0 & x" + "1" * 5000, "A position has at most 18 digits", 6),
    ("(" * 100_000 + "x1" + ")" * 100_000, "Brackets may be nested 200 deep, but here they go deeper", 201),
    ("maj(" * 100_000, "Brackets may be nested 200 deep", 804),
    (f"table(01; {', '.join(f'x{i}' for i in range(25))})", "A table holds at most 24 arguments, but this has 25", 7),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "sentence", "character"), MISTAKES, ids=[text[:24] for text, _, _ in MISTAKES])
def test_mistakes_are_shown(text, sentence, character, unchecked):
    """The sentence, the number of the character, and a caret under that very character."""
    del unchecked
    with pytest.raises(FormulaError, match=sentence) as caught:
        parse(text)
    complaint, shown, caret = str(caught.value).split("\n")
    assert complaint.endswith(f"(at character {character}):")
    assert re.fullmatch(r" +\^", caret)
    assert len(shown) < 90
    column = len(caret) - 1
    under = shown[column] if column < len(shown) else ""
    expected = text[character - 1 : character]
    assert under == (expected if expected.isprintable() else " ")
    around = text[max(0, character - 6) : character + 4]
    assert "".join(letter if letter.isprintable() else " " for letter in around).strip() in shown


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_nothing_is_no_formula(text):
    """An empty formula is refused with an example."""
    with pytest.raises(FormulaError, match="The formula is empty; write one such as 'x3 & ~x17"):
        parse(text)


@pytest.mark.slow
def test_wide_formulas_are_refused(unchecked):
    """A function of formulas, or a join that needs a table, holds at most 24 positions."""
    del unchecked
    with pytest.raises(FormulaError, match="formulas on 26 positions was asked for"):
        parse(f"maj({', '.join(f'x{2 * i} & x{2 * i + 1}' for i in range(13))})")
    with pytest.raises(FormulaError, match="joins 26 positions"):
        parse(" | ".join(f"x{2 * i} & x{2 * i + 1}" for i in range(13)))
    with pytest.raises(FormulaError, match="10001 positions was asked for; at most 10000"):
        parse(" & ".join(f"x{i}" for i in range(10_001)))


def parses_or_is_refused(text):
    """The function, or None if refused in a sentence; nothing else may escape."""
    try:
        return parse(text)
    except FormulaError as error:
        assert str(error)  # noqa: PT017  (both outcomes are right)
        return None


LETTERS = st.sampled_from("x0123456789&|^~(),; \n\tabcdefgj-+.XÅ٣²∧\x00\ud800")


PIECES = st.sampled_from(["x1", "x2", "x", "maj(", "table(", "atleast(", "and(", "0110", "0x6", "2", *"1;,)(~&"])


@given(st.text(max_size=40) | st.text(LETTERS, max_size=60) | st.lists(PIECES).map("".join))
def test_any_text_parses_or_is_refused(text):
    """Only `FormulaError` escapes, whatever is typed; and what parses prints and parses again."""
    function = parses_or_is_refused(text)
    if function is not None:
        assert parse(str(function)) == function


@given(formulas(), st.data())
def test_mutated_formulas_parse_or_are_refused(text, data):
    """One letter put in, taken out or exchanged in a valid formula: refused, or right by Python's grammar too."""
    place = data.draw(st.integers(0, len(text)))
    letter = data.draw(st.sampled_from("x012&|^~(),; afm\u0663"))
    kind = data.draw(st.sampled_from(["put", "take", "exchange"]))
    mutated = text[:place] + (letter if kind != "take" else "") + text[place + (kind != "put") :]
    function = parses_or_is_refused(mutated)
    if function is not None:
        for row in INPUTS[::7]:
            is_one = {i: int(row[i % 6]) for i in function.positions}
            far = np.array([is_one.get(place, 0) for place in function.positions], dtype=bool)
            assert bool(function.table[sum(int(b) << i for i, b in enumerate(far))]) == value_of_formula(
                mutated, lambda i, known=is_one: known.get(i, 0)
            )
