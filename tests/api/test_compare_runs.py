"""Two stores beside each other: equal runs, unequal ones, and shares of successes that chance does not explain."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

from keyhole.api.compare_runs import compare_runs, holm
from keyhole.sweeps.runs.run import RunSpec, run
from keyhole.sweeps.runs.store import Store
from keyhole.training.task import SparseTask

from helpers.lab_fakes import Coin

TASK = SparseTask("and:2")


def filled(folder, seeds, *, level=10.0, wrong=0, context=16, samples=(30, 40)):
    """A store of runs of a coin; the first `wrong` took a step more."""
    cells = [RunSpec(TASK, Coin(level), context, m, seed) for m in samples for seed in seeds]
    results = [run(cell) for cell in cells]
    results = [replace(one, steps=one.steps + 1) if i < wrong else one for i, one in enumerate(results)]
    with Store(folder) as kept:
        kept.add(zip(cells, results, strict=True))
    return folder


def compared(first, second):
    """The comparison of two folders."""
    return compare_runs(second, store=first)


def test_the_same_runs_are_equal_and_no_evidence(tmp_path):
    """Runs that both stores hold are compared to the bit, and no test is made of them."""
    first, second = filled(tmp_path / "a", range(6)), filled(tmp_path / "b", range(6))
    found = compared(first, second)
    assert [(cell.samples, cell.shared, cell.unequal, cell.p_value) for cell in found.cells] == [
        (30, 6, 0, None),
        (40, 6, 0, None),
    ]
    assert not any(cell.differs for cell in found.cells)


def test_a_run_that_came_out_otherwise_is_seen(tmp_path):
    """One of the shared runs took a step more: its cell differs, and no other."""
    found = compared(filled(tmp_path / "a", range(6)), filled(tmp_path / "b", range(6), wrong=1))
    assert [(cell.unequal, cell.differs) for cell in found.cells] == [(1, True), (0, False)]


def test_other_seeds_are_tested(tmp_path):
    """Runs of other seeds are compared by Fisher's test, those in both left out of it; counts have all."""
    first, second = filled(tmp_path / "a", range(20)), filled(tmp_path / "b", range(10, 40))
    found = compared(first, second)
    with Store(first) as one, Store(second) as other:
        for cell in found.cells:
            ours = [row.success for row in one.rows() if row.samples == cell.samples and row.seed < 10]
            theirs = [row.success for row in other.rows() if row.samples == cell.samples and row.seed >= 20]
            table = [[sum(side), len(side) - sum(side)] for side in (ours, theirs)]
            assert cell.p_value == pytest.approx(fisher_exact(table).pvalue)
            assert (cell.shared, cell.unequal, cell.first[1], cell.second[1]) == (10, 0, 20, 30)
    assert not any(cell.differs for cell in found.cells)


def test_cells_are_all_settings_but_the_seed(tmp_path):
    """A coin of another level is another cell: nothing is compared, and each is counted as alone."""
    found = compared(filled(tmp_path / "a", range(3)), filled(tmp_path / "b", range(3), level=20.0))
    assert (found.cells, found.only_first, found.only_second) == ((), 2, 2)


def test_holm_keeps_its_level():
    """With twenty cells of equal chances some cell is rejected in at most 5 % of draws; the steps are Holm's."""
    rng, cells, runs, draws = np.random.default_rng(0), 20, 40, 2000
    counts = np.arange(runs + 1)
    table = np.array([[fisher_exact([[a, runs - a], [b, runs - b]]).pvalue for b in counts] for a in counts])
    won = rng.binomial(runs, 0.5, (draws, cells, 2))
    alarms = np.mean([any(holm(table[one[:, 0], one[:, 1]].tolist(), 0.05)) for one in won])
    assert alarms <= binom.ppf(0.9999, draws, 0.05) / draws
    assert holm([1e-6, 0.5, None, 0.011], 0.05) == [True, False, False, True]
    assert holm([0.03, 0.03], 0.05) == [False, False]
