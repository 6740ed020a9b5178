"""A text, a truth or a fraction is not taken for a whole number, wherever one is counted with."""

import numpy as np
import pytest

import keyhole
from keyhole.errors import ArgumentError

from helpers.typechecking import switched_off


@pytest.fixture(autouse=True)
def wrong_types():
    """Wrong types reach the functions, which refuse them in sentences."""
    with switched_off():
        yield


@pytest.mark.parametrize("wrong", [True, "48", 64.5, 64.0, None, np.float64(8)])
@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: keyhole.compile("and:3", wrong),
        lambda wrong: keyhole.learn("and:2", [wrong], "elimination"),
        lambda wrong: keyhole.Schedule(samples=[wrong]),
        lambda wrong: keyhole.Schedule(first_seed=wrong),
        lambda wrong: keyhole.Schedule(budget=wrong),
    ],
    ids=["compile", "learn", "samples", "first_seed", "budget"],
)
def test_only_whole_numbers_are_counted_with(call, wrong):
    """Each is refused by the name of the argument."""
    with pytest.raises(ArgumentError, match="give a whole number"):
        call(wrong)


@pytest.mark.parametrize(
    "call",
    [
        lambda: keyhole.learn("and:2", "48", "elimination"),
        lambda: keyhole.describe("and:3", context="9"),
        lambda: keyhole.prove(keyhole.compile("x1 & x2", 8), assume_junta=1.5),
    ],
)
def test_a_text_is_not_a_list_of_contexts(call):
    """Nor is a letter a context, nor a fraction a number of positions."""
    with pytest.raises(ArgumentError, match="give a whole number"):
        call()


def test_a_switch_is_true_or_false():
    """A word would count as true."""
    with pytest.raises(ArgumentError, match="it is True or False"):
        keyhole.Schedule(online="no")


def test_a_time_limit_is_not_ignored(tmp_path):
    """It limits runs on fresh samples; beside training sets it is refused."""
    with pytest.raises(ArgumentError, match="A time limit is for fresh samples"):
        keyhole.learn("and:2", [6], "elimination", execution=keyhole.Execution(tmp_path, 0, time_limit=5))


def test_numpy_counts_too():
    """A whole number of numpy is one."""
    assert keyhole.Schedule(samples=[np.int64(8)], seeds=np.int32(2)).samples == [8]
