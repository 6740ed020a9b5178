"""How fast does a posterior find its latent, and what does averaging over it cost on the way?"""

from math import log
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.figure import Axis, line_figure
from keyhole.latent.exchangeability import contraction_rate, cumulative_regret, regret_ceiling
from keyhole.latent.models import FiniteModel
from keyhole.papers import ZHANG_2022

CLAIM = Claim(
    id="posterior-contraction",
    title="Posteriors contract at the Chernoff rate, and their regret never exceeds log of the number of latents",
    statement=(
        "With finitely many latents the expected log loss of the posterior falls exponentially in T, at the Chernoff information and not at "
        "the larger Kullback–Leibler divergence. Predicting by the posterior loses at most log m to the best latent, on every sequence."
    ),
    formula=r"\mathbb E[-\log\pi_X(z)]=e^{-CT+o(T)},\quad C=\max_s-\log\sum_v A_{v1}^sA_{v2}^{1-s};\qquad \mathrm{regret}\le\log m",
    kind="inequality",
    source="textbook, in the spirit of Zhang et al. (2022), whose claim (b) speaks of an error falling in the input size",
    prediction=(
        "Two coins of 0.6 and 0.4: C = 0.0204110. What is lost is lost at near ties, whose chance has a factor 1/√T, so between T and 2T the "
        "local rate is C + (1 − b/T) log 2/(2T), b some tens: ties count as near within about ten letters. So the rates fall to C from above, "
        "and at T = 2560 the excess is within 5 % of log 2/(2T). No regret above log 8 among eight latents."
    ),
    could_fail="Local rates that rise, pass below C or miss the excess; one sequence whose regret exceeds log 8.",
    papers=(ZHANG_2022,),
)

COINS = FiniteModel(np.array([[0.6, 0.4], [0.4, 0.6]]), np.array([0.5, 0.5]))
ROUNDING = 1e-10  # of a sum of 400 logarithms


def measure(scale: Scale, seed: int) -> Outcome:
    """Exact log loss at doubling T, and the regret of every sequence drawn from eight random latents, or from none."""
    lengths = [20 * 2**step for step in range(9 if scale == "quick" else 10)]
    losses = [COINS.bayes_risk(T) for T in lengths]
    rates = [log(a / b) / T for a, b, T in zip(losses[:-1], losses[1:], lengths[:-1], strict=True)]
    chernoff = contraction_rate(COINS)
    excess = (rates[-1] - chernoff) / (log(2) / (2 * lengths[-2]))
    rng = np.random.default_rng(seed)
    eight = FiniteModel(rng.dirichlet(np.ones(5), size=8).T, np.full(8, 1 / 8))
    own = cumulative_regret(eight, eight.sample(200, 400, rng).tokens)
    foreign = cumulative_regret(eight, rng.integers(5, size=(200, 400)))
    worst = max(float(own.max()), float(foreign.max())) - regret_ceiling(eight)
    falling = all(a > b for a, b in zip(rates, [*rates[1:], chernoff], strict=True))
    holds = falling and abs(excess - 1) <= 0.05 and worst <= ROUNDING
    rows: list[dict[str, Any]] = [
        {"T": T, "rate": rate, "curve": "local rate of the log loss"} for T, rate in zip(lengths, rates, strict=False)
    ] + [{"T": T, "rate": chernoff, "curve": "Chernoff information"} for T in lengths[:-1]]
    regrets = tuple(
        {"T": T, "regret": float(values[:, T - 1].mean()), "sequences": name}
        for name, values in (("of the model", own), ("of uniform letters", foreign))
        for T in (1, 3, 10, 30, 100, 400)
    )
    return Outcome(
        verdict="holds" if holds else "fails here",
        measurement=(
            f"Local rates {', '.join(f'{rate:.6f}' for rate in rates[:3])}, … {rates[-1]:.6f} down to C = {chernoff:.7f}; the last exceeds it by {excess:.3f} of "
            f"log 2/(2T). Mean regret of eight latents after 400 tokens {own[:, -1].mean():.3f}; largest anywhere {worst + log(8):.4f}, log 8 = {log(8):.4f}."
        ),
        numbers={
            "Chernoff information": chernoff,
            "last local rate": rates[-1],
            "excess in units of log 2/(2T)": excess,
            "largest regret less log 8": worst,
        },
        interval="None: the log loss is summed over all counts; the regret bound holds on every sequence.",
        figures=(
            line_figure(
                "Local rate of contraction",
                rows,
                Axis("T", "tokens T", "log"),
                Axis("rate", "nats per token"),
                Axis("curve", "curve", "category"),
                subtitle="log loss of the posterior between T and 2T tokens, two coins of 0.6 and 0.4",
            ),
            line_figure(
                "Cumulative regret of eight latents",
                regrets,
                Axis("T", "tokens T", "log"),
                Axis("regret", "nats"),
                Axis("sequences", "sequences", "category"),
                subtitle="mean over 200 sequences, against the best latent in hindsight; log 8 is the ceiling",
            ),
        ),
    )


EXPERIMENTS = (Experiment(CLAIM, measure),)
