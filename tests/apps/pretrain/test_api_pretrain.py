"""What masked pretraining learns and is worth, asked from Python."""

import json

import numpy as np
import pytest

import keyhole
from keyhole.apps.pretrain.pretrain import Design, pretrain
from keyhole.apps.pretrain.trained_encoder import train_encoder
from keyhole.errors import ArgumentError
from keyhole.latent.models import FiniteModel, GaussianLocation, find_model
from keyhole.sweeps.runs import Execution

NOTHING = Design(repeats=0)
THREE = FiniteModel(np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.1], [0.1, 0.2, 0.2], [0.1, 0.2, 0.6]]), np.full(3, 1 / 3))


def test_condition_numbers_of_masks():
    """They are the exact ones, for all latents, for one, and for rows of numbers."""
    every = pretrain(THREE, [8], masks=[1, 2], design=NOTHING)
    assert [one.mask for one in every.conditions] == [1, 2]
    assert every.conditions[0].least == pytest.approx(5.959415, abs=1e-6)
    assert [one.spectral.value for one in every.conditions] == pytest.approx([5.045119, 3.273019], abs=1e-6)
    one, rows = (pretrain(THREE, [8], downstream=task, design=NOTHING) for task in ("latent:0", [[1.0, 0.0, 0.0]]))
    assert one.conditions[0].downstream == rows.conditions[0].downstream == pytest.approx(3.273268, abs=1e-6)


@pytest.mark.slow
def test_trained_heads_and_the_store(tmp_path):
    """Excess and bounds are there, n × excess is near rank/2, and a second asking makes no run and is the same."""
    options = {"masks": [1, 2], "design": Design(1000, repeats=4), "execution": Execution(tmp_path, 0)}
    first = pretrain(THREE, [6], **options)
    runs = keyhole.runs(store=tmp_path)
    assert len(runs.runs) == 16
    assert {row.learner for row in runs.runs} == {"latent-head"}
    again = pretrain(THREE, [6], **options)
    assert again == first
    assert len(keyhole.runs(store=tmp_path).runs) == 16
    for one in first.learned:
        assert 0 < one.excess.value < 10 * one.limit
        assert one.exact_head <= one.bound
        assert one.oracle < one.blind
    with pytest.raises(ArgumentError, match="one of pretraining"):
        keyhole.prove(keyhole.read_run(runs.runs[0].identity, store=tmp_path))


@pytest.mark.slow
def test_no_linear_head_serves(tmp_path):
    """Three latents over two letters: κ_T and its bound are infinite, said so, and training goes on beside it."""
    flat = FiniteModel(np.array([[0.8, 0.5, 0.2], [0.2, 0.5, 0.8]]), np.full(3, 1 / 3))
    options = {"downstream": "latent:1", "design": Design(300, repeats=2), "execution": Execution(tmp_path, 0)}
    answer = pretrain(flat, [6], **options)
    assert answer.conditions[0].downstream == answer.learned[0].bound == np.inf
    record = json.loads(answer.to_json())
    assert (record["learned"][0]["bound"], record["learned"][0]["bound_reason"]) == (None, "infinite")
    assert any("above about 1e+15" in remark for remark in answer.remarks)
    assert not any("Infinite" in remark for remark in pretrain(THREE, [6], design=NOTHING).remarks)
    assert answer.learned[0].fitted_head.value > 0
    assert answer.figure()


@pytest.mark.slow
def test_sinks_and_mixtures(tmp_path):
    """A location's sink is near log σ²/τ²; a mixture has estimated correlations that fall with the mask."""
    location = GaussianLocation(np.zeros(1), 1.0, 1.0)
    answer = pretrain(location, [3], design=Design(4000, repeats=4), execution=Execution(tmp_path, 0))
    (found,) = answer.sinks
    assert found.exact == 0
    assert abs(found.logit.value) < 4 * found.standard_error
    mixture = pretrain("mixture", [8], masks=[1, 4], design=NOTHING)
    small, large = (one.spectral for one in mixture.conditions)
    assert large.high < small.low


@pytest.mark.long
def test_a_trained_encoder_beside_the_posterior(tmp_path):
    """It is one more estimator, near the posterior mean at lengths it saw, and is found again in the store."""
    model = find_model("finite")
    first, again = (
        keyhole.infer(model, [4, 16], attention=["softmax", train_encoder(model, store=tmp_path)], repeats=16)
        for _ in range(2)
    )
    softmax, trained = first.estimators
    assert first == again
    assert trained.attention == "trained"
    assert trained.points[0].gap < softmax.points[0].gap / 5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pretrain("finite", [4], masks=[4]), "leaves nothing to read"),
        (lambda: pretrain("finite", [1]), "at least 2"),
        (lambda: pretrain("gaussian", [1]), "at least 2"),
        (lambda: pretrain("finite", [4], design=Design(0)), "0 training sequences"),
        (lambda: pretrain("finite", [4], downstream=[[2.0, 2.0]]), "is constant"),
        (lambda: pretrain("mixture", [4], downstream=[[2.0, 2.0]]), "is constant"),
        (lambda: pretrain("finite", [4], downstream=[[2.0, 1.0], [1.0]]), "different lengths"),
        (lambda: pretrain("finite", [4], downstream="latent:7"), "there are 2"),
        (lambda: pretrain("finite", [4], downstream="parity"), "is not known"),
        (lambda: pretrain("urn", [4]), "'urn'"),
        (lambda: pretrain("gp", [4]), "is not covered"),
        (lambda: pretrain(object(), [4]), "cannot be asked"),
        (lambda: pretrain("polya", [4], masks=[2]), "predicts one token"),
        (lambda: pretrain(GaussianLocation(np.ones(1)), [4]), "Subtract it"),
        (lambda: pretrain("finite", []), "at least one of each"),
        (lambda: pretrain("finite", [4], design=Design(labels=1)), "use at least 2"),
        (lambda: pretrain("finite", [4], design=Design(repeats=1)), "use 0, or 2"),
        (lambda: train_encoder(find_model("polya")), "Polya is neither"),
    ],
)
def test_refusals(call, words):
    """What cannot be asked is refused in one sentence, before anything is trained."""
    with pytest.raises(ArgumentError, match=words):
        call()
