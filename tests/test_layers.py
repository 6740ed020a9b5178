"""The layers as a test: which package imports which, through which names, and which may import a framework."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "keyhole"
MODULES = sorted(SOURCE.rglob("*.py"))
FRONT_DOOR = SOURCE / "__init__.py"  # re-exports the public names of all layers, loaded when first used

LAYERS = [  # a package imports only from layers below its own; packages of one layer never import each other
    {"__main__"},
    {"apps"},
    {"cli"},
    {"api"},
    {"show"},
    {"sweeps"},
    {"compiler", "prover", "training", "latent", "checkpoints"},
    {"bounds"},
    {"attention", "boolean", "languages"},
    {"rigorous"},
    {"files"},
    {"arrays", "figure", "decimals", "estimate", "glossary", "norm_profile", "papers", "progress", "verdicts"},
    {"errors", "on_demand"},
    {"__init__"},
]
LEVEL = {package: level for level, layer in enumerate(LAYERS) for package in layer}  # one not listed is a KeyError

OPEN = {"api", "apps", "cli", "files", "show"}  # packages whose every file is public: none needs all of them
DEEP = {  # files that other packages import past the public names, and why
    "training.network.network": "imports jax, which importing training must not",
    "training.network.sets": "imports jax, which importing training must not",
}
COMMAND_LINE = {"cli", "api", "show", "files", "progress", "errors", "__init__"}
BORROWED = {
    "cli/arguments.py",
    "cli/compile.py",
}

FRAMEWORKS = {"jax", "optax", "torch", "transformers", "transformer_lens", "ray"}
FRAMEWORKS_OF = {  # folder → what may be imported there, at the top of a file or inside a function
    "training/network": {"jax", "optax"},
    "checkpoints": {"torch", "transformers"},
    "apps/heads": {"torch", "transformers"},
    "compiler/export": {"transformer_lens"},
}
NOT_IMPORTED = {  # what importing a package must not import
    "attention": FRAMEWORKS | {"scipy", "altair"},
    "boolean": FRAMEWORKS | {"scipy", "altair"},
    "bounds": FRAMEWORKS | {"scipy", "altair", "numpy"},
    "compiler": FRAMEWORKS | {"scipy", "altair"},
    "latent": FRAMEWORKS | {"scipy", "altair", "sklearn"},
    "prover": FRAMEWORKS | {"scipy", "altair", "sklearn"},
    "rigorous": FRAMEWORKS | {"scipy", "altair"},
    "show": FRAMEWORKS | {"numpy", "scipy", "altair"},
    "sweeps": FRAMEWORKS | {"altair", "sklearn"},
    "training": FRAMEWORKS | {"altair", "sklearn"},
}


def package_of(path: Path) -> str:
    """The package of a module: its top folder, or itself for a root module."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def statements(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Every import statement of a module, wherever it stands, but for those that only a type checker reads."""
    tree = ast.parse(path.read_text("utf8"))
    skipped = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) and node not in skipped]
    for node in found:
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path} imports relatively; name the package"
    return tuple(found)


