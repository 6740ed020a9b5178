"""The names of a model's tokens, from the files that stand beside its weights."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keyhole.errors import ArgumentError

LARGEST_FILE = 2**26  # bytes of a vocabulary


@dataclass(frozen=True)
class Vocabulary:
    """Names and numbers of tokens; without names, tokens go by their numbers."""

    numbers: Mapping[str, int]

    def number(self, name: str) -> int:
        """Return the number of a token by its name; without names, a token is written as its number."""
        if name in self.numbers:
            return self.numbers[name]
        if name.isdecimal() and len(name) < 10 and not self.numbers:
            return int(name)
        if not self.numbers:
            raise ArgumentError(f"{name!r} is no number, and the model has no list of names of its tokens.")
        some = ", ".join(list(self.numbers)[:8])
        raise ArgumentError(f"The model has no token named {name!r}; its tokens are {some}, ….")

    def name(self, number: int) -> str:
        """Return the name of a token, or its number."""
        return next((name for name, found in self.numbers.items() if found == number), str(number))


def read_vocabulary(source: str | Path) -> Vocabulary:
    """Read the vocabulary of a folder: vocab.json, tokenizer.json or vocab.txt, the first that is readable."""
    folder = Path(source) if Path(source).is_dir() else Path(source).parent
    for name, reader in (("vocab.json", _flat), ("tokenizer.json", _nested), ("vocab.txt", _lines)):
        path = folder / name
        if path.is_file() and path.stat().st_size <= LARGEST_FILE:
            vocabulary = reader(path)
            if vocabulary:
                return Vocabulary(vocabulary)
    return Vocabulary({})


def _flat(path: Path) -> dict[str, int]:
    return _numbered(_json(path))


def _nested(path: Path) -> dict[str, int]:
    content = _json(path)
    model = content.get("model") if isinstance(content, dict) else None
    names = _numbered(model.get("vocab") if isinstance(model, dict) else None)
    added = content.get("added_tokens") if isinstance(content, dict) else None
    for token in added if isinstance(added, list) else []:
        if isinstance(token, dict) and isinstance(token.get("content"), str) and type(token.get("id")) is int:
            names[token["content"]] = token["id"]
    return names


def _lines(path: Path) -> dict[str, int]:
    return {name: number for number, name in enumerate(path.read_text("utf-8", "replace").splitlines())}


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None


def _numbered(found: Any) -> dict[str, int]:
    if not isinstance(found, dict):
        return {}
    return {str(name): number for name, number in found.items() if type(number) is int and number >= 0}
