"""Verdicts on learning the representation: each holds on numbers as predicted, and turns when they are not."""

from dataclasses import replace

import numpy as np
import pytest

from keyhole.apps.ledger.pretraining import (
    condition_number,
    lengths,
    risk_parts,
    sink_recovery,
    trained_networks,
)
from keyhole.apps.ledger.verdict import fitted_slope, mean_of
from keyhole.apps.pretrain.masked import PooledSquares, pooled_excess

RNG = np.random.default_rng(0)


def around(value, spread=0.1, count=40):
    """So many positive numbers around a value, whose mean it is."""
    found = np.exp(spread * RNG.normal(size=count))
    return tuple((value * found / found.mean()).tolist())


def test_slopes_and_means():
    """A power law is found again with its exponent inside the interval; a mean has its standard error."""
    sizes = [1, 4, 16, 64]
    slope = fitted_slope(sizes, [around(size**-0.5) for size in sizes], level=0.999)
    assert slope.value == pytest.approx(-0.5, abs=1e-9)
    assert 0 < slope.width < 0.2
    errors = [(RNG.normal(size=400) * size**-0.5).tolist() for size in sizes]
    assert fitted_slope(sizes, errors, squared=True, level=0.999).contains(-0.5)
    assert mean_of([1.0, 2.0, 3.0], 0.95).width == pytest.approx(2 * 1.959964 / 3**0.5)


def cells():
    """Excess risks as the closed form has them."""
    wanted = [(tied, T, 300) for tied in (True, False) for T in lengths.LENGTHS]
    wanted += [(True, 8, n) for n in lengths.SIZES if n != 300]
    exact = [(*each, pooled_excess(PooledSquares(), each[2], each[1], tied=each[0])) for each in wanted]
    return [lengths.Cell(tied, T, n, around(value), value) for tied, T, n, value in exact]


def test_supervised_length():
    """It holds on the closed forms; a form missed, tied growth, or no untied growth, turns it."""
    good = cells()
    assert lengths.conclude_supervised(good).verdict == "holds"
    assert lengths.conclude_supervised(good).figures
    assert (
        lengths.conclude_supervised([replace(good[0], expected=1.1 * good[0].expected), *good[1:]]).verdict
        == "fails here"
    )
    growing = [
        replace(one, found=around(0.01 * one.length), expected=0.01 * one.length) if one.tied else one for one in good
    ]
    assert lengths.conclude_supervised(growing).verdict == "fails here"
    flat = [one if one.tied else replace(one, found=around(0.1), expected=0.1) for one in good]
    assert lengths.conclude_supervised(flat).verdict != "holds"


def test_masked_length():
    """It holds where training is the estimate; a length apart, or growth, turns it; runs not optimised are named."""
    good = [lengths.MaskedCell(T, around(3.5), around(3.5), 0, 6 if T == 2 else 7, 0.01) for T in lengths.TOKENS]
    rate = {n: around(3.5 / n) for n in lengths.SAMPLES}
    assert lengths.conclude_masked(good, rate).verdict == "holds"
    slower = {n: around(n**-0.7) for n in lengths.SAMPLES}
    assert lengths.conclude_masked(good, slower).verdict == "fails here"
    apart = [*good[:-1], replace(good[-1], trained=around(4.5), unoptimised=9)]
    assert lengths.conclude_masked(apart, rate).verdict == "fails here"
    assert "{64: 9}" in lengths.conclude_masked(apart, rate).measurement
    growing = [replace(one, trained=around(one.length**0.5), likeliest=around(one.length**0.5)) for one in good]
    assert lengths.conclude_masked(growing, rate).verdict == "fails here"


def recovery(power=-0.5, bias=0.0, size=1.0):
    """Errors of a logit that fall like a power of n."""
    errors = {}
    for n in sink_recovery.SIZES:
        drawn = RNG.normal(size=200)
        errors[n] = ((drawn - drawn.mean()) / drawn.std() * size * 5 * n**power + bias).tolist()
    return sink_recovery.Recovery(1.0, errors, {n: 5 * n**-0.5 for n in errors})


