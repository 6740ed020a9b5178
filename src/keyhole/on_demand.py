"""Import the public names of a package when they are first used; `__init__.pyi` lists them, as for type checkers."""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module


@cache
def homes(package_file: str) -> dict[str, str]:
    """Return the public names of a package, each with the module that defines it, from the stub beside its file."""
    import ast  # noqa: PLC0415  (importing keyhole costs nothing)
    from pathlib import Path  # noqa: PLC0415

    stub = ast.parse(Path(package_file).with_suffix(".pyi").read_text("utf8"))
    imports = (node for node in stub.body if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def on_demand(package: str, package_file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package."""

    def get(name: str) -> object:
        """Import a public name when it is first used."""
        known = {} if name.startswith("__") else homes(package_file)
        if name not in known:
            functions = ", ".join(public for public, home in known.items() if public.islower() and home != package)
            raise AttributeError(f"module {package!r} has no attribute {name!r}; its functions are {functions}")
        home = known[name]
        value: object = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        """Return the public names."""
        return sorted({*vars(sys.modules[package]), *homes(package_file)})

    return get, names
