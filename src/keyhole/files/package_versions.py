"""The versions of what computes: written beside every number that is kept."""

import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from keyhole import __version__


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of keyhole, of Python and of those of these packages that are installed.

    >>> list(versions(["numpy", "no-such-package"]))
    ['keyhole', 'python', 'numpy']
    """
    numbers = {name: _version_of(name) for name in packages}
    installed = {name: number for name, number in numbers.items() if number is not None}
    return {"keyhole": __version__, "python": platform.python_version(), **installed}


@cache
def _version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
