"""Laws of the harmonics: the kernel's spectrum, softmax's multipliers, and what a ridge leaves out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import eval_legendre

from keyhole.errors import AssumptionError
from keyhole.latent.inference.bias import ridge_bias, softmax_floor
from keyhole.latent.inference.harmonics import (
    effective_dimension,
    eigenvalue,
    multiplicity,
    multiplier,
    shrinkage,
    zonal,
)
from keyhole.latent.kernels.families import sphere_kernel
from keyhole.latent.kernels.smoothing import smooth
from keyhole.latent.models.sphere import SphereFunction, SphereProcess, draw_sphere_function

dimensions = st.integers(2, 9)
temperatures = st.floats(0.05, 5)


@given(dimensions, temperatures)
def test_the_spectrum_sums_to_the_diagonal(dimension, temperature):
    """Σ_ℓ N(d, ℓ) μ_ℓ = 1: degree 200 is far past κ = 20."""
    total = sum(multiplicity(dimension, degree) * eigenvalue(dimension, degree, temperature) for degree in range(200))
    assert total == pytest.approx(1, abs=1e-12)  # two hundred positive terms, each rounded at 1e-15 of itself


@given(dimensions, st.floats(0.1, 5), st.floats(-1, 1))
def test_the_spectrum_gives_the_kernel(dimension, temperature, cosine):
    """Σ_ℓ N μ_ℓ P_ℓ(t) = exp((t − 1)/γ) at every angle."""
    shapes = zonal(dimension, 80, np.array([cosine]))[:, 0]
    weights = [multiplicity(dimension, degree) * eigenvalue(dimension, degree, temperature) for degree in range(80)]
    assert np.dot(weights, shapes) == pytest.approx(np.exp((cosine - 1) / temperature), abs=1e-11)


@pytest.mark.parametrize("degree", range(8))
def test_zonal_functions_in_space_are_legendre_polynomials(degree):
    """d = 3."""
    angles = np.linspace(-1, 1, 11)
    np.testing.assert_allclose(zonal(3, 9, angles)[degree], eval_legendre(degree, angles), atol=1e-13)


@pytest.mark.parametrize("degree", range(1, 6))
def test_zonal_functions_in_the_plane_are_cosines(degree):
    """d = 2: P_ℓ(cos θ) = cos ℓθ."""
    angle = np.linspace(0, np.pi, 9)
    np.testing.assert_allclose(zonal(2, 6, np.cos(angle))[degree], np.cos(degree * angle), atol=1e-13)


@given(dimensions, temperatures, st.integers(0, 12))
def test_softmax_is_a_low_pass_filter(dimension, temperature, degree):
    """1 = A_0 > A_1 > …, and A_ℓ = μ_ℓ/μ_0."""
    here, above = multiplier(dimension, degree, temperature), multiplier(dimension, degree + 1, temperature)
    assert 0 <= above < here <= 1
    ratio = eigenvalue(dimension, degree, temperature) / eigenvalue(dimension, 0, temperature)
    assert here == pytest.approx(ratio, rel=1e-12)


@given(st.floats(0.05, 5))
def test_in_space_the_first_multiplier_is_langevins_function(temperature):
    """A_{3,1}(κ) = coth κ − 1/κ."""
    kappa = 1 / temperature
    assert multiplier(3, 1, temperature) == pytest.approx(1 / np.tanh(kappa) - temperature, rel=1e-9)


VECTORS = {
    3: {1.0: (0.313035, 0.060894), 0.5: (0.537315, 0.194028), 0.1: (0.900000, 0.730000)},
    4: {1.0: (0.240194, 0.039225), 0.5: (0.433127, 0.133745), 0.1: (0.854185, 0.658326)},
    8: {1.0: (0.123469, 0.012245), 0.5: (0.238453, 0.046186), 0.1: (0.697511, 0.441991)},
}


@pytest.mark.parametrize("dimension", VECTORS)
def test_stored_multipliers(dimension):
    """A_{d,1} and A_{d,2} to the digits kept."""
    for temperature, expected in VECTORS[dimension].items():
        found = [multiplier(dimension, degree, temperature) for degree in (1, 2)]
        np.testing.assert_allclose(found, expected, atol=6e-7)


def test_stored_spectrum_and_effective_dimension():
    """d = 3, γ = ½."""
    found = [eigenvalue(3, degree, 0.5) for degree in range(6)]
    stored = [0.24542109, 0.13186836, 0.04761854, 0.01282201, 0.00274152, 0.00048516]
    np.testing.assert_allclose(found, stored, atol=6e-9)
    dims = [effective_dimension(3, 0.5, epsilon) for epsilon in (0.1, 0.01, 1e-3, 1e-4)]
    np.testing.assert_allclose(dims, [5.130, 14.371, 26.602, 40.756], atol=6e-4)


def test_stored_bias_of_the_proof_ridge():
    """λ = T^(3/4), degree 1: squared bias and local slope."""
    sizes = [1e2, 1e3, 1e4, 1e6, 1e8, 1e10]
    biases = [shrinkage(3, 1, 0.5, size**-0.25) ** 2 for size in sizes]
    np.testing.assert_allclose(biases, [0.49803, 0.32971, 0.18600, 0.037412, 0.0049685, 0.00054845], rtol=2e-5)
    slopes = [-0.5 * (1 - bias**0.5) for bias in biases]
    np.testing.assert_allclose(slopes, [-0.1471, -0.2129, -0.2844, -0.4033, -0.4648, -0.4883], atol=6e-5)


@given(st.floats(2, 1e9), temperatures)
def test_the_local_slope_is_the_derivative(size, temperature):
    """D log bias²/d log T, by a central difference whose error is of its step squared."""
    step = 1e-4
    above, below = (shrinkage(3, 1, temperature, (size * np.exp(s)) ** -0.25) ** 2 for s in (step, -step))
    numeric = (np.log(above) - np.log(below)) / (2 * step)
    stated = -0.5 * (1 - shrinkage(3, 1, temperature, size**-0.25))
    assert stated == pytest.approx(numeric, abs=1e-7)


def test_energies_add_up_to_the_power_of_the_function():
    """Σ_ℓ E‖f_ℓ‖² = E‖f‖², the latter by quadrature on a product grid that is exact for these degrees."""
    function = draw_sphere_function(3)
    heights, weights = np.polynomial.legendre.leggauss(40)
    turns = np.arange(80) * 2 * np.pi / 80
    radius = np.sqrt(1 - heights**2)
    grid = np.stack(
        [np.outer(radius, np.cos(turns)), np.outer(radius, np.sin(turns)), np.outer(heights, np.ones(80))], axis=-1
    )
    power = np.square(function(grid.reshape(-1, 3))).sum(axis=1).reshape(40, 80).mean(axis=1) @ weights / 2
    assert function.energies().sum() == pytest.approx(power, rel=1e-12)


def test_energies_of_a_process_add_up_to_its_variance():
    """kτ² in all."""
    process = SphereProcess(key_width=4, value_width=3, temperature=0.3, prior_variance=2.0)
    assert process.energies().sum() == pytest.approx(6, rel=1e-12)


@pytest.mark.parametrize(("dimension", "temperature"), [(200, 0.01), (500, 0.01), (50, 0.002)])
def test_energies_in_many_dimensions_are_not_cut_short(dimension, temperature):
    """The first degrees hold next to nothing, the energies still sum to 1; a bump's sum to its power, by the kernel."""
    process = SphereProcess(key_width=dimension, temperature=temperature)
    assert process.energies().sum() == pytest.approx(1, rel=1e-9)
    bump = SphereFunction(np.eye(dimension)[:1], np.ones((1, 1)), temperature)
    assert bump.energies().sum() == pytest.approx(eigenvalue(dimension, 0, temperature / 2), rel=1e-9)


