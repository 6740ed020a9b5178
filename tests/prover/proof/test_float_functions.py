"""What exp, tanh, erf and GELU of numpy, scipy and torch are off, and what the bound of a float pass takes for granted.

Exact values are those of ball arithmetic. Each implementation is asked at the points of a grid that is dense in floats
of every size; `KEYHOLE_FLOATS` multiplies their number, and `pytest -s` shows what each was off.
"""

import os
from itertools import product
from math import log1p

import numpy as np
import pytest
from flint import arb, ctx

from keyhole.attention import GELU, TanhGELU
from keyhole.prover.proof.curves import curves
from keyhole.prover.proof.float_error import (
    EXP_PLACES,
    EXPONENTIAL,
    FLOAT_UNITS,
    GELU_UNITS,
    UNITS_OF_ONE,
    Arithmetic,
    Computed,
)

SINGLE = FLOAT_UNITS["float32"]
POINTS = 4000 * int(os.environ.get("KEYHOLE_FLOATS", "1"))
CUBIC = "0.044715"


@pytest.fixture(autouse=True)
def _many_bits():
    """Balls of 120 bits."""
    before, ctx.prec = ctx.prec, 120
    yield
    ctx.prec = before


def tanh_argument(x):
    """√(2/π) (x + 0.044715 x³)."""
    return (2 / arb.pi()).sqrt() * (x + arb(CUBIC) * x**3)


EXACT = {
    "exp": lambda x: x.exp(),
    "tanh": lambda x: x.tanh(),
    "erf": lambda x: x.erf(),
    "gelu": lambda x: x * (1 + (x / arb(2).sqrt()).erf()) / 2,
    "gelu_tanh": lambda x: x * (1 + tanh_argument(x).tanh()) / 2,
}


def exact(name, x):
    """A function at floats, correct to the last place of a double."""
    return np.array([float(EXACT[name](arb(float(point))).mid()) for point in x])


def floats(least, most, seed=0):
    """Floats of single precision between two positive ends: half even in size, half even in their logarithm."""
    rng = np.random.default_rng(seed)
    spread = [rng.uniform(least, most, POINTS), np.exp(rng.uniform(np.log(least), np.log(most), POINTS))]
    return np.concatenate(spread).astype(np.float32)


def off(name, computed, x, by="numpy", of=1.0):
    """The largest |computed − exact| in units of what it is taken of: 1, or the sizes given."""
    assert computed.dtype == np.float32
    apart = np.abs(computed.astype(np.float64) - exact(name, x)) / of / SINGLE
    print(f"{name} by {by}: off by {apart.max():.3g} u at {x[apart.argmax()]:.6g}")  # noqa: T201  (shown by -s)
    return float(apart.max())


def off_exp(computed, x, by="numpy"):
    """The largest error of an exponential, of itself."""
    return off("exp", computed, x, by, exact("exp", x))


def off_gelu(name, computed, x, by="numpy and scipy"):
    """The largest error of a GELU, of |x|."""
    return off(name, computed, x, by, np.abs(x.astype(np.float64)))


def test_the_logarithm_of_an_exponential_is_off_by_its_places():
    """−ln(1 − 7u) ≤ 7.1u in every format, and at the coarsest no smaller constant of two digits would do."""
    lost = {unit: -log1p(-2 * EXP_PLACES * unit) / unit for unit in FLOAT_UNITS.values()}
    assert max(lost.values()) <= EXPONENTIAL
    assert max(lost.values()) > EXPONENTIAL - 0.1


@pytest.mark.parametrize("unit", FLOAT_UNITS.values())
def test_masses_off_by_their_places_move_a_mean_by_no_more(unit):
    """Two equal masses at values ±1, one too large by 7u and one too small: the mean moves by 7u, of 7.1u allowed."""
    format_ = Arithmetic(unit)
    bound = format_.mean(0.0, 0.0, Computed(np.ones((2, 1)), ()), np.array([1.0]), 2).error[0]
    up, down = 1 + 2 * EXP_PLACES * unit, 1 - 2 * EXP_PLACES * unit
    moved = (up - down) / (up + down)
    assert moved <= bound - format_.gamma(6) <= 1.03 * moved  # sums, quotient and products: six roundings


def worst_gelu(name, x, unit):
    """How far a GELU can be off at x, in units of |x|: every rounding at its worst, all signs tried.

    Relative roundings: k, x³ (four units), their product, the sum, c and its product; or √2 and a quotient. Then what
    tanh or erf is off, the sum with 1 and the product; the half is exact.
    """
    found = arb(0)
    for argument, function, rest in product((1, -1), repeat=3):
        up = 1 + arb(argument) * arb(unit)
        if name == "gelu_tanh":
            cube = x**3 * (1 + 4 * arb(argument) * arb(unit))
            inner = (x + arb(CUBIC) * up * cube * up) * up
            value = ((2 / arb.pi()).sqrt() * up * inner * up).tanh()
        else:
            value = (x / arb(2).sqrt() * up * up).erf()
        value += arb(function) * 2 * arb(UNITS_OF_ONE) * arb(unit)
        computed = x * ((1 + value) * (1 + arb(rest) * arb(unit))) * (1 + arb(rest) * arb(unit)) / 2
        found = found.max(abs(computed - EXACT[name](x)))
    return float((found / abs(x) / arb(unit)).mid())


