"""The least value of a functional of the heads on a slab of inputs, but for a set whose probability is counted.

A slab is a cell's inputs with a linear statistic L between two numbers. Another sum S over tokens can be extreme on it
only where the orthogonal part of S is; with both in one exponent, the chance of that is the slab's own chance times a
tail, so that near a rare slab little has to be allowed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.prover.proof.lower_bound import Minimisers
from keyhole.prover.proof.tables import SPECK, Parts, Tables
from keyhole.prover.wrong_share.linear_statistic import LinearStatistic
from keyhole.rigorous import GROW, Ball, gamma

TRIALS = (0.8, 1.0, 1.3, 1.7)  # of λ about its Gaussian value; any λ > 0 is right
STEEPEST = 500.0  # exponents are kept below this
COMPUTED = 1 + 1e-6  # of a deviation r: exponents λr of some tens are computed to 1e-11, of which this is far more


@dataclass(frozen=True, eq=False)
class Slab:
    """Inputs of a cell with low ≤ L < high, and the tokens' chances tilted to where most of them are."""

    statistic: LinearStatistic
    low: int
    high: int
    chances: Float[np.ndarray, "n A"]  # q_t(a) ∝ p_a exp(−μ weights[t, a])
    log_chance: float  # a bound of ln P(slab), by the same tilt: Chernoff's


def slab_of(statistic: LinearStatistic, low: int, high: int) -> Slab:
    """A slab with the tilt under which L is on average its nearest value to the middle.

    Statement  For any μ, P(slab ∩ E) ≤ exp(max_{low ≤ L < high} μL + Σ_t ln E e^{−μ w_t}) · Q(E), where Q has the
               tilted chances.
    Proof      dP/dQ = e^{μL} E e^{−μL}, and is at most its largest value on the slab.
    Source     Textbook (exponential tilting).
    """
    weights, chances = statistic.weights.astype(np.float64), np.asarray(statistic.law.chances)
    mean = float((weights * chances).sum())
    goal = min(max(mean, float(low)), float(high - 1))
    largest = max(float(weights.max(initial=0.0)), 1.0)

    def tilted(mu: float) -> tuple[np.ndarray, float]:
        powers = chances * np.exp(-mu * weights + mu * weights.min(axis=1, keepdims=True))
        total = powers.sum(axis=1, keepdims=True)
        return powers / total, float(np.log(total).sum() - mu * weights.min(axis=1).sum())

    ends = (0.0, STEEPEST / largest) if goal < mean else (-STEEPEST / largest, 0.0)
    mu = 0.0
    if goal != mean:
        down, up = ends
        for _ in range(60):
            mu = (down + up) / 2
            down, up = (mu, up) if float((tilted(mu)[0] * weights).sum()) > goal else (down, mu)
    q, cumulant = tilted(mu)
    reached = max(mu * low, mu * (high - 1))
    return Slab(statistic, low, high, q, min(0.0, reached + cumulant) + 1e-9)


@dataclass(frozen=True, eq=False)
class _LikelyHead:
    """One head about its mean under the tilt: output = centre + (start + Σ_t terms)/(1 + ζ)."""

    centre: Float[np.ndarray, "k"]
    start: Float[np.ndarray, "k"]
    terms: Float[np.ndarray, "n A k"]
    shrink: float  # a bound of |ζ/(1 + ζ)| but for a counted set
    size: Float[np.ndarray, "k"]  # of the absolute terms, added up
    reach: Float[np.ndarray, "k"]
    slack: Float[np.ndarray, "k"]


