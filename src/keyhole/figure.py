"""A figure as a value: what is shown, not how it is drawn.

Results have figures; `show.chart` draws them. A figure is always also a table: its rows hold every number shown.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from keyhole.errors import AssumptionError

Cell = str | int | float | bool | None
Row = Mapping[str, Cell]
Kind = Literal["lines", "curves", "points", "bars", "heatmap", "map"]
Scale = Literal["linear", "log", "category"]


_drawing: list[Callable[["Figure"], str]] = []


def draw_with(to_svg: Callable[["Figure"], str]) -> None:
    """Say how figures are drawn in notebooks. `keyhole.show` does so when it is imported: figures know no drawing."""
    _drawing[:] = [to_svg]


@dataclass(frozen=True)
class Axis:
    """Which column is shown along an axis or by colour, under which title, on which scale."""

    column: str
    title: str
    scale: Scale = "linear"


@dataclass(frozen=True, repr=False)
class Figure:
    """Rows and how their columns are read.

    `lines` joins points of one colour in the order of x; with `low` and `high` it has a band. `curves` are lines
    without the points; rows that differ in the `group` column are joined apart. `points` may have intervals by the
    same two columns. `bars` stand on a category axis. `heatmap` colours the cells of two category axes, `map` squares
    on two numeric axes by a share between 0 and 1. Figures `over` this one are drawn on its axes.
    """

    title: str
    kind: Kind
    rows: tuple[Row, ...]
    x: Axis
    y: Axis
    colour: Axis | None = None
    low: str | None = None
    high: str | None = None
    subtitle: str = ""
    group: str | None = None
    over: tuple["Figure", ...] = ()

    def __repr__(self) -> str:
        return f"<Figure: {self.title}; {self.kind}, {len(self.rows)} rows>"

    def _repr_svg_(self) -> str | None:
        """The drawing, for notebooks; None before `keyhole.show`, which draws, is imported."""
        return _drawing[-1](self) if _drawing else None

    def __post_init__(self) -> None:
        if not self.rows:
            raise AssumptionError(f"The figure {self.title!r} has no rows; give it at least one.")
        if (self.low is None) != (self.high is None):
            raise AssumptionError(f"The figure {self.title!r} names one end of a band; name both low and high.")
        if self.kind in ("heatmap", "map") and self.colour is None:
            raise AssumptionError(f"The figure {self.title!r} is a {self.kind}, which needs a colour column.")
        for column in (*self.columns, *filter(None, (self.group,))):
            if any(column not in row for row in self.rows):
                raise AssumptionError(f"The figure {self.title!r} shows {column!r}, which some row lacks.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are shown."""
        axes = (self.x, self.y, *([self.colour] if self.colour else []))
        return tuple(dict.fromkeys([*(axis.column for axis in axes), *filter(None, (self.low, self.high))]))


def figure_from(record: Mapping[str, Any]) -> Figure:
    """The figure that a record was made of, by `dataclasses.asdict`."""
    axes = {name: Axis(**record[name]) for name in ("x", "y", "colour") if record[name] is not None}
    over = tuple(figure_from(each) for each in record["over"])
    return Figure(**{**record, **axes, "rows": tuple(record["rows"]), "over": over})


def line_figure(
    title: str,
    rows: Sequence[Row],
    x: Axis,
    y: Axis,
    colour: Axis | None = None,
    *,
    subtitle: str = "",
    band: bool = False,
) -> Figure:
    """Lines through the rows, one per colour; with a band, between the columns `low` and `high`.

    >>> line_figure("Growth", [{"T": 1, "m": 2, "low": 1, "high": 3}], Axis("T", "T"), Axis("m", "m"), band=True).low
    'low'
    """
    low, high = ("low", "high") if band else (None, None)
    return Figure(title, "lines", tuple(rows), x, y, colour, low, high, subtitle)
