"""Pages of the site that are made from the code: reference, theory by chapter, and one page for each part of one's own.

    python docs/pages.py build/docs/pages

The written pages of this folder are copied beside them; `make docs` then builds the site from that folder.
"""

import ast
import importlib
import inspect
import json
import re
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from typer.testing import CliRunner

import keyhole
from keyhole.api.result import Result
from keyhole.cli.app import app

DOCS = Path(__file__).parent
ROOT = DOCS.parent
SOURCE = Path(keyhole.__file__).parent
PACKAGES = {
    "keyhole": "A function for each question, and its answer",
    "boolean": "Boolean functions of few variables",
    "languages": "Sets of words",
    "attention": "Weights, their evaluation and their norms",
    "rigorous": "Arithmetic that encloses the exact result",
    "bounds": "Guarantees from norms and sample sizes",
    "compiler": "Exact weights for a function, with a proof",
    "prover": "What a model computes on every input",
    "latent": "Exchangeable models, and attention as an estimator",
    "training": "Tasks, learners and networks",
    "sweeps": "Runs, thresholds and growth laws",
    "checkpoints": "Weights that were trained elsewhere",
    "apps": "Applications that use the library",
    "norm_profile": "Norms as bounds take them",
}
LISTED = re.compile(r"\[`(keyhole\.[\w.]+)`\]\(\.\./[\w/.]+\)")
FIELD = re.compile(r"^(Statement|Assumes|Proof|Equality|Source|Example) {2,}", re.MULTILINE)


# --- Python ------------------------------------------------------------------------------------------------------


@cache
def tree(path: Path) -> dict[str, tuple[ast.AST, list[str]]]:
    """Return every class and function of a file, by its name within it, with the lines of the file."""
    text = path.read_text("utf8")
    found: dict[str, tuple[ast.AST, list[str]]] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                found[prefix + child.name] = child, text.splitlines()
                walk(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.If | ast.Try):
                walk(child, prefix)

    walk(ast.parse(text), "")
    return found


def place(name: str) -> tuple[Path, str] | None:
    """Return the file that defines a dotted name, and the name within it."""
    parts = name.split(".")[1:]
    for cut in range(len(parts), 0, -1):
        path = SOURCE.joinpath(*parts[:cut]).with_suffix(".py")
        if path.exists():
            return path, ".".join(parts[cut:])
    return None


def public_names(package: str) -> Iterator[str]:
    """Yield the dotted name of every class and function that a package exports, where it is defined."""
    module: ModuleType = keyhole if package == "keyhole" else importlib.import_module(f"keyhole.{package}")
    for name in sorted(vars(module).get("__all__", dir(module))):
        value = None if name.startswith("_") else getattr(module, name)
        defined = getattr(value, "__module__", None) or ""
        if callable(value) and defined.startswith("keyhole") and hasattr(value, "__qualname__"):
            yield f"{defined}.{value.__qualname__}"


def theory_names() -> list[str]:
    """Return every dotted name that a chapter of THEORY.md lists."""
    return sorted(set(LISTED.findall((DOCS / "THEORY.md").read_text("utf8").partition("## Contents")[2])))


def target(name: str) -> str:
    """Return the anchor of a dotted name; classes and functions of one name differ in case alone."""
    return "py-" + re.sub(r"([A-Z])", r"\1_", name).replace(".", "-").lower()


def prose(docstring: str) -> str:
    """Return a docstring as Markdown: examples as code, the fields of a theorem as a list, other markup as text."""
    out = []
    for part in re.split(r"\n\s*\n", FIELD.sub(lambda found: f"\n\n{found[0]}", inspect.cleandoc(docstring))):
        if part.lstrip().startswith(">>>"):
            out.append(f"```pycon\n{inspect.cleandoc(part)}\n```")
        elif part.startswith("    "):
            out.append(f"```text\n{inspect.cleandoc(part)}\n```")
        elif found := FIELD.match(part.lstrip()):
            out.append(f"**{found[1]}.** {_escape(' '.join(part.lstrip()[found.end() :].split()))}")
        elif part.strip():
            out.append(_escape("\n".join(line.strip() for line in part.splitlines())))
    return "\n\n".join(out)


def _escape(text: str) -> str:
    """Escape what Markdown would read as markup, outside of backquotes."""
    pieces = re.split(r"(`[^`]+`)", text)
    return "".join(
        piece if i % 2 else re.sub(r"([\\*_<>\[\]{}|#~^`$])", r"\\\1", piece) for i, piece in enumerate(pieces)
    )


