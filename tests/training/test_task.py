"""Tasks: hidden positions, laws, noise, alphabets."""

import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean.families import read_function
from keyhole.errors import ArgumentError, FormulaError
from keyhole.training import task as task_module
from keyhole.training.task import REDRAWS, SparseTask

FORMULAS = ["and:3", "or:2", "parity:3", "majority:5", "threshold:2:4", "random:3", "x3 & ~x17 | x2", "~x4 & ~x1"]


def within(share, p, n, deviations=5.0):
    """Whether a share of n draws is within five standard deviations of p: fails once in 1.7 million."""
    return abs(share - p) <= deviations * math.sqrt(p * (1 - p) / n)


@pytest.mark.parametrize("formula", FORMULAS)
def test_look_up_is_the_function(formula):
    """The one-line table agrees with the sparse function on every pattern of its positions."""
    instance = SparseTask(formula).instance(20, np.random.default_rng(3))
    size = instance.function.sparsity
    patterns = (np.arange(1 << size)[:, None] >> np.arange(size)) & 1
    inputs = np.zeros((1 << size, 20), dtype=np.uint8)
    inputs[:, list(instance.function.positions)] = patterns
    assert (instance.truth(inputs) == instance.function(inputs)).all()


@given(st.integers(0, 2**32))
def test_positions_are_hidden_distinct_and_reproducible(seed):
    """The same generator hides the function at the same positions, distinct and within the context."""
    first, second = (SparseTask("and:3").instance(11, np.random.default_rng(seed)).function for _ in range(2))
    assert first == second
    assert len(set(first.positions)) == 3
    assert max(first.positions) < 11


def test_every_position_is_as_likely():
    """Each of six positions is relevant in half of the drawings of a function of three."""
    rng = np.random.default_rng(0)
    seen = np.zeros(6)
    for _ in range(2000):
        seen[list(SparseTask("and:3").instance(6, rng).function.positions)] += 1
    assert all(within(count / 2000, 0.5, 2000) for count in seen)


@pytest.mark.parametrize(("law", "p"), [("uniform", 0.5), ("balanced", 2 ** (-1 / 3)), ("0.2", 0.2)])
@pytest.mark.parametrize("symbols", [2, 5])
def test_bits_follow_their_law(law, p, symbols):
    """The bits behind the symbols are 1 with the asked probability, and every symbol of a bit is as likely."""
    instance = SparseTask("and:3", law, symbols=symbols).instance(50, np.random.default_rng(1))
    inputs = instance.inputs(2000, np.random.default_rng(2))
    assert within(instance.letters[inputs].mean(), p, inputs.size)
    for symbol in range(symbols):
        alike = int((instance.letters == instance.letters[symbol]).sum())
        share = (p if instance.letters[symbol] else 1 - p) / alike
        assert within((inputs == symbol).mean(), share, inputs.size)


def test_noise_is_at_its_rate_and_in_the_training_set_only():
    """Labels and features are flipped at their rates; the label belongs to the clean features."""
    task = SparseTask("parity:3", label_noise=0.1)
    instance = task.instance(10, np.random.default_rng(1))
    examples = instance.training_set(20_000, np.random.default_rng(2))
    assert within((instance.truth(examples.inputs) != examples.labels).mean(), 0.1, 20_000)
    noisy = SparseTask("x0", feature_noise=0.2).instance(10, np.random.default_rng(1))
    seen = noisy.training_set(20_000, np.random.default_rng(2))
    assert within((noisy.truth(seen.inputs) != seen.labels).mean(), 0.2, 20_000)


def test_balancing_rule():
    """Accepted sets have 40 to 60 % ones and no irrelevant column equal to a relevant one; failures are said."""
    task = SparseTask("and:3", "balanced", balanced_sets=True)
    instance = task.instance(30, np.random.default_rng(1))
    examples = instance.training_set(40, np.random.default_rng(2))
    assert examples.accepted
    assert 0.4 <= examples.labels.mean() <= 0.6
    bits = examples.inputs.astype(bool)
    for place in instance.function.positions:
        assert (bits == bits[:, [place]]).all(axis=0).sum() == 1
    hopeless = task.instance(500, np.random.default_rng(1)).training_set(5, np.random.default_rng(2))
    assert not hopeless.accepted
    assert hopeless.redraws == REDRAWS


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SparseTask("nand:3"), FormulaError, "nand"),
        (lambda: SparseTask("and:3", "skewed"), ArgumentError, "law 'skewed' is not known"),
        (lambda: SparseTask("and:3", "1.5"), ArgumentError, "law '1.5' is not known"),
        (lambda: SparseTask("and:3", label_noise=0.7), ArgumentError, "label noise of 0.7"),
        (lambda: SparseTask("and:3", symbols=1), ArgumentError, "alphabet of 1 symbols"),
        (lambda: SparseTask("and:9").instance(8, np.random.default_rng(0)), FormulaError, "context of at least 9"),
    ],
)
def test_bad_tasks_are_refused(make, error, message):
    """What cannot be drawn is refused in one sentence."""
    with pytest.raises(error, match=message):
        make()


def test_the_function_is_read_once(monkeypatch):
    """A task reads its text when it is made; only a random table is drawn anew for every instance."""
    reads = []
    monkeypatch.setattr(task_module, "read_function", lambda *words: reads.append(words) or read_function(*words))
    rng = np.random.default_rng(0)
    for text, count in (("and:3", 1), ("x1 & ~x4", 1), ("random:3", 3)):
        task = SparseTask(text, "0.3")
        before = task.record()
        for _ in range(2):
            task.instance(9, rng)
        assert task.record() == before == {**before, "function": text}
        assert len(reads) == count
        reads.clear()


def test_a_learner_is_told_the_size_alone():
    """The size of a problem is its context, its alphabet and how many positions matter, not which."""
    instance = SparseTask("and:3", symbols=4).instance(9, np.random.default_rng(0))
    assert asdict(instance.size) == {"context": 9, "symbols": 4, "sparsity": 3}


@pytest.mark.parametrize("p", ["uniform", "0.3"])
@pytest.mark.parametrize("block", [64, 1 << 24])
def test_swapped_symbols_swap_every_input(monkeypatch, p, block):
    """Inputs are 0 and 1, drawn in blocks or at once; where symbol 0 stands for the bit 1, each is the other."""
    monkeypatch.setattr(task_module, "BLOCK", block)
    instance = SparseTask("and:2", law=p).instance(8, np.random.default_rng(0))
    drawn = instance.inputs(10, np.random.default_rng(1))
    swapped = replace(instance, letters=~instance.letters).inputs(10, np.random.default_rng(1))
    assert set(np.unique(drawn)) == {0, 1}
    assert np.array_equal(drawn, 1 - swapped)
