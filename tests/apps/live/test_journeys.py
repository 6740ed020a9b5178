"""Every screen of the lab in a browser: what is typed, clicked and started shows, and no page logs an error."""

import json
import re
import struct
import subprocess
import sys
import time
import zlib
from contextlib import contextmanager

import numpy as np
import pytest
from safetensors.numpy import save_file

from keyhole.api.learn import Execution, Schedule, learn
from keyhole.api.runs import runs

from helpers import tiny_checkpoints as tiny
from helpers.browsing import open_browser
from helpers.tiny_gpt2 import write_gpt2

pytestmark = pytest.mark.extra("a browser")
WIDTHS = (400, 1400)


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium of the system, or the reason why there is none."""
    with open_browser() as chromium:
        yield chromium


@contextmanager
def started(folder, *words):
    """A server on a free port, and the address it printed."""
    command = [
        sys.executable,
        "-m",
        "keyhole",
        "serve",
        "--no-browser",
        "--port",
        "0",
        "--store",
        str(folder / "store"),
    ]
    log = folder / f"serve-{time.time_ns()}.log"
    with log.open("wb") as output:
        process = subprocess.Popen([*command, *words], stderr=output, stdout=output)
    try:
        until = time.time() + 60
        while not (found := re.search(r"http://\S+", log.read_text())) and time.time() < until:
            time.sleep(0.1)
        yield found[0], process
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A lab with models of matrices alone, of images and of words, and its folder."""
    folder = tmp_path_factory.mktemp("journeys")
    rng = np.random.default_rng(0)
    arrays = {f"blocks.0.attn.W_{name}": rng.normal(size=(2, 4, 3)) for name in "QKV"}
    save_file(arrays | {"blocks.0.attn.W_O": rng.normal(size=(2, 3, 4))}, folder / "model.safetensors")
    arrays, config = tiny.vit()
    (folder / "vit").mkdir()
    save_file(arrays, folder / "vit" / "model.safetensors")
    (folder / "vit" / "config.json").write_text(json.dumps(config))
    scaling = {"image_mean": 0.5, "image_std": 0.25, "size": {"height": 6, "width": 6}}
    (folder / "vit" / "preprocessor_config.json").write_text(json.dumps(scaling))
    write_gpt2(folder / "words", seed=3, width=4, scale=0.05)
    named = [f"--model={folder / name}" for name in ("model.safetensors", "vit", "words")]
    with started(folder, *named) as (address, _):
        yield folder, address


