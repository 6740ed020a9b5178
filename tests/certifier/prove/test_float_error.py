"""The bound of a float pass: never below what a pass in single precision is off, and not without cause that large."""

from dataclasses import replace

import numpy as np

from keyhole.api.length_verdict import in_format
from keyhole.attention import Affine, LayerNorm, forward
from keyhole.certifier.prove.float_error import Arithmetic, float_error
from keyhole.certifier.read import certifiable
from keyhole.languages import read_property
from keyhole.pretrained import Frame, framed_model, load_checkpoint, logit_difference

from helpers.tiny_gpt2 import write_gpt2

SINGLE = 2.0**-24


def measured_and_bound(folder, length=4, unit=SINGLE):
    """How far a pass in single precision is off on every word, at most, and what is promised."""
    checkpoint = load_checkpoint(folder)
    framed = framed_model(checkpoint, Frame((0, 1), (2,), (3,)), length, *logit_difference(checkpoint, 1, 0))
    at = read_property("majority", ("0", "1")).at(length)
    read = certifiable(framed.model)
    logits = np.abs(checkpoint.unembedding.weight)
    reads = tuple(framed.positions[place] for place in at.reads)
    bound = float_error(
        framed.model, read.tables, reads, at.classes, (logits[:, 0] + logits[:, 1], 0.0), unit=unit, drifts=read.drifts
    )
    single, worst = in_format(framed.model, np.float32), 0.0
    for number in range(2**length):
        word = np.zeros(length + 1, dtype=np.int64)
        word[list(reads)] = [number >> place & 1 for place in range(length)]
        computed = forward(single, word)
        assert computed.dtype == np.float32
        worst = max(worst, abs(float(computed) - float(forward(framed.model, word))))
    return worst, bound


def test_the_bound_holds_on_every_word_and_is_no_number_out_of_the_air(tmp_path):
    """Measured ≤ promised ≤ 10⁶ · measured over random models; a unit cut to 2^−45 promises too little."""
    for seed, activation in enumerate(["gelu_new", "gelu", "relu"]):
        write_gpt2(tmp_path / "model", seed=seed, width=4, heads=1, activation_function=activation)
        worst, bound = measured_and_bound(tmp_path / "model")
        assert 0 < worst <= bound <= 1e6 * worst
        worst, cut = measured_and_bound(tmp_path / "model", unit=2.0**-45)
        assert cut < worst


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
