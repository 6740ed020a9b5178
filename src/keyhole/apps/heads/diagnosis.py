"""A head beside estimators of the mean of the value given the key.

The pairs (key, value) of a head are data. Half of the tokens choose each estimator's settings, by leaving one out; the
other half, held out, is predicted at its keys. Beside it stands how near each fit comes to the head's own outputs at
its queries, up to one constant factor: a softmax that smooths a single harmonic degree is the conditional mean times a
constant, and of several degrees it is not. If queries and keys use different projections, queries may lie off the
distribution of the keys; then only the comparison with the head's outputs applies.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from keyhole.attention import Keys, Queries, Values
from keyhole.errors import AssumptionError
from keyhole.latent.kernels import Constant, Exponential, Gaussian, Kernel, embed_mean, smooth, smooth_left_out

TEMPERATURES = tuple(2.0**power for power in range(-6, 7))  # in units of the head's own
RIDGES = tuple(10.0**power for power in range(-4, 3))  # in units of the kernel's mean diagonal
MOST = 1024  # tokens looked at: the dense solutions cost their cube
STEEPEST = 150.0  # log of how far a kernel may rise above its values among the keys fitted: e^600, its fourth power,
# is still a double, and the spread of squared errors is of fourth power


@dataclass(frozen=True)
class Fit:
    """One estimator: its settings, and the share of the held-out values' spread it does not explain."""

    name: str
    temperature: float | None
    ridge: float | None
    unexplained: float  # mean squared error at held-out keys over the spread of held-out values
    standard_error: float
    on_edge: bool  # whether the setting chosen is the first or last of its grid
    factor: float  # the constant c for which c times this fit is nearest to the head's own outputs, about their mean
    disagreement: float  # share of the spread of those outputs that is then left


@dataclass(frozen=True)
class Diagnosis:
    """A head beside estimators of the conditional mean of its values."""

    own: Fit  # the head's softmax at its own temperature
    fits: tuple[Fit, ...]  # the mean, softmax and conditional-mean attention, each at its best settings

    @property
    def best(self) -> Fit:
        """The fit that explains held-out values best."""
        return min((self.own, *self.fits), key=lambda fit: fit.unexplained)

    @property
    def informative(self) -> bool:
        """True if the best fit beats the mean of the values by two standard errors: keys then tell of values."""
        return self.best.unexplained < self.fits[0].unexplained - 2 * self.best.standard_error