@pytest.fixture(scope="module")
def visitor(browser, lab):
    """A browser that has been let in: the printed address opens one."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(lab[1])
    page.close()
    return context


@contextmanager
def visited(visitor, address, path, width=1400):
    """A page of the lab; it logs no error, breaks no policy and asks nobody else."""
    origin = address.partition("/?")[0]
    page = visitor.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    errors, others = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    own = (origin, f"blob:{origin}", "data:")
    page.on("request", lambda asked: others.append(asked.url) if not asked.url.startswith(own) else None)
    page.goto(f"{origin}/{path}")
    yield page
    page.close()
    assert not errors
    assert not others


def until(page, expression, seconds=30):
    """Wait until an expression is true on a page; the tool's own way evaluates text, which the policy forbids."""
    end = time.time() + seconds
    while not page.evaluate(expression):
        assert time.time() < end, f"{expression} did not come true: {page.inner_text('main')[-400:]}"
        page.wait_for_timeout(50)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_formula_is_typed_and_attention_moves(visitor, lab, width):
    """As a formula is typed its head is drawn; a flipped bit changes the answer; the address keeps the question."""
    with visited(visitor, lab[1], "variable", width) as page:
        page.wait_for_selector("button.cell.relevant")
        assert page.locator("button.cell.relevant").count() == 2
        page.fill("[name=formula]", "x1 & x2 & x4")
        until(page, "document.querySelectorAll('button.cell.relevant').length === 3")
        assert "says 0" in page.inner_text("#says")
        for place in (1, 2, 4):
            page.locator("button.cell.relevant", has_text=re.compile(rf"x{place}$")).click()
            until(page, f"new URLSearchParams(location.search).get('ones').split(',').includes('{place}')")
        until(page, "document.getElementById('says').textContent.includes('says 1')")
        kept = page.url
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    with visited(visitor, lab[1], kept.partition("/variable")[2].join(["variable", ""]), width) as again:
        until(again, "document.getElementById('says').textContent.includes('says 1')")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_bad_formula_shows_its_sentence(visitor, lab, width):
    """A formula that does not parse shows its sentence, and markup in it stays text."""
    with visited(visitor, lab[1], "variable", width) as page:
        page.wait_for_selector("button.cell")
        page.fill("[name=formula]", "x1 & <img src=x onerror=alert(1)>")
        page.wait_for_selector("#refusal:not([hidden])")
        assert page.locator("main img").count() == 0
        page.fill("[name=formula]", "x1")
        page.wait_for_selector("#refusal", state="hidden")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_training_is_watched_resumed_and_certified(visitor, lab, width):
    """Frames arrive; a reload follows the same run; at the end stand the hidden positions and the certificate."""
    with visited(visitor, lab[1], f"training?context=20&samples=120&seed={width}", width) as page:
        shown = page.inner_text("#context-shown"), page.inner_text("#samples-shown")
        assert shown == ("20", "120")  # as the link says, whatever the steps of the sliders are
        page.click("button[type=submit]")
        page.wait_for_selector("#heads svg", timeout=120_000)
        page.reload()
        until(page, "document.getElementById('says').textContent.includes('relevant positions were')", seconds=120)
        assert page.locator("#heads svg path").count() >= 3
        page.wait_for_selector("#certificate .says", timeout=60_000)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_a_training_is_cancelled(visitor, lab, width):
    """A run that is stopped says so."""
    with visited(visitor, lab[1], "training?task=parity:3&context=400&samples=4000", width) as page:
        page.click("button[type=submit]")
        page.wait_for_selector("#cancel:not([disabled])")
        page.click("#cancel")
        until(page, "document.getElementById('says').textContent === 'Stopped.'", seconds=60)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_sweep_of_the_terminal_appears(visitor, lab, width):
    """Runs that another process adds to the store are shown without a reload."""
    with visited(visitor, lab[1], "sweeps", width) as page:
        until(page, "document.getElementById('says').textContent.includes('runs')")
        before = page.inner_text("#says")
        rounds, here = Schedule(budget=8, first_seed=width), Execution(lab[0] / "store", workers=0)
        learn("or:2", [8, 16], "consistent:junta", schedule=rounds, execution=here)
        until(page, f"document.getElementById('says').textContent !== {before!r}", seconds=30)
        assert "or:2" in page.inner_text("#sweeps")


def test_a_printed_screen_keeps_its_question_and_its_legends(visitor, lab):
    """On paper the values asked for and the names of the curves are there; buttons and contents are not."""
    with visited(visitor, lab[1], "latent", WIDTHS[1]) as page:
        page.wait_for_selector("figcaption .entry")
        page.emulate_media(media="print")
        try:
            assert page.locator("figcaption .entry").first.is_visible()
            assert page.locator(".controls input").first.is_visible()
            assert not page.locator(".controls button").first.is_visible()
            assert not page.locator("header").first.is_visible()
        finally:
            page.emulate_media(media="screen")


