"""What Hypothesis draws: positions far apart, tables, counting rules, formulas as text."""

import numpy as np
from hypothesis import strategies as st

from keyhole.boolean.function import constant, from_levels, from_table, literal

FAR = 10**9


def positions(least=0, most=6, last=FAR):
    """Distinct positions in any order."""
    return st.lists(st.integers(0, last), min_size=least, max_size=most, unique=True).map(tuple)


@st.composite
def tables(draw, least=0, most=6, last=FAR):
    """Positions in any order and a table over them, in which some positions may not matter."""
    places = draw(positions(least, most, last))
    number = draw(st.integers(0, (1 << (1 << len(places))) - 1))
    values = [bool((number >> pattern) & 1) for pattern in range(1 << len(places))]
    return places, np.array(values)


@st.composite
def countings(draw, least=0, most=8, last=FAR):
    """Positions in any order, one value per count, and which literals are negated."""
    places = draw(positions(least, most, last))
    levels = draw(st.tuples(*[st.booleans()] * (len(places) + 1)))
    negated = draw(st.tuples(*[st.booleans()] * len(places)))
    return places, levels, negated


def literals(last=FAR):
    """A bit, or a negated bit."""
    signed = lambda place, flip: ~literal(place) if flip else literal(place)  # noqa: E731
    return st.builds(signed, st.integers(0, last), st.booleans())


def functions(most=6, last=FAR):
    """Sparse functions of every kind."""
    return st.one_of(
        st.booleans().map(constant),
        tables(min(3, most), most, last).map(lambda drawn: from_table(*drawn)),
        countings(min(3, most), most, last).map(lambda drawn: from_levels(*drawn)),
        literals(last),
        tables(0, most, last).map(lambda drawn: from_table(*drawn)),
        countings(0, most, last).map(lambda drawn: from_levels(*drawn)),
    )


spaces = st.sampled_from(["", "", " ", "  ", "\t", "\n"])


@st.composite
def _chain(draw, parts):
    """Operands, with negations and spaces, joined by operators without brackets: precedence decides."""
    text = ""
    for index, part in enumerate(draw(st.lists(parts, min_size=1, max_size=4))):
        operator = draw(st.sampled_from("&|^")) if index else ""
        text += draw(spaces) + operator + draw(spaces) + "~" * draw(st.integers(0, 2)) + part
    return text + draw(spaces)


@st.composite
def _call(draw, parts):
    """A function call, its header as long as its arguments ask."""
    arguments = draw(st.lists(_chain(parts), min_size=1, max_size=4))
    name = draw(st.sampled_from(["and", "or", "parity", "maj", "majority", "atleast", "symmetric", "table"]))
    needed = 1 << len(arguments) if name == "table" else len(arguments) + 1
    number = draw(st.integers(0, (1 << needed) - 1))
    header = {
        "atleast": str(number % (len(arguments) + 2)) + ";",
        "symmetric": f"{number:0{needed}b};",
        "table": draw(st.sampled_from([f"{number:0{needed}b};", f"0x{number:x};"])),
    }.get(name, "")
    return f"{name}({draw(spaces)}{header}{','.join(arguments)})"


def formulas(last=5):
    """Valid formulas as text, over few positions so that arguments overlap."""
    atoms = st.one_of(st.integers(0, last).map(lambda place: f"x{place}"), st.sampled_from(["0", "1"]))
    nested = st.recursive(
        atoms, lambda parts: st.one_of(_chain(parts).map(lambda text: f"({text})"), _call(parts)), max_leaves=8
    )
    return _chain(nested)
