"""Covers of linear maps: they cover, in the steps and within the size that the lemmas say."""

from itertools import product
from math import floor, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.bounds.covers.linear import (
    bilinear_cover,
    matrix_cover,
    scalar_cover,
    sparse_matrix_cover,
    volumetric_size,
)
from keyhole.errors import AssumptionError

seeds = st.integers(0, 2**32 - 1)


def scalar_steps(weight_norm, radius, accuracy):
    """Corrections that always suffice in Lemma A: the size of the cover in units of ln(2N + 1), here ln 3."""
    return round(scalar_cover(weight_norm, radius, 1).log_size(accuracy) / log(3))


SLACK = 1e-9  # sums of at most a few hundred products of numbers below 100 round by far less


def on_ball(rng, shape, radius):
    """Random points of a ball."""
    points = rng.normal(size=shape)
    return radius * points / np.linalg.norm(points, axis=-1, keepdims=True) * rng.uniform(0, 1, (*shape[:-1], 1))


def corrections(w, points, radius, accuracy):
    """Lemma A's algorithm: the cover element of w, and the number of corrections it took."""
    found, steps = np.zeros_like(w), 0
    while True:
        errors = points @ (w - found)
        worst = int(np.abs(errors).argmax())
        if abs(errors[worst]) <= accuracy + 1e-12:
            return found, steps
        found = found + accuracy / radius**2 * np.sign(errors[worst]) * points[worst]
        steps += 1


@given(
    seed=seeds,
    d=st.integers(1, 6),
    n=st.integers(1, 12),
    a=st.floats(0.1, 3),
    b=st.floats(0.1, 3),
    share=st.floats(0.15, 1.2),
)
def test_lemma_a_ends_within_its_steps(*, seed, d, n, a, b, share):
    """The greedy corrections of any w in the ball stop within ⌈a²b²/ε²⌉ − 1 steps, everywhere within ε."""
    rng = np.random.default_rng(seed)
    w, points, accuracy = on_ball(rng, (d,), a), on_ball(rng, (n, d), b), share * a * b
    found, steps = corrections(w, points, b, accuracy)
    assert np.abs(points @ (w - found)).max() <= accuracy + SLACK
    assert steps <= scalar_steps(a, b, accuracy)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_lemma_a_attains_its_steps(n):
    """Equality: n orthonormal points and w constant on them take exactly n = ⌈a²/ε²⌉ − 1 corrections."""
    accuracy = 1 / sqrt(n + 0.5)
    _, steps = corrections(np.full(n, 1 / sqrt(n)), np.eye(n), 1.0, accuracy)
    assert steps == n == scalar_steps(1.0, 1.0, accuracy)


@settings(max_examples=15)
@given(seeds)
def test_lemma_a_covers_by_enumeration(seed):
    """All (2N+1)^K strings of signed indices are a cover: every w is within ε of one at every point."""
    rng = np.random.default_rng(seed)
    n, d, accuracy = 3, 2, 0.55  # K = 3, so 7³ strings
    points = on_ball(rng, (n, d), 1.0)
    atoms = [np.zeros(d), *points, *(-points)]
    k = scalar_steps(1.0, 1.0, accuracy)
    elements = accuracy * np.array([sum(string) for string in product(atoms, repeat=k)])
    assert log(len(elements)) == pytest.approx(scalar_cover(1.0, 1.0, n).log_size(accuracy))
    for w in on_ball(rng, (40, d), 1.0):
        assert np.abs(points @ (elements - w).T).max(axis=0).min() <= accuracy + SLACK


def budgets(norms, delta):
    """Lemma B's corrections per column."""
    return [floor(a / delta + 1e-12) for a in norms]


