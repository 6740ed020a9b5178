"""`make test-types` checks types at every edge, with shapes and without."""

import os
import random

import numpy as np
import pytest
from jaxtyping import TypeCheckError

from keyhole.boolean.families import parity
from keyhole.boolean.junta import cells_of
from keyhole.bounds.softmax import softmax_move
from keyhole.bounds.theorems.guarantees import Sensitivity
from keyhole.rigorous.enclosures import Enclosure

from helpers.typechecking import NUMBERS, SOURCE, packages_with_arrays, switched_off

pytestmark = pytest.mark.skipif(os.environ.get("KEYHOLE_TYPES") != "1", reason="run by `make test-types`")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: softmax_move("far"),
        lambda: Sensitivity(3, "half"),
        lambda: cells_of(np.zeros((2, 3), dtype=int), "two", (1,)),
        lambda: Enclosure(np.zeros(2), np.zeros(3)),
    ],
    ids=["function", "record", "function of arrays", "record of arrays"],
)
def test_a_wrong_type_is_refused(wrong):
    """Functions and records, where there are arrays and where there are none."""
    with pytest.raises(TypeCheckError):
        wrong()


def test_checks_can_be_switched_off():
    """For sweeps of thousands of functions; afterwards they are on again."""
    with switched_off():
        assert Enclosure(np.zeros(2), np.zeros(3)).low.shape == (2,)
    with pytest.raises(TypeCheckError):
        Enclosure(np.zeros(2), np.zeros(3))


def test_checks_leave_the_random_numbers_of_a_test_alone():
    """Which item of a list is looked at is drawn from a generator of the checker's own."""
    before = random.getstate()
    parity((0, 1, 2))
    assert random.getstate() == before


def test_no_package_is_left_out():
    """Every package is checked in one way, and the one without shapes names none."""
    packages = {f"keyhole.{path.stem}" for path in SOURCE.glob("[a-z]*") if path.suffix in {"", ".py"}}
    assert {*packages_with_arrays(), NUMBERS} == packages
    assert not [path for path in (SOURCE / "bounds").glob("*.py") if "keyhole.arrays" in path.read_text("utf8")]
