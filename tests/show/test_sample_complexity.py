"""How samples needed are shown: columns that say what they hold, and one format of numbers in a line."""

import pytest

from keyhole.show.sample_complexity import sample_complexity_document, standings_document
from keyhole.show.text import to_text

THRESHOLD = {
    "context": 25, "m": 47.953, "low": 41.668, "high": 55.324, "censored": "no", "trials": 60, "unfitted": 0.07,
    "smallest": 10, "largest": 160, "floor": 10.24, "more_runs": 0,
}  # fmt: skip
RECORD = {
    "what": "and:3", "by": "coin", "schedule": {"kind": "adaptive", "precision": 0.2}, "quantile": 0.5,
    "confidence": 0.9, "thresholds": [THRESHOLD], "laws": [], "remarks": [], "cells": [], "certified": [],
    "beside": [], "runs": 60, "made": 60, "seconds": 1.5, "trivial_accuracy": 0.875, "trivial_remedy": None,
    "other_versions": {},
    "limits": [],
    "coverage": None,
}  # fmt: skip


def lines(**changes):
    """The text of a record with some fields changed."""
    return to_text(sample_complexity_document({**RECORD, **changes})).splitlines()


def test_runs_and_not_fitted_are_two_columns():
    """Both headings stand over their own numbers, and a line below says what "not fitted" means."""
    found = lines()
    heading, row, note = found[3:6]
    assert heading.split() == ["T", "m*", "90", "%", "interval", "floor", "runs", "not", "fitted"]
    assert heading.index("runs") + len("runs") == row.index(" 60") + len(" 60")
    assert heading.index("not fitted") + len("not fitted") == row.index("7 %") + len("7 %") == len(row)
    assert note == "not fitted: share of runs that failed and did not even fit their training set"


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, ["47.95", "41.67 to 55.32"]),
        ({"m": 113.46, "low": 93.04, "high": 134.97}, ["113.5", "93.0 to 135.0"]),
        ({"m": 9.3889, "low": 5.9042, "high": 12.92}, ["9.389", "5.904 to 12.920"]),
        ({"m": None, "low": 5.413, "high": None, "censored": "above", "largest": 40}, ["> 40", "5.413 to ∞"]),
        (
            {"m": None, "low": 65536.0, "high": None, "censored": "above", "largest": 65536},
            ["> 65536", "65536 to ∞"],
        ),
        ({"m": None, "low": None, "high": 900.0, "censored": "below", "smallest": 900}, ["< 900", "up to 900"]),
        ({"m": 70123.4, "low": 65536.2, "high": 80000.9}, ["70123", "65536 to 80001"]),
    ],
)
def test_one_format_of_numbers_in_a_line(changes, shown):
    """m* has four digits and its interval as many decimals; nothing is written with a power of ten."""
    row = lines(thresholds=[{**THRESHOLD, **changes}])[4]
    assert "e+" not in row
    assert all(text in row for text in shown), row
    assert row.split("  ")[-1].strip() == "7 %"


def test_more_runs_and_other_versions_are_said():
    """What the precision still takes, and runs of other versions, each in a line that names no option."""
    found = lines(thresholds=[{**THRESHOLD, "more_runs": 1200}], other_versions={"jax 0.0.1": 6})
    said = " ".join(" ".join(found).split())
    assert "precision not reached; raise the budget: at least about 1,200 more runs at T = 25" in said
    assert "precision: the interval, made wider where runs end before the budget, has to lie within ±20 %" in said
    assert "warning: 6 of these runs were made with jax 0.0.1, not the present" in found
    assert not any("--" in line for line in found)


def test_certificates_are_counted():
    """A row per context and size under headings of its own, explained above."""
    row = {
        "context": 8, "samples": None, "settled": 3, "clean": 2, "proved": 1, "counterexamples": 0, "identified": 1,
        "undecided": 2, "error_bound": None, "seconds": 1.25,
    }  # fmt: skip
    found = lines(certified=[row], certificates_delta="each bound fails", certificates_wrong="")
    assert found[-3] == "each bound fails"
    assert found[-4].split() == ["8", "fresh", "3", "2", "1", "0", "2", "1", "–", "1.2"]
    assert found[-5].split()[-2:] == ["bound", "seconds"]
    assert "clean: no error on 100,000 fresh inputs" in " ".join(found)


def test_standings_while_a_sweep_runs():
    """m* so far with its interval, and how far the round is."""
    standing = {"context": 25, "runs": 30, "unfitted": 2, "round_done": 6, "round_size": 12, "threshold": THRESHOLD}
    text = to_text(standings_document({"contexts": [standing, {**standing, "threshold": None, "round_size": 0}]}))
    first, second = text.splitlines()[1:]
    assert "47.95 (41.67 to 55.32)" in first
    assert first.endswith("████████░░░░░░░░ 6 of 12")
    assert second.split() == ["25", "–", "30", "2", "done"]


def test_one_run_is_told_in_the_singular():
    """A number of one takes no plural, and the only run is not called one of several."""
    cell = {"context": 25, "samples": 40, "trials": 1, "successes": 0, "unfitted": 0}
    found = lines(runs=1, made=1, cells=[cell])
    assert "the one run did not succeed, with up to 40 samples" in found
    assert found[-1] == "1 run (1 new, 0 reused) in 1.5 s"
    assert lines()[-1].startswith("60 runs ")
