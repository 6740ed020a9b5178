"""One array of numbers on disk, in the .npy format; read as data, never run."""

from pathlib import Path

import numpy as np

from keyhole.errors import DataError


def read_array(path: Path, what: str, sides: str) -> np.ndarray:
    """The array of a .npy file, called `what` where it cannot be read; one that would have to be unpickled is refused.

    `sides` says what the array is to hold, for whoever gave several.
    """
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise DataError(f"The {what} {str(path)!r} cannot be read: {error.strerror or error}.") from error
    except (ValueError, EOFError) as error:
        raise DataError(
            f"{str(path)!r} is no array of numbers in the .npy format; write it with numpy.save."
        ) from error
    if not isinstance(array, np.ndarray):
        raise DataError(f"{str(path)!r} holds several arrays; give one, with {sides}.")
    return array
