"""Answer keys and attributions on disk, read as data and never run."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.errors import DataError, KeyholeError
from keyhole.files.data import read_array


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
        models = tuple({**_read_answer(model), "context": int(key["context"])} for model in key["models"])
    except KeyholeError:  # already a sentence
        raise
    except (ValueError, KeyError, TypeError):
        models = ()
    if not models:
        raise DataError(f"{str(path)!r} is no answer key; give the key.json that was written with the suite.")
    return models


def read_attributions(path: Path) -> np.ndarray:
    """An array (n, T) from a .npy file."""
    sides = "a row per input and a column per position"
    array = read_array(path, "attributions", sides)
    if array.ndim != 2:
        raise DataError(f"{str(path)!r} holds {array.shape}; give one array with {sides}.")
    return array


def _read_answer(model: dict[str, Any]) -> dict[str, Any]:
    """A model with what scoring needs: a file's name and whole numbers as positions."""
    if not isinstance(model["file"], str) or not all(isinstance(place, int) for place in model["positions"]):
        raise TypeError(model["file"])
    return model
