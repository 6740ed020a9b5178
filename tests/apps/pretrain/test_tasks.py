"""Tasks of pretraining as runs: their numbers against independent ones, their identity, and the store they share."""

from dataclasses import replace

import numpy as np
import pytest

from keyhole.apps.pretrain.latent_heads import LatentHead, PrototypeHead, SinkHead
from keyhole.apps.pretrain.network_tasks import NetworkModel, NetworkTask
from keyhole.apps.pretrain.tasks import LeastSquares, MaskedLetters, PooledLabels, RiskParts, SinkRecovery, TransferTask
from keyhole.errors import ArgumentError
from keyhole.latent.models import FiniteModel, GaussianLocation, Polya
from keyhole.sweeps.runs import Execution, RunSpec, Store, gather_runs
from keyhole.sweeps.runs.run import run
from keyhole.training.learners import SetSettings

EMISSION, PRIOR = ((0.4, 0.1), (0.3, 0.15), (0.2, 0.3), (0.1, 0.45)), (0.6, 0.4)
THREE = ((0.6, 0.3, 0.1), (0.2, 0.3, 0.1), (0.1, 0.2, 0.2), (0.1, 0.2, 0.6))
EVEN = (1 / 3, 1 / 3, 1 / 3)
HERE = Execution(workers=0)
MASKED = RunSpec(MaskedLetters(EMISSION, PRIOR), LatentHead(2), 4, 300, 1)


def test_a_masked_run():
    """A run is optimised, near rank/(2n), and the same when it is made again; its estimate is the likeliest one."""
    made, again = run(MASKED), run(MASKED)
    assert made.numbers == again.numbers
    assert made.fitted
    assert made.numbers["train_gap"] == pytest.approx(0, abs=1e-8)
    assert made.numbers["excess"] == pytest.approx(made.numbers["likeliest_excess"], abs=1e-6)
    assert 0 < made.numbers["excess"] < 10 * 3.5 / 300
    assert 0 < made.accuracy < 1


def test_a_run_that_is_stopped_early_says_so():
    """One step of training leaves a gap to the least training loss, and the run is not called fitted."""
    stopped = run(replace(MASKED, learner=LatentHead(2, starts=1, steps=1)))
    assert not stopped.fitted
    assert stopped.numbers["train_gap"] > 1e-4


def test_every_setting_names_a_run():
    """Length, size, seed, block, latents and starts each change the identity."""
    others = [
        replace(MASKED, context=5),
        replace(MASKED, samples=301),
        replace(MASKED, seed=2),
        replace(MASKED, task=MaskedLetters(EMISSION, PRIOR, 2)),
        replace(MASKED, learner=LatentHead(3)),
        replace(MASKED, learner=LatentHead(2, starts=1)),
    ]
    assert len({MASKED.identity, *(spec.identity for spec in others)}) == 7


def test_least_squares_runs():
    """The average excess of a run is near its exact expectation."""
    for tied in (True, False):
        made = run(RunSpec(PooledLabels(100), LeastSquares(tied), 4, 100, 0))
        assert made.numbers["excess"] == pytest.approx(made.numbers["expected"], rel=0.25)


@pytest.mark.parametrize(
    "task", [SinkRecovery(letters=True, parameters=(1.0, 2.0, 1.0)), SinkRecovery(letters=False, parameters=(2.0, 0.5))]
)
def test_sink_runs(task):
    """At n = 20,000 the logit is within five standard errors of log α₀, or log σ²/τ²."""
    assert task.truth == pytest.approx(np.log(4) if task.letters else -np.log(4))
    made = run(RunSpec(task, SinkHead(), 3, 20_000, 0))
    assert abs(made.numbers["error"]) < 5 * made.numbers["standard_error"] < 0.5
    assert 0.99 < made.accuracy < 1


