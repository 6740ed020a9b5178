"""What the exhaustive tests of this package share."""

from itertools import permutations

import numpy as np
import pytest

from keyhole.boolean.function import from_table

from helpers.typechecking import switched_off


@pytest.fixture
def unchecked():
    """Run-time type checks off: in a sweep of thousands of functions they take most of the time.

    The same functions are called with the checks on in every other test.
    """
    with switched_off():
        yield


@pytest.fixture(scope="session", params=["classes", pytest.param("all", marks=pytest.mark.long)])
def four_bits(request, four_bit_classes):
    """Functions of the positions 0 to 3, by their table read as a number: one for each class under permutation, or all.

    All 65,536 of them are gone through by `make test-long`.
    """
    numbers = four_bit_classes if request.param == "classes" else range(1 << 16)
    with switched_off():
        return {n: from_table((0, 1, 2, 3), np.array([bool((n >> b) & 1) for b in range(16)])) for n in numbers}


@pytest.fixture(scope="session")
def four_bit_classes():
    """One table number of four bits for each class under permutation of the bits, each in another order."""
    tables = (np.arange(1 << 16)[:, None] >> np.arange(16)) & 1
    patterns = ((np.arange(16)[:, None] >> np.arange(4)) & 1) << np.array(list(permutations(range(4))))[:, None, :]
    moved = np.stack([tables[:, move] @ (1 << np.arange(16)) for move in patterns.sum(axis=2)], axis=1)
    first = np.flatnonzero(moved.min(axis=1) == np.arange(1 << 16))
    return moved[first, np.arange(len(first)) % moved.shape[1]].tolist()
