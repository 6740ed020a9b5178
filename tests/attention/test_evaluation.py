"""The product keeps its accuracy where scores are far apart, and leaves the field where they are too far."""

import math
import subprocess
import sys
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.attention.evaluation import (
    evaluate,
    evaluate_by_product,
    evaluate_by_softmax,
    is_safe,
    safe_width,
    score_range,
)
from keyhole.attention.layers import Identity
from keyhole.attention.normalisers import Softmax
from keyhole.attention.tables import Tabulated, TabulatedHead
from keyhole.attention.weights import ReadOut, Wiring

SINGLE = np.finfo(np.float32)


def table(scores, values, cls_score, cls_value, **options):
    """A model of one head whose output is read as it is."""
    rows = np.asarray(scores)
    head = TabulatedHead(scores, values, cls_score, cls_value)
    tokens = options.pop("tokens", rows.shape[0])
    return Tabulated(tokens, (head,), cls_value, Wiring(), ReadOut(np.ones(1, rows.dtype)), **options)


def exact(tabulated, sequence):
    """The head by the definition, number by number, in double precision."""
    head = tabulated.heads[0]
    pairs = [(head.scores[t, a], head.values[t, a, 0]) for t, a in enumerate(sequence)]
    pairs = [(float(s), float(v)) for s, v in [*pairs, (head.cls_score, head.cls_value[0])]]
    top = max(s for s, _ in pairs)
    mass = [math.exp((s - top) / head.normaliser.temperature) for s, _ in pairs]
    return math.fsum(m * v for m, (_, v) in zip(mass, pairs, strict=True)) / math.fsum(mass)


def peaked(seed, gap, tokens=40):
    """Single-precision tables with high scores for one symbol of a position only: M − lo is nearly gap."""
    rng = np.random.default_rng(seed)
    high = (rng.random((tokens, 1)) < 0.3) & (rng.integers(0, 2, (tokens, 1)) == np.arange(2))
    high[0] = [True, False]
    scores = np.where(high, 1.0, 0.02 * rng.random((tokens, 2))) * gap + rng.normal()
    values = 0.5 + rng.random((tokens, 2, 1))
    parts = (scores, values, np.array(scores.min()), np.array([1.0]))
    return table(*(part.astype(np.float32) for part in parts))


@given(st.integers(0, 10**6), st.floats(0, 150))
def test_peaked_attention_in_single_precision(seed, gap):
    """Logit gaps up to 150 lose at most 1e-5 relative, whatever the sequence."""
    tabulated = peaked(seed, gap)
    batch = np.random.default_rng(seed).integers(0, 2, (20, 40))
    low = np.argmin(tabulated.heads[0].scores, axis=1)  # the sequence with the least mass of all
    batch = np.concatenate([batch, low[None], 1 - low[None]])
    expected = [exact(tabulated, sequence) for sequence in batch]
    found = evaluate(tabulated, batch)
    assert found.dtype == np.float32
    # values lie in [1/2, 3/2], so nothing cancels; a shifted score of up to 75 rounds by 4e-6, its exp too
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@given(st.integers(0, 10**6), st.floats(0, 0.999))
def test_the_product_is_right_up_to_the_edge(seed, share):
    """Wherever M − lo is within the safe width, the product itself is right to 1e-5 in single precision."""
    tabulated = peaked(seed, 1.0)
    head = tabulated.heads[0]
    low, high = score_range(head)
    widened = share * safe_width(SINGLE, 40, 1.5) / float(high - low)
    moved = replace(head, scores=head.scores * np.float32(widened), cls_score=head.cls_score * np.float32(widened))
    tabulated = replace(tabulated, heads=(moved,))
    assert is_safe(tabulated)
    batch = np.stack([np.argmin(moved.scores, axis=1), np.argmax(moved.scores, axis=1)])
    expected = [exact(tabulated, sequence) for sequence in batch]
    np.testing.assert_allclose(evaluate_by_product(tabulated, batch), expected, rtol=1e-5)


