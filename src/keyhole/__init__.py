"""keyhole: what self-attention can represent, infer and learn, and how much data that takes.

`__init__.pyi` lists the public names: functions, the types of their results, and packages. Each is imported when it is
first used, so that `import keyhole` costs nothing; type checkers read the same list.
"""

from functools import cache
from importlib import import_module

__version__ = "0.1.0"


@cache
def _homes() -> dict[str, str]:
    """Return the public names, each with the module that defines it."""
    import ast  # noqa: PLC0415  (importing keyhole costs nothing)
    from pathlib import Path  # noqa: PLC0415

    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf8"))
    imports = (node for node in stub.body if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name.startswith("__") or name not in _homes():
        functions = ", ".join(public for public, home in _homes().items() if public.islower() and home != "keyhole")
        raise AttributeError(f"module 'keyhole' has no attribute {name!r}; its functions are {functions}")
    home = _homes()[name]
    if home == "keyhole":
        return import_module(f"keyhole.{name}")
    globals()[name] = value = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    """The public names."""
    return ["__version__", *sorted(_homes())]
