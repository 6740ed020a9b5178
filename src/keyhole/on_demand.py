"""Import the public names of a package when they are first used; `__init__.pyi` lists them, as for type checkers."""

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path


@cache
def homes(package_file: str) -> dict[str, str]:
    """Return the public names of a package, each with the module that defines it, from the stub beside its file."""
    stub = ast.parse(Path(package_file).with_suffix(".pyi").read_text("utf8"))
    imports = (node for node in stub.body if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def on_demand(package: str, package_file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package."""

    def get(name: str) -> object:
        """Import a public name when it is first used."""
        if name.startswith("__") or name not in homes(package_file):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(homes(package_file)[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        """Return the public names."""
        return sorted({*vars(sys.modules[package]), *homes(package_file)})

    return get, names
