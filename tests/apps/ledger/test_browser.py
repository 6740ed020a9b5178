"""In a browser, pages draw themselves, answer hover, log no error and ask for nothing else."""

import http.server
import threading
from contextlib import contextmanager

import pytest

from keyhole.apps.ledger.reproduction import reproduce
from keyhole.figure import Axis, Figure
from keyhole.show.site import save_figure

from helpers.browsing import open_browser

BARS = "svg path[aria-roledescription=bar]"
WEIGHTS = tuple({"head": head, "mass": head / 3} for head in range(1, 4))
FIGURE = Figure("Weights", "bars", WEIGHTS, Axis("head", "head", "category"), Axis("mass", "mass"))

pytestmark = pytest.mark.extra("a browser")


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium of the system, or the reason why there is none."""
    with open_browser() as chromium:
        yield chromium


@contextmanager
def visited(browser, folder, name, width):
    """A page of a folder served on this machine, with the errors it logged and what it asked for beside itself."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, directory=str(folder), **kwargs)

        def log_message(self, *_args):
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/{name}"
        page = browser.new_page(viewport={"width": width, "height": 900})
        errors, others = [], []
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda asked: others.append(asked.url) if asked.url.split("#")[0] != address else None)
        page.goto(address)
        yield page
        page.close()
        server.shutdown()
    assert not errors
    assert not others


@pytest.mark.parametrize("width", [400, 1400])
def test_a_figure_draws_and_answers_hover(browser, tmp_path, width):
    """The bars are there, and hover shows a row's numbers."""
    save_figure(FIGURE, tmp_path / "figure.html")
    with visited(browser, tmp_path, "figure.html", width) as page:
        page.wait_for_selector(BARS)
        bars = page.query_selector_all(BARS)
        bars[-1].hover()
        page.wait_for_selector("#vg-tooltip-element.visible")
        assert "mass" in page.text_content("#vg-tooltip-element")
        assert len(bars) == 3


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report of three claims, one of them measured."""
    folder = tmp_path_factory.mktemp("report")
    reproduce(("theorem-t", "sharpness", "bound-shape"), folder=folder, workers=1)
    return folder


@pytest.mark.parametrize("width", [400, 1400])
def test_the_report_draws_every_figure_within_the_page(browser, report, width):
    """Every figure becomes interactive, a point answers hover, formulas are drawn, and nothing sticks out sideways."""
    with visited(browser, report, "index.html", width) as page:
        page.wait_for_selector("[data-figure] .vega-embed svg, [data-figure].vega-embed svg")
        figures = page.query_selector_all("[data-figure]")
        drawn = page.query_selector_all("[data-figure].vega-embed, [data-figure] .vega-embed")
        assert len(figures) == len(drawn) == 3
        for folded in page.query_selector_all("details > summary"):
            folded.click()
        page.query_selector_all("[data-figure] svg path[aria-roledescription=point]")[0].hover()
        page.wait_for_selector("#vg-tooltip-element.visible")
        assert len(page.query_selector_all("math")) == 3
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")


def test_what_is_folded_is_printed(browser, report):
    """On paper every detail is open; on the screen it is as it was before."""
    with visited(browser, report, "index.html", 1400) as page:
        page.wait_for_selector("details")
        folded = "document.querySelectorAll('details:not([open])').length"
        before = page.evaluate(folded)
        assert before > 0
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(folded) == 0
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(folded) == before
