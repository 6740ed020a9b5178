"""The versions of the packages that compute, which every stored number states."""

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from keyhole import __version__


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of keyhole, of Python and of those of these packages that are installed.

    >>> list(versions(["numpy", "no-such-package"]))
    ['keyhole', 'python', 'numpy']
    """
    numbers = {"keyhole": __version__, "python": platform.python_version()}
    for name in packages:
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:
            continue
    return numbers