def test_a_gelu_of_worst_roundings_reaches_its_constant():
    """Over a grid of x and both formats at most 7.6u |x|, and above nine tenths of that; the erf form needs less."""
    grid = [arb(step) / 16 for step in range(-96, 97) if step]
    worst = {
        name: max(worst_gelu(name, x, unit) for x in grid for unit in FLOAT_UNITS.values())
        for name in ("gelu", "gelu_tanh")
    }
    assert 0.9 * GELU_UNITS < worst["gelu_tanh"] <= GELU_UNITS
    assert worst["gelu"] < worst["gelu_tanh"]


@pytest.mark.parametrize("kind", [GELU(), TanhGELU()])
def test_the_bound_of_an_activation_holds_for_worst_roundings(kind):
    """At single arguments that are exact: what the worst roundings do is within the bound, which is 7.6u |x| there."""
    for unit in FLOAT_UNITS.values():
        for point in (-3.0, -1.0, -0.1, 0.1, 1.0, 3.0, 30.0):
            at = np.array([[point]])
            bound = Arithmetic(unit).activation(Computed(np.abs(at), ()), kind, curves(kind, at, at)).error[0, 0]
            assert worst_gelu(kind.name, arb(point), unit) * unit * abs(point) <= bound
            assert bound == pytest.approx(7.6 * unit * abs(point))


def test_numpy_and_scipy_are_as_good_as_is_taken_for_granted():
    """exp down to the underflow, tanh and scipy's erf in single precision, and both GELUs made of them."""
    below, x = -floats(2.0**-24, 87.0), floats(2.0**-20, 12.0)
    x = np.concatenate([x, -x])
    seen = off_exp(np.exp(below), below)
    assert 1 < seen <= 2 * EXP_PLACES < EXPONENTIAL
    assert 0.5 < off("tanh", np.tanh(x), x) <= 2 * UNITS_OF_ONE
    for kind in (GELU(), TanhGELU()):
        assert 1 < off_gelu(kind.name, np.asarray(kind(x)), x) <= GELU_UNITS


@pytest.mark.extra("torch")
def test_torch_is_as_good_as_is_taken_for_granted():
    """tanh, erf, and GELUs as torch and transformers compute them; torch's own has an erf of its own."""
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    x = floats(2.0**-20, 12.0)
    x = np.concatenate([x, -x])
    tensor = torch.from_numpy(x)
    for name, function in [("tanh", torch.tanh), ("erf", torch.erf)]:
        assert off(name, function(tensor).numpy(), x, "torch") <= 2 * UNITS_OF_ONE
    written = 0.5 * tensor * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (tensor + 0.044715 * torch.pow(tensor, 3.0))))
    assert off_gelu("gelu_tanh", written.numpy(), x, "transformers") <= GELU_UNITS
    assert off_gelu("gelu_tanh", functional.gelu(tensor, approximate="tanh").numpy(), x, "torch") <= GELU_UNITS
    assert off_gelu("gelu", functional.gelu(tensor).numpy(), x, "torch") <= GELU_UNITS


def masses(scores, torch, fused):
    """Softmax weights of rows whose first score is 0, the others far below: the masses, since they sum to 1."""
    rows = torch.from_numpy(scores)
    if not fused:
        return torch.softmax(rows, dim=-1).numpy()
    keys = torch.zeros(*scores.shape, 16)
    keys[..., 0] = rows
    query = torch.zeros(len(scores), 1, 16)
    query[..., 0] = 1.0
    values = torch.eye(scores.shape[1], 16).expand(len(scores), -1, -1)
    shaped = (part[:, None].contiguous() for part in (query, keys, values))
    return torch.nn.functional.scaled_dot_product_attention(*shaped, scale=1.0)[:, 0, 0, : scores.shape[1]].numpy()


@pytest.mark.extra("torch")
@pytest.mark.parametrize("fused", [False, True])
def test_the_masses_of_torch_are_exponentials_within_their_places(fused):
    """At scores 22 to 86 below the largest, where a weight is its mass; the fused kernel has its own exponential."""
    torch = pytest.importorskip("torch")
    below = -floats(22.0, 86.0)
    below = below[: len(below) // 15 * 15].reshape(-1, 15)
    scores = np.concatenate([np.zeros((len(below), 1), dtype=np.float32), below], axis=1)
    weights = masses(scores, torch, fused)
    assert (weights[:, 0] == 1).all()
    by = "torch's fused attention" if fused else "torch's softmax"
    assert off_exp(weights[:, 1:].ravel(), below.ravel(), by) <= 2 * EXP_PLACES < EXPONENTIAL