@pytest.mark.parametrize(
    ("task", "learner"),
    [
        (TransferTask(THREE, EVEN, ((1.0, 0.0, 0.0),), block=2), LatentHead(3)),
        (TransferTask(THREE, EVEN, ((1.0, 0.0, 0.0),), corruption=0.5), PrototypeHead(3)),
    ],
)
def test_transfer_runs(task, learner):
    """The bound holds, the oracle's head is best, and corruption doubles κ_T at ρ = ½."""
    numbers = run(RunSpec(task, learner, 8, 2000, 0)).numbers
    assert numbers["exact_head"] <= numbers["bound"] * (1 + 1e-9)
    assert numbers["oracle"] < numbers["fitted_head"] < numbers["blind"]
    assert numbers["pretext_error"] < 0.02
    if task.corruption:
        assert numbers["condition"] == pytest.approx(2 * 3.273268, abs=1e-5)


def test_a_constant_downstream_task():
    """It is refused in a sentence."""
    with pytest.raises(ArgumentError, match="constant"):
        run(RunSpec(TransferTask(THREE, EVEN, ((1.0, 1.0, 1.0),)), LatentHead(3), 4, 50, 0))


@pytest.mark.parametrize(
    ("changes", "learner"),
    [({"corruption": 0.5}, LatentHead(3)), ({"block": 2}, PrototypeHead(3)), ({"corruption": 1.0}, PrototypeHead(3))],
)
def test_heads_that_cannot_learn_a_pretext(changes, learner):
    """A corrupted letter is not for tied values, a block not for prototypes, and full corruption for nobody."""
    with pytest.raises(ArgumentError, match="was asked for"):
        run(RunSpec(TransferTask(THREE, EVEN, ((1.0, 0.0, 0.0),), **changes), learner, 4, 50, 0))


@pytest.mark.slow
def test_the_parts_of_a_risk():
    """They add up; the class with the truth has no approximation error, a smaller one has, and early stopping shows."""
    task = RiskParts(EMISSION, PRIOR)
    heads = (LatentHead(2), LatentHead(1), LatentHead(2, starts=1, steps=2))
    whole, poor, early = ([run(RunSpec(task, head, 6, 400, seed)).numbers for seed in range(4)] for head in heads)
    for numbers in (*whole, *poor, *early):
        parts = numbers["approximation"] + numbers["generalization"] + numbers["optimisation"]
        assert parts == pytest.approx(numbers["excess"], abs=1e-12)
    assert whole[0]["approximation"] == 0
    assert poor[0]["approximation"] > 0.01
    lost = [np.mean([numbers["optimisation"] for numbers in each]) for each in (whole, early)]
    assert abs(lost[0]) < 1e-6 < lost[1]


def test_which_models_networks_take():
    """Finite models and a location of one coordinate; others are refused."""
    assert NetworkModel.of(FiniteModel(np.array(EMISSION), np.array(PRIOR))).make().letters == 4
    assert NetworkModel.of(GaussianLocation(np.zeros(1), 2.0, 0.5)).make().noise_variance == 0.5
    with pytest.raises(ArgumentError, match="Polya is neither"):
        NetworkModel.of(Polya(np.array([1.0, 1.0])))


@pytest.mark.slow
@pytest.mark.parametrize("question", ["latent", "masked"])
def test_network_runs(question):
    """A short training of a small network lowers the excess below what knowing nothing loses, and is probed."""
    task = NetworkTask(NetworkModel(EMISSION, PRIOR), (2, 4), (4, 6), question)
    settings = SetSettings(layers=1, heads=2, width=8, hidden=8, batch=64, steps=300, rate=1e-2)
    numbers = run(RunSpec(task, settings, 4, None, 0)).numbers
    assert 0 < numbers["excess@4"] < numbers["gain@4"]
    assert numbers["trained_probe1"] < numbers["trained_ignorant"]


@pytest.mark.slow
def test_a_store_is_gone_on_with(tmp_path):
    """Runs are found where they were made, whoever asks, and the table is the same as one made at once."""
    specs = [replace(MASKED, seed=seed) for seed in range(3)]
    with Store(tmp_path / "part") as store:
        gather_runs(specs[:2], store, HERE)
        together = gather_runs(specs, store, HERE)
    with Store(tmp_path / "whole") as store:
        at_once = gather_runs(specs, store, HERE)
    assert [one.numbers for one in together] == [one.numbers for one in at_once]
