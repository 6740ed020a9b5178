"""Every kind of figure is drawn as SVG, PNG, a self-contained page and a table."""

import csv
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from keyhole.errors import OutputError
from keyhole.figure import Axis, Figure
from keyhole.show import chart
from keyhole.show.chart import to_html, to_png, to_spec, to_svg
from keyhole.show.site import save_figure

GROWTH = tuple(
    {"T": 10**power, "m": power + shift, "low": power + shift - 0.5, "high": power + shift + 0.5, "who": who}
    for power in range(1, 5)
    for shift, who in enumerate(["ours", "<theirs>"])
)
CELLS = tuple({"at": at, "head": head, "mass": at * head / 6} for at in range(4) for head in range(3))
NODES = (
    {"node": "risk", "parent": None, "label": "risk"},
    {"node": "cover", "parent": "risk", "label": "cover of the scores"},
    {"node": "chance", "parent": "risk", "label": "confidence"},
)
T, M, WHO = Axis("T", "context T", "log"), Axis("m", "samples m"), Axis("who", "bound", "category")
FIGURES = {
    "lines": Figure("Growth of m*(T)", "lines", GROWTH, T, M, WHO, "low", "high", subtitle="with a band"),
    "points": Figure("Thresholds", "points", GROWTH, T, M, WHO, "low", "high"),
    "bars": Figure("Weights", "bars", CELLS[:3], Axis("head", "head", "category"), Axis("mass", "mass")),
    "long bars": Figure("Many weights", "bars", CELLS[::3], Axis("at", "at"), Axis("mass", "mass")),
    "heatmap": Figure(
        "Attention",
        "heatmap",
        CELLS,
        Axis("at", "at", "category"),
        Axis("head", "head", "category"),
        Axis("mass", "mass"),
    ),
    "curves": Figure("Courses", "curves", GROWTH, T, M, WHO, group="low"),
    "map": Figure(
        "Success",
        "map",
        CELLS[3:],
        Axis("at", "at", "log"),
        Axis("head", "head"),
        Axis("mass", "mass"),
        over=(Figure("law", "curves", GROWTH, T, M, WHO), Figure("m*", "points", GROWTH, T, M, WHO, "low", "high")),
    ),
}
MARKS = {"lines": 8, "points": 8, "bars": 3, "long bars": 4, "heatmap": 12}


def texts(svg: str) -> str:
    """All text an SVG shows."""
    return " ".join(ET.fromstring(svg).itertext())  # noqa: S314  (our own drawing)


@pytest.mark.parametrize("name", MARKS)
def test_svg_shows_titles_and_every_row(name):
    """The drawing parses as XML, shows the title and axis titles, and has a mark for every row."""
    figure = FIGURES[name]
    svg = to_svg(figure)
    assert figure.title in texts(svg)
    labels = re.findall(r'aria-roledescription="(?:point|bar|rect mark|text mark)"', svg)
    assert len(labels) == MARKS[name] == len(figure.rows)
    assert figure.x.title in texts(svg)
    assert figure.y.title in texts(svg)


@pytest.mark.slow
def test_a_map_shows_its_squares_and_what_lies_over_them():
    """A square for every row, and the points and the two curves of the figures over it."""
    svg = to_svg(FIGURES["map"])
    marks = [len(re.findall(f'aria-roledescription="{mark}"', svg)) for mark in ("square", "point", "line mark")]
    assert marks == [9, 8, 2]