def entry(name: str) -> str | None:
    """Return the section of a class or function: signature, docstring, and the members of a class."""
    where = place(name)
    if where is None or where[1] not in tree(where[0]):
        return None
    node, lines = tree(where[0])[where[1]]
    text = [f"({target(name)})=\n### `{where[1]}`", f"`{name}`"]
    members = []
    if isinstance(node, ast.FunctionDef):
        text.append(f"```python\n{_signature(node)}\n```")
    elif isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, node.bases))
        body = [
            lines[item.lineno - 1].strip()
            for item in node.body
            if isinstance(item, ast.AnnAssign) and "ClassVar" not in ast.unparse(item.annotation)
        ]
        head = f"class {node.name}({bases}):" if bases else f"class {node.name}:"
        text.append("```python\n" + "\n".join([head, *(f"    {line}" for line in body)]) + "\n```")
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
                shown = item.name if _is_property(item) else _signature(item).removeprefix("def ")
                summary = (ast.get_docstring(item) or "").partition("\n")[0]
                members.append(f"- `{' '.join(shown.split())}`: {_escape(summary)}")
    text.append(prose(ast.get_docstring(node) or ""))
    if members:
        text.append("\n".join(members))
    return "\n\n".join(text)


def _is_property(node: ast.FunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def _signature(node: ast.FunctionDef) -> str:
    """Return a signature, with a line for each parameter where one line is too long."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    short = f"def {node.name}({ast.unparse(node.args)}){returns}"
    if len(short) <= 100:
        return short
    parts, depth, start, text = [], 0, 0, ast.unparse(node.args)
    for i, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return f"def {node.name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"


def python_pages() -> dict[str, str]:
    """Return the reference of every package: its public names, then the other names that the theory lists."""
    shown: set[str] = set()
    pages = {}
    for package, title in PACKAGES.items():
        dotted = "keyhole.api" if package == "keyhole" else f"keyhole.{package}"
        public = [] if package in ("apps", "norm_profile") else list(dict.fromkeys(public_names(package)))
        listed = [name for name in theory_names() if name.startswith(f"{dotted}.")]
        text = [f"# {dotted.removesuffix('.api')}", f"{title}."]
        for heading, names in (("Public names", public), ("Named by the theory", listed)):
            sections = [section for name in names if name not in shown and (section := entry(name))]
            shown.update(names)
            if sections:
                text += [f"## {heading}", *sections]
        pages[f"reference/{package}.md"] = "\n\n".join(text) + "\n"
    return pages


# --- theory ------------------------------------------------------------------------------------------------------


@cache
def tests_by_name() -> Mapping[str, list[str]]:
    """Return the tests whose code names something, by that name."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text("utf8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                words = {getattr(inner, "id", getattr(inner, "attr", None)) for inner in ast.walk(node)}
                for word in words - {None}:
                    found.setdefault(str(word), []).append(f"{path.relative_to(ROOT)}::{node.name}")
    return found


def tests_of(name: str) -> list[str]:
    """Return up to two tests of a dotted name, those of its own package first; a private name counts by its file."""
    package, word = name.split(".")[1], name.rpartition(".")[2]
    found = tests_by_name().get(word, [])
    own = [test for test in found if test.startswith(f"tests/{package}/")]
    return (own or found)[:2]


def slug(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and MyST make it.

    >>> slug("Lemma S (softmax is Lipschitz)")
    'lemma-s-softmax-is-lipschitz'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def theory_pages() -> dict[str, str]:
    """Return THEORY.md by chapter; each statement has its functions and their tests."""
    intro, *rest = re.split(r"^## (.*)\n", (DOCS / "THEORY.md").read_text("utf8"), flags=re.MULTILINE)
    chapters = {heading: body for heading, body in zip(rest[::2], rest[1::2], strict=True) if heading != "Contents"}
    files = {heading: re.sub(r"-+", "-", slug(heading.replace("/", " "))).strip("-") for heading in chapters}
    homes = {slug(heading): files[heading] for heading in chapters}
    for heading, body in chapters.items():
        homes |= {slug(name): files[heading] for name in re.findall(r"^### (.*)$", body, re.MULTILINE)}

    def link(text: str) -> str:
        text = LISTED.sub(
            lambda found: f"[`{found[1]}`](#{target(found[1])})" if entry(found[1]) else f"`{found[1]}`", text
        )
        text = re.sub(
            r"\]\(#([\w\-′]+)\)",
            lambda found: f"]({homes[found[1]]}.md#{found[1]})" if found[1] in homes else found[0],
            text,
        )
        return text.replace("](NOTATION.md", "](../NOTATION.md").replace(
            "[`keyhole.papers`](../src/keyhole/papers.py)", "`keyhole.papers`"
        )

    def tested(section: str) -> str:
        names = list(dict.fromkeys(LISTED.findall(section)))
        rows = [
            f"- `{name}`: {', '.join(f'`{test}`' for test in tests_of(name)) or 'through the functions that call it'}"
            for name in names
        ]
        return f"{link(section).rstrip()}\n\nTests:\n\n" + "\n".join(rows) + "\n" if rows else link(section)

    pages = {}
    for heading, body in chapters.items():
        opening, *sections = re.split(r"^(?=### )", body, flags=re.MULTILINE)
        text = f"# Theory of {heading.replace('/', '')}\n{link(opening)}" + "\n".join(map(tested, sections))
        pages[f"theory/{files[heading]}.md"] = re.sub(r"^#(##+) ", r"\1 ", text, flags=re.MULTILINE)
    table = "\n".join(f"{heading.replace('/', '')} <{file}>" for heading, file in files.items())
    pages["theory/index.md"] = f"{link(intro)}\n```{{toctree}}\n:maxdepth: 2\n\n{table}\nNotation <../NOTATION>\n```\n"
    return pages


# --- command line, answers, exit codes -----------------------------------------------------------------------------


def command_page() -> str:
    """Return the help of every command."""
    text = ["# Commands", "Each text is what `--help` prints."]

    def add(words: list[str], command: Any) -> None:
        printed = (
            CliRunner()
            .invoke(
                app, [*words, "--help"], prog_name="keyhole", env={"COLUMNS": "88", "TERM": "dumb", "NO_COLOR": "1"}
            )
            .stdout
        )
        text.append(f"## {' '.join(['keyhole', *words])}\n\n```text\n{printed.strip()}\n```")
        for name, inner in getattr(command, "commands", {}).items():
            add([*words, name], inner)

    add([], typer.main.get_command(app))
    return "\n\n".join(text) + "\n"


def results() -> dict[str, type[Result]]:
    """Return the class of every answer, by its schema."""
    for path in SOURCE.rglob("*.py"):
        if "schema: ClassVar" in path.read_text("utf8"):
            importlib.import_module(".".join(("keyhole", *path.relative_to(SOURCE).with_suffix("").parts)))
    found, classes = {}, Result.__subclasses__()
    while classes:
        kind = classes.pop()
        classes += kind.__subclasses__()
        if "schema" in vars(kind) and kind.__module__.startswith("keyhole."):
            found[kind.schema] = kind
    return dict(sorted(found.items()))


PLAIN = {str: "string", int: "integer", bool: "boolean", NoneType: "null", Path: "string"}


def schema_of(kind: Any, shared: dict[str, Any]) -> dict[str, Any]:  # noqa: C901, PLR0911  (a case for each kind)
    """Return the JSON Schema of a type, dataclasses by reference to `shared`; of other classes, anything.

    >>> schema_of(tuple[int, ...], {})
    {'type': 'array', 'items': {'type': 'integer'}}
    """
    kind = getattr(kind, "__value__", kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return {"anyOf": [schema_of(each, shared) for each in inner]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
        return {"type": "array", "prefixItems": [schema_of(each, shared) for each in inner]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(inner[1], shared)}
    if isinstance(origin, type) and issubclass(origin, Collection):
        return {"type": "array", "items": schema_of(inner[0], shared)}
    if kind is float:
        return {"type": ["number", "null"]}  # what is not finite is null, with a reason
    if kind in PLAIN:
        return {"type": PLAIN[kind]}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [each.value for each in kind]}
    if is_dataclass(kind):
        name = kind.__name__
        if name not in shared:
            shared[name] = {}  # of a tree: its branches refer to it
            shared[name] = fields_schema(kind, shared)
        return {"$ref": f"#/$defs/{name}"}
    return {}


def fields_schema(kind: type, shared: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a dataclass: its fields and the properties that it names."""
    properties = {name: schema_of(each, shared) for name, each in members(kind).items()}
    return {"type": "object", "required": list(properties), "properties": properties}


def members(kind: type) -> dict[str, Any]:
    """Return the keys of a dataclass in JSON, with their types."""
    hints = _hints(kind)
    found = {each.name: hints[each.name] for each in fields(kind) if "hidden" not in each.metadata}
    for name in getattr(kind, "properties", ()):
        value = inspect.getattr_static(kind, name)
        getter = getattr(value, "fget", None) or getattr(value, "func", None)
        found[name] = _hints(getter).get("return", Any) if getter else Any
    return found


def _hints(owner: Any) -> dict[str, Any]:
    """Return the annotations of a class or function; one that is imported for type checkers alone can be anything."""
    try:
        return get_type_hints(owner)
    except NameError:
        return {name: Any if isinstance(kind, str) else kind for name, kind in inspect.get_annotations(owner).items()}


def schema(name: str, kind: type[Result]) -> dict[str, Any]:
    """Return the JSON Schema of an answer in its envelope."""
    shared: dict[str, Any] = {}
    body = fields_schema(kind, shared)
    head = {"keyhole": {"type": "string"}, "schema": {"const": name}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        "type": "object",
        "required": [*head, *body["required"]],
        "properties": head | body["properties"],
        "$defs": shared,
    }


def answer_page() -> str:
    """Return the keys of every answer, and where its schema lies."""
    text = [
        "# Answers as JSON",
        (
            "`--json` prints one object: the version, the name of the schema, and these keys. A number that is not "
            "finite is null, and a key with the ending `_reason` tells why."
        ),
    ]
    for name, kind in results().items():
        rows = [f"| `{key}` | `{_words(schema_of(each, {}))}` |" for key, each in members(kind).items()]
        file = name.replace("/", "-")
        summary = _escape(inspect.cleandoc(kind.__doc__ or "").partition("\n")[0])
        text.append(
            f"## {name}\n\n{summary} {{download}}`Schema <schemas/{file}.json>`\n\n| key | value |\n|---|---|\n"
            + "\n".join(rows)
        )
    return "\n\n".join(text) + "\n"


def _words(found: Mapping[str, Any]) -> str:
    """Return a schema in a few words."""
    if "anyOf" in found:
        return " or ".join(map(_words, found["anyOf"]))
    if "enum" in found:
        return " or ".join(map(str, found["enum"]))
    if found.get("type") == "array":
        return f"list of {_words(found['items'])}" if "items" in found else "list"
    kind = found.get("type") or found.get("$ref", "anything").rpartition("/")[2]
    return "number" if isinstance(kind, list) else kind


# --- parts of one's own --------------------------------------------------------------------------------------------


def own_pages() -> dict[str, str]:
    """Return a page for each example that adds a part: its docstring, how to run it, and the file."""
    pages = {}
    for path in sorted((ROOT / "examples").glob("own_*.py")):
        name, text = path.stem.removeprefix("own_").replace("_", " "), path.read_text("utf8")
        about = prose(re.sub(r"(Run with: |    )python examples.*", "", ast.get_docstring(ast.parse(text)) or ""))
        article = "An" if name[0] in "aeiou" else "A"
        pages[f"howto/{path.stem.replace('_', '-')}.md"] = (
            f"# {article} {name} of your own\n\n{about}\n\n"
            f"Run it with `python examples/{path.name}`:\n\n```python\n{text.rstrip()}\n```\n"
        )
    return pages


def write(folder: Path) -> None:
    """Write every page of the site to a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.py", "THEORY.md", "__pycache__", "templates"))
    pages = {
        **python_pages(),
        **theory_pages(),
        **own_pages(),
        "reference/commands.md": command_page(),
        "reference/answers.md": answer_page(),
        **{
            f"reference/schemas/{name.replace('/', '-')}.json": json.dumps(
                schema(name, kind), indent=2, ensure_ascii=False
            )
            + "\n"
            for name, kind in results().items()
        },
    }
    chapters = {name: text for name, text in pages.items() if name.startswith("theory/")}
    homes = {slug(text.partition("\n")[0].removeprefix("# Theory of ")): name for name, text in chapters.items()}
    for name, text in chapters.items():
        anchors = map(slug, re.findall(r"^##+ (.*)$", text, re.MULTILINE))
        homes |= {anchor: f"{name}#{anchor}" for anchor in anchors}
    for path in folder.rglob("*.md"):
        text = re.sub(r"\]\(THEORY\.md#([\w-]+)\)", lambda found: f"]({homes[found[1]]})", path.read_text("utf8"))
        path.write_text(text.replace("](THEORY.md", "](theory/index.md"), "utf8")
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
