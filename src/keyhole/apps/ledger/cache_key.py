"""What keys a kept finding: the code that decides its numbers, and the packages which that code runs on.

The code is the module that measures a claim and every module which that one imports, directly or not, at its top or
inside a function: the modules of keyhole and those of the claim's author, as syntax trees without docstrings. So a
changed docstring, comment or line break measures nothing again, and a changed expression measures those claims again
that can reach it. Installed packages count by their versions, and only those which these modules import: a new jax
measures again what trains, and what evaluates heads by code that takes jax's arrays too. The text of the claim, the scale and the seed complete the key.

`keyhole.show`, `keyhole.papers` and what lists and runs claims are not followed: they decide no number.

This key is apart from what *seeds* a run of the laboratory. The draws of a run follow from its own record (task,
learner, context, sample size, seed) and the version of the numerics, and stay what they are when code here changes; a
finding that is measured again finds those runs in the store and makes none of them anew.
"""

import ast
import hashlib
import json
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any

import keyhole
from keyhole.apps.ledger.finding import Experiment, Measure, NamedFunction, Scale
from keyhole.errors import ArgumentError
from keyhole.files.package_versions import versions

PACKAGE = Path(keyhole.__file__).parent
NOT_FOLLOWED = (  # they render, cite, list and run, and decide no number
    "keyhole.show",
    "keyhole.papers",
    "keyhole.apps.ledger.ledger",
    "keyhole.apps.ledger.reproduction",
)
INSTALLED = {"site-packages", "dist-packages"}  # folders of packages that are known by their version
DISTRIBUTIONS = {"flint": "python-flint", "sklearn": "scikit-learn"}  # packages imported by another name
COMPANIONS = {"jax": "jaxlib"}  # where the arithmetic of a package is
DOTTED = re.compile(r"[a-zA-Z_]\w*(\.\w+)*\.?")  # a module's name, or the beginning of one
PLAIN = (str, int, float, bool, type(None))

Import = tuple[str, str]  # a module, and the name that is imported from it, or "" for the module itself


def cache_key(experiment: Experiment, scale: Scale, seed: int) -> str:
    """The name under which a finding is kept: a hash of everything that decides it."""
    reach = reachable(experiment.measure)
    fields = {
        "claim": asdict(experiment.claim),
        "scale": scale,
        "seed": seed,
        "function": reach.function,
        "code": reach.code,
        "packages": reach.versions,
        "python": platform.python_version_tuple()[:2],
    }
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Reach:
    """What a measurement runs: its function, the digests of the modules it can reach, and packages with versions."""

    function: str
    path: Path
    code: Mapping[str, str]
    versions: Mapping[str, str]

    @property
    def origin(self) -> str:
        """The file of a measurement that is not keyhole's own, else nothing."""
        return "" if self.path.is_relative_to(PACKAGE) else str(self.path)


@dataclass(frozen=True)
class Module:
    """A source file: the digest of its code, the imports it runs, and what it binds by imports and by itself."""

    digest: str
    imports: tuple[Import, ...]
    bound: Mapping[str, Import]  # names that an import binds, one that only type checkers run included
    defined: frozenset[str]


def reachable(measure: Measure) -> Reach:
    """The modules that a measurement can reach, and the packages they import."""
    function, module, start = locate(measure)
    code: dict[str, str] = {}
    packages: set[str] = set()
    waiting = [(module, start)]
    while waiting:
        module, path = waiting.pop()
        if module in code:
            continue
        parsed = read_module(path)
        code[module] = parsed.digest
        for name, imported in parsed.imports:
            top = name.partition(".")[0]
            if top in sys.stdlib_module_names:
                continue
            if sources(top):
                waiting += find_sources(name, imported)
            elif distribution := find_distribution(top):
                packages.add(distribution)
    packages |= {COMPANIONS[name] for name in packages & set(COMPANIONS)}
    known = {name: number for name, number in versions(sorted(packages)).items() if name in packages}
    return Reach(function, start, code, known)


def locate(measure: Measure) -> tuple[str, str, Path]:
    """The name of a measuring function with its settings, the module it is defined in, and that module's file."""
    settings: list[str] = []
    function: Any = measure
    while isinstance(function, partial):
        given = [*function.args, *(item for pair in sorted(function.keywords.items()) for item in pair)]
        if not all(isinstance(value, PLAIN) for value in given):
            raise ArgumentError(
                f"The measurement {measure!r} has settings that are no plain values; name it in a file."
            )
        settings, function = [repr(given), *settings], function.func
    if isinstance(function, NamedFunction):
        path = sources(function.module.partition(".")[0]).get(function.module)
        if path is None:
            raise ArgumentError(f"There is no module {function.module!r} to measure a claim with.")
        return ":".join([function.module, function.name, *settings]), function.module, path
    path = Path(function.__code__.co_filename).resolve() if isinstance(function, FunctionType) else Path()
    if not path.is_file() or "<locals>" in function.__qualname__:
        raise ArgumentError(
            f"The measurement {function!r} is no function at the top of a file, so what decides it cannot be read; define "
            "it there."
        )
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    module = main.name if function.__module__ == "__main__" and main is not None else function.__module__
    return ":".join([function.__qualname__, *settings]), module, path


