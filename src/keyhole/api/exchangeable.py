"""Could sequences come from a latent variable? Tests of their order, and of how evenly their tokens divide."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.decimals import at_most, chance, counted
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
from keyhole.show.answer import Show

PERMUTATIONS = 999  # where the table is not too large for as many
MOST_MOVED = 10**9  # tokens that are reordered unasked, over all permutations and tests: less than half a minute
REALS = 4  # times as long as a letter takes one real number, whose ranks and products are computed
MOST_PERMUTATIONS = 10**7  # they fix a p-value to less than a thousandth of itself at one in ten thousand
TESTS = {  # the tests that each question needs, and how many sequences each of them needs
    "order": {"neighbours": 1, "places": 2},
    "extendible": {"extendible": 1},
    "both": {"neighbours": 1, "places": 2, "extendible": 4},  # which divides the sequences into halves of two
}
REASONS = {
    "neighbours": "tokens at {look} depend on each other, so the order matters",
    "places": "tokens have different distributions at different places ({look}), so the order matters",
    "extendible": "tokens of a sequence divide too evenly, which no latent variable allows",
    "birthday": "tokens of a sequence repeat too seldom, which no latent variable allows",
}


@dataclass(frozen=True, repr=False)
class Exchangeability(Result):
    """The tests of a table of sequences, at one level that they share."""

    schema: ClassVar[str] = "exchangeable/1"
    properties: ClassVar[tuple[str, ...]] = ("answer", "rejected", "looked_at")

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
    def rejected(self) -> bool:
        """Return whether a test rejects."""
        return any(test.rejects for test in self.tests)

    @property
    def answer(self) -> str:
        """Say the answer in one sentence."""
        if self.rejected:
            return f"rejected: {'; '.join(_reason(test) for test in self.tests if test.rejects)}."
        if self.rows > self.sequences:
            return (
                f"not rejected by the {self.sequences} sequences that count once; but the {self.rows} rows repeat "
                "beyond chance: they are copies, or the order matters."
            )
        if all(self._powerless(test) for test in self.tests):
            return (
                f"cannot reject: {counted(self.sequences, 'sequence')} of {counted(self.length, 'token')} are too few."
            )
        return f"not rejected by {', '.join(self.looked_at)}. Other dependence was not looked at."

    @property
    def looked_at(self) -> tuple[str, ...]:
        """Return what the tests that could reject compared."""
        looks: list[str] = []
        for test in self.tests:
            if self._powerless(test):
                continue
            if test.name == "neighbours":
                looks.append(f"lags 1 to {len(test.looks)}" if len(test.looks) > 1 else "lag 1")
            else:
                looks += [look.name for look in test.looks] or ["even division and repeats of tokens"]
        return tuple(looks)

    def _powerless(self, test: PermutationTest) -> bool:
        """Return whether no data of this size could be rejected by a test."""
        return test.least_p * len(self.tests) > self.level

    def _verdict(self, test: PermutationTest) -> str:
        """Return what a test says."""
        return "rejected" if test.rejects else "cannot reject" if self._powerless(test) else "not rejected"

    @property
    def answer_is_no(self) -> bool:
        """Return whether a test rejects."""
        return self.rejected

    def lines(self, show: Show) -> None:
        """Say the answer, and set a row for each test."""
        show.line(self.answer)
        tokens = f"{self.letters} different tokens" if self.kind == "letters" else f"tokens are {self.kind}"
        show.line(f"{counted(self.sequences, 'sequence')} of {counted(self.length, 'token')}; {tokens}")
        rows = []
        for test in self.tests:  # a quotient of counts as the decimal it is near; a tail that was computed, rounded up
            p = chance(test.p_value, digits=4) if test.permutations else at_most(test.p_value, 4)
            rows.append((test.name, p, self._verdict(test), test.null))
        show.table({"test": "<", "p": ">", "verdict": "<", "null hypothesis": "<"}, rows)
        if self.rows > self.sequences:
            show.line(
                f"Of {self.rows} rows only {self.sequences} count, each once: independent sequences whose order does "
                f"not matter repeat so often with probability at most {at_most(self.repeat_chance, 2)}."
            )
        if self.sequences < TESTS["both"]["extendible"]:
            show.line("The test of a latent variable needs at least four sequences.")
        count = len(self.tests)
        show.line(
            f"Independent sequences with a latent variable are rejected with probability at most {self.level:g}"
            + (f": each test rejects at p ≤ {self.level:g}/{count}." if count > 1 else ".")
        )
        if show.verbose:
            permutations = self.tests[0].permutations
            show.line(f"{permutations} permutations, seed {self.seed}" if permutations else f"seed {self.seed}")
            show.facts((test.name, f"{_statistic(test, self.length)}.") for test in self.tests)


def _reason(test: PermutationTest) -> str:
    """Return why a test rejects."""
    if isinstance(test, ExtendibilityTest):
        by_repeats = test.birthday and test.birthday.p_value < test.balance_p_value
        return REASONS["birthday" if by_repeats else "extendible"]
    largest = max(test.looks, key=lambda look: abs(look.deviations)).name
    return REASONS[test.name].format(look=largest)


def _statistic(test: PermutationTest, length: int) -> str:
    """Say what a test counted."""
    if not isinstance(test, ExtendibilityTest):
        looks = ", ".join(f"{look.name} {look.deviations:+.2f}" for look in test.looks)
        return f"In standard deviations of the reorderings: {looks}"
    if test.ceiling == 1:
        return "Half of the sequences, from which two groups of tokens are chosen, hold one token only"
    balance = (
        f"Half of the sequences divided the possible tokens into two groups. Of the other {test.sequences} sequences "
        f"{test.statistic:.0f} have {test.least} to {test.most} of their {length} tokens in the first group; whatever "
        f"the latent variable, a sequence has so many with probability at most {at_most(test.ceiling, places=3)}"
    )
    if (birthday := test.birthday) is None:
        return balance
    return (
        f"{balance}; in {birthday.distinct} of {test.sequences} none of {birthday.letters} different tokens occurs "
        "twice, and whatever the latent variable, the mean probability of that is at most "
        f"{at_most(birthday.ceiling, places=3)} (p = {at_most(test.balance_p_value, 4)} and "
        f"{at_most(birthday.p_value, 4)}; each of the two has half of the level)"
    )


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
    'rejected: tokens at lag 1 depend on each other, so the order matters.'
    """
    if test not in TESTS:
        raise ArgumentError(f"{test!r} is not a test; there are order, extendible and both.")
    if seed < 0:
        raise ArgumentError(f"The seed {seed} was given; a seed is at least 0.")
    if permutations is not None and permutations > MOST_PERMUTATIONS:
        raise ArgumentError(f"{permutations:,} permutations were asked for; use at most {MOST_PERMUTATIONS:,}.")
    tokens = data if isinstance(data, np.ndarray) else read_sequences(Path(data))
    require_sequences(tokens)
    rows, repeated = len(tokens), repeated_sequences(tokens)
    tokens = tokens[repeated.kept]
    names = [name for name, needed in TESTS[test].items() if len(tokens) >= needed]
    judged = len(names) if "neighbours" in names else 0  # tests that share the level, if one of them reorders
    if permutations is None:
        reordering = sum(name != "extendible" for name in names)
        permutations = _affordable(tokens, reordering, least_permutations(level, judged))
    require_permutations(permutations, level, judged)
    results: list[PermutationTest] = []
    for name, rng in zip(names, np.random.default_rng(seed).spawn(len(names)), strict=True):
        if name == "extendible":
            results.append(extendibility_test(tokens, rng=rng))
        else:
            permute = neighbours_test if name == "neighbours" else places_test
            results.append(permute(tokens, permutations=permutations, rng=rng, watch=watch))
    whole = np.issubdtype(tokens.dtype, np.integer)
    return Exchangeability(
        sequences=tokens.shape[0],
        rows=rows,
        repeat_chance=repeated.chance,
        length=tokens.shape[1],
        kind="letters" if whole else "vectors" if tokens.ndim == 3 else "reals",
        letters=len(np.unique(tokens)) if whole else None,
        tests=tuple(replace(result, rejects=result.p_value * len(names) <= level) for result in results),
        level=level,
        seed=seed,
    )


def _affordable(tokens: np.ndarray, tests: int, least: int) -> int:
    """Return the permutations for a table; refuse a table too large for the fewest that can reject."""
    most = MOST_MOVED if np.issubdtype(tokens.dtype, np.integer) else MOST_MOVED // REALS
    affordable = most // max(1, tests * tokens.size)
    if affordable < least:
        raise DataError(
            f"{len(tokens):,} sequences of {tokens.shape[1]:,} tokens were given. {least} permutations, the fewest "
            f"that can reject, would reorder {least * tests * tokens.size:,} tokens, and unasked at most "
            f"{most:,} are. Give fewer sequences, or name a number of permutations, {least} or more, and wait."
        )
    return min(PERMUTATIONS, affordable)
