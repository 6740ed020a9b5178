"""The layers as a test: which package imports which, and which may import a framework."""

import ast
import subprocess
import sys
from functools import cache
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


@cache
def names_imported(path: Path) -> frozenset[str]:
    """Every name that an import statement of this module gives, in full, wherever the statement stands."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import; name the package in full"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def modules_imported(path: Path) -> set[str]:
    """The top-level modules among them."""
    return {name.split(".")[0] for name in names_imported(path)}


def packages_imported(path: Path) -> set[str]:
    """The packages of keyhole among them."""
    parts = {tuple(name.split(".")) for name in names_imported(path) if name.startswith("keyhole.")}
    return {"__init__" if part[1] in {"__version__", "VERBS"} else part[1] for part in parts}


def test_imports_go_down():
    """Every import of a module leads to a lower layer, or stays in its package."""
    up = {
        f"{path.relative_to(SOURCE)} imports {package}"
        for path in MODULES
        for package in packages_imported(path) - {package_of(path)}
        if LEVEL[package] <= LEVEL[package_of(path)]
    }
    assert not up, f"Join these in api/ or claims/ instead: {'; '.join(sorted(up))}"


FRAMEWORKS_OF = {
    "lab": {"jax", "optax", "ray"},
    "pretrained": {"torch", "transformers"},
    "compiler": {"transformer_lens"},
}


def test_frameworks_stay_in_their_packages():
    """Only lab names jax, only pretrained torch or transformers, only the compiler's export transformer-lens."""
    astray = {
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in MODULES
        for name in modules_imported(path) & FRAMEWORKS - FRAMEWORKS_OF.get(package_of(path), set())
    }
    assert not astray


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
