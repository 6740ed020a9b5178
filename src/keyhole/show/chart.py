"""A Figure drawn with Altair: as SVG, as PNG, and as a page that needs neither a browser plug-in nor a network.

Where a logarithmic axis is labelled: at powers of ten if there are three, or else at round numbers between them.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field
from functools import cache, lru_cache
from html import escape
from math import ceil, floor, isfinite, log10
from textwrap import wrap
from typing import Any

from keyhole.figure import Axis, Figure

FEW, MANY = 3, 8  # labels: below the first finer ones are tried, above the second powers of ten are thinned
STEPS = (1.0, 2.0, 2.5, 5.0)
ROUNDING = 1e-9  # ends are computed by logarithms; a round number at an end is inside
LARGEST = 308.2  # the logarithm of about the largest double
PLAIN = 1e-3, 1e5  # numbers between them are written out
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def padded_span(values: Iterable[object], pixels: int, padding: int) -> tuple[float, float] | None:
    """The ends of a logarithmic axis over the positive numbers among these, so many pixels beyond them each way.

    A single number is given an octave on either side; without any, no axis is drawn.

    >>> padded_span([1, 10.0, None, 1000], pixels=320, padding=10)
    (0.794..., 1258.9...)
    """
    shown = [float(v) for v in values if isinstance(v, int | float) and v > 0 and isfinite(v)]
    if not shown:
        return None
    low, high = log10(min(shown)), log10(max(shown))
    beyond = (high - low) * padding / (pixels - 2 * padding) if high - low > ROUNDING else log10(2)
    return 10 ** (low - beyond), 10 ** min(high + beyond, LARGEST)


def log_ticks(low: float, high: float) -> list[float]:
    """The numbers to label between two ends: whole powers of ten, every nth where they are more than eight.

    Where fewer than three fit, 1, 2 and 5 times powers of ten; then every multiple; at last even steps.

    >>> log_ticks(80, 1.2e8), log_ticks(20, 900)
    ([100.0, 1000.0, 10000.0, 100000.0, 1000000.0, 10000000.0, 100000000.0], [20.0, 50.0, 100.0, 200.0, 500.0])
    """
    first, last = ceil(log10(low) - ROUNDING), floor(log10(high) + ROUNDING)
    apart = max(1, ceil((last - first + 1) / MANY))
    powers = [float(f"1e{k}") for k in range(first, last + 1) if k % apart == 0]
    if len(powers) >= FEW:
        return powers
    for digits in ((1, 2, 5), range(1, 10)):
        ticks = [float(f"{digit}e{k}") for k in range(first - 1, last + 1) for digit in digits]
        inside = [number for number in ticks if low * (1 - ROUNDING) <= number <= high * (1 + ROUNDING)]
        if len(inside) >= FEW:
            return inside
    return _even(low, high)


def _even(low: float, high: float) -> list[float]:
    """Multiples of the largest round step of which three or more fit; the numbers are written with its digits."""
    power = floor(log10(high - low)) - 1
    sizes = (step * 10.0**exponent for exponent in (power + 1, power) for step in reversed(STEPS))
    step = next(size for size in sizes if floor(high / size) - ceil(low / size) + 1 >= FEW)
    return [float(f"{k * step:.15g}") for k in range(ceil(low / step), floor(high / step) + 1)]


def tick_label(number: float) -> str:
    """A number beside a logarithmic axis: written out, or with a power of ten where it is very large or very small.

    >>> [tick_label(number) for number in (0.002, 50.0, 20000.0, 1e12, 2e-7)]
    ['0.002', '50', '20,000', '10¹²', '2·10⁻⁷']
    """
    if PLAIN[0] <= number < PLAIN[1]:
        return f"{number:,.10g}"
    digits, _, power = f"{number:.10e}".partition("e")
    factor = f"{float(digits):.10g}"
    raised = f"10{str(int(power)).translate(RAISED)}"
    return raised if factor == "1" else f"{factor}·{raised}"


Span = tuple[float, float] | None  # the ends of a logarithmic axis

# Okabe and Ito's palette and a grey, then four of Tol's: told apart by colour-blind readers, dark enough for white
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#999999"]
PALETTE += ["#882255", "#332288", "#117733", "#DDCC77"]
WIDTH, HEIGHT = 560, 320
LETTER = 7.5  # pixels of a letter of an axis
NAME = 24  # letters of a line of a name beside an axis
TITLE, SUBTITLE = 62, 84  # letters of a line above a figure of that width
KEY = 30  # pixels of a legend's mark and the room beside its label
PADDING = 12  # pixels between the data and the ends of a logarithmic axis
HEAT_CELL, HEAT_LEAST, HEAT_SIDE = 26, 14, 1600  # a cell, the least (its name is as high), and a side where they shrink
MAP_SQUARE = 150
GREYS = {"name": "greys", "extent": [0.08, 0.75]}
SHIELD = "\ue000"  # a private character no text uses

LEGEND = {
    "symbolOpacity": 1,
    "labelLimit": 2000,
    "titleLimit": 2000,
    "labelFontSize": 13,
    "titleFontSize": 13,
    "titleFontWeight": "normal",
    "orient": "bottom",
}
CONFIG: dict[str, Any] = {
    "background": "white",
    "font": "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 13,
        "labelLimit": 0,
        "titleFontSize": 14,
        "titleFontWeight": "normal",
        "gridColor": "#e8e8e8",
    },
    "axisX": {"labelAngle": 0, "labelOverlap": True},
    "mark": {"color": PALETTE[0]},
    "title": {"anchor": "start", "fontSize": 16, "subtitleFontSize": 13, "subtitleColor": "#555", "offset": 12},
    "range": {"category": PALETTE},
}


@dataclass(frozen=True)
class Content:
    """A figure that is told from others by what it shows: its rows are dictionaries, which have no hash."""

    text: str
    figure: Figure = field(compare=False)


def _content(figure: Figure) -> Content:
    return Content(repr(asdict(figure)), figure)


def to_spec(figure: Figure) -> dict[str, Any]:
    """The figure as a Vega-Lite specification, made once for all formats; read it, and do not change it."""
    return _make_spec(_content(figure))


@lru_cache(maxsize=64)
def _make_spec(content: Content) -> dict[str, Any]:
    import altair as alt  # noqa: PLC0415  (imported for drawing only)

    figure = content.figure
    spans = _spans(figure)
    drawn = _flat(figure, alt, spans)
    if figure.over:
        over = alt.layer(*(_flat(each, alt, spans) for each in figure.over))  # one name has one colour in all of them
        drawn = alt.layer(drawn, over)
        if figure.kind in ("map", "heatmap"):  # whose colours are numbers
            drawn = drawn.resolve_scale(color="independent")
    title = alt.TitleParams(_lines(figure.title, TITLE))
    if figure.subtitle:
        title = alt.TitleParams(_lines(figure.title, TITLE), subtitle=_lines(figure.subtitle, SUBTITLE))
    layers = [layer for layer in (figure, *figure.over) if layer.kind not in ("heatmap", "map")]
    names = (str(row[layer.colour.column]) for layer in layers if layer.colour for row in layer.rows)
    label = max(map(len, names), default=0)
    legend = {**LEGEND, "columns": max(1, int(WIDTH // (LETTER * label + KEY)))}
    usermeta = {"label": label, "left": _left_letters(figure)}  # for a page that draws it at another width
    configured = drawn.properties(title=title, usermeta=usermeta).configure(**CONFIG, legend=legend)
    spec: dict[str, Any] = configured.to_dict()
    return spec


def _lines(text: str, letters: int) -> str | list[str]:
    """A text as it is, or in lines where it is longer."""
    return text if len(text) <= letters else wrap(text, letters)


def _left_letters(figure: Figure) -> int:
    """The letters of the longest line of a name beside the upright axis; 0 where it has numbers."""
    names = {str(row[figure.y.column]) for row in figure.rows} if figure.y.scale == "category" else set()
    return max((len(line) for name in names for line in wrap(name, NAME)), default=0)


def _converter() -> Any:
    import vl_convert  # noqa: PLC0415  (imported for drawing only)

    return vl_convert


def to_svg(figure: Figure) -> str:
    """The figure as a scalable drawing, drawn once for its file and the page."""
    return _draw_svg(_content(figure))


@lru_cache(maxsize=64)
def _draw_svg(content: Content) -> str:
    return str(_converter().vegalite_to_svg(_make_spec(content)))


def to_png(figure: Figure, scale: float = 2.0) -> bytes:
    """The figure as pixels; a scale of 2 suits screens and papers."""
    return bytes(_converter().vegalite_to_png(to_spec(figure), scale=scale))


def to_pdf(figure: Figure) -> bytes:
    """The figure as a page for papers: lines stay lines."""
    return bytes(_converter().vegalite_to_pdf(to_spec(figure)))


def to_html(figure: Figure) -> str:
    """The figure as one interactive page with everything it needs inside: hover shows each row's numbers."""
    # a text with "</script>" in it must not end the page's script; JavaScript reads "<\/script>" as the same text
    shielded = json.dumps(to_spec(figure), ensure_ascii=False).replace("</", f"{SHIELD}/")
    page = str(_converter().vegalite_to_html(shielded, bundle=True, renderer="svg")).replace(f"{SHIELD}/", r"<\/")
    head = (
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{escape(figure.title)}</title>"
    )
    return page.replace("<head>", f"<head>{head}", 1)


