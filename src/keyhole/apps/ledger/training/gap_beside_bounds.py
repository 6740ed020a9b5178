"""How far do trained layers stray from their training loss, and how far above that do bounds lie, rung by rung?

Layers are trained with a penalised path norm on ANDs of three bits, under three laws of inputs; the symbols of the last
are not independent. The loss is the ramp of the output over γ. All but one in a hundred training margins reach γ, which
is taken from a grid that was fixed in advance. A layer with path norm P_∞ counts as one with P_∞/γ at margin 1, which
peeling pays for; PAC-Bayes and counted parameters pay for γ with its share of δ.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log, sqrt
from typing import Literal

import numpy as np

from keyhole.api.prove import Effort, prove
from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.attention import evaluate, profile, tabulate
from keyhole.bounds import (
    DEEP,
    LISTS,
    PRODUCT_LISTS,
    TABULATED,
    guarantee,
    hypothetical,
    margin_loss,
    peeled,
    tabulated_profile,
)
from keyhole.bounds.finite import best_catoni, clopper_pearson, description_gap
from keyhole.decimals import at_most
from keyhole.figure import Axis, Figure, Row
from keyhole.training import Examples, ProblemSize
from keyhole.training.learners import transformer_with_preset

CLAIM = Claim(
    id="gap-and-bounds",
    title="Bounds by norms lie above the gap of trained layers",
    statement=(
        "One-layer transformers trained on a 3-way AND with a penalised path norm, under uniform, biased and sticky bits (a Markov chain). "
        "The gap between fresh and training ramp loss stands beside Theorem L, Theorem T, Occam's bound for a proved function, PAC-Bayes, "
        "a count of parameters, and the floor that the complexity of the norm's class sets."
    ),
    formula=r"\mathbb{E}\,\ell_\gamma-\widehat{\mathbb{E}}\,\ell_\gamma\;\le\;\frac{2P_\infty}{\gamma}R_m(G)+\sqrt{\frac{\ln(1/\delta)}{2m}}",
    kind="inequality",
    source="keyhole, with proof (Theorems T and L; Occam and PAC-Bayes are textbook); the layers are new runs",
    prediction=(
        "No bound lies below the lower end of the gap it bounds, and no bound by norms below the floor. Reported, not judged: how many "
        "layers Theorem L says anything of, since a single run's path norm decides that; no bound by norms is expected below 1 on sticky "
        "bits, where the scores' spread counts, and counted parameters are expected to say nothing anywhere."
    ),
    could_fail="One bound below its gap, or one by norms below its floor.",
)

Law = Literal["uniform", "biased", "sticky"]

DELTA = 0.01
BIAS = 0.8  # chance of a 1 under the biased law
STAYS = 0.8  # chance that a sticky bit is the one before it
FRESH = 50_000
LEVEL = 0.001  # of the intervals of measured gaps
SIGNS = 200  # draws for the floor
SHOWN_UP_TO = 100.0  # on the figure
QUANTILE = 0.01  # of the training margins: γ, before it is rounded down to the grid
SMALLEST = 1e-3  # of γ, where that is not above 0
LARGEST = 64.0  # the grid of γ begins below it
STORED_BITS = 32  # of each parameter
LEAST_PROBABILITY: dict[Law, float | None] = {"uniform": 0.5, "biased": 1 - BIAS, "sticky": None}
CASES: dict[Scale, tuple[tuple[Law, int, int], ...]] = {
    "quick": (
        ("uniform", 25, 1000),
        *((law, 100, size) for law in ("uniform", "biased", "sticky") for size in (1000, 8000)),
    ),
    "paper": tuple(
        (law, context, size)
        for law in ("uniform", "biased", "sticky")
        for context in (25, 100, 400)
        for size in (1000, 8000, 60_000)
    ),
}
PRODUCT, ANY, TABLES = "Theorem L, independent symbols", "Theorem L, any law", "Theorem T"
OCCAM, BAYES, COUNTED = "Occam, proved junta", "PAC-Bayes", "parameters counted"
NAMES = (PRODUCT, ANY, TABLES, OCCAM, BAYES, COUNTED)
FLOOR, MEASURED = "floor of the norm class", "measured"


@dataclass(frozen=True)
class Rungs:
    """One trained layer: its measured gap with an interval, and every bound on it that there is."""

    law: Law
    context: int
    samples: int
    ratio: float  # P_∞ over the margin
    spread: float
    gap: float
    low: float
    high: float
    error: float  # on fresh inputs
    floor: float
    bounds: dict[str, float]

    def __str__(self) -> str:
        return f"{self.law}, T = {self.context}, m = {self.samples}"

    @property
    def useful(self) -> str:
        """The bounds that say something, smallest first."""
        useful = sorted((value, name) for name, value in self.bounds.items() if value < 1)
        return ", ".join(f"{name} {at_most(value)}" for value, name in useful) or "every bound vacuous"

    def least(self, name: str) -> float:
        """The least value that a bound may have: the lower end of the gap, or, of Occam's, that of the error."""
        return clopper_pearson(round(self.error * FRESH), FRESH, LEVEL)[0] if name == OCCAM else self.low