def test_beyond_the_safe_range_the_fallback_is_taken_and_right():
    """Past the edge the product loses sequences altogether; `evaluate` does not."""
    scores = np.array([[0.0, 0.0], [-1.0, 300.0]], dtype=np.float32)
    values = np.array([[[1.0], [2.0]], [[3.0], [4.0]]], dtype=np.float32)
    tabulated = table(scores, values, np.float32(-2.0)[()] * np.ones((), np.float32), np.ones(1, np.float32))
    assert not is_safe(tabulated)
    batch = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    expected = [exact(tabulated, sequence) for sequence in batch]
    np.testing.assert_allclose(evaluate(tabulated, batch), expected, rtol=1e-6)
    with np.errstate(all="ignore"):
        lost = evaluate_by_product(tabulated, batch)
    assert not np.allclose(lost, expected, rtol=1e-2, equal_nan=False)


@pytest.mark.slow
@pytest.mark.parametrize("library", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize("gap", [0.0, 30.0, 130.0, 400.0, 3000.0])
def test_either_library_either_side(library, gap):
    """The choice of route is by the numbers, in jax as in numpy."""
    tabulated = peaked(3, gap)
    moved = [
        library.asarray(part)
        for head in tabulated.heads
        for part in (head.scores, head.values, head.cls_score, head.cls_value)
    ]
    head = TabulatedHead(*moved)
    turned = replace(tabulated, heads=(head,), stream=moved[3], readout=ReadOut(library.asarray(np.float32([1]))))
    batch = np.random.default_rng(0).integers(0, 2, (8, 40))
    # a product that underflows or overflows in silence would miss this by far more than 1e-5
    np.testing.assert_allclose(
        evaluate(turned, library.asarray(batch)), [exact(tabulated, one) for one in batch], rtol=1e-5
    )
    assert is_safe(turned) == (gap < 132)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 3))
def test_the_largest_score_of_every_sequence_lies_in_the_range(seed, tokens, symbols):
    """Lo ≤ max_t s[t, b_t] ≤ M for all Aᵀ sequences, with equality at both ends."""
    rng = np.random.default_rng(seed)
    scores, cls = rng.normal(size=(tokens, symbols)), rng.normal(size=())
    low, high = score_range(TabulatedHead(scores, np.zeros((tokens, symbols, 1)), cls, np.zeros(1)))
    grid = np.stack(np.meshgrid(*[np.arange(symbols)] * tokens), axis=-1).reshape(-1, tokens)
    own = np.maximum(scores[np.arange(tokens), grid].max(axis=1), cls)
    assert own.min() == low
    assert own.max() == high


@given(st.integers(1, 10**7), st.floats(0.1, 1e6))
def test_the_safe_width_keeps_its_promise(tokens, largest):
    """No sum overflows, and what underflows is below ε of the least mass, in either format."""
    for number_format in (np.finfo(np.float32), np.finfo(np.float64)):
        half = safe_width(number_format, tokens, largest) / 2
        log_sum = half + math.log(tokens + 1) + math.log(max(1, largest))
        assert log_sum <= math.log(float(number_format.max)) + 1e-9
        log_lost = math.log(float(number_format.smallest_normal)) + math.log(tokens + 1)
        assert log_lost <= math.log(float(number_format.eps)) - half + 1e-9
        roomier = half + 0.01  # one of the two promises fails just beyond: the width is not needlessly small
        assert (
            roomier + math.log(tokens + 1) + math.log(max(1, largest)) > math.log(float(number_format.max))
            or log_lost > math.log(float(number_format.eps)) - roomier
        )


