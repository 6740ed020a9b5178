"""Options that commands share, and how arguments are spelled: 1e6, 25,50,100 or 25..800, and paths."""

import re
from collections.abc import Callable

from keyhole.errors import ArgumentError, KeyholeError

MOST = 10_000  # more is a typing error


def count(text: str) -> int:
    """A whole number, written out (also as 1_000) or as in 1e9.

    >>> count("1e9"), count("64")
    (1000000000, 64)
    """
    digits = re.sub(r"(?<=[0-9])_(?=[0-9])", "", text.strip())
    if re.fullmatch(r"[+-]?[0-9]{1,30}", digits):
        return int(digits)
    power = re.fullmatch(r"([0-9]{1,9})e\+?([0-9]{1,2})", digits)
    if power is None:
        raise ArgumentError(f"{text!r} is not a whole number; write 100, 1_000 or 1e9.")
    return int(power[1] + "0" * int(power[2]))


def counts(text: str) -> list[int]:
    """The list: numbers between commas, or first..last by doublings, the last included.

    >>> counts("25,50,1e2"), counts("25..800"), counts("100..250")
    ([25, 50, 100], [25, 50, 100, 200, 400, 800], [100, 200, 250])
    """
    sizes: list[int] = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        sizes += _doublings(count(first), count(last), part) if dots else [count(first)]
    if any(value < 1 for value in sizes):
        raise ArgumentError(f"{text!r} holds a number below 1; sizes count from 1.")
    return list(dict.fromkeys(sizes))  # each once


def names(text: str) -> list[str]:
    """The names between commas, at least one.

    >>> names("elimination, gf2")
    ['elimination', 'gf2']
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise ArgumentError(f"{text!r} has a comma with no name beside it; write names such as a,b.")
    return parts


def settings(text: str) -> dict[str, str]:
    """Names and values between commas; none for an empty text.

    >>> settings("width=32, rate=1e-3")
    {'width': '32', 'rate': '1e-3'}
    """
    values: dict[str, str] = {}
    for part in names(text) if text else ():
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value) or name in values:
            raise ArgumentError(
                f"{text!r} is not a list of settings; write each once, as in width=32,heads=2,rate=1e-3."
            )
        values[name] = value
    return values


def lengths(text: str) -> list[int]:
    """The list: numbers between commas, or first..last, every length between them.

    >>> lengths("1..4,10")
    [1, 2, 3, 4, 10]
    """
    listed: list[int] = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        low, high = count(first), count(last) if dots else count(first)
        if low < 1 or high < low or high - low >= MOST:
            raise ArgumentError(f"{text!r} is not a list of lengths; write 5,10,20 or 1..50, the smaller one first.")
        listed += range(low, high + 1)
    return listed


def _doublings(first: int, last: int, text: str) -> list[int]:
    if first < 1 or last < first:
        raise ArgumentError(
            f"{text!r} runs backwards or starts below 1; write the smaller size first, such as 25..800."
        )
    sizes: list[int] = []
    while first < last and len(sizes) < MOST:
        sizes.append(first)
        first *= 2
    return [*sizes, last]


def _words(*fixed: str) -> Callable[[str], list[str]]:
    """Return what completes the last of several words between commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{word}" for word in fixed if word.startswith(last)]

    return complete


complete_learners = _words(
    "transformer", "transformer:parity", "transformer:paper", "transformer:bounded", "deep:2", "elimination",
    "elimination:signed", "gf2", "gf2:affine", "consistent:and", "consistent:junta", "sklearn:tree", "sklearn:logistic",
    "sklearn:lasso", "sklearn:forest", "sklearn:mlp", "started:compiled", "started:random",
)  # fmt: skip
complete_functions = _words("and:3", "or:3", "parity:3", "majority:3", "threshold:2:5", "random:3")
complete_constructions = _words("auto", "pair", "additive", "codes", "heads", "veto", "least")
complete_models = _words("beta", "finite", "gaussian", "gp", "linear", "mixture", "polya")


def complete_terms(incomplete: str) -> list[str]:
    """Complete a word of the glossary."""
    from keyhole.api.explain import explain

    return [term.term for term in explain().terms if term.term.startswith(incomplete)]


def complete_runs(incomplete: str) -> list[str]:
    """Complete the name of a run of the folder that is used if none is given."""
    from keyhole.api.runs import runs

    try:
        kept = runs().newest
    except KeyholeError:
        kept = ()
    return [name for name in ("last", *(run.identity[:10] for run in kept)) if name.startswith(incomplete)]