@pytest.mark.parametrize("width", WIDTHS)
def test_tokens_come_one_by_one(visitor, lab, width):
    """A context is followed; the slider goes back in it; another model has a posterior."""
    with visited(visitor, lab[1], "latent", width) as page:
        page.wait_for_selector("#course svg")
        page.evaluate("const s = document.getElementById('seen'); s.value = 3; s.dispatchEvent(new Event('input'))")
        assert page.inner_text("#says").startswith("After 3 tokens")
        page.select_option("[name=model]", "finite")
        until(page, "document.getElementById('posterior').textContent.includes('z = 2')")
        page.wait_for_selector("#errors svg")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def png(side, level):
    """A grey picture of this side, written out by hand."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + bytes((level + row * place) % 256 for place in range(side)) for row in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("width", WIDTHS)
def test_an_image_is_dropped_in(visitor, lab, width):
    """A picture that is dropped lies below a head's attention; another is chosen; what is none shows a sentence."""
    pytest.importorskip("PIL")
    with visited(visitor, lab[1], "model?model=2", width) as page:
        page.wait_for_selector("#drop:not([hidden])")
        made = """(bytes) => { const moved = new DataTransfer();
            moved.items.add(new File([new Uint8Array(bytes)], "../<b>x.png", { type: "image/png" })); return moved; }"""
        page.dispatch_event("#drop", "drop", {"dataTransfer": page.evaluate_handle(made, list(png(24, width % 200)))})
        page.wait_for_selector("#map svg image")
        assert page.locator("#map .patch").count() == 4
        first, said = page.url, page.inner_text("#map p")
        page.locator("#map .patch").nth(2).click()
        until(page, "document.querySelector('#map p').textContent.startsWith('Patch 2, 1 looks')")
        assert said.startswith("[CLS] looks")
        page.set_input_files("[name=picture]", {"name": "y.png", "mimeType": "image/png", "buffer": png(30, 7)})
        until(page, f"location.href !== {first!r}")
        page.locator("#use .headcell").nth(1).click()
        until(page, "document.getElementById('which').textContent === '1-2'")
        page.reload()
        page.wait_for_selector("#map .patch")
        page.set_input_files("[name=picture]", {"name": "y.png", "mimeType": "image/png", "buffer": b"<b>no</b>"})
        page.wait_for_selector("#refusal:not([hidden])")
        assert "PNG" in page.inner_text("#refusal")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("width", "least", "tone"), [(400, 0, "bad"), (1400, 9, "good")])
def test_verdicts_come_length_by_length(visitor, lab, width, least, tone):
    """A claim is broken or proved at each length; a reload follows the same job; a bad claim shows its sentence."""
    asked = f"model?model=3&lengths=3..5&read-at=SEP&claim=at+least+{least}+of+1"
    with visited(visitor, lab[1], asked, width) as page:
        page.wait_for_selector("#verify:not([hidden])")
        page.wait_for_selector("#map rect")
        page.click("#claim button[type=submit]")
        until(page, "document.querySelectorAll('#verdicts tbody tr').length === 3", seconds=60)
        assert page.locator(f"#verdicts td.{tone}").count() == 3
        until(page, "document.getElementById('stop').disabled")
        said = page.inner_text("#verify-says")
        page.reload()
        until(page, f"document.getElementById('verify-says').textContent === {said!r}")
        page.fill("#claim [name=claim]", "automaton:/etc/passwd")
        page.click("#claim button[type=submit]")
        page.wait_for_selector("#refusal:not([hidden])")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_a_model_of_the_command_line_is_drawn(visitor, lab, width):
    """The heads of a named model are a grid; what the model cannot be asked is a sentence."""
    with visited(visitor, lab[1], "model", width) as page:
        page.wait_for_selector("#norms .headcell")
        assert page.locator("#norms .headcell").count() == 2


def test_a_killed_server_loses_nothing(browser, tmp_path):
    """After kill -9 of the server the runs of its job are in the store."""
    context = browser.new_context()
    with started(tmp_path) as (address, process):
        page = context.new_page()
        page.goto(address)
        page.goto(f"{address.partition('/?')[0]}/sweeps")
        page.fill("[name=contexts]", "8,16")
        page.select_option("[name=learner]", "elimination")
        page.click("button[type=submit]")
        until(page, r"/[1-9]\d* runs/.test(document.getElementById('says').textContent)", seconds=60)
        process.kill()
    context.close()
    assert runs(store=tmp_path / "store").runs
