"""The pages of the site that are made from the code say all that the code has, and the built site stands by itself."""

import importlib.util
import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import jsonschema
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from keyhole.cli.app import app

from helpers.browsing import open_browser

ROOT = Path(__file__).parent.parent
SITE = ROOT / "build" / "docs" / "html"
found = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "pages.py")
pages = importlib.util.module_from_spec(found)
found.loader.exec_module(pages)

COMMANDS = [
    'describe "x3 & ~x5" --context 16',
    "compile and:3 --context 16",
    "bound and:3 --samples 1e6 --context 100",
    "norms and:3",
    "infer gaussian --size 8,16 --repeats 4",
    "learn and:2 --context 10,20 --learner elimination",
    "runs list",
    "exchangeable sequences.npy",
    "fit table.csv",
    "claims",
]
needs_site = pytest.mark.skipif(not SITE.exists(), reason="the site is not built: run `make docs`")


@pytest.fixture(scope="module")
def schemas():
    """The schema of every answer, by name."""
    return {name: pages.schema(name, kind) for name, kind in pages.results().items()}


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_answers_follow_their_schemas(line, schemas, tmp_path, monkeypatch):
    """What a command prints as JSON has the keys and the types that the reference states."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("sequences.npy", rng.integers(0, 3, (40, 6)))
    bits = rng.integers(0, 2, (60, 5))
    np.savetxt("table.csv", np.column_stack([bits, bits[:, 1] & bits[:, 3]]), fmt="%d", delimiter=",")
    if line.startswith("runs"):
        CliRunner().invoke(app, ["learn", "and:2", "--context", "10", "--learner", "elimination"])
    answer = CliRunner().invoke(app, [*shlex.split(line), "--json"])
    record = json.loads(answer.stdout)
    schema = schemas[record["schema"]]
    jsonschema.validate(record, schema)
    for key in schema["required"]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({name: value for name, value in record.items() if name != key}, schema)


def test_every_command_is_in_the_reference():
    """Each command and each command of a group has a heading, and its help below it."""
    page = pages.command_page()

    def check(words, command):
        assert f"\n## {' '.join(words)}\n\n```text\nUsage: {' '.join(words)} " in page
        for name, inner in getattr(command, "commands", {}).items():
            check([*words, name], inner)

    check(["keyhole"], typer.main.get_command(app))


@pytest.mark.slow
def test_every_name_of_the_theory_has_its_place():
    """What THEORY.md lists is in a chapter with its tests, and in the reference with its signature."""
    chapters, reference = pages.theory_pages(), "".join(pages.python_pages().values())
    text = "".join(chapters.values())
    for name in pages.theory_names():
        assert f"- `{name}`: " in text
        if pages.entry(name):
            assert reference.count(f"({pages.target(name)})=") == 1, name
    tests = set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text))
    assert len(tests) > 150
    assert not [each for each in tests if f"def {each[1]}(" not in (ROOT / each[0]).read_text("utf8")]


def test_links_between_chapters_lead_to_headings():
    """A link of a chapter to another leads to a file that has this heading."""
    chapters = pages.theory_pages()
    for name, text in chapters.items():
        for file, anchor in re.findall(r"\]\(([\w-]+\.md)#([\w\-′]+)\)", text):
            headings = re.findall(r"^#+ (.*)$", chapters[f"theory/{file}"], re.MULTILINE)
            assert anchor in {pages.slug(heading.removeprefix("Theory of ")) for heading in headings}, (name, anchor)


class Links(HTMLParser):
    """The addresses that a page refers to or loads, and the anchors that it has."""

    def __init__(self):
        super().__init__()
        self.addresses, self.anchors = [], set()

    def handle_starttag(self, tag, attrs):
        """Keep what an element names."""
        for name, value in attrs:
            if name == "id":
                self.anchors.add(value)
            elif name in ("href", "src") and value and tag != "use":
                self.addresses.append(value)


def read(path):
    """The links and anchors of a page."""
    links = Links()
    links.feed(path.read_text("utf8"))
    return links


@needs_site
def test_no_link_of_the_site_is_dead():
    """Every address on every page lies in the site; llms.txt and the twins in Markdown lead to pages, too."""
    built = {path.resolve(): read(path) for path in SITE.rglob("*.html")}
    assert len(built) > 50
    for path, links in built.items():
        for address in links.addresses:
            parts = urlsplit(address)
            if parts.scheme == "data":
                continue
            assert not parts.scheme, (path.name, address)
            assert not parts.netloc, (path.name, address)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), (path.name, address)
            if parts.fragment and target in built:
                assert unquote(parts.fragment) in built[target].anchors, (path.name, address)
    listed = re.findall(r"\]\((.*?)\)", (SITE / "llms.txt").read_text("utf8"))
    assert len(listed) > 50
    assert all((SITE / name).exists() and (SITE / name).with_suffix(".html").exists() for name in listed)


@needs_site
def test_lessons_are_executed_and_ask_first():
    """Each lesson begins with a question, hides its answers, and its twin has what cells print."""
    for path in sorted((ROOT / "docs" / "lessons").glob("[!i]*.md")):
        page, twin = (SITE / "lessons" / f"{path.stem}{ending}" for ending in (".html", ".md"))
        assert re.search(r"^\*Question: .*\?\*$", path.read_text("utf8"), re.MULTILINE)
        assert "Open the answer" in page.read_text("utf8")
        assert '<details class="answer">' in page.read_text("utf8")
        assert "```text\n" in twin.read_text("utf8")
        for block in re.findall(r"```text\n(.*?)```", twin.read_text("utf8"), re.DOTALL):
            assert block.count("PROVED") <= 1  # an answer stands there once
        assert not re.search(r"\x1b|Traceback|shows what to write", twin.read_text("utf8"))


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium of the system, or the reason why there is none."""
    with open_browser() as chromium:
        yield chromium


@needs_site
@pytest.mark.extra("a browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_pages_open_without_a_network(browser, width, scheme):
    """Pages open from the disk, ask nobody, log nothing and need no sideways scrolling; print shows the answers."""
    context = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": width, "height": 900})
    page, faults = context.new_page(), []
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else faults.append(asked.url))
    kinds = "index start lessons/create lessons/samples howto/functions reference/bounds theory/compiler gallery"
    for name in kinds.split():
        page.goto((SITE / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert not faults, name
    page.goto((SITE / "lessons" / "create.html").as_uri())
    assert page.locator("math").count() > 5
    answer = page.locator("details.hide .cell_output").first
    assert not answer.is_visible()
    page.emulate_media(media="print")
    assert answer.is_visible()
    context.close()
