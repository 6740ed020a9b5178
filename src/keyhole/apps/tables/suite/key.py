"""Answer keys on disk, read as data and never run."""

from pathlib import Path
from typing import Any

from keyhole.errors import DataError
from keyhole.files.reading import parse_json, read_text

SCHEMA = "suite/1"


def read_key(path: Path) -> tuple[dict[str, Any], ...]:
    """The models of an answer key, each with its file and its relevant positions."""
    try:
        text = read_text(path)
    except OSError as error:
        raise DataError(f"The answer key {str(path)!r} cannot be read: {error.strerror}.") from error
    except ValueError:  # not text
        text = ""
    try:
        key = parse_json(text)
        known = key.get("schema", SCHEMA) == SCHEMA and _is_count(key["context"])
        models = tuple(_read_answer(model, key["context"]) for model in key["models"]) if known else ()
    except (ValueError, KeyError, TypeError, AttributeError):
        models = ()
    if not models:
        raise DataError(f"{str(path)!r} is not an answer key; give the key.json that was written with the suite.")
    return models


def _read_answer(model: dict[str, Any], context: int) -> dict[str, Any]:
    """A model with what scoring needs: a file's name, and different positions of the context."""
    places = model["positions"]
    inside = isinstance(places, list) and all(_is_count(place) and place < context for place in places)
    if not isinstance(model["file"], str) or not inside or len(set(places)) < len(places):
        raise ValueError("no answer to a model")
    return {**model, "context": context}


def _is_count(value: object) -> bool:
    """Return True for a whole number from 0 on; a truth value is not one."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
