"""The words and letters of the answers, read from `docs/NOTATION.md`: for `keyhole explain` and for hover texts."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from keyhole.errors import ArgumentError

PACKAGE = Path(__file__).parent
PLACES = (PACKAGE.parents[1] / "docs" / "NOTATION.md", PACKAGE / "NOTATION.md")  # of the repository, of an installation
ROW = re.compile(r"^\| (.+?) \| (.+?) \|", re.MULTILINE)


@dataclass(frozen=True)
class Term:
    """A word or a letter, its meaning, and the part of keyhole where it has this meaning."""

    term: str
    meaning: str
    part: str


@cache
def glossary() -> tuple[Term, ...]:
    """Return every row of the notation.

    >>> next(term.meaning for term in glossary() if term.term == "s")
    'sparsity: how many positions a function reads'
    """
    text = next(place for place in PLACES if place.exists()).read_text("utf8").replace(r"\|", "│").replace("\\*", "*")
    terms = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        rows = ROW.findall(section)[1:]  # below the heading
        terms += [Term(term, meaning.replace("`", ""), section.partition("\n")[0]) for term, meaning in rows]
    return tuple(Term(each.term.replace("│", "|"), each.meaning.replace("│", "|"), each.part) for each in terms)


def meaning(word: str) -> str:
    """Return what a word means, in one sentence.

    >>> meaning("gap")[:24]
    'test error less training'
    """
    return find_terms(word)[0].meaning


def find_terms(word: str) -> tuple[Term, ...]:
    """Return the entries of a word or a letter, capitals apart if no entry has its own."""
    exact = tuple(term for term in glossary() if word in _names(term))
    alike = tuple(term for term in glossary() if word.lower() in map(str.lower, _names(term)))
    if not (exact or alike):
        every = {name.lower(): name for term in glossary() for name in _names(term)}
        close = [every[name] for name in get_close_matches(word.lower(), every, 3, 0.6)]
        advice = f"Did you mean {' or '.join(close)}?" if close else "`keyhole explain` lists what is."
        raise ArgumentError(f"{word!r} is not in the glossary. {advice}")
    return exact or alike


def _names(term: Term) -> list[str]:
    """Return the words that an entry explains."""
    return [term.term, *re.split(r"[,;] ", term.term)]
