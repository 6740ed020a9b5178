"""Probes and fresh samples of a hidden function."""

import math

import numpy as np
import pytest

from keyhole.training.task import PROBE, Observer, SampleSource, SparseTask, target_characters

CONTEXT = 8


@pytest.mark.parametrize(("formula", "law"), [("and:3", "uniform"), ("parity:3", "uniform"), ("and:2", "0.8")])
def test_characters_span_the_target(formula, law):
    """The target's own variance lies wholly on its characters; a bit that does not matter has next to none there."""
    instance = SparseTask(formula, law).instance(CONTEXT, np.random.default_rng(0))
    inputs = instance.inputs(PROBE, np.random.default_rng(1))
    basis = target_characters(instance, inputs)
    target = instance.truth(inputs).astype(float)
    target -= target.mean()
    assert abs(((target @ basis) ** 2).sum() / (target @ target) - 1) < 1e-9
    other = next(place for place in range(CONTEXT) if place not in instance.function.positions)
    noise = inputs[:, other] - inputs[:, other].mean()
    assert ((noise @ basis) ** 2).sum() / (noise @ noise) < 8 * 7 / PROBE  # mean C/P for C ≤ 7 characters


def test_a_probe_is_clean_and_names_what_matters():
    """A probe has the true labels, whatever the noise of the task, and the positions that decide them."""
    instance = SparseTask("parity:3", label_noise=0.3, symbols=4).instance(CONTEXT, np.random.default_rng(0))
    probe = Observer(instance).observe(PROBE, np.random.default_rng(1))
    assert np.array_equal(probe.inputs, instance.inputs(PROBE, np.random.default_rng(1)))
    assert np.array_equal(probe.labels, instance.truth(probe.inputs))
    assert tuple(probe.positions) == instance.function.positions
    assert len(probe.characters) == PROBE


def test_a_source_draws_what_its_tables_say():
    """Fresh samples have the symbols' probabilities and the labels of the tables, flipped at the rate of the noise."""
    instance = SparseTask("and:2", "0.7", label_noise=0.25, symbols=4).instance(CONTEXT, np.random.default_rng(0))
    source, count = SampleSource(instance), 20_000
    examples, tables = source.draw(count, np.random.default_rng(2)), source.tables()
    for symbol, share in enumerate(np.diff(tables["ends"], prepend=0.0)):
        seen = (examples.inputs == symbol).mean()
        assert abs(seen - share) < 5 * math.sqrt(share * (1 - share) / examples.inputs.size)  # five deviations
    bits = tables["letters"][examples.inputs[:, tables["positions"]]].astype(int)
    wrong = (tables["table"][tables["offset"] + bits @ tables["weights"]] != examples.labels).mean()
    assert abs(wrong - tables["noise"]) < 5 * math.sqrt(0.25 * 0.75 / count)