@given(
    seed=seeds,
    k=st.integers(1, 4),
    d=st.integers(1, 5),
    n=st.integers(1, 8),
    b=st.floats(0.1, 3),
    share=st.floats(0.2, 1.1),
)
def test_lemma_b_covers_within_its_budget(*, seed, k, d, n, b, share):
    """Columns with their budgets: at most ⌊2(Bb/ε)²⌋ tokens in all, ℓ2 error at every point at most ε."""
    rng = np.random.default_rng(seed)
    W, points = rng.normal(size=(d, k)) * rng.uniform(0, 2, k), on_ball(rng, (n, d), b)
    norms = np.linalg.norm(W, axis=0)
    total = norms.sum()
    accuracy = share * total * b
    delta = accuracy**2 / (2 * total * b * b)
    found, tokens = np.zeros_like(W), 0
    for r, budget in enumerate(budgets(norms, delta)):
        if budget:
            scale = (budget + 1) * delta
            found[:, r], steps = corrections(W[:, r], points, b, scale * b / sqrt(budget + 1))
            assert steps <= budget
            tokens += budget
    assert tokens <= floor(2 * (total * b / accuracy) ** 2 + 1e-9)
    assert np.linalg.norm(points @ (W - found), axis=1).max() <= accuracy + SLACK


