"""Everyday questions about learners: which of two is better, with which settings, and what to try next."""

import pytest

import keyhole
from keyhole.cli.learn import what_to_try
from keyhole.errors import ArgumentError
from keyhole.show.sample_complexity import sample_complexity_document
from keyhole.show.text import to_text
from keyhole.training.learners import TransformerSettings, change_settings


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Elimination beside the first consistent conjunction, on a grid."""
    store = tmp_path_factory.mktemp("store")
    sizes = {"samples": [10, 20, 40, 80], "seeds": 12, "workers": 1, "store": store}
    return keyhole.learn("and:3", [20], learner="elimination", beside=["consistent:and"], **sizes)


@pytest.mark.slow
def test_two_learners_are_compared_by_the_ratio_of_their_samples(compared):
    """The ratio is that of the two m*; its interval reaches from low/high' to high/low', and has the sure 80 %."""
    mine, theirs = compared.thresholds[0], compared.beside[0].thresholds[0]
    (row,) = compared.record()["beside"][0]["ratios"]
    assert (row["context"], row["ratio"]) == (20, mine.m / theirs.m)
    assert (row["low"], row["high"]) == (mine.low / theirs.high, mine.high / theirs.low)
    shown = " ".join(str(compared).split())
    assert "m* of elimination over m* of consistent:and" in shown
    assert "at least 80 % interval" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(1.1, 2.0, "b needs fewer"), (0.4, 0.9, "a needs fewer"), (0.9, 1.1, "undecided"), (1.1, None, "b needs fewer"),
     (None, 2.0, "undecided")],
)  # fmt: skip
def test_better_is_said_only_where_the_interval_leaves_out_one(compared, low, high, words):
    """An interval that holds 1, or lacks the end that would show it does not, decides nothing."""
    record = compared.record()
    ratios = [{"context": 20, "ratio": 1.0, "low": low, "high": high}]
    shown = {**record, "by": "a", "beside": [{**record["beside"][0], "by": "b", "ratios": ratios}]}
    assert words in " ".join(to_text(sample_complexity_document(shown)).split())


def test_floors_are_told_apart(compared):
    """The floor of a sweep allows for the runs that may fail; that is said."""
    assert (
        "floor: with fewer samples no learner can succeed in 50 % of its runs; the intervals do not use it"
        in " ".join(str(compared).split())
    )


def test_settings_change_by_name_and_are_checked():
    """Values may be text; names that are none, and values of another kind, are refused with what there is."""
    made = change_settings(
        TransformerSettings(), {"width": "32", "heads": 2, "rate": "1e-2", "residual": "false", "norm": "pre"}
    )
    assert (made.width, made.heads, made.rate, made.residual, made.norm) == (32, 2, 1e-2, False, "pre")
    assert change_settings(TransformerSettings(weight_scale=0.1), {"weight_scale": "none"}).weight_scale is None
    for changes, sentence in [
        ({"depth": 2}, "no setting 'depth'; there are heads, width"),
        ({"width": "wide"}, "it is a whole number"),
        ({"width": "32.5"}, "it is a whole number"),
        ({"rate": "fast"}, "it is a number"),
        ({"rate": "nan"}, "finite numbers"),
        ({"residual": "maybe"}, "it is true or false"),
        ({"heads": 3}, "the heads divide the width"),
    ]:
        with pytest.raises(ArgumentError, match=sentence):
            change_settings(TransformerSettings(), changes)


def record_of(**changes):
    """The record of a sweep of the transformer without a success."""
    cells = [{"context": 30, "samples": None, "trials": 5, "successes": 0, "steps": 20000.0}]
    learner = {"name": "transformer", "steps": 20000, "batch": 256}
    kind = {"schedule": {"kind": "online"}, "learner": learner, "cells": cells}
    usual = {"what": "parity:4", "by": "transformer (parity)", "time_limit": None, "full_steps": None, "beside": []}
    return {**usual, **kind, **changes}


def test_where_nothing_succeeds_there_is_something_to_try(compared):
    """Fresh samples for parities, more steps online, a baseline otherwise; nothing where a run succeeded."""
    assert "--set steps=80000" in what_to_try(record_of())[0]
    few = what_to_try(record_of(schedule={"kind": "adaptive"}, by="transformer (default)"))
    assert few[0].startswith("--online --preset parity")
    assert "elimination" in what_to_try(record_of(what="and:9", schedule={"kind": "grid"}))[0]
    assert what_to_try(compared.record()) == []
    short = record_of(time_limit=180.0, full_steps=80_000)
    assert "--time-limit 720 tries four times as long, --time-limit 0 all 80,000 steps" in what_to_try(short)[0]


def test_what_was_tried_online_is_said_in_steps_and_samples(compared):
    """Steps times the batch are the samples a run saw; a run that succeeded counts its own."""
    online = {**compared.record(), **record_of(), "beside": [], "thresholds": []}
    shown = " ".join(to_text(sample_complexity_document(online)).split())
    assert "each run had up to 20,000 steps, 5,120,000 fresh samples" in shown
    assert "none of 5 runs succeeded, on fresh samples" in shown
    tried = [{"context": 30, "steps": 1250 * 2**k, "trials": 5, "successes": 0, "seconds": 9.0} for k in range(2)]
    limited = {**online, "attempts": tried, "time_limit": 180.0, "full_steps": 80_000}
    shown = " ".join(to_text(sample_complexity_document(limited)).split())
    assert "tried within 180 s, twice the steps each time until half of the runs succeed" in shown
    assert "30 1,250 320,000 5 0 9 30 2,500 640,000 5 0 9" in shown
    won = [{**online["cells"][0], "successes": 2, "steps": 1000.0}]
    assert "1,000 256,000" in " ".join(to_text(sample_complexity_document({**online, "cells": won})).split())