def diagnose_head(
    queries: Queries, keys: Keys, values: Values, *, temperature: float, rng: np.random.Generator
) -> Diagnosis:
    """Compare a head of this temperature with estimators of E[v | k], from at least four tokens.

    The exponential kernel is scaled to 1 at the longest key fitted. At longer queries it grows as e to their excess
    over γ; temperatures at which that is more than doubles can hold are left out of its grid.
    """
    own = temperature
    order = rng.permutation(len(keys))[:MOST]
    fitted, held = order[: len(order) // 2], order[len(order) // 2 :]
    if float(np.square(values[held] - values[held].mean(axis=0)).sum()) == 0:
        raise AssumptionError(
            "All held-out values are equal, so there is nothing to explain; give a head whose values vary."
        )
    case = _Case(
        keys[fitted], values[fitted], keys[held], values[held], queries, smooth(Exponential(own), keys, values, queries)
    )
    flat = case.fit("mean of the values", None, None, _softmax(Constant()), on_edge=False)
    chosen = case.fit("the head itself", own, None, _softmax(Exponential(own)), on_edge=False)
    losses = [
        float(np.square(smooth_left_out(Exponential(own * scale), case.keys, case.values) - case.values).mean())
        for scale in TEMPERATURES
    ]
    best = int(np.argmin(losses))
    gamma = own * TEMPERATURES[best]
    softmax = case.fit("softmax", gamma, None, _softmax(Exponential(gamma)), on_edge=best in (0, len(losses) - 1))
    reach = float(np.square(case.keys).sum(axis=1).max())
    others = np.concatenate([case.held_keys, queries])
    excess = float((others @ np.concatenate([case.keys, case.held_keys]).T).max()) - reach
    grid = [own * scale for scale in TEMPERATURES]
    gentle = [gamma for gamma in grid if excess <= STEEPEST * gamma]
    if not gentle:
        raise AssumptionError(
            f"Queries or held-out keys are so long that the exponential kernel exceeds e^{STEEPEST:.0f} at every "
            f"temperature up to {grid[-1]:.3g}; scale queries and keys down, or give the head's own temperature."
        )
    exponential = _best_embedding(
        case, gentle, "conditional mean, exponential kernel", lambda gamma: Exponential(gamma, offset=reach)
    )
    gaussian = _best_embedding(case, grid, "conditional mean, Gaussian kernel", lambda gamma: Gaussian(gamma**0.5))
    return Diagnosis(chosen, (flat, softmax, exponential, gaussian))


Answer = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # keys, values, queries → answers


@dataclass(frozen=True)
class _Case:
    """Tokens to fit on, tokens held out, and the head's own answers."""

    keys: np.ndarray
    values: np.ndarray
    held_keys: np.ndarray
    held_values: np.ndarray
    queries: np.ndarray
    outputs: np.ndarray

    def fit(self, name: str, temperature: float | None, ridge: float | None, answer: Answer, *, on_edge: bool) -> Fit:
        """Judge an estimator that was fitted here on the tokens held out, and against the head's outputs."""
        errors = np.square(answer(self.keys, self.values, self.held_keys) - self.held_values).sum(axis=1)
        spread = float(np.square(self.held_values - self.held_values.mean(axis=0)).sum(axis=1).mean())
        standard_error = float(errors.std(ddof=1) / np.sqrt(len(errors)))
        everything = np.concatenate([self.keys, self.held_keys]), np.concatenate([self.values, self.held_values])
        middle = everything[1].mean(axis=0)  # which even attention answers everywhere
        factor, left = _up_to_a_factor(answer(*everything, self.queries) - middle, self.outputs - middle)
        unexplained = float(errors.mean()) / spread
        return Fit(name, temperature, ridge, unexplained, standard_error / spread, on_edge, factor, left)


def _up_to_a_factor(fitted: np.ndarray, outputs: np.ndarray) -> tuple[float, float]:
    """Return the c of the least ‖c·fitted − outputs‖², and what share of ‖outputs‖² is then left."""
    size, whole = float(np.linalg.norm(fitted)), float(np.linalg.norm(outputs))
    if size <= 1e-12 * whole or whole == 0:  # a fit that is flat to rounding gives nothing of outputs that move
        return 0.0, 1.0 if whole else 0.0
    cosine = float(((fitted / size) * (outputs / whole)).sum())  # of unit vectors: nothing to overflow
    return cosine * (whole / size), max(0.0, 1 - cosine**2)


def _softmax(kernel: Kernel) -> Answer:
    return lambda keys, values, queries: smooth(kernel, keys, values, queries)


def _embedding(kernel: Kernel, ridge: float) -> Answer:
    def answer(keys: np.ndarray, values: np.ndarray, queries: np.ndarray) -> np.ndarray:
        middle = values.mean(axis=0)  # the prior mean: far from all keys the answer is the mean value
        answers: np.ndarray = middle + embed_mean(kernel, keys, values - middle, ridge=ridge).mean(queries)
        return answers

    return answer


def _best_embedding(case: _Case, grid: list[float], name: str, make: Callable[[float], Kernel]) -> Fit:
    """Fit with the bandwidth and ridge of the least left-out error; one eigendecomposition serves every ridge."""
    centred = case.values - case.values.mean(axis=0)
    best: tuple[float, int, int, float, float] | None = None
    for row, gamma in enumerate(grid):
        kernel = make(gamma)
        gram = kernel(case.keys, case.keys)
        spectrum, vectors = np.linalg.eigh((gram + gram.T) / 2)
        turned, unit = vectors.T @ centred, float(np.trace(gram)) / len(gram)
        for column, share in enumerate(RIDGES):
            shrunk = 1 / (np.maximum(spectrum, 0.0) + share * unit)
            # v_t less its mean from the other tokens is c_t/[(𝔎 + λI)⁻¹]_tt, c the coefficients
            left_out = (vectors @ (shrunk[:, None] * turned)) / (np.square(vectors) @ shrunk)[:, None]
            loss = float(np.square(left_out).mean())
            if best is None or loss < best[0]:
                best = (loss, row, column, gamma, share * unit)
    assert best is not None  # noqa: S101  (the grids are not empty)
    _, row, column, chosen, ridge = best
    edge = row in (0, len(grid) - 1) or column in (0, len(RIDGES) - 1)
    return case.fit(name, chosen, ridge, _embedding(make(chosen), ridge), on_edge=edge)
