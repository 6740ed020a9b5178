"""What the exhaustive tests of this package share."""

from itertools import permutations

import jaxtyping
import numpy as np
import pytest

from keyhole.boolean.function import from_table


@pytest.fixture
def unchecked():
    """Run-time shape checks off: in a sweep of 65,536 functions they take nine tenths of the time.

    The same functions are called with the checks on in every other test.
    """
    jaxtyping.config.update("jaxtyping_disable", "1")
    yield
    jaxtyping.config.update("jaxtyping_disable", "0")


@pytest.fixture(scope="session")
def four_bits():
    """Every function of the positions 0 to 3, in the order of its table read as a number."""
    jaxtyping.config.update("jaxtyping_disable", "1")
    digits = ((np.arange(1 << 16)[:, None] >> np.arange(16)) & 1).astype(bool)
    functions = [from_table((0, 1, 2, 3), values) for values in digits]
    jaxtyping.config.update("jaxtyping_disable", "0")
    return functions


@pytest.fixture(scope="session")
def four_bit_classes():
    """One table number of four bits for each class under permutation of the bits."""
    moves = [
        [sum(((b >> i) & 1) << j for i, j in enumerate(order)) for b in range(16)] for order in permutations(range(4))
    ]
    seen, chosen = set(), []
    for number in range(1 << 16):
        if number not in seen:
            chosen.append(number)
            seen |= {sum(((number >> b) & 1) << c for b, c in enumerate(move)) for move in moves}
    return chosen