@pytest.mark.slow
@settings(max_examples=15)
@given(seeds)
def test_lemma_b_covers_by_enumeration(seed):
    """Every string of ⌊2(Bb/ε)²⌋ tokens decoded: each W of the class is within ε of one at every point."""
    rng = np.random.default_rng(seed)
    n, d, k, accuracy = 2, 2, 2, 0.8  # 3 tokens from an alphabet of 11
    points = rng.normal(size=(n, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    atoms = [np.zeros(d), *points, *(-points)]
    alphabet = [None, *product(range(k), range(len(atoms)))]
    delta, elements = accuracy**2 / 2, []
    for string in product(alphabet, repeat=floor(2 / accuracy**2)):
        W = np.zeros((d, k))
        for r in range(k):
            mine = [atoms[token[1]] for token in string if token is not None and token[0] == r]
            if mine:
                W[:, r] = (len(mine) + 1) * delta / sqrt(len(mine) + 1) * sum(mine)
        elements.append(W)
    cover = np.array(elements)
    assert log(len(cover)) == pytest.approx(matrix_cover(1.0, 1.0, k, n).log_size(accuracy))
    for aligned in [True] * 15 + [False] * 15:  # columns along a point are farthest from 0, which covers the rest
        W = points[rng.integers(n, size=k)].T if aligned else rng.normal(size=(d, k))
        W = W * rng.dirichlet(np.full(k, 0.2)) / np.linalg.norm(W, axis=0)
        assert np.linalg.norm(points @ (W - cover), axis=2).max(axis=1).min() <= accuracy + SLACK


@settings(max_examples=15)
@given(seeds)
def test_lemma_c_covers_by_enumeration(seed):
    """Averages of K signed atoms: every W in the ℓ1 ball is within B/√K of one in Frobenius norm."""
    rng = np.random.default_rng(seed)
    entries, steps = 3, 4
    atoms = [np.zeros(entries), *np.eye(entries), *(-np.eye(entries))]
    elements = np.array([sum(string) / steps for string in product(atoms, repeat=steps)])
    accuracy = 1 / sqrt(steps)
    assert log(len(elements)) == pytest.approx(sparse_matrix_cover(1.0, 1.0, entries).log_size(accuracy))
    for _ in range(30):
        w = rng.normal(size=entries)
        w *= rng.uniform() / np.abs(w).sum()
        assert np.linalg.norm(elements - w, axis=1).min() <= accuracy + SLACK


@given(seeds, st.floats(0.3, 1.0))
def test_lemma_d_bounds_every_packing(seed, accuracy):
    """Points of the unit ball more than ε apart are at most (1 + 2/ε)^n many."""
    rng = np.random.default_rng(seed)
    packing = []
    for point in on_ball(rng, (300, 2), 1.0):
        if all(np.linalg.norm(point - other) > accuracy for other in packing):
            packing.append(point)
    assert log(len(packing)) <= volumetric_size(1.0, 1.0, 2, accuracy)


@given(seeds, st.integers(1, 4), st.integers(1, 6), st.floats(0.3, 1.0))
def test_lemma_e_covers_scores(seed, d, n, share):
    """Scores xᵀMz are corrected within the steps that ‖M‖_F B_X B_Z allows."""
    rng = np.random.default_rng(seed)
    M, tokens, queries = rng.normal(size=(d, d)), on_ball(rng, (n, d), 2.0), on_ball(rng, (n, d), 0.5)
    features = np.einsum("ni,nj->nij", tokens, queries).reshape(n, d * d)
    frobenius = float(np.linalg.norm(M))
    accuracy = share * frobenius
    found, steps = corrections(M.ravel(), features, 1.0, accuracy)
    errors = np.einsum("ni,ij,nj->n", tokens, M - found.reshape(d, d), queries)
    assert np.abs(errors).max() <= accuracy + SLACK
    assert steps * log(2 * n + 1) <= bilinear_cover(frobenius, 2.0, 0.5, n).log_size(accuracy) + SLACK


@pytest.mark.parametrize(
    ("case", "accuracy", "steps", "exact", "smooth"),
    [
        ((1, 1, 4), 0.45, 4, 8.788898, 10.850492),
        ((2, 1, 100), 0.5, 15, 79.549574, 84.852879),
        ((3, 1, 1000), 0.1, 899, 6833.660699, 6841.262101),
        ((1, 1, 10), 0.5, 3, 9.133567, 12.178090),
        ((1, 1, 10), 1, 0, 0, 3.044522),
    ],
)
def test_vectors_of_lemma_a(*, case, accuracy, steps, exact, smooth):
    """The theory's numbers to their last digit."""
    cover = scalar_cover(*case)
    assert scalar_steps(float(case[0]), float(case[1]), float(accuracy)) == steps
    assert round(cover.log_size(accuracy), 6) == exact
    assert round(cover.capacity / accuracy**2, 6) == smooth


def test_vectors_of_the_matrix_lemmas():
    """The theory's numbers for Lemmas B, C and D to their last digit."""
    assert round(matrix_cover(1, 1, 2, 4).log_size(0.5), 6) == 23.555512
    assert round(matrix_cover(5.13, 1, 4, 100).log_size(0.5), 6) == 1405.076878
    assert round(sparse_matrix_cover(1, 1, 64).log_size(0.5), 6) == 19.439250
    assert round(sparse_matrix_cover(2, 1, 64).log_size(0.3), 6) == 218.691558
    assert round(volumetric_size(1, 1, 64, 0.5), 6) == 103.004026
    assert round(volumetric_size(1, 1, 64, 0.01), 6) == 339.411514


def test_the_smooth_forms_of_the_matrix_lemmas():
    """C of Lemma B is 2(Bb)²Λ, of Lemma C 2(Bb)²Λ, of Lemma E (F B_X B_Z)²Λ."""
    assert matrix_cover(3, 2, 4, 10).capacity == pytest.approx(2 * 36 * log(4 * 21 + 1))
    assert sparse_matrix_cover(3, 2, 10).capacity == pytest.approx(2 * 36 * log(21))
    assert bilinear_cover(3, 2, 5, 10).capacity == pytest.approx(900 * log(21))


def test_nothing_is_needed_at_coarse_accuracy():
    """At ε ≥ Bb the zero map covers."""
    assert matrix_cover(1, 1, 2, 4).log_size(1.0) == 0
    assert sparse_matrix_cover(1, 1, 4).log_size(1.0) == 0
    assert scalar_cover(0, 1, 4).log_size(0.1) == 0


def test_refusals():
    """Points, accuracies and norms must be what they are called."""
    with pytest.raises(AssumptionError, match="points must be above 0"):
        scalar_cover(1, 1, 0)
    with pytest.raises(AssumptionError, match="accuracy must be above 0"):
        volumetric_size(1, 1, 4, 0.0)
