"""Rows of finished runs: out of one store and into another, where nothing is run twice."""

from dataclasses import replace
from math import exp

import pytest

import keyhole
from keyhole.api import plans
from keyhole.errors import ArgumentError, DataError
from keyhole.sweeps.laws import LAWS, naming_rates
from keyhole.sweeps.plans import Plan, export_rows, import_rows, predict_longest, read_plan, write_plan
from keyhole.sweeps.plans.rows import rows_path
from keyhole.sweeps.runs import Execution, Store
from keyhole.sweeps.thresholds import Design, Grid, SweepPlan, Threshold, replay
from keyhole.training.learners import learner_named
from keyhole.training.task import SparseTask

EXACT = learner_named("elimination")
SWEEP = SweepPlan(SparseTask("and:2"), EXACT, (6, 12), Design(budget=24), first_seed=50)
APART = Design(budget=24, widths="apart")
PLAN = Plan({"and by elimination": SWEEP}, title="two conjunctions")
PATH = "and-by-elimination.csv"


def carried_out(folder, plan=PLAN, **options):
    """The plan carried out in this process, its rows beside its store."""
    return keyhole.run_plan(plan, data=folder / "rows", execution=Execution(folder / "store", workers=0), **options)


@pytest.mark.slow
def test_rows_that_are_imported_are_not_made_again(tmp_path):
    """Rows of one store, in another, give the same answer without one run; their makers stand beside them."""
    first = carried_out(tmp_path / "one")
    assert first.answers["and by elimination"].made == 48
    assert not any(first.unfinished.values())
    rows = (tmp_path / "one" / "rows" / PATH).read_text()
    (tmp_path / "two" / "rows").mkdir(parents=True)
    (tmp_path / "two" / "rows" / PATH).write_text(rows)
    second = carried_out(tmp_path / "two")
    assert second.answers["and by elimination"].made == 0
    assert second.answers["and by elimination"].thresholds == first.answers["and by elimination"].thresholds
    assert (tmp_path / "two" / "rows" / PATH).read_text() == rows
    with Store(tmp_path / "one" / "store") as one, Store(tmp_path / "two" / "store") as two:
        name = one.rows()[0].identity
        assert one.run(name).versions["numpy"] == two.run(name).versions["numpy"]
        assert one.run(name).row.created == two.run(name).row.created


def test_without_making_runs_only_finished_contexts_are_judged(tmp_path):
    """Of rows that lack a run of the longer context only the shorter one is answered, and the other is listed.

    Where contexts share what they know none is answered: what is known of the shorter one may still change.
    """
    plan = replace(PLAN, sweeps={"and by elimination": replace(SWEEP, schedule=APART)})
    for each in (PLAN, plan):
        carried_out(tmp_path, each)
    path = tmp_path / "rows" / PATH
    *kept, _ = path.read_text().splitlines(keepends=True)
    path.write_text("".join(kept))
    shared = keyhole.run_plan(PLAN, data=tmp_path / "rows", make=False, execution=Execution(tmp_path / "other"))
    assert shared.unfinished == {"and by elimination": [6, 12]}
    found = keyhole.run_plan(plan, data=tmp_path / "rows", make=False, execution=Execution(tmp_path / "other"))
    assert found.unfinished == {"and by elimination": [12]}
    assert [one.context for one in found.answers["and by elimination"].thresholds] == [6]
    assert "1 of 2 contexts finished" in found.summary
    assert found.record()["hash"] == plan.hash != PLAN.hash


def test_contexts_apart_are_run_from_the_shortest_and_shared_ones_together(monkeypatch, tmp_path):
    """With a folder of rows: context by context over all sweeps, but for a sweep whose contexts share widths."""
    apart = replace(SWEEP, schedule=APART)
    plan = Plan({"one": apart, "two": SWEEP, "three": replace(apart, contexts=(8, 12, 20))})
    parts = []

    def sweep(part, store, *_):
        parts.append(part.contexts)
        return replay(part, store)

    monkeypatch.setattr(plans, "sweep", sweep)
    keyhole.run_plan(plan, data=tmp_path / "rows", execution=Execution(tmp_path / "store"))
    assert parts == [(6,), (6, 12), (8,), (12,), (12,), (20,)]


def test_nothing_found_is_an_answer(tmp_path):
    """Without a single row the plan says what is to be run."""
    found = keyhole.run_plan(PLAN, make=False, execution=Execution(tmp_path))
    assert found.unfinished == {"and by elimination": [6, 12]}
    assert "still to be run: T = 6, 12" in str(found)


def test_a_plan_and_a_question_make_the_same_runs(tmp_path):
    """The plan of an answer, through its file and on its own, finds every run of the answer and makes none."""
    here = Execution(tmp_path, workers=0)
    asked = keyhole.learn("and:2", [6, 12], "elimination", schedule=keyhole.Schedule(budget=24), execution=here)
    (tmp_path / "plan.toml").write_text(write_plan(asked.plan), "utf8")
    again = keyhole.run_plan(tmp_path / "plan.toml", execution=here)
    assert again.answers["elimination"].made == 0
    assert again.answers["elimination"].thresholds == asked.thresholds
    assert asked.record()["plan_hash"] == read_plan(tmp_path / "plan.toml").hash == again.hash


