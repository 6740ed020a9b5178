"""A figure is a value that refuses to be incomplete."""

import pytest

from keyhole.errors import AssumptionError
from keyhole.figure import Axis, Figure

X, Y, C = Axis("x", "x"), Axis("y", "y"), Axis("c", "c", "category")
ROWS = ({"x": 1, "y": 2.0, "c": "a", "low": 1.0, "high": 3.0},)


def test_columns_are_named_once_in_order():
    """The columns shown are the axes' and the band's, each once."""
    assert Figure("t", "lines", ROWS, X, Y, C, "low", "high").columns == ("x", "y", "c", "low", "high")
    assert Figure("t", "points", ROWS, X, X).columns == ("x",)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"rows": ()}, "has no rows"),
        ({"low": "low"}, "one end of a band"),
        ({"kind": "heatmap"}, "needs a colour column"),
        ({"x": Axis("z", "z")}, "which some row lacks"),
    ],
)
def test_refuses_what_cannot_be_drawn(options, complaint):
    """A figure that lacks rows, a band's end, a colour or a column is refused when made."""
    with pytest.raises(AssumptionError, match=complaint):
        Figure(**{"title": "t", "kind": "lines", "rows": ROWS, "x": X, "y": Y, **options})


@pytest.mark.slow
def test_a_figure_shows_itself_in_a_line_and_in_a_notebook():
    """Its repr is one short line, whatever its rows; with keyhole.show imported a notebook gets the drawing."""
    import keyhole.show

    figure = Figure("Growth", "lines", tuple({"T": i, "m": i} for i in range(1, 900)), Axis("T", "T"), Axis("m", "m"))
    assert figure._repr_svg_() == keyhole.show.to_svg(figure)
    assert "Growth" in figure._repr_svg_()