@cache
def javascript() -> str:
    """The drawing library as one script, for a page that draws several figures itself."""
    return str(_converter().javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def _spans(figure: Figure) -> tuple[Span, Span]:
    """The ends of both axes, where logarithmic, over all that is drawn on them."""
    layers = (figure, *figure.over)
    across = (row[layer.x.column] for layer in layers for row in layer.rows)
    up = (
        row[column]
        for layer in layers
        for column in filter(None, (layer.y.column, layer.low, layer.high))
        for row in layer.rows
    )
    return (
        padded_span(across, WIDTH, PADDING) if figure.x.scale == "log" else None,
        padded_span(up, HEIGHT, PADDING) if figure.y.scale == "log" else None,
    )


def _flat(figure: Figure, alt: Any, spans: tuple[Span, Span]) -> Any:
    """Lines, points, bars and heat maps: one mark for the data, one for its band or intervals."""
    counted = all(isinstance(row[figure.x.column], int) for row in figure.rows)
    across = _channel(figure.x, alt.X, alt, spans[0], whole=counted)
    upright = _channel(figure.y, alt.Y, alt, spans[1], names={str(row[figure.y.column]) for row in figure.rows})
    if figure.kind == "bars" and figure.x.scale == "linear":
        across = across.scale(nice=False, padding=8)
    data = alt.Data(values=[dict(row) for row in figure.rows])
    base = alt.Chart(data).encode(x=across, tooltip=_tooltips(figure, alt))
    if figure.kind in ("points", "bars") and figure.x.scale == "category" and _crowded(figure):
        base = base.encode(x=across.axis(labelAngle=-90, labelOverlap=False))
    if figure.kind == "heatmap":
        colour = alt.Color(figure.colour.column, type="quantitative", title=figure.colour.title)  # type: ignore[union-attr]
        longest = max(len({row[axis.column] for row in figure.rows}) for axis in (figure.x, figure.y))
        cell = max(HEAT_LEAST, min(HEAT_CELL, HEAT_SIDE // max(longest, 1)))
        if figure.x.scale == "category":  # cells are narrower than names, and every name is wanted
            base = base.encode(x=across.axis(labelAngle=-90, labelOverlap=False))
        cells = base.mark_rect().encode(y=upright, color=colour.scale(scheme="viridis"))
        return cells.properties(width=alt.Step(cell), height=alt.Step(cell))
    if figure.kind == "map":
        colour = alt.Color(figure.colour.column, type="quantitative", title=figure.colour.title)  # type: ignore[union-attr]
        # grey, so that what is drawn over it keeps its colours
        squares = base.mark_square(size=MAP_SQUARE, opacity=1).encode(
            y=upright, color=colour.scale(scheme=GREYS, domain=[0, 1])
        )
        return squares.properties(width=WIDTH, height=HEIGHT)
    if figure.group is not None:
        base = base.encode(detail=alt.Detail(figure.group, type="nominal"))
    if figure.colour is not None:
        title = figure.colour.title
        base = base.encode(color=alt.Color(figure.colour.column, type="nominal", title=title, sort=None))
    mark = {
        "lines": base.mark_line(point=True),
        "curves": base.mark_line(strokeWidth=1.5, opacity=0.8),
        "points": base.mark_point(filled=True, size=60, opacity=1),
        "bars": base.mark_bar(),
    }
    shown = mark[figure.kind].encode(y=upright)
    if figure.low is not None and figure.high is not None:
        band = base.mark_area(opacity=0.18) if figure.kind in ("lines", "curves") else base.mark_rule(strokeWidth=1.5)
        lower = Axis(figure.low, figure.y.title, figure.y.scale)
        ends = {"y": _channel(lower, alt.Y, alt, spans[1]), "y2": alt.Y2(figure.high)}
        shown = alt.layer(band.encode(**ends), shown)
    return shown.properties(width=WIDTH, height=HEIGHT)


def _crowded(figure: Figure) -> bool:
    """Return whether the names along the axis do not fit beside each other, so that some would be left out."""
    names = {str(row[figure.x.column]) for row in figure.rows}
    return max(map(len, names)) * LETTER > WIDTH / len(names)


def _channel(
    axis: Axis, channel: Any, alt: Any, span: Span, *, whole: bool = False, names: Collection[str] = ()
) -> Any:
    """An axis as Altair's channel: categories keep the order of the rows, whole numbers have no marks between them.

    A long name is set in lines, so that none is cut.
    """
    if axis.scale == "category":
        lines = {name: wrap(name, NAME) for name in sorted(names) if len(name) > NAME}
        split = f"{json.dumps(lines, ensure_ascii=False)}[datum.label] || datum.label"
        written = {"axis": alt.Axis(labelExpr=split)} if lines else {}
        return channel(axis.column, type="nominal", title=axis.title, sort=None, **written)
    if axis.scale == "log" and span is not None:  # ends at the data, not at the next power of ten
        scale = alt.Scale(type="log", nice=False, domain=list(span))
        ticks = log_ticks(*span)
        labels = json.dumps([tick_label(tick) for tick in ticks], ensure_ascii=False)
        shown = {"axis": alt.Axis(values=ticks, labelExpr=f"{labels}[indexof({json.dumps(ticks)}, datum.value)]")}
    else:
        scale, shown = alt.Scale(type=axis.scale), {"axis": alt.Axis(tickMinStep=1)} if whole else {}
    return channel(axis.column, type="quantitative", title=axis.title, scale=scale, **shown)


def _tooltips(figure: Figure, alt: Any) -> list[Any]:
    """Every column of the rows, numbers with enough digits to be copied."""
    numbers = {
        c for row in figure.rows for c, v in row.items() if isinstance(v, int | float) and not isinstance(v, bool)
    }
    columns = dict.fromkeys(column for row in figure.rows for column in row)
    return [
        alt.Tooltip(column, type="quantitative", format=".6~g")
        if column in numbers
        else alt.Tooltip(column, type="nominal")
        for column in columns
    ]
