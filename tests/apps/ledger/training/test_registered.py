"""The registered experiment: what its rows say, and that a finding knows how many there are."""

from dataclasses import replace

import pytest

import keyhole
from keyhole.apps.ledger import finding
from keyhole.apps.ledger.finding import shipped_folder
from keyhole.apps.ledger.training import registered
from keyhole.apps.ledger.training.registered import (
    FIRST,
    RELEASED,
    SECOND,
    SWEEP,
    THIRD,
    conclude,
    measure,
)
from keyhole.sweeps.plans import read_plan, rows_path
from keyhole.sweeps.thresholds import Design
from keyhole.training.learners import learner_named


@pytest.mark.parametrize("name", [FIRST, SECOND, THIRD])
def test_the_rows_are_those_that_the_claim_knows(name):
    """`RELEASED` is the number of rows in the repository: who adds rows raises it, and kept findings are made anew."""
    rows = [len(path.read_text("utf8").splitlines()) - 1 for path in shipped_folder(name).glob("*.csv")]
    assert sum(rows) == RELEASED[name]


@pytest.mark.parametrize(
    ("name", "planned"),
    [(FIRST, 41), (SECOND, 18), (THIRD, 41)],
)
def test_without_rows_nothing_is_decided(tmp_path, monkeypatch, name, planned):
    """Without a finished context the claim says how far it is; without the folder it is not measured, and says so."""
    (tmp_path / "plan.toml").write_text((shipped_folder(name) / "plan.toml").read_text("utf8"), "utf8")
    monkeypatch.setattr(registered, "shipped_folder", {name: tmp_path}.__getitem__)  # asked for no other plan
    outcome = measure(name, "quick", 0)
    assert outcome.verdict == "not finished"
    given_up = f"The plan was given up with 0 of {planned} contexts finished, so nothing is said of the claim. "
    under_way = f"The runs are not finished: 0 of {planned} contexts are. So nothing is said of the claim yet. "
    begins = given_up if name == FIRST else under_way
    assert outcome.measurement.startswith(f"{begins}{SWEEP}: no context finished;")
    assert len(outcome.caveats) == 1
    monkeypatch.setattr(registered, "shipped_folder", lambda _: None)
    absent = measure(name, "quick", 0)
    assert absent.verdict == "not measured here"


def test_the_first_plan_says_why_it_was_given_up(tmp_path, monkeypatch):
    """The caveat counts runs that fitted, near m* and above it; written down here by hand, of made-up rows."""
    plan = shipped_folder(FIRST) / "plan.toml"
    (tmp_path / "plan.toml").write_text(plan.read_text("utf8"), "utf8")
    path = rows_path(tmp_path, SWEEP)
    header, *lines = rows_path(shipped_folder(FIRST), SWEEP).read_text("utf8").splitlines(keepends=True)
    few = [line for line in lines if line.startswith(("800,16,", "800,2048,", "12800,64,", "12800,512,"))]
    assert [line.split(",")[4] for line in few] == 3 * ["1"] + 6 * ["0"] + 3 * ["1"] + 3 * ["0"]
    path.write_text("".join([header, *few]), "utf8")
    monkeypatch.setattr(registered, "shipped_folder", lambda _: tmp_path)
    said = measure(FIRST, "quick", 0).caveats[-1]
    assert all(f"{count} " in said for count in ("3 of 3 runs", "0 of 6", "3 of 3 fit", "0 of 3 fit"))


def finished(tmp_path, contexts):
    """The judged sweep carried out by elimination at some contexts, with few runs."""
    plan = read_plan(shipped_folder(FIRST) / "plan.toml")
    design = Design(budget=24)
    quick = replace(plan.sweeps[SWEEP], learner=learner_named("elimination"), contexts=contexts, schedule=design)
    return keyhole.run_plan(replace(plan, sweeps={SWEEP: quick}), execution=keyhole.Execution(tmp_path, workers=0))


@pytest.mark.slow
def test_a_sweep_that_is_finished_is_judged_by_its_verdict(tmp_path):
    """Where a law is named the claim holds or fails by its name; where none is, it stays undecided.

    A law that is named before every context is finished decides nothing: the claim is not finished.
    """
    result = finished(tmp_path, (6, 12, 24, 48))
    assert conclude(result).verdict == "undecided at this scale"
    assert "to T = 48: undecided" in conclude(result).measurement
    nearest, *_ = result.predictions[SWEEP]
    measured = result.answers[SWEEP].thresholds[-1].m
    assert f"m* = {measured:.0f} was measured" in conclude(result).measurement
    foretold = f"the nearest first: {nearest.formula} {nearest.predicted.value:.0f}, "
    assert foretold in conclude(result).measurement
    answer = result.answers[SWEEP]
    assert answer.verdict.warnings
    assert conclude(result).caveats[1:] == answer.verdict.warnings
    misfit = replace(answer, verdict=replace(answer.verdict, status="misfit"))
    assert conclude(replace(result, answers={SWEEP: misfit})).verdict == "fails here"
    assert "Of 75% of runs it is" in conclude(result).measurement
    for name, verdict in (("log", "holds"), ("linear", "fails here")):
        laws = sorted(answer.verdict.laws, key=lambda law: law.name != name)
        named = replace(answer, verdict=replace(answer.verdict, laws=tuple(laws), status="named"))
        assert conclude(replace(result, answers={SWEEP: named})).verdict == verdict
        longer = replace(result.planned.sweeps[SWEEP], contexts=(6, 12, 24, 48, 96))
        unfinished = replace(result, planned=replace(result.planned, sweeps={SWEEP: longer}), answers={SWEEP: named})
        assert conclude(unfinished).verdict == "not finished"


@pytest.mark.parametrize("name", ["data", "keyhole"])
def test_the_folder_is_found_in_a_repository_and_in_a_package(tmp_path, monkeypatch, name):
    """The rows of the repository come first; an installed package has a copy of its own."""
    package = tmp_path / "src" / "keyhole"
    folder = tmp_path / "data" / SECOND if name == "data" else package / SECOND
    folder.mkdir(parents=True)
    (folder / "plan.toml").write_text("")
    monkeypatch.setattr(finding, "PACKAGE", package)
    assert shipped_folder(SECOND) == folder
    assert shipped_folder(FIRST) is None