@partial(Experiment, CLAIM)
def experiment(scale: Scale, seed: int) -> Outcome:
    """Train a layer for every law, context and sample size, and put its gap beside every bound."""
    streams = np.random.SeedSequence(seed).spawn(len(CASES[scale]))
    return conclude([rungs(*case, stream) for case, stream in zip(CASES[scale], streams, strict=True)])


def draw(law: Law, count: int, context: int, rng: np.random.Generator) -> np.ndarray:
    """Inputs of a law."""
    if law == "sticky":
        start = rng.integers(0, 2, (count, 1))
        turns = (rng.random((count, context - 1)) >= STAYS).cumsum(axis=1)
        return np.concatenate([start, (start + turns) % 2], axis=1).astype(np.uint8)
    return (rng.random((count, context)) < (BIAS if law == "biased" else 0.5)).astype(np.uint8)


def rungs(law: Law, context: int, samples: int, seed: np.random.SeedSequence) -> Rungs:
    """Train one layer, measure its gap, and bound it in every way that applies."""
    from keyhole.training.network.network import model_of

    drawing, training = seed.spawn(2)
    rng = np.random.default_rng(drawing)
    places = rng.choice(context, 3, replace=False)
    inputs, fresh = draw(law, samples, context, rng), draw(law, FRESH, context, rng)
    labels, truth = (np.asarray(part[:, places].all(axis=1)) for part in (inputs, fresh))
    learner = transformer_with_preset("bounded")
    fitted = learner.fit(ProblemSize(context, 2, 3), Examples(inputs, labels), training)
    model = model_of(learner.settings, fitted.weights or {})
    tabulated, norms = tabulate(model), profile(model, trained=True)
    margins, unseen = (
        (2.0 * y - 1) * np.asarray(evaluate(tabulated, x)) for x, y in ((inputs, labels), (fresh, truth))
    )
    margin, share = grid_margin(float(np.quantile(margins, QUANTILE)))
    ratio, spread = float(norms.path_inf or 0.0) / margin, float(norms.spread or 0.0)
    loss = float(ramps(margins, margin).mean())
    gap, half = float(ramps(unseen, margin).mean()) - loss, half_width(unseen, margin)
    counted = sum(np.size(array) for array in (fitted.weights or {}).values())
    settled = prove(model, (inputs, labels), assume_junta=3, delta=DELTA, effort=Effort(3.0, samples=1000))
    rungs = {
        **norm_bounds(ratio, spread, context, samples, LEAST_PROBABILITY[law], odd_units=norms.odd_units),
        BAYES: best_catoni(STORED_BITS * counted * log(2), samples, DELTA * share, loss),
        COUNTED: description_gap(STORED_BITS * counted, samples, DELTA * share),
    }
    if settled.error_bound is not None and settled.status == "PROVED":
        rungs[OCCAM] = settled.error_bound
    return Rungs(
        law, context, samples, ratio, spread, gap, gap - half, gap + half, float((unseen <= 0).mean()),
        2 * ratio * one_position_complexity(inputs, rng), rungs,
    )  # fmt: skip


def grid_margin(margin: float) -> tuple[float, float]:
    """The largest γ of the grid 64 · 2^{−j/4}, j ≥ 1, that a measured margin reaches, and its share 1/(j(j + 1)) of δ.

    Statement  If for every γ of the grid a bound on its ramp loss fails with probability ≤ δ times γ's share, then with
               probability ≥ 1 − δ it holds for the γ that is chosen after training.
    Proof      A union bound; the shares add up to one. This is the peeling of 1/γ.
    Source     Textbook (Rule 4).
    """
    rounded, share = peeled(1 / max(margin, SMALLEST), scale=1 / LARGEST)
    return 1 / rounded, share


def ramps(margins: np.ndarray, margin: float) -> np.ndarray:
    """The loss min(1, max(0, 1 − u/γ)) of every input; its mean is at least the share of wrong answers."""
    return np.clip(1 - margins / margin, 0, 1)


def half_width(margins: np.ndarray, margin: float) -> float:
    """Return how far the mean ramp loss of n fresh inputs may lie from its expectation, either way.

    Statement  √(2 V ln(4/δ)/n) + 7 ln(4/δ)/(3(n − 1)) with probability ≥ 1 − δ, V the sample variance.
    Source     Textbook: the empirical form of Bernstein's inequality.
    """
    n, nats = len(margins), log(4 / LEVEL)
    return sqrt(2 * float(ramps(margins, margin).var(ddof=1)) * nats / n) + 7 * nats / (3 * (n - 1))


def norm_bounds(
    ratio: float, spread: float, context: int, samples: int, chance: float | None, *, odd_units: bool
) -> dict[str, float]:
    """One-sided gaps by Theorems L and T, peeled; the signs of the read-out cost a factor 2 unless units are odd."""
    norms = tabulated_profile(
        path_inf=ratio, context=context, spread=spread, least_probability=chance, odd_units=odd_units
    )
    routes = {ANY: LISTS, TABLES: TABULATED} | ({} if chance is None else {PRODUCT: PRODUCT_LISTS})
    return {
        name: guarantee(route, norms, samples, delta=DELTA, loss=margin_loss(1.0), two_sided=False, measured=True).value
        for name, route in routes.items()
    }


