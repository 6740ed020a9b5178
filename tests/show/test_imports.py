"""What renders computes nothing: it imports no number library and no package that computes."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import keyhole

SHOW = Path(keyhole.__file__).parent / "show"
ALLOWED = {
    "show",
    "decimals",
    "figure",
    "progress",
    "errors",
    "files",
    "on_demand",
    "__version__",
}  # files: figures and pages are written whole
LIBRARIES = {"altair", "rich", "vl_convert"}


@pytest.mark.parametrize("path", sorted(SHOW.glob("*.py")), ids=lambda path: path.name)
def test_rendering_imports_only_what_it_draws_with(path):
    """Of keyhole figures, progress, errors and files; of others the libraries that draw and write."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = {name.split(".")[1] for name in names if name.startswith("keyhole.")}
    others = {name.split(".")[0] for name in names if not name.startswith("keyhole.")}
    assert ours <= ALLOWED
    assert others - set(sys.stdlib_module_names) <= LIBRARIES


def test_importing_every_renderer_imports_no_numbers():
    """A fresh interpreter that imports all of show has neither numpy nor any package that computes."""
    modules = ", ".join(f"keyhole.show.{path.stem}" for path in SHOW.glob("*.py") if path.stem != "__init__")
    program = (
        f"import {modules}, sys\n"
        "packages = {name.split('.')[1] for name in sys.modules if name.startswith('keyhole.')}\n"
        "light = {'show', 'decimals', 'figure', 'progress', 'errors', 'files', 'on_demand'}\n"
        "print(*packages - light, *{'numpy', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