@dataclass(eq=False)
class LikelyView:
    """The heads over a slab; every bound holds but for a set of probability `chance`, and `events` counts them."""

    slab: Slab
    parts: Parts  # one cell
    rows: Int[np.ndarray, "n"]  # the row of each free token
    chance: float
    heads: tuple[_LikelyHead, ...] = ()
    events: int = field(default=0)

    @property
    def budget(self) -> float:
        """The nats that a tail under the tilt must have."""
        return max(0.0, self.slab.log_chance - float(np.log(self.chance)))

    @property
    def count(self) -> int:
        """One part: a slab of one cell."""
        return self.parts.count

    def middle(self) -> Float[np.ndarray, "parts rows A"]:
        """The inputs of the slab on average, under its tilt."""
        view: np.ndarray = self.shown(self.slab.chances)[None]
        return view

    def least(self, directions: Ball) -> Float[np.ndarray, "parts D"]:
        """A lower bound of each functional on the slab, but for sets that are counted.

        Statement  Σ_h ⟨w_h, o_h⟩ ≥ Σ_h ⟨w_h, c_h⟩ + S − Σ_h |S_h| |ζ_h/(1 + ζ_h)|, where c_h is any vector, z_h any
                   number, S_h = ⟨w_h, N_h − c_h Z_h⟩/z_h, S = Σ_h S_h, and 1 + ζ_h = Z_h/z_h > 0.
        Proof      ⟨w_h, o_h − c_h⟩ = S_h/(1 + ζ_h) = S_h − S_h ζ_h/(1 + ζ_h). S and S_h are sums over tokens.
        Source     Ours.
        """
        bound: np.ndarray = self._bounded(directions)[0][None, :]
        return bound

    def minimisers(self, directions: Ball) -> Minimisers:
        """The bound of one functional, and the symbols that each row shows on average at the likeliest such inputs."""
        low, terms, rate = self._bounded(directions)
        powers = -rate[0] * (terms[:, :, 0] - terms[:, :, 0].min(axis=1, keepdims=True))
        weights = self.slab.chances * np.exp(powers)
        shown = self.shown(weights / weights.sum(axis=1, keepdims=True))[None]
        return Minimisers(low, shown, np.zeros((1, len(self.parts.free))))

    def shown(self, chances: Float[np.ndarray, "n A"]) -> Float[np.ndarray, "rows A"]:
        """The mean number of copies of each row that show each symbol."""
        mean: np.ndarray = self.parts.fixed[0].astype(np.float64)
        np.add.at(mean, self.rows, chances)
        return mean

    def _bounded(self, directions: Ball) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The bounds (D,), the orthogonal terms of S (n, A, D), and the λ of each that was used."""
        total: np.ndarray | float = 0.0
        constant: np.ndarray | float = 0.0
        allowance: np.ndarray | float = 0.0
        start = 0
        for head in self.heads:
            stop = start + len(head.centre)
            w, doubt = directions.mid[0, :, start:stop], directions.rad[0, :, start:stop]
            start = stop
            terms = head.terms @ w.T
            begun = w @ head.start
            low, high = self._wide(terms)
            moved = np.maximum(np.abs(begun + low), np.abs(begun + high)) * GROW
            size = np.abs(w) @ (head.size + np.abs(head.centre))
            allowance = allowance + moved * head.shrink + gamma(8 * len(self.rows) + 64) * size
            allowance = allowance + np.abs(w) @ head.slack + doubt @ (head.reach + head.slack) + SPECK
            constant = constant + w @ head.centre + begun
            total = total + terms
        low, terms, rate = self.low(np.asarray(total))
        size = np.abs(constant) + np.abs(low)
        bound = constant + low - np.asarray(allowance) * GROW - gamma(len(self.rows) + 64) * size
        return np.where(np.isfinite(bound), bound, -np.inf), terms, rate

    def _orthogonal(self, terms: Float[np.ndarray, "n A D"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Terms less β weights, the least and the largest β L on the slab; any β is right."""
        slab, weights = self.slab, self.slab.statistic.weights.astype(np.float64)
        centred = weights - (slab.chances * weights).sum(axis=1, keepdims=True)
        variance = float((slab.chances * centred * centred).sum())
        beta = np.einsum("ta,tad->d", slab.chances * centred, terms) / (variance if variance > 0 else 1.0)
        ends = beta * slab.low, beta * (slab.high - 1)
        rounding = gamma(8 * len(weights) + 64) * np.abs(beta) * float(weights.max(axis=1).sum())
        return (
            terms - weights[:, :, None] * beta,
            np.minimum(*ends) - rounding,
            np.maximum(*ends) + rounding,
        )

    def low(self, terms: Float[np.ndarray, "n A D"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A lower bound of Σ terms on the slab, but for one counted set each.

        Statement  Q(Σ_t s_t ≤ m − r) ≤ τ for r = (Σ_t ln E_Q e^{−λ(s_t − E s_t)} + ln 1/τ)/λ and any λ > 0.
        Proof      Markov's inequality of e^{−λ Σ (s_t − E s_t)}.
        Source     Textbook (Chernoff).
        """
        self.events += terms.shape[2]
        q = self.slab.chances[:, :, None]
        rest, least, _ = self._orthogonal(terms)
        means = (q * rest).sum(axis=1)
        centred = rest - means[:, None, :]
        variance = (q * centred * centred).sum(axis=(0, 1))
        largest = np.abs(centred).max(axis=(0, 1), initial=0.0)
        worst = -centred.min(axis=1).sum(axis=0)  # no input is lower
        deviation, used = worst.copy(), np.full(len(worst), np.inf)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gaussian = np.sqrt(2 * self.budget / variance)
            steepest = STEEPEST / largest
            for trial in TRIALS:
                rate = np.minimum(trial * gaussian, steepest)
                growth = np.log((q * np.exp(-rate * centred)).sum(axis=1)).sum(axis=0)
                bound = (growth + self.budget) / rate
                better = np.isfinite(bound) & (bound < deviation)
                deviation, used = np.where(better, bound, deviation), np.where(better, rate, used)
            used = np.where(np.isfinite(used), used, np.where(largest > 0, steepest, 0.0))
        low = means.sum(axis=0) - np.maximum(deviation, 0.0) * COMPUTED + least
        return low - gamma(8 * len(rest) + 64) * np.abs(rest).max(axis=1).sum(axis=0), rest, used

    def _wide(self, terms: Float[np.ndarray, "n A D"]) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of Σ terms on both sides, quickly.

        Statement  Q(|Σ_t s_t − m| ≥ r) ≤ 2τ for r² = Σ_t (max s_t − min s_t)² ln(1/τ)/2.
        Source     Textbook (Hoeffding).
        """
        self.events += 2 * terms.shape[2]
        rest, least, most = self._orthogonal(terms)
        mean = (self.slab.chances[:, :, None] * rest).sum(axis=(0, 1))
        highest, lowest = rest.max(axis=1), rest.min(axis=1)
        width = np.sqrt(((highest - lowest) ** 2).sum(axis=0) * self.budget / 2)
        rounding = gamma(8 * len(rest) + 64) * np.abs(rest).max(axis=1).sum(axis=0)
        low = np.maximum(mean - width * COMPUTED, lowest.sum(axis=0)) + least - rounding
        high = np.minimum(mean + width * COMPUTED, highest.sum(axis=0)) + most + rounding
        return low, high


def likely_view(tables: Tables, part: Parts, slab: Slab, free: Sequence[int], chance: float) -> LikelyView:
    """The heads over a slab of a cell, whose free tokens are at these positions."""
    row_of = {place: row for row, places in enumerate(tables.places) for place in places}
    view = LikelyView(slab, part, np.array([row_of[place] for place in free], dtype=np.int64), chance)
    fixed, q = part.fixed[0], slab.chances
    heads = []
    for head in tables.heads:
        mass, values = head.mass[view.rows], head.values[view.rows]
        fixed_mass = float((fixed * head.mass).sum() + head.cls_mass)
        fixed_sum = np.einsum("ra,ra,rak->k", fixed.astype(np.float64), head.mass, head.values)
        fixed_sum = fixed_sum + head.cls_mass * head.cls_value
        scale = fixed_mass + float((q * mass).sum())
        centre = (fixed_sum + np.einsum("ta,ta,tak->k", q, mass, values)) / scale
        masses = (mass / scale)[:, :, None]
        low, high = view.low(masses)[0], -view.low(-masses)[0]
        rounding = gamma(8 * len(mass) + 64) * (1 + float(mass.max(axis=1).sum() / scale))
        least = fixed_mass / scale + float(low[0]) - rounding
        most = fixed_mass / scale + float(high[0]) + rounding
        shrink = max(1 - 1 / most, 1 / least - 1, 0.0) * GROW if least > 0 else np.inf
        terms = masses * (values - centre)
        sizes = masses * (np.abs(values) + np.abs(centre))
        start = (fixed_sum - centre * fixed_mass) / scale
        size = sizes.max(axis=1).sum(axis=0) + 2 * (head.reach + np.abs(centre)) * fixed_mass / scale
        heads.append(_LikelyHead(centre, start, terms, float(shrink), size, head.reach, head.slack))
    view.heads = tuple(heads)
    return view
