"""JSON records hold only what JSON can hold."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole import __version__
from keyhole.files.record import to_json

numbers = st.floats(allow_nan=True, allow_infinity=True)
values = st.recursive(
    numbers | st.integers() | st.text() | st.booleans() | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def refuse(constant: str) -> None:
    """Called by the JSON reader on NaN and infinities, which strict JSON does not have."""
    raise AssertionError(constant)


@pytest.mark.slow
@given(st.dictionaries(st.text(), values))
def test_every_record_is_strict_json(fields):
    """Whatever the fields hold, the text is strict JSON with the envelope first."""
    read = json.loads(to_json("any/1", fields), parse_constant=refuse)
    assert list(read)[:2] == ["keyhole", "schema"]


def test_missing_numbers_say_why():
    """Infinity and NaN become null, with the reason beside them."""
    read = json.loads(to_json("any/1", {"a": math.inf, "b": math.nan, "c": {"d": -math.inf}, "e": 1.5}))
    assert read == {
        "keyhole": __version__,
        "schema": "any/1",
        "a": None,
        "a_reason": "infinite",
        "b": None,
        "b_reason": "not a number",
        "c": {"d": None, "d_reason": "infinite"},
        "e": 1.5,
    }
