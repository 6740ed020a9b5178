"""What do the bounds not depend on, and what do they depend on badly: dimension and depth?"""

from dataclasses import replace
from itertools import pairwise
from math import e, log

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.bounds import matrix
from keyhole.bounds.covers import deep_cover
from keyhole.bounds.theorems import one_position_rate, spread_price
from keyhole.figure import Axis, line_figure
from keyhole.norm_profile import BlockNorms, HeadNorms, NormProfile
from keyhole.papers import EDELMAN_2022

CLAIM = Claim(
    id="bound-shape",
    title="Hardly growing with the dimension, √log T at fixed norms, exponential in depth and in the spread of scores",
    statement=(
        "At fixed norms the capacity does not move when the embedding dimension grows, beyond the log of a width; Theorem T "
        "is exactly √log(2T+2); each further layer multiplies the capacity; content-dependent scores cost up to e^R."
    ),
    formula=r"R_m\le 2P_\infty\,\Phi(R)\sqrt{2\ln(2T+2)/m},\qquad C_L\propto\prod_{\ell}\mathrm{Lip}_\ell^2",
    kind="identity",
    source="keyhole, with proof (Theorems T and D); independence of d up to logarithms: Edelman et al. (2022)",
    prediction=(
        "Capacity ratio at d = 10⁶ over d = 8 below 2 (a logarithm); R_m/√ln(2T+2) constant to rounding; capacity per layer "
        "growing by at least the squared Lipschitz constant 9; Φ(0) = 1 and Φ(R) e^−R below 3."
    ),
    could_fail="Any of the four numbers outside its range.",
    papers=(EDELMAN_2022,),
)

SAMPLES, ROWS = 1000, 17


def measure(scale: Scale, seed: int) -> Outcome:  # noqa: ARG001  (nothing is drawn)
    """Vary one thing at a time: dimension, length, depth, spread."""
    wide = capacity(1, 10**6) / capacity(1, 8)
    rates = [one_position_rate(10**power, SAMPLES) / log(2 * 10**power + 2) ** 0.5 for power in range(1, 9)]
    steady = max(rates) / min(rates) - 1
    layers = range(1, 6 if scale == "quick" else 11)
    capacities = [capacity(depth, 8) for depth in layers]
    factors = [after / before for before, after in pairwise(capacities)]
    prices = {spread: spread_price(spread) for spread in (0.0, 0.5, 1.0, 2.0, 4.0, 6.0)}
    scaled = max(price * e**-spread for spread, price in prices.items())
    holds = wide < 2 and steady < 1e-12 and min(factors) >= 9 and prices[0.0] == 1 and scaled < 3
    return Outcome(
        verdict="holds" if holds else "fails here",
        measurement=(
            f"From d = 8 to d = 10⁶, at the same norms, the capacity grows {wide:.3f} times. R_m/√ln(2T+2) varies by {steady:.0e}. Each layer multiplies the "
            f"capacity by {min(factors):.3g} to {max(factors):.3g}. Φ(2) = {prices[2.0]:.4g}, Φ(4) = {prices[4.0]:.4g}."
        ),
        numbers={
            "capacity ratio in d": wide,
            "variation of the rate": steady,
            "least factor per layer": min(factors),
            **{f"Φ({spread:g})": price for spread, price in prices.items()},
        },
        interval="None: computed, not sampled.",
        figures=(
            line_figure(
                "Capacity against depth",
                [{"layers": depth, "capacity": value} for depth, value in zip(layers, capacities, strict=True)],
                Axis("layers", "layers L"),
                Axis("capacity", "capacity C", "log"),
                subtitle="all spectral norms 1, (2,1) norms 3, Frobenius 2; m = 1000, 17 rows",
            ),
        ),
        caveats=("Deep bounds are for a projection in place of LayerNorm, and are vacuous at any depth above one.",),
    )


def capacity(depth: int, dimension: int) -> float:
    """The capacity of equal layers whose norms do not change with the dimension."""
    square = matrix(dimension, dimension, spectral=1.0, frobenius=2.0, columns21=3.0)
    value = replace(square, frobenius=1.0)
    block = BlockNorms((HeadNorms(square, value),), output=value)
    profile = NormProfile(
        blocks=(block,) * depth, tokens=ROWS, readout=1.0, token_radius=1.0, query_radius=1.0, projected=True
    )
    return deep_cover(profile, SAMPLES, every_query=True).capacity


EXPERIMENTS = (Experiment(CLAIM, measure),)
