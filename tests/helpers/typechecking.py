"""The run-time type checker of the suite: as mypy has it, a whole number is a real number."""

from pathlib import Path

from beartype import BeartypeConf, beartype

SOURCE = Path(__file__).parents[2] / "src" / "keyhole"
AS_MYPY = BeartypeConf(is_pep484_tower=True, claw_is_pep526=False)  # arguments and results, not what is assigned
NUMBERS = "keyhole.bounds"  # the package that imports no numpy, so that no signature there states a shape

checked = beartype(conf=AS_MYPY)


def packages_with_arrays() -> list[str]:
    """Every other package and module."""
    names = (path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())
    return sorted({f"keyhole.{name}" for name in names if not name.startswith("__")} - {NUMBERS})