def test_curves_are_joined_by_group():
    """Rows of one colour in two groups make two curves, without points."""
    rows = tuple({"x": x, "y": x * run, "run": run, "what": "loss"} for run in (1, 2) for x in range(3))
    figure = Figure("Runs", "curves", rows, Axis("x", "x"), Axis("y", "y"), Axis("what", "", "category"), group="run")
    svg = to_svg(figure)
    assert len(re.findall('="line mark"', svg)) == 2
    assert "symbol mark" not in svg.split("legend", maxsplit=1)[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_png_is_a_picture_of_the_same_size(name):
    """Twice the scale is twice the pixels each way."""

    def size(data):
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")

    single, double = size(to_png(FIGURES[name], scale=1.0)), size(to_png(FIGURES[name], scale=2.0))
    assert double == pytest.approx((2 * single[0], 2 * single[1]), abs=2)  # each side rounds to whole pixels


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_page_asks_for_nothing(name):
    """No element of the page names a script, style or picture elsewhere."""
    page = to_html(FIGURES[name])
    outside = re.sub(r"(?s)(<script[^>]*>).*?</script>", r"\1", page)
    assert outside.count("<script") > 0
    assert set(re.findall(r"<[^>]+(?:src|href)\s*=[^>]*>", outside)) == {'<link rel="icon" href="data:,">'}
    assert "@import" not in outside
    assert f"<title>{FIGURES[name].title}</title>" in page


def test_labels_cannot_end_the_script():
    """A label that spells a closing script tag stays a label."""
    rows = ({"name": "</script><script>alert(1)</script>", "mass": 1.0},)
    page = to_html(Figure("</title>", "bars", rows, Axis("name", "name", "category"), Axis("mass", "mass")))
    assert "alert(1)</script>" not in page
    assert r"<\/script><script>alert(1)<\/script>" in page
    assert "<title>&lt;/title&gt;</title>" in page


def test_log_axes_are_logarithmic():
    """A log axis keeps its scale in the specification; a linear one is not made logarithmic."""
    encodings = to_spec(FIGURES["lines"])["layer"][0]["encoding"]
    assert encodings["x"]["scale"]["type"] == "log"
    assert encodings["y"]["scale"]["type"] == "linear"


@pytest.mark.parametrize("ending", ["svg", "png", "html", "csv", "SVG"])
def test_saves_by_ending(tmp_path, ending):
    """The file's ending chooses the format; folders are made; nothing else is left behind."""
    path = save_figure(FIGURES["bars"], tmp_path / "new" / f"figure.{ending}")
    assert path.stat().st_size > 0
    assert [file.name for file in path.parent.iterdir()] == [f"figure.{ending}"]


def test_table_holds_every_number(tmp_path):
    """The CSV reads back as the figure's rows."""
    path = save_figure(FIGURES["lines"], tmp_path / "rows.csv")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [{name: str(value) for name, value in row.items()} for row in GROWTH] == rows


def test_table_holds_what_lies_over_a_figure(tmp_path):
    """The CSV of a figure with others over it has all their rows."""
    path = save_figure(FIGURES["map"], tmp_path / "rows.csv")
    with path.open() as file:
        assert len(list(csv.DictReader(file))) == len(CELLS[3:]) + 2 * len(GROWTH)


def test_refuses_an_unknown_format(tmp_path):
    """A name that asks for another format is refused, and nothing is written."""
    with pytest.raises(OutputError, match=r"must end in \.csv, \.html, \.pdf, \.png, \.svg"):
        save_figure(FIGURES["bars"], tmp_path / "figure.docx")
    assert not list(tmp_path.iterdir())


def test_a_figure_is_specified_and_drawn_once(monkeypatch):
    """Equal figures share one specification in all formats, and one drawing; one that differs in a cell has its own."""
    made = []
    make = chart._flat
    monkeypatch.setattr(chart, "_flat", lambda figure, *rest: made.append(figure.title) or make(figure, *rest))
    rows = [{"k": "a", "w": 0.125}, {"k": "b", "w": 0.25}]
    axes = (Axis("k", "degree", "category"), Axis("w", "weight"))
    same, again = (Figure("drawn once", "bars", tuple(map(dict, rows)), *axes) for _ in range(2))
    other = Figure("drawn once", "bars", ({**rows[0], "w": 0.126}, rows[1]), *axes)
    drawings = [to_svg(same), to_svg(again)]
    assert to_png(again)
    assert to_spec(same) is to_spec(again)
    assert made == ["drawn once"]
    assert drawings[0] is drawings[1]
    assert to_svg(other) != drawings[0]
    assert made == ["drawn once"] * 2


def test_every_name_of_a_crowded_axis_is_shown():
    """Names that do not fit beside each other stand upright, and none is left out."""
    names = [f"relation-{number}" for number in range(15)]
    rows = tuple({"relation": name, "share": 0.5} for name in names)
    figure = Figure("Shares", "points", rows, Axis("relation", "relation", "category"), Axis("share", "share"))
    drawn = to_svg(figure)
    assert all(f">{name}</text>" in drawn for name in names)
    assert 'opacity="0"' not in drawn  # how a name that is left out is drawn


def test_long_titles_are_set_in_lines():
    """Nothing above a figure is longer than the figure is wide, and no word is lost; short titles stay one line."""
    long = " ".join(["words"] * 40)
    title = to_spec(replace(FIGURES["lines"], title=long, subtitle=long))["title"]
    for lines, most in ((title["text"], chart.TITLE), (title["subtitle"], chart.SUBTITLE)):
        assert max(map(len, lines)) <= most
        assert " ".join(lines) == long
    assert to_spec(FIGURES["lines"])["title"]["text"] == FIGURES["lines"].title


def test_a_legend_has_as_many_columns_as_its_names_allow():
    """Long names stand below each other, short ones beside; a page that draws at another width is told the longest."""
    rows = tuple({"x": x, "y": x, "who": name} for x in (1, 2) for name in ("a", "n" * 60))
    figure = Figure("F", "lines", rows, Axis("x", "x"), Axis("y", "y"), Axis("who", "", "category"))
    spec = to_spec(figure)
    assert spec["usermeta"]["label"] == 60
    assert spec["config"]["legend"]["columns"] == 1
    assert to_spec(replace(figure, rows=rows[:1]))["config"]["legend"]["columns"] > 3


def test_whole_numbers_have_no_marks_between_them():
    """An axis of whole numbers, such as layers, is marked at whole numbers only."""
    for values, step in (((1, 2, 3), 1), ((1.0, 2.5), None)):
        rows = tuple({"x": x, "y": 1.0} for x in values)
        axis = to_spec(Figure("F", "points", rows, Axis("x", "x"), Axis("y", "y")))["encoding"]["x"].get("axis", {})
        assert axis.get("tickMinStep") == step


def test_no_name_beside_an_axis_is_cut():
    """Long names stand in lines and are whole in the drawing; nothing ends in dots for want of room."""
    names = ("R8: our calculus with the constants of another work, as recalled", "short")
    rows = tuple({"gap": k + 1.0, "bound": name} for k, name in enumerate(names))
    figure = Figure("Bounds", "points", rows, Axis("gap", "gap", "log"), Axis("bound", "", "category"))
    svg = to_svg(figure)
    group = re.findall(r'(?s)<g class="mark-text role-axis-label".*?</g>', svg)[1]
    words = " ".join(re.findall(r">([^<>]+)<", group))
    assert "…" not in svg
    assert all(name in " ".join(words.split()) for name in names)
    assert to_spec(figure)["usermeta"]["left"] <= chart.NAME
