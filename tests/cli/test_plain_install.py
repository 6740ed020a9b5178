"""Without the extras: what works does, and what does not names the extra that it needs."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from keyhole.cli.output import EXTRAS

MODULES = {"pillow": "PIL", "scikit-learn": "sklearn", "transformer-lens": "transformer_lens"}
PLAIN = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted({*EXTRAS, "jaxtyping"})}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from keyhole.cli import main
main()
"""


def type_plainly(folder, *words):
    """Type a command where the packages of the extras cannot be imported."""
    return subprocess.run(
        [sys.executable, "-c", PLAIN, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a compiled file."""
    folder = tmp_path_factory.mktemp("plain")
    run = type_plainly(folder, "compile", "x1 & x4", "--context", "6", "--out", "one.safetensors")
    assert run.returncode == 0, run.stderr
    return folder


@pytest.mark.parametrize(
    "line",
    [
        "describe and:3",
        "check one.safetensors",
        "bound and:3 --samples 1e6 --context 1000",
        "prove one.safetensors",
        "infer gaussian --size 8,16 --repeats 2",
    ],
)
def test_a_plain_install_answers(folder, line):
    """These questions need the seven packages that keyhole depends on, and no other."""
    run = type_plainly(folder, *line.split())
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("learn and:2 --context 5 --samples 9 --seeds 1 --workers 0", "train"),
        ("train and:2 --context 5 --samples 9", "train"),
        ("serve", "live"),
        ("bound and:3 --samples 1e6 --context 1000 --vary 100,1000 --out bound.svg", "draw"),
    ],
)
def test_a_command_names_its_extra(folder, line, extra):
    """One sentence with the line that adds what is absent, and exit code 2."""
    run = type_plainly(folder, *line.split())
    assert run.returncode == 2
    assert f"pip install -e '.[{extra}]'" in run.stderr.splitlines()[-1]


def test_the_table_of_extras_is_that_of_the_package():
    """Every extra in the table adds the package that it is said to add, and every optional package is in the table."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf8"))["project"]
    stated = {}
    for extra, lines in project["optional-dependencies"].items():
        for line in lines:
            name = re.split(r"[>=\[]", line)[0]
            module = MODULES.get(name, name.removesuffix("-python").replace("-", "_"))
            stated.setdefault(module, set()).add(extra)
    for module, extra in EXTRAS.items():
        assert module == "jaxlib" or extra in stated[module]
    users = {"train", "draw", "live", "hf", "images", "lens", "torch", "transformers"}
    assert {module for module, extras in stated.items() if extras & users} - {"keyhole_attention"} <= set(EXTRAS)


def test_every_package_that_is_imported_is_declared():
    """A plain install has it, or the table of extras names the extra that adds it."""
    plain = {"array_api_compat", "flint", "numpy", "rich", "safetensors", "scipy", "typer", "keyhole", "jaxtyping"}
    source = Path(__file__).parents[2] / "src"
    imported = set()
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            match node:
                case ast.Import(names=names):
                    imported |= {name.name.partition(".")[0] for name in names}
                case ast.ImportFrom(module=str(module), level=0):
                    imported.add(module.partition(".")[0])
    assert imported - set(sys.stdlib_module_names) - plain - set(EXTRAS) == set()
