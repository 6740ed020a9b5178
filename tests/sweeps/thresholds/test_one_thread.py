"""One thread for small arrays: as long as somebody asks for it, and no longer."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from keyhole.sweeps.thresholds.one_thread import one_thread


def threads():
    """How many threads each linear-algebra library of this process has."""
    assert np.ones((2, 2)) @ np.ones(2) is not None  # numpy's own is loaded
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.mark.parametrize("first_out", [0, 1])
def test_whoever_leaves_last_lifts_the_limit(first_out):
    """Two that overlap, whichever ends first: one thread while either is inside, and afterwards as many as before."""
    with threadpool_limits(2, user_api="blas"):
        assert threads() == {2}
        both = [one_thread(), one_thread()]
        for each in both:
            each.__enter__()
            assert threads() == {1}
        both[first_out].__exit__(None, None, None)
        assert threads() == {1}
        both[1 - first_out].__exit__(None, None, None)
        assert threads() == {2}