def spiral(count: int) -> np.ndarray:
    """Points on the sphere as even as a golden spiral makes them: averages over them converge like 1/count."""
    heights = 1 - (2 * np.arange(count) + 1) / count
    turns = np.arange(count) * np.pi * (1 + 5**0.5)
    radius = np.sqrt(1 - heights**2)
    return np.stack([radius * np.cos(turns), radius * np.sin(turns), heights], axis=1)


def test_softmax_attention_has_the_stated_limit_and_floor():
    """At γ = ½ over evenly spread keys the answer is the low-passed function, and misses f by the floor, within 1 %."""
    function = draw_sphere_function(0)
    keys, queries = spiral(4001), spiral(701)
    answers = smooth(sphere_kernel(0.5), keys, function(keys), queries)
    np.testing.assert_allclose(answers, limit_at(function, 0.5, queries), atol=2e-3)  # 8 bumps, each to about 1/4001
    missed = np.square(answers - function(queries)).sum(axis=1).mean()
    assert missed == pytest.approx(softmax_floor(function.energies(), 3, 0.5), rel=0.01)


def limit_at(function: SphereFunction, temperature: float, queries: np.ndarray) -> np.ndarray:
    """The low-passed function: each degree multiplied."""
    degrees = len(function.energies())
    shapes = zonal(3, degrees, queries @ function.centres.T)
    factors = [
        multiplicity(3, degree) * eigenvalue(3, degree, function.temperature) * multiplier(3, degree, temperature)
        for degree in range(degrees)
    ]
    return np.einsum("l,lqj,jk->qk", factors, shapes, function.weights)


def test_without_a_ridge_nothing_is_missed():
    """The bias falls to 0 with ε, and grows with it."""
    parts = draw_sphere_function(1).energies()
    biases = [ridge_bias(parts, 3, 0.5, epsilon) for epsilon in (1e-12, 1e-6, 1e-3, 1.0, 1e6)]
    assert biases == sorted(biases)
    assert biases[0] < 1e-12
    assert biases[-1] == pytest.approx(parts.sum(), rel=1e-4)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: multiplier(1, 0, 0.5), "d ≥ 2"),
        (lambda: eigenvalue(3, -1, 0.5), "degrees from 0"),
        (lambda: eigenvalue(3, 1, 0.0), "must be positive"),
        (lambda: shrinkage(3, 1, 0.5, -1.0), "ridge per token"),
        (lambda: multiplier(2000, 1, 1.0), "temperature 1.0"),
        (lambda: SphereProcess(key_width=2000, temperature=0.001).energies(), "dimension 2000"),
        (lambda: effective_dimension(2000, 0.001, 0.1), "dimension 2000"),
        (lambda: effective_dimension(3, float("nan"), 0.1), "must be positive"),
    ],
)
def test_refusals(ask, sentence):
    """What is no sphere, degree, temperature or ridge."""
    with pytest.raises(AssumptionError, match=sentence):
        ask()
