"""The bound of a float pass: never below what a pass in single precision is off, and not without cause that large."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from keyhole.attention import GELU, Affine, Identity, LayerNorm, ReLU, RMSNorm, TanhGELU, forward
from keyhole.checkpoints import Frame, framed_model, load_checkpoint, logit_difference
from keyhole.languages import read_property
from keyhole.prover.extraction import certifiable, in_format
from keyhole.prover.proof import float_error as module
from keyhole.prover.proof.curves import curves, slopes
from keyhole.prover.proof.float_error import Arithmetic, Computed, float_error
from keyhole.prover.proof.relaxation import Box

from helpers.tiny_gpt2 import write_gpt2

SINGLE = 2.0**-24


@pytest.fixture(autouse=True)
def _few_parts(monkeypatch):
    """Few parts, so that bounds are quick."""
    monkeypatch.setattr(module, "MOST_PARTS", 40)


def measured_and_bound(folder, length=4, unit=SINGLE, enough=0.0, **time):
    """How far a pass in single precision is off on every word, at most, and what is promised."""
    checkpoint = load_checkpoint(folder)
    framed = framed_model(checkpoint, Frame((0, 1), (2,), (3,)), length, *logit_difference(checkpoint, 1, 0))
    at = read_property("majority", ("0", "1")).at(length)
    read = certifiable(framed.model)
    logits = np.abs(checkpoint.unembedding.weight)
    reads = tuple(framed.positions[place] for place in at.reads)
    bound = float_error(
        framed.model,
        read.tables,
        replace(at, reads=reads),
        (logits[:, 0] + logits[:, 1], 0.0),
        unit=unit,
        drifts=read.drifts,
        enough=enough,
        **time,
    )
    single, worst = in_format(framed.model, np.float32), 0.0
    for number in range(2**length):
        word = np.zeros(length + 1, dtype=np.int64)
        word[list(reads)] = [number >> place & 1 for place in range(length)]
        computed = forward(single, word)
        assert computed.dtype == np.float32
        worst = max(worst, abs(float(computed) - float(forward(framed.model, word))))
    return worst, bound


@pytest.mark.slow
def test_the_bound_holds_on_every_word_and_is_no_number_out_of_the_air(tmp_path):
    """Measured ≤ promised ≤ 10⁴ · measured over random models; a unit cut to 2^−45 promises too little."""
    for seed, activation in enumerate(["gelu_new", "gelu", "relu"]):
        write_gpt2(tmp_path / "model", seed=seed, width=4, heads=1, activation_function=activation)
        worst, bound = measured_and_bound(tmp_path / "model")
        assert 0 < worst <= bound <= 1e4 * worst
        worst, cut = measured_and_bound(tmp_path / "model", unit=2.0**-45)
        assert cut < worst


def test_what_is_known_when_time_ends_holds_too(tmp_path):
    """Nothing looked at: no bound. Later ends give bounds that fall, and each holds on every word."""
    write_gpt2(tmp_path / "model", seed=1, width=4, heads=1)
    bounds = []
    for looks in (0, 1, 2, 10**6):
        clock = count()
        worst, bound = measured_and_bound(
            tmp_path / "model", late=lambda clock=clock, looks=looks: next(clock) >= looks
        )
        assert worst <= bound
        bounds.append(bound)
    assert bounds[0] == np.inf
    assert np.inf > bounds[1] >= bounds[2] > bounds[3]


def test_a_norm_of_a_small_row_is_off_by_what_entered_it():
    """Entries moved by e move (x − mean)/spread by up to e/spread: the bound is reached within a small factor."""
    rng, single = np.random.default_rng(0), Arithmetic(SINGLE)
    norm = LayerNorm(np.ones(8), np.zeros(8), 1e-5)
    for spread in (1.0, 1e-1):
        rows = rng.normal(size=(2000, 8)) * spread + 1
        centred = np.abs(rows - rows.mean(axis=1, keepdims=True))
        least = np.sqrt((centred**2).mean(axis=1) + 1e-5)
        bound = single.norm(single.stored(rows), norm, centred, least).error
        plain = replace(norm, gain=norm.gain.astype(np.float32), bias=norm.bias.astype(np.float32))
        off = np.abs(plain(rows.astype(np.float32)).astype(np.float64) - norm(rows))
        assert (off <= bound).all()
        assert (off > 0.05 * bound).any()


def test_a_norm_over_a_box_holds_for_every_row_in_it_and_for_a_point_is_tight():
    """Rows of a box, moved by what they are off, are normed to within the bound; a box that is one row is as `norm`."""
    rng, single = np.random.default_rng(2), Arithmetic(SINGLE)
    for centres, width in [(True, 0.0), (True, 1e-2), (False, 0.0), (False, 0.3)]:
        norm = (LayerNorm if centres else RMSNorm)(rng.normal(size=8), rng.normal(size=8), 1e-5)
        middle = rng.normal(size=8)
        rows = middle + width * rng.uniform(-1, 1, size=(500, 8))
        seen = rows - rows.mean(axis=1, keepdims=True) if centres else rows
        spread = np.sqrt((seen**2).mean(axis=1) + 1e-5)
        box = Box(seen.min(axis=0)[None], seen.max(axis=0)[None], spread.min()[None], spread.max()[None])
        off = rng.uniform(1e-7, 1e-4, size=8)
        moved = Computed(np.abs(rows).max(axis=0)[None], ((off[None], rng.normal(size=(8, 8))),))
        bound = single.norm_over(moved, norm, box).error[0]
        signs = rng.choice([-1.0, 1.0], size=(500, 8)) * off
        worst = np.abs(norm(rows + signs @ moved.sources[0][1]) - norm(rows)).max(axis=0)
        assert (worst <= bound).all()
        if not width:
            assert (worst > 0.2 * bound).any()


def test_an_error_that_comes_two_ways_adds_up_with_its_signs():
    """A sum x + x W is off by e (I + W): with W near −I by next to nothing; the bound is nearly reached."""
    rng, exact = np.random.default_rng(5), Arithmetic(2.0**-60)
    off = rng.uniform(1e-6, 1e-5, size=(1, 6))
    for weight in (rng.normal(size=(6, 6)), np.eye(6), -0.999 * np.eye(6)):
        x = Computed(np.ones((1, 6)), ((off, np.eye(6)),))
        image = exact.affine(x, Affine(weight))
        bound = exact.total(x, image).error[0]
        worst = np.abs((rng.choice([-1.0, 1.0], size=(4000, 6)) * off) @ (np.eye(6) + weight)).max(axis=0)
        assert (worst <= bound).all()
        assert (worst > 0.9 * bound).all()


def test_an_activation_over_a_range_is_off_by_its_slopes_there():
    """Entries of a range, moved, are off by no more than the bound; beyond the bend a ReLU is exact or silent."""
    rng, single = np.random.default_rng(3), Arithmetic(SINGLE)
    for kind in (GELU(), TanhGELU(), ReLU(), Identity()):
        low = rng.uniform(-6, 5, size=(1, 40))
        high = low + rng.choice([1e-3, 0.1, 2.0], size=(1, 40))
        off = np.full((1, 40), 1e-4)
        x = Computed(np.maximum(-low, high), ((off, np.eye(40)),))
        bound = single.activation(x, kind, curves(kind, low, high)).error[0]
        at = low + (high - low) * rng.random((2000, 40))
        moved = np.abs(np.asarray(kind(at + off)) - np.asarray(kind(at))).max(axis=0)
        assert (moved <= bound * (1 + 1e-9)).all()
        assert (moved > 0.4 * bound).any()


def test_slopes_are_within_their_range_and_no_wider_than_the_curvature_allows():
    """Every quotient of differences lies in the range; over a hundredth its radius is below a hundredth."""
    rng = np.random.default_rng(4)
    for kind in (GELU(), TanhGELU(), ReLU()):
        low = rng.uniform(-11, 11, size=4000)
        high = low + rng.choice([1e-2, 1.0, 5.0], size=4000)
        x, y = (low + (high - low) * rng.random(4000) for _ in range(2))
        quotient = (np.asarray(kind(x)) - np.asarray(kind(y))) / (x - y)
        middle, radius = slopes(kind, low, high)
        assert (np.abs(quotient - middle) <= radius + 1e-9).all()
        if not isinstance(kind, ReLU):
            assert radius[high - low < 0.02].max() < 0.01


def test_parts_are_cut_until_the_error_is_small_enough(tmp_path, monkeypatch):
    """More parts, less error; with as much as is enough there is no cut at all."""
    write_gpt2(tmp_path / "model", seed=0, width=4, heads=1)
    worst, whole = measured_and_bound(tmp_path / "model", enough=np.inf)
    _, cut = measured_and_bound(tmp_path / "model")
    assert worst <= cut < 0.9 * whole
    monkeypatch.setattr(module, "MOST_PARTS", 0)
    assert measured_and_bound(tmp_path / "model")[1] == whole


def test_sums_of_equal_signs_reach_their_bound_within_the_count():
    """A matrix product of positive numbers is off by less than γ_(n+1) of itself, and by more than a hundredth."""
    rng, single = np.random.default_rng(1), Arithmetic(SINGLE)
    x, weight = ((1 + rng.random(shape)).astype(np.float32) for shape in ((500, 16), (16, 4)))
    x, weight = x.astype(np.float64), weight.astype(np.float64)
    stored = replace(single.stored(x), sources=())  # the numbers are of the format already
    bound = single.affine(stored, Affine(weight)).error
    off = np.abs((x.astype(np.float32) @ weight.astype(np.float32)).astype(np.float64) - x @ weight)
    assert (off <= bound).all()
    assert (off > 0.01 * bound).any()


def test_masses_that_move_as_far_as_they_may_reach_their_share():
    """Half the mass at one end of the values, moved by ±δ: the mean moves by δ times half the range, to first order."""
    single = Arithmetic(SINGLE)
    values = single.stored(np.array([[-1.0], [1.0]]))
    delta = 1e-3
    bound = single.mean(delta, 0.0, values, np.array([1.0]), 2).error[0]
    moved = np.tanh(delta)  # (e^δ − e^−δ)/(e^δ + e^−δ)
    assert moved <= bound <= 1.05 * moved