def names_imported(path: Path) -> set[str]:
    """Every name that the import statements of a module give, in full."""
    plain = {alias.name for node in statements(path) if isinstance(node, ast.Import) for alias in node.names}
    return plain | {
        f"{node.module}.{alias.name}"
        for node in statements(path)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def packages_imported(path: Path) -> set[str]:
    """The packages and root modules of keyhole among them."""
    parts = {name.split(".")[1] for name in names_imported(path) if name.startswith("keyhole.")}
    return {"__init__" if part == "__version__" else part for part in parts}


def file_of(name: str) -> Path | None:
    """The file of a module or package of keyhole, by its dotted name; None where it is neither."""
    place = SOURCE.joinpath(*name.split(".")[1:])
    candidates = (place.with_suffix(".py"), place / "__init__.py") if place != SOURCE else (FRONT_DOOR,)
    return next((path for path in candidates if path.is_file()), None)


def files_imported(path: Path) -> set[Path]:
    """The files of keyhole that a module's import statements name: a module, or the package that has the name."""
    files = set()
    for name in names_imported(path):
        if name.startswith("keyhole."):
            files.add(file_of(name) or file_of(name.rpartition(".")[0]))
    return {file for file in files if file is not None} - {path}


def test_imports_go_down():
    """Every import of a module leads to a lower layer, or stays in its package."""
    up = {
        f"{path.relative_to(SOURCE)} imports {package}"
        for path in MODULES
        if path != FRONT_DOOR
        for package in packages_imported(path) - {package_of(path)}
        if LEVEL[package] <= LEVEL[package_of(path)]
        if not (package == "apps" and str(path.relative_to(SOURCE)) in BORROWED)
    }
    assert not up, f"Join these in api/ or in an application instead: {'; '.join(sorted(up))}"


def test_no_cycle_between_files():
    """No file imports itself by way of others, imports inside functions included."""
    graph = {path: files_imported(path) - {FRONT_DOOR} for path in MODULES if path != FRONT_DOOR}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as cycle:
        pytest.fail(" → ".join(str(path.relative_to(SOURCE)) for path in cycle.args[1]))


def test_packages_talk_through_their_public_names():
    """Another package is imported by the names of its `__init__`, or of a sub-package's; the exceptions are few."""
    deep = {
        f"{path.relative_to(SOURCE)} imports {node.module}"
        for path in MODULES
        for node in statements(path)
        if isinstance(node, ast.ImportFrom) and str(node.module).count(".") >= 2
        if str(node.module).split(".")[0] == "keyhole"
        if str(node.module).split(".")[1] not in OPEN | {package_of(path)}
        if (SOURCE.parent / str(node.module).replace(".", "/")).with_suffix(".py").is_file()
        if str(node.module).removeprefix("keyhole.") not in DEEP
    }
    assert not deep, f"Import the public names instead: {'; '.join(sorted(deep))}"


@pytest.mark.slow
def test_no_module_of_ours_is_imported_by_a_text():
    """Only the front door, the table of commands, and packages that collect their folder import modules by text."""
    dynamic = {
        str(path.relative_to(SOURCE))
        for path in MODULES
        if path.name != "__init__.py" and path != SOURCE / "cli" / "app.py"
        for node in ast.walk(ast.parse(path.read_text("utf8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "import_module"
        if "keyhole" in ast.unparse(node)
    }
    assert not dynamic


@pytest.mark.parametrize("path", sorted((SOURCE / "cli").glob("*.py")), ids=lambda path: path.name)
def test_the_command_line_only_parses_asks_and_prints(path):
    """It imports what answers (api), shows (show, progress), reads paths (files) and refuses; of others typer alone."""
    borrowed = {"apps"} if f"cli/{path.name}" in BORROWED else set()
    beyond = packages_imported(path) - COMMAND_LINE - borrowed
    others = {name.split(".")[0] for name in names_imported(path)} - sys.stdlib_module_names - {"keyhole", "typer"}
    assert not beyond | others, f"{path.name} imports {sorted(beyond | others)}"


def test_frameworks_stay_in_their_packages():
    """Only the training of networks names jax, only checkpoints torch, only the compiler's export transformer-lens."""
    astray = {
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in MODULES
        for name in {name.split(".")[0] for name in names_imported(path)} & FRAMEWORKS
        if name not in FRAMEWORKS_OF.get(str(path.parent.relative_to(SOURCE)), set())
    }
    assert not astray


def imported_by(program: str, packages: set[str]) -> set[str]:
    """Which of these packages a fresh interpreter has loaded after running the program."""
    program = f"{program}\nimport sys; print(*{packages!r} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("package", sorted(NOT_IMPORTED))
def test_a_package_imports_only_what_it_needs(package):
    """Importing a package imports no framework, and nothing else that it does not need."""
    assert not imported_by(f"import keyhole.{package}", NOT_IMPORTED[package])


@pytest.mark.parametrize("program", ["import keyhole", "import keyhole.cli"])
def test_the_front_door_is_light(program):
    """`import keyhole`, and building the command line, import nothing numerical."""
    assert not imported_by(program, FRAMEWORKS | {"numpy", "scipy", "altair", "jaxtyping"})