def test_temperature_sharpens_the_tables():
    """A softmax of temperature τ has scores s/τ, in both routes, and its safe range shrinks with τ."""
    sharp = peaked(1, 20.0)
    sharp = replace(sharp, heads=(replace(sharp.heads[0], normaliser=Softmax(0.25)),))
    batch = np.random.default_rng(2).integers(0, 2, (6, 40))
    expected = [exact(sharp, one) for one in batch]
    np.testing.assert_allclose(evaluate_by_product(sharp, batch), expected, rtol=1e-5)
    np.testing.assert_allclose(evaluate_by_softmax(sharp, batch), expected, rtol=1e-5)
    assert is_safe(sharp)
    assert not is_safe(replace(sharp, heads=(replace(sharp.heads[0], normaliser=Softmax(0.05)),)))


def test_values_of_any_size_are_safe():
    """Huge values shrink the safe range instead of overflowing."""
    tabulated = peaked(2, 125.0)
    assert is_safe(tabulated)
    large = replace(tabulated.heads[0], values=tabulated.heads[0].values * np.float32(1e30), activation=Identity())
    assert not is_safe(replace(tabulated, heads=(large,)))
    batch = np.random.default_rng(2).integers(0, 2, (6, 40))
    tabulated = replace(tabulated, heads=(large,))
    np.testing.assert_allclose(evaluate(tabulated, batch), [exact(tabulated, one) for one in batch], rtol=1e-5)


MILLION = """
import resource, sys, numpy as np
from keyhole.attention.tokens import AdditiveEmbedding, OneHotPairs
from keyhole.attention.evaluation import evaluate, evaluate_by_softmax
from keyhole.attention.layers import Affine, FeedForward
from keyhole.attention.positions import SignCodes
from keyhole.attention.score import FactoredScore
from keyhole.attention.weights import Block, Head, Model, ReadOut, Wiring
from keyhole.attention.tables import tabulate, thinned
T, n = 10**6, 100
rng = np.random.default_rng(0)
bits = rng.integers(0, 2, (n, T), dtype=np.uint8)
relevant = np.array([3, 500_000, 999_999])
if sys.argv[1] == "pairs":  # a sharp head on three positions; all other rows are alike
    embedding = OneHotPairs(T, 2, np.zeros(()))
    key, value = np.zeros(2 * T + 1), np.zeros((2 * T + 1, 1))
    key[2 * relevant] = key[2 * relevant + 1] = np.log(T)
    value[2 * relevant + 1] = 1.0
    query = embedding.cls
else:  # random codes of width 32: every row is different
    embedding = AdditiveEmbedding(rng.normal(size=(2, 32)), SignCodes(T, 32, seed=1), rng.normal(size=32))
    key, value = rng.normal(size=32), rng.normal(size=(32, 1))
    query = embedding.cls / (embedding.cls @ embedding.cls)
head = Head(FactoredScore(query=query[:, None], key=key[:, None]), Affine(value))
model = Model(embedding, (Block((head,), Wiring(feedforward=FeedForward())),), ReadOut(np.ones(1)))
tables = tabulate(model)
found = evaluate(tables, bits)
head = tables.heads[0]
for i in (0, n - 1):
    rows = np.arange(T)
    score = np.append(head.scores[rows, bits[i]], head.cls_score)
    mass = np.exp(score - score.max())
    values = np.append(head.values[rows, bits[i], 0], head.cls_value)
    assert abs(found[i] - max(0.0, mass @ values / mass.sum())) < 1e-10, "wrong value"
if sys.argv[1] == "pairs":
    thin = thinned(tables)
    assert thin.positions == tuple(relevant.tolist()), "not thin"
    assert np.abs(evaluate(thin, bits) - found).max() < 1e-10, "thin tables differ"
    assert np.abs(evaluate_by_softmax(thin, bits.astype(bool)) - found).max() < 1e-10, "thin softmax differs"
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pairs", "codes"])
def test_a_million_positions(kind):
    """T = 10⁶, A = 2, one head: 100 sequences, dense and thin, in under 2 GB."""
    run = subprocess.run([sys.executable, "-c", MILLION, kind], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kilobytes
    assert int(run.stdout) * unit < 2e9
