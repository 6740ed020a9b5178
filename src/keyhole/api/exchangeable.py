"""Exchangeable: whether the order of tokens matters, and whether a latent variable can explain them."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.old_result import OldResult as Result
from keyhole.decimals import counted
from keyhole.errors import ArgumentError, DataError
from keyhole.files.data import read_sequences
from keyhole.latent.exchangeability import (
    ExtendibilityTest,
    PermutationTest,
    extendibility_test,
    least_permutations,
    neighbours_test,
    places_test,
    repeated_sequences,
    require_permutations,
    require_sequences,
)
from keyhole.progress import Watch, ignore
from keyhole.show.document import Document
from keyhole.show.exchangeability import exchangeability_document

PERMUTATIONS = 999  # where the table is not too large for as many
MOST_MOVED = 10**9  # tokens that are reordered unasked, over all permutations and tests: less than half a minute
REALS = 4  # times as long as a letter takes one real number, whose ranks and products are computed
MOST_PERMUTATIONS = 10**7  # they fix a p-value to less than a thousandth of itself at one in ten thousand
TESTS = ("order", "extendible", "both")

REJECTIONS = {
    "neighbours": "neighbouring tokens depend on each other, so the order matters",
    "places": "tokens have different distributions at different places, so the order matters",
    "extendible": "tokens of a sequence divide too evenly, which no latent variable allows",
    "birthday": "tokens of a sequence repeat too seldom, which no latent variable allows",
}


@dataclass(frozen=True, repr=False)
class Exchangeability(Result):
    """What the tests say of a table of sequences, at one level shared among them."""

    schema: ClassVar[str] = "exchangeable/1"

    sequences: int  # that count
    rows: int  # of the table; more than the sequences where rows repeat beyond chance, and each then counts once
    repeat_chance: float  # of so many repeats at most, if sequences are independent and their order does not matter
    length: int  # T
    kind: str  # letters, reals or vectors
    letters: int | None  # how many different ones
    tests: tuple[PermutationTest, ...]
    level: float
    seed: int

    @property
    def rejected(self) -> tuple[PermutationTest, ...]:
        """The tests that reject: p at most the level divided by the number of tests."""
        return tuple(test for test in self.tests if test.p_value * len(self.tests) <= self.level)

    @property
    def answer(self) -> str:
        """One sentence."""
        if self.rejected:
            return f"rejected: {'; '.join(REJECTIONS[_reason(test)] for test in self.rejected)}."
        names = {test.name for test in self.tests}
        what = "exchangeability" if "neighbours" in names else "a latent variable"
        if self.rows > self.sequences:
            return (
                f"not rejected by the {self.sequences} sequences that count once; but the {self.rows} rows repeat "
                "beyond chance: they are copies, or the order matters."
            )
        return f"not rejected: nothing here speaks against {what}, which is not a proof of it."

    @property
    def summary(self) -> str:
        """The answer, and of what."""
        return f"{counted(self.sequences, 'sequence')} of {counted(self.length, 'token')}; {self.answer}"

    def document(self) -> Document:
        """The answer, then a line per test."""
        return exchangeability_document(self.record())

    def record(self) -> dict[str, Any]:
        """The facts as plain values, for JSON."""
        return {
            "answer": self.answer,
            "rejected": bool(self.rejected),
            "sequences": self.sequences,
            "length": self.length,
            "kind": self.kind,
            "letters": self.letters,
            "level": self.level,
            "seed": self.seed,
            "tests": [{**asdict(test), "rejects": test in self.rejected} for test in self.tests],
            "rows": self.rows,
            "repeat_chance": self.repeat_chance,
        }


def exchangeable(
    data: str | Path | np.ndarray,
    *,
    test: str = "both",
    permutations: int | None = None,
    level: float = 0.05,
    seed: int = 0,
    watch: Watch = ignore,
) -> Exchangeability:
    """Test sequences, a row each, for exchangeability (`order`), for a latent variable (`extendible`), or for both.

    The level is shared: with k tests each must reach level/k, so that independent sequences of tokens that are
    independent given a latent variable, whatever it is, are rejected with chance at most `level`. Fewer than four
    sequences cannot be split in halves: of `both`, only the order is then asked. Where rows repeat so often that
    independent sequences whose order does not matter do so with probability below 1e-6, each counts once, and the
    answer says so. Without a number of permutations there are 999, or as many as reorder 10⁹ tokens in all; a table too
    large for the fewest that could reject is refused, while a number that is named is obeyed.

    >>> from keyhole.latent import MarkovChain
    >>> exchangeable(MarkovChain(4, 0.6).sample(50, 12, 0).tokens, test="order").answer
    'rejected: neighbouring tokens depend on each other, so the order matters.'
    """
    if test not in TESTS:
        raise ArgumentError(f"There is no test {test!r}; there are order, extendible and both.")
    if seed < 0:
        raise ArgumentError(f"The seed {seed} was given; a seed is at least 0.")
    if permutations is not None and permutations > MOST_PERMUTATIONS:
        raise ArgumentError(f"{permutations:,} permutations were asked for; use at most {MOST_PERMUTATIONS:,}.")
    tokens = data if isinstance(data, np.ndarray) else read_sequences(Path(data))
    require_sequences(tokens)
    rows, repeated = len(tokens), repeated_sequences(tokens)
    tokens = tokens[repeated.kept]
    names = _tests_for(test, len(tokens))
    # a look in either direction is two one-sided looks
    looks = len(names) * 2 if "neighbours" in names else 0
    if permutations is None:
        permutations = _affordable(tokens, sum(name in ORDER_TESTS for name in names), least_permutations(level, looks))
    require_permutations(permutations, level, looks)
    streams = np.random.default_rng(seed).spawn(len(names))
    results = tuple(
        extendibility_test(tokens, rng=stream)
        if name == "extendible"
        else ORDER_TESTS[name](tokens, permutations=permutations, rng=stream, watch=watch)
        for name, stream in zip(names, streams, strict=True)
    )
    whole = np.issubdtype(tokens.dtype, np.integer)
    return Exchangeability(
        sequences=tokens.shape[0],
        rows=rows,
        repeat_chance=repeated.chance,
        length=tokens.shape[1],
        kind="letters" if whole else "vectors" if tokens.ndim == 3 else "reals",
        letters=len(np.unique(tokens)) if whole else None,
        tests=results,
        level=level,
        seed=seed,
    )


def _reason(test: PermutationTest) -> str:
    """Which sentence says why a test rejects."""
    if isinstance(test, ExtendibilityTest) and test.birthday and test.birthday.p_value < test.balance_p_value:
        return "birthday"
    return test.name


ORDER_TESTS: dict[str, Callable[..., PermutationTest]] = {"neighbours": neighbours_test, "places": places_test}


def _affordable(tokens: np.ndarray, tests: int, least: int) -> int:
    """The permutations of a table for which no number was named; a table too large for the fewest of use is refused."""
    most = MOST_MOVED if np.issubdtype(tokens.dtype, np.integer) else MOST_MOVED // REALS
    affordable = most // max(1, tests * tokens.size)
    if affordable < least:
        raise DataError(
            f"{len(tokens):,} sequences of {tokens.shape[1]:,} tokens were given. {least} permutations, the fewest "
            f"that can reject, would reorder {least * tests * tokens.size:,} tokens, and unasked at most "
            f"{most:,} are. Give fewer sequences, or name a number of permutations, {least} or more, and wait."
        )
    return min(PERMUTATIONS, affordable)


def _tests_for(test: str, sequences: int) -> tuple[str, ...]:
    order = ("neighbours", "places") if sequences > 1 else ("neighbours",)
    both = (*order, "extendible") if sequences > 3 else order  # halves of two
    return {"order": order, "extendible": ("extendible",), "both": both}[test]