def one_position_complexity(inputs: np.ndarray, rng: np.random.Generator) -> float:
    """R_m of functions of one position with values ±1, on these inputs, by drawn signs: less than any head's class has.

    Statement  max over t and e of Σ_i ξ_i e(b_it) = max over t of |Σ_{b_it=0} ξ_i| + |Σ_{b_it=1} ξ_i|.
    Proof      A function of one bit picks a sign for each of its values. Heads whose attention is on one position are
               such functions.
    """
    samples = len(inputs)
    signs = rng.integers(0, 2, (SIGNS, samples)).astype(np.float32) * 2 - 1
    ones = signs @ inputs.astype(np.float32)
    zeros = signs.sum(axis=1, keepdims=True) - ones
    return float((np.abs(ones) + np.abs(zeros)).max(axis=1).mean()) / samples


def depth_two() -> float:
    """Return the bound of the deep theorem for two layers, every norm of which is 1, at a million samples."""
    one = hypothetical(tokens=101, value21=1.0, value=1.0, score=1.0, width=4)
    return guarantee(DEEP, replace(one, blocks=one.blocks * 2), 1e6, delta=DELTA, two_sided=False).value


def conclude(layers: Sequence[Rungs], deep: Callable[[], float] = depth_two) -> Outcome:
    """Return whether every bound lies above the gap, and which of them say anything."""
    broken = sum(value < layer.least(name) for layer in layers for name, value in layer.bounds.items())
    below_floor = any(layer.bounds.get(name, 9.0) < layer.floor for layer in layers for name in (PRODUCT, ANY, TABLES))
    independent = [layer for layer in layers if PRODUCT in layer.bounds]
    useful = sum(layer.bounds[PRODUCT] < 1 for layer in independent)
    slack = {name: [layer.bounds[name] - layer.gap for layer in layers if name in layer.bounds] for name in NAMES}
    listed = "; ".join(
        f"{layer}: gap {layer.gap:.4f}, P/margin {layer.ratio:.2f}, R {layer.spread:.0f}, {layer.useful}"
        for layer in layers
    )
    rows: list[Row] = [
        {
            "case": f"{layer.law[0].upper()} {layer.context}/{layer.samples}",
            "value": min(max(value, 1e-4), SHOWN_UP_TO),
            "what": name,
        }
        for layer in layers
        for name, value in {MEASURED: layer.high, FLOOR: layer.floor, **layer.bounds}.items()
    ]
    two = deep()
    return Outcome(
        verdict="fails here" if broken or below_floor else "holds",
        measurement=(
            f"{broken} of {sum(len(layer.bounds) for layer in layers)} bounds lie below the gap measured. Theorem L "
            f"for independent symbols is below 1 for {useful} of {len(independent)} layers.\n{listed}.\n"
            f"Two layers, all norms 1, m = 10⁶: the deep theorem says {at_most(two)}"
            f"{', vacuous' if two >= 1 else ''}; no two-layer model was trained here (bench/depth.py trains one)."
        ),
        numbers={
            **{f"gap at {layer}": layer.gap for layer in layers},
            **{f"P_∞ over margin at {layer}": layer.ratio for layer in layers},
            **{f"{name} at {layer}": value for layer in layers for name, value in layer.bounds.items()},
            **{f"{FLOOR} at {layer}": layer.floor for layer in layers},
            **{f"median slack of {name}": float(np.median(values)) for name, values in slack.items() if values},
            "deep theorem at depth 2": two,
        },
        interval=(
            f"Gaps: {100 * (1 - LEVEL):g} % intervals by the empirical form of Bernstein's inequality over {FRESH} fresh inputs each, ± "
            f"{at_most(max(layer.high - layer.gap for layer in layers), places=4)}."
        ),
        figures=(
            Figure(
                title="The gap of trained layers beside bounds on it",
                subtitle="3-way ANDs; a bound at 1 or above says nothing",
                kind="points",
                rows=tuple(rows),
                x=Axis("case", "law (uniform, biased, sticky), T/m", "category"),
                y=Axis("value", "gap", "log"),
                colour=Axis("what", "", "category"),
            ),
        ),
        caveats=(
            "One layer for each law, context and size. On the figure the gap is the upper end of its interval, and what lies above 100 is shown at 100. Theorem T and Theorem L for any law cover each other where the spread brings both to their cap.",
            "The floor is that of all layers of this path norm, by functions of one position; Theorems T and L cannot be lower.",
            "Layers without units pay nothing for the signs of their read-out. Every bound pays for γ, which is chosen from the training margins: Theorems T and L in the peeling of P_∞/γ, PAC-Bayes and counted parameters by γ's share of δ.",
            "Occam's number is on the error and holds of layers that are proved to be a function of three positions; PAC-Bayes is on the ramp loss itself, the others are on its gap.",
        ),
    )
