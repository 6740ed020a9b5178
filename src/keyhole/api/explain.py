"""What does a word or a letter of an answer mean?"""

from dataclasses import dataclass
from typing import ClassVar

from keyhole.api.result import Result
from keyhole.glossary import Term, find_terms, glossary
from keyhole.show.answer import Show


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """The entries of a word, or of the whole glossary."""

    schema: ClassVar[str] = "explain/1"

    word: str | None
    terms: tuple[Term, ...]

    def lines(self, show: Show) -> None:
        """Say what the word means; of the whole glossary, its words."""
        if self.word is None and not show.verbose:
            parts = dict.fromkeys(term.part for term in self.terms)
            show.facts((part, ", ".join(term.term for term in self.terms if term.part == part)) for part in parts)
            return
        for term in self.terms:
            part = f" ({term.part})" if len(self.terms) > 1 else ""
            show.line(f"{term.term}{part}: {term.meaning}")


def explain(word: str | None = None) -> Explanation:
    """Return what a word or a letter of an answer means; without one, the whole glossary.

    >>> print(explain("s"))
    s: sparsity: how many positions a function reads
    """
    return Explanation(word, glossary() if word is None else find_terms(word))
