"""Whole claims: a right model is proved with its margin, a spoiled one is wrong on words that exist."""

from dataclasses import replace

import numpy as np
import pytest

from keyhole.attention import Affine, FeedForward, StepModel
from keyhole.attention.layers import Activation
from keyhole.errors import AssumptionError, ShapeError
from keyhole.languages import Prompt, read_columns
from keyhole.prover.steps.forms import after, coordinates
from keyhole.prover.steps.proof import prove_columns

from helpers.step_models import copying_model, random_model


def least_margin(model: StepModel, claim) -> float:
    """The least margin over all words and steps, by enumeration."""
    prompts, answers = claim.shown(claim.every_word())
    least = np.inf
    for number in range(answers.shape[1]):
        logits = model.logits(np.hstack([prompts, answers[:, :number]]))
        ar = np.arange(len(logits))
        right = logits[ar, answers[:, number]].copy()
        logits[ar, answers[:, number]] = -np.inf
        least = min(least, float((right - logits.max(axis=1)).min()))
    return least


@pytest.mark.parametrize("length", [3, 4])
def test_a_copying_model_is_proved(length):
    """The margin is at least 99 % of the least margin of any word, and not above it."""
    model, claim = copying_model(length, 3), read_columns(f"copy:{length}:3", Prompt())
    proof, least = prove_columns(model, claim), least_margin(model, claim)
    assert proof.status == "PROVED"
    assert 0.99 * least <= proof.margin < least
    assert proof.attained == pytest.approx(least)
    assert proof.words == 3**length
    assert proof.wrong == ()


@pytest.mark.slow
def test_twelve_symbols():
    """No enumeration: 10^12 words are proved in a second or two."""
    proof = prove_columns(copying_model(12, 10, 20.0), read_columns("copy:12", Prompt()))
    assert proof.status == "PROVED"
    assert proof.words == 10**12


@pytest.mark.slow
def test_a_spoiled_model_is_wrong():
    """With attention that leaks, words are wrong: those shown are, and their number lies in the interval."""
    model, claim = copying_model(3, 3, 0.5), read_columns("copy:3:3", Prompt())
    proof = prove_columns(model, claim)
    assert proof.status == "WRONG"
    assert proof.margin is None
    prompts, answers = claim.shown(claim.every_word())
    wrong = (model.written(prompts, 3) != answers).any(axis=1)
    assert proof.wrong_at_least <= wrong.sum() <= proof.wrong_at_most
    for word in proof.wrong:
        assert word.margin <= 0
        assert tuple(model.written(np.array([word.prompt]), 3)[0]) == word.written != word.right


def test_a_tie_counts_as_wrong():
    """A model whose logits are all equal is not proved: balls cannot tell a tie, so that it stays undecided."""
    model = copying_model(2, 2)
    silent = replace(model, readout=(Affine(np.zeros_like(model.readout[0].weight)),))
    assert prove_columns(silent, read_columns("copy:2:2", Prompt())).status == "UNDECIDED"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_wrong_words_of_random_models_are_wrong(seed):
    """A random model is wrong on as many words as the interval says, and the shown ones are."""
    rng = np.random.default_rng(seed)
    claim = read_columns("addition:2:2", Prompt(between=(4,), after=(5,)))
    model = random_model(rng, claim.prompt + len(claim.columns))
    proof = prove_columns(model, claim)
    prompts, answers = claim.shown(claim.every_word())
    wrong = (model.written(prompts, answers.shape[1]) != answers).any(axis=1)
    assert proof.status == "WRONG"
    assert proof.wrong_at_least <= wrong.sum() <= proof.wrong_at_most


def test_models_that_do_not_fit_are_refused():
    """Too few positions, too few symbols, an unknown activation and a model without heads are refused."""
    model = copying_model(3, 3)
    for claim, says in (("copy:4:3", "positions"), ("copy:3:4", "tokens")):
        with pytest.raises(ShapeError, match=says):
            prove_columns(model, read_columns(claim, Prompt()))

    class Sine(Activation):
        name, lipschitz = "sine", 1.0

        def __call__(self, x):
            return np.sin(x)

    claim = read_columns("copy:3:3", Prompt())
    with pytest.raises(AssumptionError, match="the activation sine"):
        prove_columns(replace(model, branches=((FeedForward(activation=Sine()),),)), claim)
    with pytest.raises(AssumptionError, match="one head or more"):
        prove_columns(replace(model, heads=()), claim)


def test_forms_hold_what_they_say():
    """After every map of random models, sampled points of boxes lie within the radius of the plane."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model = random_model(rng, 5)
        d = model.embedding.shape[2]
        centre, half = rng.normal(size=(3, d)), rng.uniform(0, 10.0 ** rng.uniform(-6, 0.5), size=(3, d))
        z = centre + half * rng.uniform(-1, 1, size=(64, 3, d)).round(rng.integers(0, 3))
        for maps in (model.readout, *model.branches):
            form, points = coordinates(centre, half), z
            for layer in maps:
                form, points = after(layer, form), layer(points)
                plane = form.mid + np.einsum("nkr,bnr->bnk", form.slope, z - centre)
                assert (np.abs(points - plane) <= form.rad + 1e-12 * (1 + np.abs(points))).all()