def test_sink_recovery():
    """It holds at −½ without a bias; another rate, a bias, or errors of another size, turn it."""
    assert sink_recovery.conclude({"urn": recovery()}).verdict == "holds"
    for broken in (recovery(power=-0.3, size=0.1), recovery(bias=0.05), recovery(size=1.5)):
        assert sink_recovery.conclude({"urn": recovery(), "other": broken}).verdict == "fails here"


def test_risk_parts():
    """It holds as predicted; another rate, an order of approximation turned round, or training that stops, turn it."""
    sizes = risk_parts.SIZES

    def parts(values, approximation, power=-1.0, left=0.0):
        general = {n: around(10.0 * n**power) for n in sizes}
        return risk_parts.Parts(values, approximation, general, {n: [left * np.mean(general[n])] * 4 for n in sizes})

    good = [parts(1, 0.15), parts(2, 0.02), parts(3, 0.0)]
    assert risk_parts.conclude(good, around(0.01)).verdict == "holds"
    for left in (0.011, -0.011, float("nan")):  # of the generalization part; 1 % is allowed
        unfinished = [*good[:2], parts(3, 0.0, left=left)]
        assert risk_parts.conclude(unfinished, around(0.01)).verdict == "fails here"
    assert risk_parts.conclude([*good[:2], parts(3, 0.0, left=0.009)], around(0.01)).verdict == "holds"
    assert risk_parts.conclude(good, (-1.0, 1.0, 2.0)).verdict == "undecided at this scale"
    assert risk_parts.conclude([*good[:2], parts(3, 0.0, power=-0.7)], around(0.01)).verdict == "fails here"
    assert risk_parts.conclude([good[1], good[0], good[2]], around(0.01)).verdict == "fails here"
    assert risk_parts.conclude(good, [-one for one in around(0.01)]).verdict == "fails here"


def look():
    """What is predicted of condition numbers."""
    kappas = (3.0, 6.0, 12.0)
    excess = {kappa: around(1e-4 * kappa**2, count=8) for kappa in kappas}
    return condition_number.Look(
        {kappa: around(1e-8 * kappa**2) for kappa in (2.0, 20.0, 200.0)},
        excess,
        excess,
        {kappa: tuple(3 * one for one in excess[kappa]) for kappa in kappas},
        0.04,
        0.0001,
        0.17,
        0.25,
        around(0.0001, count=8),
        0.25,
    )


def test_condition_number():
    """It holds as predicted; each part of the prediction that is broken turns it."""
    good = look()
    assert condition_number.conclude(good).verdict == "holds"
    steeper = {kappa: around(1e-8 * kappa**2.2) for kappa in good.injected}
    falling = dict(zip(good.fitted_head, reversed(list(good.fitted_head.values())), strict=True))
    for broken in (
        replace(good, injected=steeper),
        replace(good, bounds={kappa: tuple(one / 10 for one in values) for kappa, values in good.bounds.items()}),
        replace(good, fitted_head=falling),
        replace(good, exact_head=falling, bounds=dict.fromkeys(good.bounds, (1.0,) * 8)),
        replace(good, squared_excess=0.1),
        replace(good, log_excess=around(0.1, count=8)),
    ):
        assert condition_number.conclude(broken).verdict == "fails here"


def test_one_step_that_falls():
    """An excess that clearly falls from one κ_T to the next fails, though it rises from the first to the last."""
    good = look()
    dip = dict(zip(good.exact_head, (around(0.001), around(0.0005), around(0.02)), strict=True))
    loose = dict.fromkeys(good.bounds, (1.0,) * 40)
    for head in ("exact_head", "fitted_head"):
        broken = replace(good, **{"exact_head": dict.fromkeys(dip, around(0.01)), "bounds": loose, head: dip})
        assert fitted_slope(list(dip), list(dip.values())).low > 0
        assert condition_number.conclude(broken).verdict == "fails here"


