"""Text as the tokens of a checkpoint's own tokenizer, which the package `tokenizers` reads from tokenizer.json."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.errors import CheckpointError, DataError, MissingError, adding


@dataclass(frozen=True, eq=False)
class Pieces:
    """One input: its tokens, their spellings, which were added by the tokenizer, and the word of each (−1: added)."""

    tokens: np.ndarray
    spelled: tuple[str, ...]
    added: np.ndarray
    words: np.ndarray

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, eq=False)
class TextReader:
    """A tokenizer, and the tokens that it puts before and after every text."""

    tokenizer: Any
    before: tuple[int, ...]
    after: tuple[int, ...]

    def line(self, text: str, longest: int) -> list[Pieces]:
        """Cut a text into inputs of at most `longest` tokens each; no token is left out."""
        tokens = self.tokenizer.encode(text, add_special_tokens=False).ids
        room = longest - len(self.before) - len(self.after)
        if room < 1:
            raise DataError(f"Inputs of at most {longest} tokens were asked for; give a larger length.")
        return [self._framed(tokens[at : at + room]) for at in range(0, len(tokens), room)]

    def words(self, words: Sequence[str]) -> Pieces:
        """Return words as one input, each tokenised by itself."""
        pieces = [self.tokenizer.encode(word, add_special_tokens=False).ids for word in words]
        places = [index for index, each in enumerate(pieces) for _ in each]
        return self._framed([token for each in pieces for token in each], places)

    def _framed(self, tokens: Sequence[int], places: Sequence[int] | None = None) -> Pieces:
        whole = [*self.before, *tokens, *self.after]
        added = np.ones(len(whole), dtype=bool)
        added[len(self.before) : len(self.before) + len(tokens)] = False
        words = np.full(len(whole), -1)
        words[~added] = np.arange(len(tokens)) if places is None else places
        spelled = tuple(str(self.tokenizer.id_to_token(token)) for token in whole)
        return Pieces(np.array(whole, dtype=np.int64), spelled, added, words)


def text_reader(folder: str | Path) -> TextReader:
    """Read the tokenizer beside a checkpoint's weights."""
    path = Path(folder)
    path = (path if path.is_dir() else path.parent) / "tokenizer.json"
    if not path.is_file():
        raise CheckpointError(
            f"Text was given, and the folder has no tokenizer.json ({str(path)!r}); give --rows, or save it "
            "with transformers' AutoTokenizer.from_pretrained(…).save_pretrained(…)."
        )
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingError(
            f"Text was given, and the package tokenizers is not installed; run: {adding('hf')}"
        ) from error
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        raise CheckpointError(f"{str(path)!r} is not a tokenizer ({error}); fetch it again.") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    framed = tokenizer.encode("a")
    added = np.array(framed.special_tokens_mask, dtype=bool)
    letters = np.flatnonzero(~added)
    if not len(letters):
        raise CheckpointError(f"{str(path)!r} makes no token of the letter a; keyhole does not read such a tokenizer.")
    return TextReader(tokenizer, tuple(framed.ids[: letters[0]]), tuple(framed.ids[letters[-1] + 1 :]))
