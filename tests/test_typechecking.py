"""The suite checks types at every edge, with shapes and without."""

import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import TypeCheckError

from keyhole.boolean.distribution import Bernoulli, sample
from keyhole.bounds.softmax import drift
from keyhole.bounds.theorems.guarantees import Sensitivity
from keyhole.rigorous.interval import Enclosure

from helpers.typechecking import NUMBERS, SOURCE, packages_with_arrays

pytestmark = pytest.mark.slow  # as types are not checked where the suite is to be fast


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: drift("far"),
        lambda: Sensitivity(3, "half"),
        lambda: sample(Bernoulli(0.5), "many", 3, 0),
        lambda: Enclosure(np.zeros(2), np.zeros(3)),
    ],
    ids=["function", "record", "function of arrays", "record of arrays"],
)
def test_a_wrong_type_is_refused(wrong):
    """Functions and records, where there are arrays and where there are none."""
    with pytest.raises((BeartypeCallHintViolation, TypeCheckError)):
        wrong()


def test_no_package_is_left_out():
    """Every package is checked in one way, and the one without shapes names none."""
    packages = {f"keyhole.{path.stem}" for path in SOURCE.glob("[a-z]*") if path.suffix in {"", ".py"}}
    assert {*packages_with_arrays(), NUMBERS} == packages
    assert not [path for path in (SOURCE / "bounds").glob("*.py") if "jaxtyping" in path.read_text("utf8")]
