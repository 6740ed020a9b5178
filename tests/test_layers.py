"""The layers as a test: which package imports which, and which may import a framework."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "keyhole"
MODULES = sorted(SOURCE.rglob("*.py"))

LAYERS = [  # a package imports only from layers below its own; packages of one layer never import each other
    {"__main__"},
    {"cli"},
    {"claims"},
    {"api"},
    {"show"},
    {"suite"},
    {"compiler", "certifier", "lab", "latent", "pretrained"},
    {"bounds"},
    {"kernels"},
    {"attention", "boolean"},
    {"rigorous"},
    {"files"},
    {"figure", "decimals", "estimate", "profile", "papers", "progress"},
    {"errors"},
    {"__init__"},
]
LEVEL = {package: level for level, layer in enumerate(LAYERS) for package in layer}  # one not listed is a KeyError

FRAMEWORKS = {"jax", "optax", "torch", "transformers", "transformer_lens", "ray"}
NOT_IMPORTED = {  # what importing a package must not import
    "attention": FRAMEWORKS | {"scipy", "altair"},
    "boolean": FRAMEWORKS | {"scipy", "altair"},
    "bounds": FRAMEWORKS | {"scipy", "altair", "numpy"},
    "certifier": FRAMEWORKS | {"scipy", "altair", "sklearn"},
    "compiler": FRAMEWORKS | {"scipy", "altair"},
    "latent": FRAMEWORKS | {"scipy", "altair", "sklearn"},
}


def package_of(path: Path) -> str:
    """The package of a module: its top folder, or itself for a root module."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def packages_imported(path: Path) -> set[str]:
    """Every package named by an import statement of this module, wherever it stands."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import; name the package in full"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    parts = {tuple(name.split(".")) for name in names if name.startswith("keyhole.")}
    return {"__init__" if part[1] in {"__version__", "VERBS"} else part[1] for part in parts}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path):
    """Every import of this module leads to a lower layer, or stays in its package."""
    here = package_of(path)
    up = {package for package in packages_imported(path) - {here} if LEVEL[package] <= LEVEL[here]}
    assert not up, f"{here} may not import {', '.join(sorted(up))}: join them in api/ or claims/ instead"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_frameworks_stay_in_their_packages(path):
    """Only lab names jax, only pretrained torch or transformers, only the compiler's export transformer-lens."""
    allowed = {
        "lab": {"jax", "optax", "ray"},
        "pretrained": {"torch", "transformers"},
        "compiler": {"transformer_lens"},
    }.get(package_of(path), set())
    named = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named.add(node.module.split(".")[0])
    assert not (named & FRAMEWORKS) - allowed


def imported_by(program: str, packages: set[str]) -> set[str]:
    """Which of these packages a fresh interpreter has loaded after running the program."""
    program = f"{program}\nimport sys; print(*{packages!r} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


PACKAGES = sorted({package_of(path) for path in MODULES} & set(NOT_IMPORTED))


@pytest.mark.parametrize("package", PACKAGES)
def test_theory_imports_no_framework(package):
    """Importing a theory package imports no framework, and nothing else that it does not need."""
    assert not imported_by(f"import keyhole.{package}", NOT_IMPORTED[package])


@pytest.mark.parametrize("program", ["import keyhole", "import keyhole.cli"])
def test_the_front_door_is_light(program):
    """`import keyhole`, and building the command line, import nothing numerical."""
    assert not imported_by(program, FRAMEWORKS | {"numpy", "scipy", "altair", "jaxtyping"})


COMMANDS_OF_OTHERS = {"bound.py", "certify.py", "check.py", "compile.py", "compile_table.py"}  # still to be moved
COMMAND_LINE = {"cli", "api", "claims", "show", "progress", "errors", "__init__"}


@pytest.mark.parametrize("path", sorted((SOURCE / "cli").glob("*.py")), ids=lambda path: path.name)
def test_the_command_line_only_parses_asks_and_prints(path):
    """It imports what answers (api, claims), what shows (show, progress) and errors; of others typer alone."""
    beyond = packages_imported(path) - COMMAND_LINE
    others = {name for name in names_imported(path) if name not in sys.stdlib_module_names} - {"keyhole", "typer"}
    assert not beyond | others or path.name in COMMANDS_OF_OTHERS, f"{path.name} imports {sorted(beyond | others)}"


def names_imported(path: Path) -> set[str]:
    """The first part of every name that an import statement of this module names."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf8"))))
    plain = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {str(node.module).split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