def find_sources(module: str, name: str = "") -> list[tuple[str, Path]]:
    """The modules behind `from module import name`, or `import module`: re-exports are followed to where they lead."""
    files = sources(module.partition(".")[0])
    if (module, name) == ("keyhole", "__version__") or f"{module}.".startswith(
        tuple(f"{other}." for other in NOT_FOLLOWED)
    ):
        return []
    if f"{module}.{name}" in files:
        return find_sources(f"{module}.{name}")
    path = files.get(module)
    if path is None or path.name != "__init__.py":
        return [] if path is None else [(module, path)]
    package = read_module(path)
    if name in package.bound:
        return find_sources(*package.bound[name])
    if (name == "" and "__getattr__" not in package.defined) or name in package.defined:
        return [(module, path)]
    return [(other, file) for other, file in files.items() if f"{other}.".startswith(f"{module}.")]  # loaded by name


@cache
def sources(top: str) -> Mapping[str, Path]:
    """The files of a top-level package or module whose sources are followed; none for what is installed or missing."""
    if top == "keyhole":
        return _files(top, PACKAGE)
    spec = _spec(top)
    if spec is None:
        return {}
    places = [Path(place) for place in spec.submodule_search_locations or filter(None, [spec.origin])]
    if any(INSTALLED & set(place.parts) for place in places):
        return {}
    files: dict[str, Path] = {}
    for place in places:
        files |= _files(top, place) if place.is_dir() else {top: place} if place.suffix == ".py" else {}
    return files


@cache
def find_distribution(top: str) -> str | None:
    """The distribution that installs a top-level package, or None where it is not installed."""
    if _spec(top) is None:
        return None
    name = DISTRIBUTIONS.get(top, top)
    try:
        version(name)
    except PackageNotFoundError:
        return next(iter(packages_distributions().get(top, ())), None)
    return name


def _spec(top: str) -> Any:
    try:
        return find_spec(top)
    except ValueError:  # a module that was made by hand has none
        return None


def _files(top: str, folder: Path) -> dict[str, Path]:
    files = {}
    for path in sorted(folder.rglob("*.py")):
        parts = [top, *path.relative_to(folder).with_suffix("").parts]
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


@cache
def read_module(path: Path) -> Module:
    """The source file, read once per process: what has been imported does not change with the file either."""
    tree = ast.parse(path.read_bytes())
    package = _package(path)
    run = [each for node in _imports(tree, type_checking=False) for each in _named(node, package)]
    if ("importlib", "import_module") in run:  # names of modules are texts there
        run += [(text.rstrip("."), "") for text in _texts(tree) if DOTTED.fullmatch(text)]
    every = {bound: each for node in _imports(tree, type_checking=True) for bound, each in _bindings(node, package)}
    return Module(digest_code(tree), tuple(dict.fromkeys(run)), every, frozenset(_definitions(tree)))


def digest_code(tree: ast.AST) -> str:
    """A hash of a syntax tree without its docstrings; places in the file, comments and layout are not in the tree.

    >>> digest_code(ast.parse("def f(): 'old'; return 1")) == digest_code(ast.parse("def f(): 'new'; return (1)  # one"))
    True
    """
    parts: list[str] = []
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.AST):
            parts.append(type(node).__name__)
            body = _without_docstring(node)
            waiting += [body if name == "body" and body else getattr(node, name, None) for name in node._fields]
        elif isinstance(node, list):
            parts.append(f"[{len(node)}]")
            waiting += node
        else:
            parts.append(repr(node))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _without_docstring(node: ast.AST) -> list[ast.stmt]:
    """The statements of a module, class or function after its docstring; none where it has no docstring."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
        return []
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return node.body[1:] or [ast.Pass()]
    return []


def _imports(tree: ast.AST, *, type_checking: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import statement, inside functions too; those under `if TYPE_CHECKING:` only where they are asked for."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and not type_checking and _is_type_checking(node.test):
            waiting += node.orelse
        elif isinstance(node, ast.stmt | ast.Module | ast.ExceptHandler | ast.match_case):
            waiting += ast.iter_child_nodes(node)


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def _named(node: ast.Import | ast.ImportFrom, package: str) -> list[Import]:
    """What a statement imports: modules, or names from one."""
    if isinstance(node, ast.Import):
        return [(alias.name, "") for alias in node.names]
    module = _absolute(node, package)
    return [(module, "" if alias.name == "*" else alias.name) for alias in node.names]


def _bindings(node: ast.Import | ast.ImportFrom, package: str) -> list[tuple[str, Import]]:
    named = zip(node.names, _named(node, package), strict=True)
    return [(alias.asname or alias.name, each) for alias, each in named if "." not in (alias.asname or alias.name)]


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """The full name of the module that a `from` statement names, dots counted from the package it stands in."""
    if node.level == 0:
        return node.module or ""
    above = package.split(".")
    base = ".".join(above[: len(above) - node.level + 1])
    return f"{base}.{node.module}" if node.module else base


def _package(path: Path) -> str:
    """The package a file stands in: the folders above it that have an `__init__`."""
    names: list[str] = []
    folder = path.parent
    while (folder / "__init__.py").is_file():
        names, folder = [folder.name, *names], folder.parent
    return ".".join(names)


def _definitions(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
