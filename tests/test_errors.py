"""Errors: one base, and misuse that callers of scientific packages can catch as they are used to."""

import pytest

import keyhole
from keyhole import errors

CLASSES = [each for each in vars(errors).values() if isinstance(each, type)]
MISUSE = ["ArgumentError", "AssumptionError", "CompileError", "DataError", "FormulaError", "ShapeError"]


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_every_error_has_the_one_base(error):
    """`except KeyholeError` catches everything raised on purpose; the tree in the docstring names each class."""
    assert issubclass(error, errors.KeyholeError)
    assert error.__name__ in (errors.__doc__ or "")


@pytest.mark.parametrize("name", MISUSE)
def test_misuse_is_a_value_error(name):
    """What a caller did wrong is also a ValueError."""
    assert issubclass(getattr(errors, name), ValueError)


def test_a_caller_may_catch_value_error():
    """A formula that does not parse is caught by `except ValueError`."""
    with pytest.raises(ValueError, match="x3"):
        keyhole.describe("x3 &")