def test_the_best_head_on_the_exact_mean():
    """Where means are equal the whole variance of the posterior is left; where they differ nothing is."""
    left, variance = condition_number.blind_pair(condition_number.PAIR)
    assert left == pytest.approx(variance, rel=1e-9)
    assert variance > 0.24
    apart = ((0.1, 0.3), (0.1, 0.15), (0.6, 0.1), (0.1, 0.15), (0.1, 0.3))  # of equal means still
    left, variance = condition_number.blind_pair(apart)
    assert left == pytest.approx(variance, rel=1e-9)
    uneven = ((0.05, 0.3), (0.1, 0.15), (0.7, 0.1), (0.1, 0.25), (0.05, 0.2))  # of means 0 and −0.1
    left, variance = condition_number.blind_pair(uneven)
    assert left < 1e-12 < variance  # the mean is a linear map of the posterior of two latents: a head undoes it


def test_the_slope_of_an_injected_error():
    """The downstream excess of a known error has the slope 2 in κ_T."""
    injected = condition_number.inject(np.random.default_rng(1))
    assert fitted_slope(list(injected), list(injected.values())).value == pytest.approx(2, abs=0.05)


def courses(letters=0.005, numbers=0.004):
    """Excess by length."""
    every = (*trained_networks.SEEN, *trained_networks.BEYOND)
    return {
        ("finite", "encoder"): trained_networks.Course("encoder", {length: [letters, 0.001] for length in every}),
        ("gaussian", "encoder"): trained_networks.Course("encoder", {length: [numbers, 0.001] for length in every}),
        ("finite", "pooling"): trained_networks.Course("pooling", {length: [0.05] for length in every}),
        ("finite", "positions"): trained_networks.Course(
            "positions", {length: [0.05] for length in trained_networks.SEEN}
        ),
    }


def test_trained_networks():
    """One run above 0.01 nats, or above 1 %, or without a number, is enough to fail."""
    assert trained_networks.conclude_networks(courses(), 0.1, 0.4, 0.2).verdict == "holds"
    assert trained_networks.conclude_networks(courses(letters=0.011), 0.1, 0.4, 0.2).verdict == "fails here"
    assert trained_networks.conclude_networks(courses(numbers=0.011), 0.1, 0.4, 0.2).verdict == "fails here"
    diverged = courses()
    diverged["finite", "encoder"].excess[trained_networks.SEEN[-1]][-1] = float("nan")
    assert trained_networks.conclude_networks(diverged, 0.1, 0.4, 0.2).verdict == "fails here"


def probes(trained=0.005, untrained=0.1, shuffled=0.4):
    """The readings of a run."""
    found = {}
    for stage in trained_networks.STAGES:
        found[f"{stage}_ignorant"] = 0.4
        for layer in (1, 2):
            found[f"{stage}_probe{layer}"] = untrained if stage == "untrained" else trained
            found[f"{stage}_probe{layer}_error"] = 0.0005
            found[f"{stage}_shuffled{layer}"] = shuffled
    return found


def test_posterior_probes():
    """It holds as predicted; a poor trained probe, an untrained one as good, or a control that reads, turn it.

    How much of the posterior the untrained network gives is said first: all but .1 of .4 nats.
    """
    good = trained_networks.conclude_probes([probes(), probes()])
    assert good.verdict == "holds"
    for broken in (probes(trained=0.05), probes(untrained=0.005), probes(shuffled=0.2)):
        assert trained_networks.conclude_probes([broken, broken]).verdict == "fails here"
        assert trained_networks.conclude_probes([probes(), broken]).verdict == "fails here"
    unread = {**probes(), "trained_shuffled2": float("nan")}
    assert trained_networks.conclude_probes([probes(), unread]).verdict == "undecided at this scale"
    near = probes(trained=trained_networks.NEAR)  # within three standard errors of the limit
    assert trained_networks.conclude_probes([probes(), near]).verdict == "undecided at this scale"
