"""The interval for the share of inputs on which model and function differ holds the exact share."""

import os
from dataclasses import replace
from math import comb

import numpy as np
import pytest

from keyhole.attention import Evaluator
from keyhole.attention.tables import Tabulated, TabulatedHead, tabulate
from keyhole.attention.weights import ReadOut, Wiring
from keyhole.boolean import Junta, biased_bits, uniform_law
from keyhole.prover.extraction.extraction import certifiable, majority_table
from keyhole.prover.wrong_share.interval import LONGEST, wrong_share

from helpers.planted_juntas import all_sequences
from helpers.random_models import Plan, random_model

DELTA = 1e-4
SMALL = int(os.environ.get("KEYHOLE_FUZZ", "4"))  # random models whose inputs are gone through


def drawn_case(seed):
    """A random model on 4 to 8 bits, or 12, a function of few, a law, and the exact share on which they differ."""
    rng = np.random.default_rng(seed)
    tokens = int(rng.integers(4, 13 if SMALL > 4 else 9))
    plan = Plan(
        seed=int(rng.integers(10**6)),
        tokens=tokens,
        heads=int(rng.integers(1, 4)),
        placement=str(rng.choice(["pre", "post"])),
        norms=bool(rng.integers(2)),
        residual=str(rng.choice(["none", "each", "block"])),
        feedforward=bool(rng.integers(4)),
        gelu=bool(rng.integers(2)),
        join=str(rng.choice(["sum", "concatenate"])),
        final_norm=bool(rng.integers(2)),
    )
    model = random_model(plan)
    numbers = np.sort(np.asarray(Evaluator(tabulate(model))(all_sequences(tokens, 2))))
    cut = int(rng.uniform(0.01, 0.3) * len(numbers))  # so many inputs get the rarer answer
    bias = model.readout.bias - numbers[cut : cut + 2].mean()
    subject = certifiable(replace(model, readout=replace(model.readout, bias=bias)))
    evaluator = Evaluator(subject.tables)
    law = uniform_law(2) if rng.integers(2) else biased_bits(float(rng.choice([0.2, 0.3, 0.7])))
    positions = tuple(sorted(rng.choice(tokens, size=int(rng.integers(0, 3)), replace=False).tolist()))
    junta = Junta(positions, 2, majority_table(evaluator, law.draw(64, tokens, rng), positions))
    inputs = all_sequences(tokens, 2)
    differ = (np.asarray(evaluator(inputs)) > 0) != junta(inputs)
    chances = np.prod(np.asarray(law.chances)[inputs], axis=1)
    known = inputs[differ][0] if differ.any() and rng.integers(2) else None
    return subject, evaluator, junta, law, known, float(chances[differ].sum())


@pytest.mark.slow
def test_the_interval_holds_the_exact_share(monkeypatch):
    """Over all inputs of small models: both intervals hold the share, and they are narrow where it is not 0."""
    monkeypatch.setattr("keyhole.prover.wrong_share.interval.DRAWS", 3_000)
    narrow = differing = bounded = 0
    for seed in range(SMALL):
        subject, evaluator, junta, law, known, truth = drawn_case(seed)
        found = wrong_share(evaluator, junta, law, delta=DELTA, drifts=subject.drifts, counterexample=known)
        near = 1e-12 * truth
        assert found.low - near <= truth <= found.high + near, f"seed {seed}"
        assert found.certain_low - near <= truth <= found.certain_high + near, f"seed {seed}"
        differing += truth > 0
        narrow += truth > 0 and found.high <= 10 * found.low
        bounded += found.certain_high < 0.9
    assert differing >= SMALL / 2
    assert narrow >= 0.8 * differing
    assert bounded >= SMALL / 2


def rare_model(tokens=60, swing=0.2):
    """One head of equal masses that reads bit 0 strongly and all others weakly: wrong only when nearly all agree.

    f = mean of values with [CLS]'s own: (4 (2x₀ − 1) + swing Σ_{t>0} (2x_t − 1))/(T + 1), exactly.
    """
    values = np.zeros((tokens, 2, 1))
    values[:, :, 0] = swing * np.array([-1.0, 1.0])
    values[0, :, 0] = 4 * np.array([-1.0, 1.0])
    head = TabulatedHead(np.zeros((tokens, 2)), values, np.array(0.0), np.zeros(1))
    return Tabulated(tokens, (head,), np.zeros(1), Wiring(residual="none"), ReadOut(np.ones(1)))


@pytest.mark.slow
@pytest.mark.parametrize("swing", [0.085, 0.12])
def test_a_rare_difference_is_found_though_no_draw_shows_it(swing):
    """Of a mean of bits the share is a binomial tail: 2e-6 and 1e-11, within 10 % on both sides."""
    model = rare_model(swing=swing)
    evaluator, junta = Evaluator(model), Junta((0,), 2, np.array([False, True]))
    needed = [k for k in range(60) if swing * (2 * k - 59) - 4 > 0]  # ones among the others that turn x₀ = 0
    truth = sum(comb(59, k) for k in needed) / 2**59  # and as many zeros turn x₀ = 1
    found = wrong_share(evaluator, junta, uniform_law(2), delta=0.01)
    assert truth < 1e-3
    assert found.low <= truth <= found.high
    assert found.high <= 1.1 * found.low
    assert truth <= found.certain_high


def test_what_is_too_long_is_not_asked():
    """Beyond the longest context there is no interval, and nothing is guessed."""
    model = rare_model(tokens=LONGEST + 1)
    junta = Junta((0,), 2, np.array([False, True]))
    assert wrong_share(Evaluator(model), junta, uniform_law(2), delta=0.01) is None
