"""The sampled rate is an exact binomial ceiling of what fresh inputs show."""

from math import log

import numpy as np
import pytest
from scipy.stats import beta

from keyhole.attention.evaluation import Evaluator
from keyhole.boolean.junta import biased_bits, uniform_law
from keyhole.prover.sample.sample_bound import sampled_disagreement

from helpers.planted import junta_of, planted


def test_no_disagreement():
    """1 − δ^(1/N), which is at most ln(1/δ)/N: 4.6e-6 for a million at 99 %."""
    junta = junta_of("x1 & x2")
    found = sampled_disagreement(Evaluator(planted(junta, 5)), junta, uniform_law(2), delta=0.01, inputs=20_000)
    assert (found.disagreements, found.inputs, found.kind) == (0, 20_000, "sampled")
    assert found.rate == pytest.approx(1 - 0.01 ** (1 / 20_000), rel=1e-9)
    assert found.rate <= log(100) / 20_000
    assert log(100) / 10**6 == pytest.approx(4.6e-6, rel=2e-3)


@pytest.mark.parametrize(("law", "rate"), [(uniform_law(2), 1 / 8), (biased_bits(0.8), 0.8**2 * 0.2)])
def test_the_true_rate(law, rate):
    """A model of x1 & x2 against x1 & x2 & x3: counts within five standard errors, the ceiling a beta quantile."""
    model, junta, n = planted(junta_of("x1 & x2"), 5), junta_of("x1 & x2 & x3"), 20_000
    found = sampled_disagreement(Evaluator(model), junta, law, delta=1e-6, inputs=n, seed=3)
    assert abs(found.disagreements - n * rate) < 5 * (n * rate * (1 - rate)) ** 0.5
    assert found.rate == pytest.approx(beta.ppf(1 - 1e-6, found.disagreements + 1, n - found.disagreements), rel=1e-9)
    assert found.rate > rate


@pytest.mark.slow
def test_blocks_and_seeds():
    """Every input is counted once, however many positions force it into blocks; another seed draws others."""
    model, junta = planted(junta_of("x1"), 2000), junta_of("x2")
    one, two = (
        sampled_disagreement(Evaluator(model), junta, uniform_law(2), delta=0.01, inputs=9000, seed=seed)
        for seed in (0, 1)
    )
    assert one.inputs == 9000
    assert one.disagreements != two.disagreements
    assert abs(one.disagreements - 4500) < 5 * np.sqrt(9000) / 2
