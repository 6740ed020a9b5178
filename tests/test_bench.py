"""What is timed side by side computes the same."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import fisher_exact

import keyhole
from keyhole.sweeps.plans import Plan, write_plan
from keyhole.sweeps.runs import Store
from keyhole.sweeps.thresholds import Design, SweepPlan
from keyhole.training.learners import learner_named
from keyhole.training.task import SparseTask

BENCH = Path(__file__).parent.parent / "bench"
PEERS = """
import runpy, sys
bench = runpy.run_path(sys.argv[1])
ours = bench["Ours"](10, 8, 2)
print(*(bench["check_equal"](ours, peer(ours)) for peer in bench["PEERS"].values()))
"""


@pytest.mark.extra("torch")
def test_peers_have_our_losses():
    """Every PyTorch peer of the training benchmark has the loss of ours over three steps of Adam, to 1e-4."""
    run = subprocess.run(
        [sys.executable, "-c", PEERS, str(BENCH / "lab.py")], capture_output=True, text=True, check=True
    )
    apart = [float(word) for word in run.stdout.split()]
    assert len(apart) == 3
    assert max(apart) < 1e-4


VERDICTS = """
import runpy, sys
bench = runpy.run_path(sys.argv[1])
cells = {(T, n, 4): (ratio, share) for T, n, ratio, share in
    [(50, 64, 40, 0), (200, 64, 119, 0), (800, 64, 400, 0), (200, 512, 0, 0.3), (800, 512, 0, 0.29)]}
for exponent in (1.15, 1.16):
    print(*bench["verdicts"](cells, exponent), sep="\\n")
"""


@pytest.mark.extra("torch")
def test_targets_are_said_to_be_met_or_not():
    """A target reached exactly is met, one missed by a little is not."""
    run = subprocess.run(
        [sys.executable, "-c", VERDICTS, str(BENCH / "lab.py")], capture_output=True, text=True, check=True
    )
    ends = [line.rpartition(": ")[2] for line in run.stdout.splitlines()]
    assert ends[:6] == ["met", "not met", "met", "met", "not met", "met"]
    assert ends[6:] == [*ends[:5], "not met"]


@pytest.mark.extra("torch")
def test_the_replica_of_the_protocol_is_the_preset():
    """From the same weights, without dropout, the plain PyTorch replica has our losses over 30 steps, to 1e-4."""
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['losses_apart'](12, 20, 30))"
    run = subprocess.run(
        [sys.executable, "-c", code, str(BENCH / "protocol.py")], capture_output=True, text=True, check=True
    )
    assert float(run.stdout) < 1e-4


TABLE = """
import runpy, sys
bench = runpy.run_path(sys.argv[1])
T, m = bench["CELLS"][0]
runs = {f"{who} T={T} m={m} seed={s}": {"accuracy": 0.99 if s < wins else 0.5, "theirs": 0.991}
    for who, wins in (("replica", 3), ("preset", 18)) for s in range(20)}
