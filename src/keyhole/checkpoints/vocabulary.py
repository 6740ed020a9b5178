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
            raise ArgumentError(f"{name!r} is not a number, and the model has no list of names of its tokens.")
        some = ", ".join(list(self.numbers)[:8])
        raise ArgumentError(f"The model has no token named {name!r}; its tokens are {some}, ….")

    def name(self, number: int) -> str:
        """Return the name of a token, or its number."""
        return next((name for name, at in self.numbers.items() if at == number), str(number))


def read_vocabulary(source: str | Path) -> Vocabulary:
    """Read the vocabulary of a folder: vocab.json, tokenizer.json or vocab.txt, the first that is readable."""
    folder = Path(source) if Path(source).is_dir() else Path(source).parent
    for name in ("vocab.json", "tokenizer.json", "vocab.txt"):
        path = folder / name
        if path.is_file() and path.stat().st_size <= LARGEST_FILE:
            try:
                text = path.read_text("utf-8", "replace")
                if name == "vocab.txt":
                    numbers: dict[str, Any] = {word: number for number, word in enumerate(text.splitlines())}
                else:
                    numbers = dict(json.loads(text))
                if name == "tokenizer.json":
                    added = {token["content"]: token["id"] for token in numbers.get("added_tokens", ())}
                    numbers = {**numbers["model"]["vocab"], **added}
            except (ValueError, RecursionError, LookupError, TypeError, AttributeError):  # of another kind
                continue
            if numbers:
                return Vocabulary({str(each): at for each, at in numbers.items() if type(at) is int and at >= 0})
    return Vocabulary({})
