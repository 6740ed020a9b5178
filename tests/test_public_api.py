"""The front door: what `import keyhole` gives, at run time and to a type checker."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import keyhole
from keyhole.on_demand import homes

SCRIPT = Path(__file__).parent / "public_api.py"
EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("own_*.py"))
HOMES = homes(keyhole.__file__)
PACKAGES = {name for name, home in HOMES.items() if home == "keyhole"}
FUNCTIONS = sorted(name for name in HOMES if name.islower() and name not in PACKAGES)


def checked(*words):
    """What a strict type checker says of the files; as for any installed package, nothing is said of keyhole itself."""
    where = {"MYPYPATH": str(Path(keyhole.__file__).parent.parent), "PATH": str(Path(sys.executable).parent)}
    program = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", *map(str, words)]
    return subprocess.run(program, capture_output=True, text=True, check=False, env=where, cwd=SCRIPT.parent.parent)


@pytest.mark.parametrize("name", sorted(HOMES))
def test_every_public_name_is_there_and_is_one_thing(name):
    """A name gives the same object twice, and only packages are modules."""
    first = getattr(keyhole, name)
    assert getattr(keyhole, name) is first
    assert isinstance(first, ModuleType) == (name in PACKAGES)


def test_modules_that_the_readme_names_are_there():
    """Every `keyhole.module` that the manual writes, and every module of values, is reached from the front door."""
    pages = SCRIPT.parent.parent.joinpath("docs", "howto").glob("*.md")
    readme = "".join(page.read_text("utf8") for page in pages)
    modules = {path.stem for path in Path(keyhole.__file__).parent.iterdir()} - {"apps", "cli"}
    named = {name for name in re.findall(r"keyhole\.([a-z_]+)", readme) if name in modules}
    assert named | {"decimals", "estimate", "papers", "norm_profile", "progress", "verdicts"} <= PACKAGES
    assert "sweeps" in named


def test_an_unknown_name_is_refused():
    """A misspelt name is an AttributeError that lists the functions."""
    with pytest.raises(
        AttributeError, match="no attribute 'descibe'; its functions are bound, bound_runs, bound_sparsities"
    ):
        keyhole.descibe  # noqa: B018


def test_the_script_uses_every_function():
    """No public function is missing in the script that is type-checked."""
    used = {
        node.attr
        for node in ast.walk(ast.parse(SCRIPT.read_text("utf8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "keyhole"
    }
    assert set(FUNCTIONS) <= used


@pytest.mark.long
def test_the_script_runs(tmp_path):
    """Every public function answers, and the fields that are read are there."""
    run = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=True)
    assert "PROVED" in run.stdout


@pytest.mark.slow
def test_a_strict_type_checker_sees_every_type(tmp_path):
    """Mypy --strict passes on the script and the examples, knows what `keyhole.compile` returns, and finds misuse."""
    asked = tmp_path / "asked.py"
    asked.write_text(
        "import keyhole\n"
        'reveal_type(keyhole.compile("x3 & x17", 512))\n'
        'keyhole.compile("x3", 8).margni\n'
        "keyhole.describe(3)\n"
    )
    said = checked(SCRIPT, *EXAMPLES, asked).stdout
    assert 'asked.py:2: note: Revealed type is "keyhole.api.compile.Compiled"' in said
    assert 'asked.py:3: error: "Compiled" has no attribute "margni"' in said
    assert 'asked.py:4: error: Argument 1 to "describe" has incompatible type "int"' in said
    assert "Found 2 errors in 1 file" in said, said
