"""Answer keys and attributions on disk, read as data and never run."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.errors import DataError


def read_key(path: Path) -> tuple[dict[str, Any], ...]:
    """The models of an answer key, each with its file and its relevant positions."""
    try:
        text = path.read_text("utf8")
    except OSError as error:
        raise DataError(f"The answer key {str(path)!r} cannot be read: {error.strerror}.") from error
    except ValueError:  # not text
        text = ""
    try:
        key = json.loads(text)
        models = tuple({**_answer(model), "context": int(key["context"])} for model in key["models"])
    except (ValueError, KeyError, TypeError):
        models = ()
    if not models:
        raise DataError(f"{str(path)!r} is no answer key; give the key.json that was written with the suite.")
    return models


def read_attributions(path: Path) -> np.ndarray:
    """An array (n, T) from a .npy file; one that would have to be unpickled is refused."""
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise DataError(f"The attributions {str(path)!r} cannot be read: {error.strerror or error}.") from error
    except (ValueError, EOFError) as error:
        raise DataError(
            f"{str(path)!r} is no array of numbers in the .npy format; write it with numpy.save."
        ) from error
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        shape = getattr(array, "shape", "several arrays")
        raise DataError(f"{str(path)!r} holds {shape}; give one array with a row per input and a column per position.")
    return array


def _answer(model: dict[str, Any]) -> dict[str, Any]:
    """A model with what scoring needs: a file's name and whole numbers as positions."""
    if not isinstance(model["file"], str) or not all(isinstance(place, int) for place in model["positions"]):
        raise TypeError(model["file"])
    return model
