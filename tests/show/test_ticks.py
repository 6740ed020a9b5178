"""Laws of a logarithmic axis: it is labelled, at round numbers, powers of ten before others."""

import re
from itertools import pairwise
from math import ceil, floor, log10

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.figure import Axis, Figure
from keyhole.show.chart import HEIGHT, PADDING, WIDTH, log_ticks, padded_span, to_svg

starts = st.floats(1e-30, 1e30)
ratios = st.one_of(st.floats(1 + 1e-6, 1.5), st.floats(1.5, 30), st.integers(2, 40).map(lambda k: 10.0**k))


@given(starts, ratios)
def test_every_axis_is_labelled_inside_its_range(low, ratio):
    """Three labels at least, increasing, none outside, and no more than a page has room for."""
    found = log_ticks(low, low * ratio)
    assert 3 <= len(found) <= 10
    assert all(first < second for first, second in pairwise(found))
    assert found[0] >= low * (1 - 1e-8)
    assert found[-1] <= low * ratio * (1 + 1e-8)


@given(starts, ratios)
def test_powers_of_ten_are_labelled(low, ratio):
    """Every whole power of ten inside, where there are at most eight; of more, only powers, evenly apart."""
    powers = {float(f"1e{k}") for k in range(ceil(log10(low)), floor(log10(low * ratio)) + 1)}
    found = log_ticks(low, low * ratio)
    if len(powers) <= 8:
        assert powers <= set(found)
    else:
        steps = {round(log10(second / first)) for first, second in pairwise(found)}
        assert len(steps) == 1
        assert all(log10(tick) == pytest.approx(round(log10(tick)), abs=1e-9) for tick in found)


@given(st.lists(st.floats(1e-200, 1e200), min_size=1), st.sampled_from([WIDTH, HEIGHT]))
def test_the_data_lie_inside_by_the_padding(values, pixels):
    """On the drawn axis the outermost numbers are as many pixels from the ends as was asked; a lone one is centred."""
    low, high = (log10(end) for end in padded_span(values, pixels, PADDING))
    ends = log10(min(values)), log10(max(values))
    left, right = ((end - low) / (high - low) * pixels for end in ends)
    alone = ends[1] - ends[0] <= 1e-9
    # logarithms up to 200 are rounded by 3e-14 each, and the least padding of two numbers is 1e-9 · 12/536 = 2e-11
    assert left == pytest.approx(pixels / 2 if alone else PADDING, rel=1e-2)
    assert pixels - right == pytest.approx(pixels / 2 if alone else PADDING, rel=1e-2)


@pytest.mark.parametrize("nothing", [[], [0.0, -1.0], [None, "a", float("inf"), float("nan")]])
def test_what_has_no_logarithm_has_no_axis(nothing):
    """Without a positive number there are no ends."""
    assert padded_span(nothing, WIDTH, PADDING) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("across", "up", "labels"),
    [
        ([100, 10**4, 10**8], [0.011, 0.014, 0.017], ["100 1,000 10,000 10⁵ 10⁶ 10⁷ 10⁸", "0.012 0.014 0.016"]),
        ([25, 800], [2e-4, 3e-3], ["50 100 200 500", "2·10⁻⁴ 5·10⁻⁴ 0.001 0.002"]),
        ([64], [1, 10**16], ["40 50 60 70 80 90 100", "1 1,000 10⁶ 10⁹ 10¹² 10¹⁵"]),
    ],
)
def test_the_drawing_shows_the_labels(across, up, labels):
    """Each label is in the picture, and none is hidden; what is drawn over it and its intervals count as well."""
    rows = tuple({"x": x, "y": up[0], "low": up[0], "high": up[0]} for x in across)
    more = tuple({"x": across[0], "y": y, "low": y, "high": up[-1]} for y in up[:-1])
    x, y = Axis("x", "across", "log"), Axis("y", "up", "log")
    over = Figure("over", "points", more, x, y, low="low", high="high")
    svg = to_svg(Figure("under", "lines", rows, x, y, low="low", high="high", over=(over,)))
    drawn = re.findall(r'(?s)<g class="mark-text role-axis-label".*?</g>', svg)
    shown = [" ".join(re.findall(r'opacity="1"[^>]*>([^<]+)</text>', group)) for group in drawn]
    assert shown == labels