def test_rows_already_exported_are_kept(tmp_path):
    """Rows that a store does not have stay in their table."""
    carried_out(tmp_path)
    before = (tmp_path / "rows" / PATH).read_text()
    with Store(tmp_path / "empty") as empty:
        assert export_rows(PLAN, empty, tmp_path / "rows") == {"and by elimination": 48}
    assert (tmp_path / "rows" / PATH).read_text() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace(",50,", ",51,", 1), "of another plan"),
        (lambda text: text.replace("run,versions", "runs,versions"), "other columns"),
        (lambda _: "my notes\n", "other columns"),
        (lambda text: text.replace(",1,1,", ",0,1,", 1), "success that its accuracy denies"),
        (lambda text: text.replace(",50,", ",fifty,", 1), "is not a run"),
        (lambda text: text[: len(text) // 2], "other columns|is not a run|of another plan"),
    ],
)
def test_rows_that_were_changed_are_refused(tmp_path, change, message):
    """A row of another seed, other columns, a success against its accuracy, or half a file: one sentence."""
    carried_out(tmp_path)
    path = rows_path(tmp_path / "rows", "and by elimination")
    path.write_text(change(path.read_text()))
    with Store(tmp_path / "other") as store, pytest.raises(DataError, match=message):
        import_rows(PLAN, store, tmp_path / "rows")


def test_a_file_of_another_kind_is_not_written_over(tmp_path):
    """One line of somebody's notes where the rows would go: refused before a run is made, and kept as it is."""
    (tmp_path / "rows").mkdir()
    path = rows_path(tmp_path / "rows", "and by elimination")
    path.write_text("my notes\n")
    with pytest.raises(DataError, match="other columns"):
        carried_out(tmp_path)
    with Store(tmp_path / "store") as store:
        assert not store.rows()
        with pytest.raises(DataError, match="other columns"):
            export_rows(PLAN, store, tmp_path / "rows")
    assert path.read_text() == "my notes\n"


def test_rows_of_a_folder_that_is_not_there_are_refused(tmp_path):
    """Where runs are made the folder is made, too; where rows are only read it has to be there."""
    with pytest.raises(ArgumentError, match=r"The folder '.*nowhere' does not exist"):
        keyhole.run_plan(PLAN, data=tmp_path / "nowhere", make=False, execution=Execution(tmp_path))
    assert not (tmp_path / "nowhere").exists()


def test_rows_of_another_plan_are_refused(tmp_path):
    """The same table under another task or learner is refused."""
    carried_out(tmp_path)
    other = replace(PLAN, sweeps={"and by elimination": replace(SWEEP, task=SparseTask("and:3"))})
    with Store(tmp_path / "other") as store, pytest.raises(DataError, match="of another plan"):
        import_rows(other, store, tmp_path / "rows")


def test_a_replay_needs_every_run_of_a_context(tmp_path):
    """A grid of which one run is missing is not finished; with it, it is."""
    grid = replace(SWEEP, schedule=Grid((4, 8), 2), contexts=(6,))
    plan = Plan({"grid": grid})
    keyhole.run_plan(plan, execution=Execution(tmp_path, workers=0))
    with Store(tmp_path) as store:
        assert len(replay(grid, store).rows) == 4
        store.connection.execute("DELETE FROM runs WHERE identity = ?", (store.rows()[0].identity,))
        assert replay(grid, store).rows == ()


def points(law, contexts, error=0.05):
    """Thresholds on a curve, with intervals of this error on the log scale."""
    reach = exp(1.645 * error)
    values = [law(T) for T in contexts]
    return [
        Threshold(T, 0.5, m, m / reach, m * reach, "no", 1.0, 0.3, 60, 0.0, 1, 1000, None)
        for T, m in zip(contexts, values, strict=True)
    ]


def test_the_law_that_made_the_points_predicts_the_longest():
    """Points on a + b ln T: that law predicts the longest context exactly, and the linear law is far off."""
    contexts = [25 * 2**i for i in range(8)]
    found = predict_longest(points(lambda T: 10 + 20 * len(bin(T)), contexts), LAWS)
    by_law = {one.law: one for one in found}
    assert abs(by_law["log"].off) < 1
    assert by_law["linear"].off < -3
    assert all(one.context == contexts[-1] for one in found)
    assert [abs(one.off) for one in found] == sorted(abs(one.off) for one in found)
    log = by_law["log"].predicted
    assert log.low < log.value < log.high
    assert predict_longest(points(lambda T: T, contexts[:3]), LAWS) == ()


def test_the_power_that_the_registered_plan_states():
    """The design names log T and T^0.3 about as often as its notes say, and T^0.3 never as log T."""
    contexts = [25.0 * 2**i for i in range(10)]
    grown = [45 * (T / 25) ** 0.3 for T in contexts]
    rates = naming_rates(grown, contexts, 0.0689, draws=400, seed=11, smooth=False)
    assert abs(rates["power"] - 0.72) < 5 * (0.72 * 0.28 / 400) ** 0.5
    assert rates["log"] < 0.01
