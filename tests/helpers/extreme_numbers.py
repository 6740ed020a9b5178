"""Doubles of any exponent: ±0, numbers below the normal ones, and all up to 2^1000."""

from math import ldexp

from hypothesis import strategies as st

extremes = (
    st.builds(ldexp, st.floats(-2.0, 2.0), st.integers(-1074, 999))
    | st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 2.0**-1021, 1.0, -1.0])
    | st.floats(-(2.0**-1020), 2.0**-1020)
)
