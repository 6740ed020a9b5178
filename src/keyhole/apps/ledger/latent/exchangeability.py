"""Do exchangeable tokens have a latent variable, and do positioned ones?"""

from itertools import product
from math import perm
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.decimals import at_least, at_most
from keyhole.figure import Axis, line_figure
from keyhole.latent.exchangeability import (
    ASSUMPTION,
    finite_de_finetti_bound,
    largest_urn_distance,
    least_eigenvalue,
    pair_eigenvalue,
    position_floor,
)
from keyhole.latent.models import Urn, letter_counts
from keyhole.papers import DIACONIS_1980, ZHANG_2022

CLAIM = Claim(
    id="exchangeability",
    title="Part of a long exchangeable sequence is near a latent model; a whole positioned sentence is not",
    statement=(
        "Exchangeable tokens that could go on for ever are independent given a latent variable. Of n exchangeable letters, k are "
        "within c·k/n of that. Positioned tokens are exchangeable in random order, yet k of T are at distance at least "
        "1 − T(T−1)…(T−k+1)/T^k from every such law: O(k²/T) and no better. Over a whole sentence the latent model is an assumption."
    ),
    formula=r"\mathrm{TV}\le\min\left(\tfrac{ck}{n},\tfrac{k(k-1)}{2n}\right),\qquad \mathrm{TV}(k\text{ positions})\ge 1-\frac{T(T-1)\cdots(T-k+1)}{T^k}",
    kind="inequality",
    source=(
        "claim (a) of Zhang et al. (2022, abstract) derives a latent variable from exchangeable positioned tokens; the finite form follows Diaconis and Freedman (1980), "
        "constants recalled; the statement on positions is keyhole's, with proof"
    ),
    prediction=(
        "Urns without replacement stay below the bound and their distance falls with slope −1 in n at fixed k. For positions, counting "
        "gives the floor exactly; it passes 0.99 for whole sentences of 8 tokens or more; the least eigenvalue of pairs is −1/(T(T−1))."
    ),
    could_fail="An urn above the bound, a slope off −1 by more than 0.02, a count that is not the floor, or a non-negative eigenvalue.",
    papers=(ZHANG_2022, DIACONIS_1980),
)

ROUNDING = 1e-12  # sums of at most 10⁵ terms below 1


def measure(scale: Scale, seed: int) -> Outcome:
    """Exact distances of urns by n and k; positions counted out for short sentences; pairs of positions from data."""
    sizes = (20, 40, 80, 160, 320) if scale == "quick" else (20, 40, 80, 160, 320, 640, 1280)
    rows: list[dict[str, Any]] = []
    over = -1.0
    for k in (2, 5, 10):
        for n in sizes:
            distance, bound = largest_urn_distance(n, k), finite_de_finetti_bound(n, k, letters=2)
            over = max(over, distance - bound)
            rows.append({"n": n, "distance": distance, "what": f"urn, {k} draws"})
    slope = float(np.polyfit(np.log(sizes[-3:]), np.log([largest_urn_distance(n, 5) for n in sizes[-3:]]), 1)[0])
    missed = max(abs(counted_positions(T, k) - position_floor(T, k)) for T in (3, 5, 7) for k in (2, 3))
    whole = min(position_floor(T, T) for T in (8, 32, 128, 512))
    eigenvalue = least_eigenvalue(letter_counts(Urn(np.ones(8, dtype=np.int64)).sample(50, 8, seed).tokens, 8), 8)
    apart = abs(eigenvalue - pair_eigenvalue(8))
    holds = over <= ROUNDING and abs(slope + 1) <= 0.02 and missed <= ROUNDING and whole > 0.99 and apart <= ROUNDING
    floors = tuple(
        {"k": k, "distance": value, "what": what}
        for k in (2, 4, 8, 16, 32, 64, 128)
        for what, value in (
            ("floor: no latent model is nearer", position_floor(128, k)),
            ("bound of finite exchangeability", finite_de_finetti_bound(128, k)),
        )
    )
    return Outcome(
        verdict="holds" if holds else "fails here",
        measurement=(
            f"Urns below the bound by {at_least(-over, 2)} or more; slope in n {slope:.4f} at 5 draws. Positions: floor met within {at_most(missed, 2)}, "
            f"{at_least(whole, places=4)} or more for whole sentences; least eigenvalue of pairs {eigenvalue:.7f} at T = 8, from data. {ASSUMPTION}"
        ),
        numbers={
            "slope in n": slope,
            "largest excess over the bound": over,
            "least distance of a whole sentence": whole,
            "least eigenvalue of pairs at T = 8": eigenvalue,
        },
        interval="None: exact distances; every sequence of positions has the same pair counts, so the eigenvalue has no noise.",
        figures=(
            line_figure(
                "Urns without replacement against independent draws",
                rows,
                Axis("n", "letters in the urn n", "log"),
                Axis("distance", "total variation", "log"),
                Axis("what", "draws", "category"),
                subtitle="largest total variation over all urns of n letters, two kinds",
            ),
            line_figure(
                "Positioned tokens against every latent model",
                floors,
                Axis("k", "tokens looked at k", "log"),
                Axis("distance", "total variation"),
                Axis("what", "curve", "category"),
                subtitle="k tokens of a sentence of T = 128: at k near T nothing is left of the theorem",
            ),
        ),
        caveats=(
            ASSUMPTION,
            "The bound's constants are recalled, not read; they are checked here on urns of two letters only.",
        ),
    )


def counted_positions(T: int, k: int) -> float:
    """The distance of k distinct positions from uniform independent ones, sequence by sequence."""
    chance = 1 / perm(T, k)
    return sum(max((len(set(places)) == k) * chance - float(T) ** -k, 0.0) for places in product(range(T), repeat=k))


EXPERIMENTS = (Experiment(CLAIM, measure),)
