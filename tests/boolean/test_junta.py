"""Juntas: positions that do not matter are dropped."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean.junta import Junta, uniform_law, without_ignored


@given(table=st.lists(st.booleans(), min_size=27, max_size=27), symbols=st.sampled_from([2, 3]))
def test_ignored_positions_are_dropped(table, symbols):
    """The function stays, and every position that is left matters."""
    junta = Junta((1, 4, 6), symbols, np.array(table[: symbols**3]))
    kept = without_ignored(junta)
    rows = uniform_law(symbols).draw(200, 7, np.random.default_rng(0))
    assert np.array_equal(junta(rows), kept(rows))
    for index in range(kept.sparsity):
        cube = kept.table.reshape(-1, symbols, symbols**index)
        assert (cube != cube[:, :1]).any()