print(*bench["table"](runs, 20), sep="\\n")
print(bench["found_difference"](0.5, 20, 20))
"""


@pytest.mark.extra("torch")
def test_the_table_of_the_protocol_tells_rates_apart():
    """3 of 20 beside 18 of 20 has Fisher's p below 0.001; 20 validation sets passed, by the reproduction's own rule."""
    run = subprocess.run(
        [sys.executable, "-c", TABLE, str(BENCH / "protocol.py")], capture_output=True, text=True, check=True
    )
    line = run.stdout.splitlines()[1]
    assert "3 of 20 (0.03–0.38)" in line
    assert "18 of 20 (0.68–0.99)" in line
    assert "0.000" in line.split()
    assert line.split()[-1] == "20"


@pytest.mark.extra("torch")
def test_the_power_of_the_protocol_is_stated():
    """Of twenty runs each, rates of .5 and .92 are told apart four times in five, as drawn runs say too."""
    run = subprocess.run(
        [sys.executable, "-c", TABLE, str(BENCH / "protocol.py")], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines()[-1] == "−.42, +.42"
    wins = np.random.default_rng(0).binomial(20, [0.5, 0.92], (1000, 2))
    found = np.mean([fisher_exact([[a, 20 - a], [b, 20 - b]]).pvalue < 0.05 for a, b in wins])
    assert abs(found - 0.81) < 0.04


def test_the_table_of_laws_counts_right_and_wrong():
    """A row of the simulation of growth laws tells the share named rightly, wrongly, left open and misfitting."""
    bench = runpy.run_path(str(BENCH / "laws.py"))
    curve, name = bench["REQUIRED"]["a + b T"]
    rates = bench["naming_rates"](curve(bench["LONG"]), bench["LONG"], 0.05, draws=50)
    row = bench["row"]("a line", rates, name)
    right, wrong, undecided, misfit = (float(share.rstrip("%")) for share in row.split()[2:6])
    assert right + wrong + undecided + misfit == pytest.approx(100, abs=0.3)
    assert right >= 80
    mistaken = bench["row"]("a line", rates, "log")
    assert f"linear {right:.1f}%" in mistaken


@pytest.mark.slow
def test_the_outside_fit_reads_finished_contexts_only(tmp_path, capsys):
    """Of three contexts one lacks its last row and one has none: only the first is fitted, and the others are named."""
    bench = runpy.run_path(str(BENCH / "registered.py"))
    design = Design(budget=24, widths="apart")
    plan = Plan({"and": SweepPlan(SparseTask("and:2"), learner_named("elimination"), (6, 12, 24), design)})
    (tmp_path / "plan.toml").write_text(write_plan(plan), "utf8")
    made = keyhole.run_plan(plan, data=tmp_path, execution=keyhole.Execution(tmp_path / "store", workers=0))
    path = tmp_path / "and.csv"
    header, *rows = path.read_text("utf8").splitlines(keepends=True)
    at = {T: [row for row in rows if row.startswith(f"{T},")] for T in (6, 12)}
    path.write_text("".join([header, *at[6], *at[12][:-1]]), "utf8")
    bench["print_outside"].__globals__["outside"] = lambda: ("another", lambda won, sizes: (sum(sizes), len(won), 0.0))
    bench["print_outside"](tmp_path)
    printed = capsys.readouterr().out
    ours = made.answers["and"].thresholds[0]
    (line,) = [line for line in printed.splitlines() if line.split()[:1] == ["6"]]
    assert line.split()[1:3] == [str(len(at[6])), f"{ours.m:.0f}"]
    assert str(sum(int(row.split(",")[1]) for row in at[6])) in line
    assert f"under way, not read: T = 12 ({len(at[12]) - 1} rows)" in printed
    assert "not begun: T = 24" in printed
    assert not [line for line in printed.splitlines() if line.split()[:1] in (["12"], ["24"])]


@pytest.mark.slow
def test_runs_made_again_are_counted_by_how_they_ended(tmp_path, capsys, monkeypatch):
    """Of runs in a store, made again in another, those that end as they did; one whose stored outcome was changed."""
    execution = keyhole.Execution(tmp_path, workers=0)
    keyhole.learn("and:2", [6, 12], "elimination", schedule=keyhole.Schedule([8], seeds=3), execution=execution)
    with Store(tmp_path) as store, store.connection:
        store.connection.execute("UPDATE runs SET success = 1 - success WHERE context = 6 AND seed = 1")
        store.connection.execute("UPDATE runs SET accuracy = 0.123 WHERE context = 12 AND seed = 0")
        other = "UPDATE runs SET configuration = replace(configuration, '\"numerics\": 1', '\"numerics\": 0')"
        store.connection.execute(f"{other} WHERE context = 6 AND seed = 2")
    monkeypatch.setattr(sys, "argv", ["again.py", str(tmp_path), "--workers", "1"])
    runpy.run_path(str(BENCH / "again.py"), run_name="__main__")
    left, six, twelve, total = capsys.readouterr().out.splitlines()
    assert left.startswith("left out: 1 run")
    counts = [[int(number) for number in re.findall(r"\d+", line)] for line in (six, twelve)]
    assert counts == [[6, 2, 1, 2], [12, 3, 3, 2]]  # T, runs, those that end as they did, those with equal readings
    took = re.fullmatch(r"5 runs again.*: ([0-9.]+) CPU seconds", total)
    assert float(took[1]) > 0.1  # a process was started
