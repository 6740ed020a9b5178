"""How do the bounds grow with T, end to end: like log T, or like its cube?"""

from math import comb, log
from typing import Any

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.bounds import pair_construction
from keyhole.bounds.finite import samples_for_error
from keyhole.bounds.theorems import PATH, SCALAR, TABULATED, Route, guarantee
from keyhole.figure import Axis, line_figure
from keyhole.papers import EDELMAN_2022

CLAIM = Claim(
    id="bound-growth",
    title="Theorem T grows like log T end to end; the cover route faster, up to log³T, and is vacuous in a laboratory",
    statement=(
        "Samples that bring the two-sided gap of an exact 3-way AND to 0.2. Covers pay for the logit scale, which is "
        "itself log T; the tabulated head does not. Occam's bound for the finite class is smaller than both."
    ),
    formula=r"m_{\mathrm{cover}}=O(\log^3 T),\qquad m_{\mathrm{T}}=O(\log T)",
    kind="identity",
    source="keyhole, with proof (Theorems S, P, T); the log T law of the gap: Edelman et al. (2022)",
    prediction=(
        "For Theorem T, gap·√m less the confidence term √(ln(2/δ)/2) is proportional to √ln(2T+2), to the rounding of m; the cover "
        "route has a local exponent of log(2T+2) between 2 and 3. At T = 100 covers are vacuous at 10⁶ samples."
    ),
    could_fail="A law that varies by more than rounding, an exponent outside its range, or a cover bound that is not vacuous at 10⁶ samples.",
    papers=(EDELMAN_2022,),
)

GAP, DELTA, SPARSITY = 0.2, 0.01, 3
ROUNDING = 1e-3  # m is a whole number near 2·10⁴, so √m is known to a few parts in 10⁵
ROUTES: tuple[Route, ...] = (TABULATED, SCALAR, PATH)


def measure(scale: Scale, seed: int) -> Outcome:  # noqa: ARG001  (nothing is drawn)
    """Samples for the gap along T, and the local exponent of log(2T+2) at the far end."""
    contexts = [10**power for power in range(2, 7 if scale == "quick" else 10)]
    rows: list[dict[str, Any]] = []
    for context in contexts:
        profile = pair_construction("and", context, SPARSITY)
        for route in ROUTES:
            needed = guarantee(route, profile, 1e6, delta=DELTA).samples_for(GAP)
            rows.append({"T": context, "m": needed, "bound": route.key})
        occam = samples_for_error(log(comb(context, SPARSITY) / DELTA), 0.1)
        rows.append({"T": context, "m": occam, "bound": "Occam, error 0.1"})
    exponents = {route.key: exponent([row for row in rows if row["bound"] == route.key]) for route in ROUTES}
    laboratory = guarantee(SCALAR, pair_construction("and", 100, SPARSITY), 1e6, delta=DELTA)
    confidence = (log(2 / DELTA) / 2) ** 0.5
    tabulated = [row for row in rows if row["bound"] == "tabulated"]
    slopes = [(GAP * row["m"] ** 0.5 - confidence) / log(2 * row["T"] + 2) ** 0.5 for row in tabulated]
    varies = max(slopes) / min(slopes) - 1
    holds = varies < ROUNDING and 2 <= exponents["cover"] <= 3 and laboratory.vacuous
    first = {row["bound"]: row["m"] for row in rows if row["T"] == 100}
    return Outcome(
        verdict="holds" if holds else "fails here",
        measurement=(
            f"Theorem T's law varies by {varies:.0e}. Exponents of log(2T+2): {', '.join(f'{name} {value:.3f}' for name, value in exponents.items())}. At T = 100: "
            f"{', '.join(f'{name} {value:.3g}' for name, value in first.items())} samples."
        ),
        numbers={
            **{f"exponent, {name}": value for name, value in exponents.items()},
            **{f"m at T = 100, {k}": v for k, v in first.items()},
        },
        interval="None: computed, not sampled.",
        figures=(
            line_figure(
                "Samples a bound asks for",
                rows,
                Axis("T", "context length T", "log"),
                Axis("m", "samples m", "log"),
                Axis("bound", "bound", "category"),
                subtitle="exact 3-way AND, γ = ½: two-sided gap 0.2, δ = 0.01; Occam for error 0.1",
            ),
        ),
        caveats=("The cover route is vacuous at any sample size a laboratory has; its growth is what it shows.",),
    )


def exponent(rows: list[dict[str, Any]]) -> float:
    """The slope of log m against log log(2T+2), between the last two lengths."""
    (near, few), (far, many) = ((row["T"], row["m"]) for row in rows[-2:])
    return (log(many) - log(few)) / (log(log(2 * far + 2)) - log(log(2 * near + 2)))


EXPERIMENTS = (Experiment(CLAIM, measure),)
