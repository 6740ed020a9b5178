"""Tests of exchangeability as a document: the answer, then a line per test."""

from collections.abc import Mapping
from typing import Any

from keyhole.decimals import at_most, chance, counted
from keyhole.show.document import Document, Facts

Record = Mapping[str, Any]

STATISTICS = {  # of a test, by whether tokens are counted or are numbers
    ("neighbours", True): "the number of neighbouring pairs that are equal",
    ("neighbours", False): "the sum of products of neighbours, each less the mean of its sequence",
    ("places", True): "how often two sequences agree at a place (ordered pairs, each with itself too)",
    ("places", False): "the distance (Anderson and Darling) of the distributions at single places from that of all",
}


def exchangeability_document(record: Record) -> Document:
    """What the tests say, from the record of the answer."""
    tests, length = record["tests"], record["length"]
    of = f"{record['letters']} different tokens" if record["kind"] == "letters" else f"tokens are {record['kind']}"
    data = f"{counted(record['sequences'], 'sequence')} of {counted(length, 'token')}; {of}"
    rows = [("answer", record["answer"]), ("data", data)]
    if record["rows"] > record["sequences"]:
        rows.append(("repeats", _repeats(record)))
    rows += [
        (
            test["name"],
            f"p = {_p_value(test)}. Null hypothesis: {test['null']}. {_test_sentence(test, length, record['kind'])}.",
        )
        for test in tests
    ]
    if record["sequences"] < 4:
        rows.append(("extendible", "not tested: it needs at least four sequences"))
    level, count = f"{record['level']:g}", len(tests)
    shared = f"{level} for all {count} tests together: each rejects at p ≤ {level}/{count}" if count > 1 else level
    reordered = f"{tests[0]['permutations']} permutations, " if tests[0]["permutations"] else ""
    rows.append(("level", f"{shared}; {reordered}seed {record['seed']}"))
    return (Facts(rows),)


def _p_value(test: Record) -> str:
    """A quotient of counts as the decimal it is near; a tail that was computed, rounded up."""
    return chance(test["p_value"], digits=4) if test["permutations"] else at_most(test["p_value"], 4)


def _repeats(record: Record) -> str:
    """Why some rows do not count."""
    most = at_most(record["repeat_chance"], 2)
    return (
        f"{record['rows']} rows repeat each other so that only {record['sequences']} count, each once. Independent "
        f"sequences whose order does not matter repeat so often with probability at most {most}: either rows were "
        "written more than once, or the order matters so much that sequences coincide"
    )


def _test_sentence(test: Record, length: int, kind: str) -> str:
    """What a test saw, in words."""
    if "ceiling" not in test:
        statistic = test["statistic"]
        of = STATISTICS[test["name"], kind == "letters"]
        return f"Statistic: {test['statistic_reason'] if statistic is None else f'{statistic:.4g}'}, {of}"
    return f"{_balance(test, length)}{_birthday(test)}"


def _balance(test: Record, length: int) -> str:
    """What was seen of how tokens divide."""
    if test["ceiling"] == 1:
        return "Half of the sequences, from which two groups of tokens are chosen, hold one token only"
    return (
        f"Half of the sequences served to divide the possible tokens into two groups. Of the other {test['sequences']} "
        f"sequences {test['statistic']:.0f} have {test['least']} to {test['most']} of their {length} tokens in the "
        "first group; whatever the latent variable, a sequence has so many with probability at most "
        f"{at_most(test['ceiling'], places=3)}"
    )


def _birthday(test: Record) -> str:
    """What was seen of how seldom tokens repeat, where that was looked at."""
    seen = test["birthday"]
    if seen is None:
        return ""
    ps = f"p = {at_most(test['balance_p_value'], 4)} and {at_most(seen['p_value'], 4)}; each look has half of the level"
    return (
        f"; in {seen['distinct']} of {test['sequences']} none of {seen['letters']} different tokens occurs twice, and "
        "whatever the latent variable, the mean probability of that is at most "
        f"{at_most(seen['ceiling'], places=3)} ({ps})"
    )
