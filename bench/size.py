"""How large the project is, in one table: python bench/size.py [--tree PATH] [--json].

Definitions. Core: src without `apps`. Parameters: of any function, `self` and `cls` left out; a public one has no
underscore in its name and is not a command. Options: those of every command and sub-command, `--help` left out.
String keys: distinct constant strings k in `x["k"]` that is read and in `.get("k")`, in files under `show` or named
`*report*`, `render*`, `text*` or `show*`. Referenced once: module-level functions whose name stands in one place
besides the definition, as a name or an attribute. Prose: test functions of which an assertion or a decorator has a
literal of more than twenty letters with a blank; `match=` in the body is left out. Touched: files of which a function
runs when the command is given a second time, so that imports are left out.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef

TRACED = """
import contextlib, io, json, os, runpy, shlex, sys
lines, seen = json.loads(sys.argv[1]), set()
def run(line):
    sys.argv = ["keyhole", *shlex.split(line)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            runpy.run_module("keyhole", run_name="__main__")
        except SystemExit as stop:
            return stop.code or 0
    return 0
def profile(frame, event, _):
    if event == "call" and frame.f_code.co_name != "<module>":
        seen.add(frame.f_code.co_filename)
for folder in ("warm", "cold"):
    os.mkdir(folder)
    os.chdir(folder)
    for line in lines[:-1]:
        run(line)
    if folder == "cold":
        modules = sum(name.split(".")[0] == "keyhole" for name in sys.modules)
        sys.setprofile(profile)
    code = run(lines[-1])
    sys.setprofile(None)
    os.chdir("..")
files = [f for f in seen if os.sep + "keyhole" + os.sep in f and "site-packages" not in f and f.endswith(".py")]
print(json.dumps([code, len(files), modules]))
"""

OPTIONS = """
import json
from typer.main import get_command
from keyhole.cli.app import app
def count(command):
    inner = {name: command.get_command(None, name) for name in getattr(command, "commands", {})}
    here = 0 if inner else sum(one.param_type_name == "option" for one in command.params)
    return here + sum(count(one) for one in inner.values())
top = get_command(app)
print(json.dumps([len(top.commands), count(top)]))
"""

COMPILE = 'compile "x3 & x17" --context 512 --out one.safetensors'
WALKS = {
    "compile": [[COMPILE]],
    "prove": [[COMPILE, "prove one.safetensors"]],
    "learn": [["learn and:2 --context 6 --samples 24 --seeds 1 --workers 0 --store s --set steps=4,every=2"]],
}


def parsed(folder: Path) -> dict[Path, ast.Module]:
    """Every Python file below a folder, as syntax."""
    return {path: ast.parse(path.read_text("utf8")) for path in sorted(folder.rglob("*.py"))}


def lines(paths: list[Path]) -> int:
    """Lines of some files together."""
    return sum(len(path.read_text("utf8").splitlines()) for path in paths)


def functions(tree: ast.Module) -> Iterator[Function]:
    """Every function of a file, inner ones and methods among them."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def parameters(function: Function) -> int:
    """Parameters without self and cls."""
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return sum(argument.arg not in ("self", "cls") for argument in every)


def keys(tree: ast.Module) -> Iterator[str]:
    """The constant strings by which a file reads out of mappings."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(key)), ctx=ast.Load()):
                yield key
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(key)), *_]):
                yield key


def renders(path: Path) -> bool:
    """The file prints or draws for a reader."""
    return "show" in path.parts or bool(re.search(r"report|^render|^text|^show", path.stem))


def once(sources: dict[Path, ast.Module]) -> int:
    """Module-level functions that one place besides their definition refers to."""
    mentions: Counter[str] = Counter()
    for tree in sources.values():
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                    mentions[name] += 1
    defined = [node.name for tree in sources.values() for node in tree.body if isinstance(node, Function)]
    return sum(mentions[name] == 1 for name in defined)


def prose(test: Function) -> bool:
    """An assertion, or a parameter of the test, has a sentence."""
    stated = [*test.decorator_list, *(part.test for part in ast.walk(test) if isinstance(part, ast.Assert))]
    literals = (
        leaf.value
        for part in stated
        for leaf in ast.walk(part)
        if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)
    )
    return any(" " in text and sum(map(str.isalpha, text)) > 20 for text in literals)


def asked(program: str, tree: Path, *words: str) -> Any:
    """What a program prints as JSON with the tree's sources, or None where it fails."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(  # noqa: S603  (our own programs)
            [sys.executable, "-c", program, *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    return json.loads(done.stdout) if done.returncode == 0 else None


def walked(tree: Path, name: str) -> tuple[int | None, int | None]:
    """Files touched by the first way to type a command that is understood, and modules imported then."""
    for way in WALKS[name]:
        found = asked(TRACED, tree, json.dumps(way))
        if found and found[0] == 0:
            return found[1], found[2]
    return None, None


def sizes(tree: Path) -> dict[str, int | None]:
    """Every row of the table."""
    sources = parsed(tree / "src")
    core = [path for path in sources if "apps" not in path.relative_to(tree).parts]
    every = [function for source in sources.values() for function in functions(source)]
    inside = (
        function
        for path, source in sources.items()
        if "cli" not in path.relative_to(tree).parts and not path.stem.startswith("command")
        for function in functions(source)
    )
    read = [key for path, source in sources.items() if renders(path.relative_to(tree)) for key in keys(source)]
    tests = [
        test for source in parsed(tree / "tests").values() for test in functions(source) if test.name[:5] == "test_"
    ]
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    docs = [
        ast.get_docstring(node) or ""
        for source in sources.values()
        for node in ast.walk(source)
        if isinstance(node, documented)
    ]
    text = "\n".join(path.read_text("utf8") for path in sources)
    project = tomllib.loads((tree / "pyproject.toml").read_text("utf8"))["project"]
    commands = asked(OPTIONS, tree) or (None, None)
    touched = {name: walked(tree, name) for name in WALKS}
    return {
        "lines of source, core": lines(core),
        "lines of source, all": lines(list(sources)),
        "files, core": len(core),
        "files, all": len(sources),
        "run-time dependencies": len(project["dependencies"]),
        "parameters of a public function, most": max(
            parameters(function) for function in inside if function.name[0] != "_"
        ),
        "parameters of any function, most": max(map(parameters, every)),
        "commands": commands[0],
        "options of the command line": commands[1],
        "string keys read while rendering": len(set(read)),
        "reads of string keys while rendering": len(read),
        "module-level functions": sum(
            isinstance(node, Function) for source in sources.values() for node in source.body
        ),
        "functions referenced once": once(sources),
        "tests": len(tests),
        "tests that assert prose": sum(map(prose, tests)),
        **{f"files touched by {name}": count for name, (count, _) in touched.items()},
        "modules imported by prove FILE": touched["prove"][1],
        "docstrings that begin with What or Whether": sum(doc.startswith(("What ", "Whether ")) for doc in docs),
        '"is no"': len(re.findall(r"\bis no\b", text)),
        'sentences that begin with "Of a"': len(re.findall(r"(?:^|[.:!?\"]\s+)Of an? ", text, re.MULTILINE)),
    }


def main() -> None:
    """Print the table of a tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    table = sizes(given.tree.resolve())
    if given.json:
        print(json.dumps(table, indent=1))
        return
    for name, value in table.items():
        print(f"{name:<45}{'–' if value is None else f'{value:,}':>10}")


if __name__ == "__main__":
    main()
