"""The page of a compiled head, in a browser without a network: its proof holds, and refuses what it should."""

import json
import re

import numpy as np
import pytest

from keyhole.api.compile import compile as compile_function
from keyhole.attention import dense, evaluate
from keyhole.errors import OutputError

from helpers.browsing import open_browser

CASES = [
    ("x3 & x17", 64, {}),
    ("x3 & ~x17", 20, {"construction": "veto", "output": "bits"}),
    ("parity:3", 16, {}),
    ("parity:3", 40, {"construction": "codes"}),
    ("majority:5", 32, {"construction": "additive"}),
    ("majority:31", 100, {}),
    ("random:3", 24, {"construction": "least", "seed": 2}),
]


def blocks(page):
    """The claim and the weights that a page holds."""
    return {
        name: json.loads(text)
        for name, text in re.findall(r'<script type="application/json" id="(\w+)">(.*?)</script>', page)
    }


def arrays(weights):
    """Every number of the weights, with its list and its place in it."""
    for value in weights.values() if isinstance(weights, dict) else weights:
        if isinstance(value, str):
            yield from ((weights, i) for i in range(len(weights)))
            return
        yield from arrays(value)


@pytest.mark.parametrize(("formula", "context", "options"), CASES)
def test_numbers_read_back_bit_for_bit(formula, context, options):
    """The weights on the page are those of the plan, and nothing on the page lies elsewhere."""
    compiled = compile_function(formula, context, **options)
    page = compiled.page()
    head, written = compiled.plan.heads[0], blocks(page)["weights"]["heads"][0]
    assert np.array_equal(np.array(written["values"], dtype=float), head.values)
    assert np.array_equal(np.array(written["focus"], dtype=float), head.symbol_focus)
    assert not re.search(r"""https?://(?!www\.w3\.org/2000/svg)|^import |src=|href="(?!data:)""", page, re.MULTILINE)


def test_a_formula_is_text_on_the_page():
    """Markup in a title stays text."""
    from keyhole.show.page import head_page

    assert "<b>" not in head_page("<b>", "</script><b>", {"a": "</script><b>"}, {})


@pytest.mark.parametrize(
    ("formula", "options", "match"),
    [
        ("parity:3", {"construction": "heads"}, "several heads read the other positions"),
        ("random:11", {"construction": "pair"}, "would prove 11 relevant positions"),
    ],
)
def test_what_a_page_cannot_prove_is_refused(formula, options, match, tmp_path):
    """Nothing is written where the page has no argument, or would take too long."""
    with pytest.raises(OutputError, match=match):
        compile_function(formula, 16, **options).save(tmp_path / "head.html")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium of the system, or the reason why there is none."""
    with open_browser() as chromium:
        yield chromium


def opened(browser, path, width=1400):
    """A page opened from the disk with the network cut, after its first proof."""
    page = browser.new_context(offline=True).new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("#verdict")
    return page


def verdict(page):
    """The verdict after the proof that is under way."""
    page.wait_for_timeout(60)
    return page.inner_text("#verdict")


@pytest.mark.extra("a browser")
@pytest.mark.parametrize(("formula", "context", "options"), CASES)
def test_the_page_proves_what_the_library_proves(browser, tmp_path, formula, context, options):
    """The page's margin lies between the library's and that of any input, and its doubles agree with the model's."""
    compiled = compile_function(formula, context, **options)
    page = opened(browser, compiled.save(tmp_path / "head.html"))
    found = float(re.search(r"PROVED here.*margin at least ([\d.]+\d)", page.inner_text("#verdict"))[1])
    rng, threshold = np.random.default_rng(0), 0.0 if compiled.output == "signs" else 0.5
    inputs = rng.integers(0, 2, (500, context))
    margins = np.abs(np.asarray(evaluate(dense(compiled.tabulated), inputs)) - threshold)
    assert compiled.margin - 1e-15 <= found <= margins.min() + 1e-9
    page.click("#all-ones")
    ones = np.zeros(context, dtype=np.int64)
    ones[list(compiled.positions)] = 1
    output = float(np.asarray(evaluate(dense(compiled.tabulated), ones)))
    shown = float(page.get_attribute("#gauge svg", "aria-label").split()[1].rstrip(",").replace("−", "-"))
    assert shown == pytest.approx(output, abs=1e-3)
    assert f"Function: {int(compiled.plan.function(ones))}." in page.inner_text("#says")


@pytest.mark.extra("a browser")
@pytest.mark.parametrize("width", [400, 1400])
def test_bits_flip_and_attention_stays(browser, tmp_path, width):
    """A click flips a bit and moves the output; the page needs no sideways scrolling."""
    page = opened(browser, compile_function("x3 & x17", 64).save(tmp_path / "head.html"), width)
    assert "Function: 0" in page.inner_text("#says")
    for place in (3, 17):
        page.locator("button.cell", has_text=re.compile(rf"x{place}$")).click()
    assert "Layer: 1. Function: 1." in page.inner_text("#says")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.extra("a browser")
def test_every_edited_weight_is_refused(browser, tmp_path):
    """A changed number is refused, whichever it is, in the page and in the file; the right one is accepted again."""
    compiled = compile_function("x3 & x17", 24)
    page = opened(browser, compiled.save(tmp_path / "head.html"))
    inputs = page.locator("table.weights input")
    assert inputs.count() == 21
    for i in range(inputs.count()):
        given = inputs.nth(i).input_value()
        inputs.nth(i).fill(repr(float(given) + 0.25))
        inputs.nth(i).blur()
        assert verdict(page).startswith("REFUSED"), i
        inputs.nth(i).fill(given)
        inputs.nth(i).blur()
        assert verdict(page).startswith("PROVED"), i
    inputs.nth(0).fill("many")
    inputs.nth(0).blur()
    assert '"many" is not a number' in verdict(page)
    text = compiled.page()
    weights = blocks(text)["weights"]
    for number, (place, i) in enumerate(arrays(weights)):
        kept, place[i] = place[i], repr(float(place[i]) - 1e-3)
        changed = tmp_path / f"{number}.html"
        written = json.dumps(weights, separators=(",", ":"))
        changed.write_text(re.sub(r'(id="weights">).*?(</script>)', lambda m, w=written: m[1] + w + m[2], text))
        place[i] = kept
        page.goto(changed.as_uri())
        page.wait_for_selector("#verdict")
        assert page.inner_text("#verdict").startswith("REFUSED"), number
