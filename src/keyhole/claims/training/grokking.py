"""From a fixed training set, how many samples does a parity take beside linear algebra, and is it fitted before it is understood?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from keyhole.bounds.finite.binomial import clopper_pearson
from keyhole.claims.finding import Claim, Outcome, Scale, Study, Verdict
from keyhole.claims.training.trained import in_full, trained
from keyhole.figure import Axis, Figure
from keyhole.lab.laws.figures import grokking_figure
from keyhole.lab.learners.presets import preset
from keyhole.lab.learners.transformer import TransformerLearner
from keyhole.lab.runs.run import RunResult
from keyhole.lab.task import SparseTask
from keyhole.papers import EDELMAN_2022

CLAIM = Claim(
    id="parity-fixed-set",
    title="From a fixed set a network memorises a parity's samples where elimination already finds the parity",
    statement=(
        "Gaussian elimination over GF(2) finds a parity from a few samples more than T. A one-layer transformer fits a set of that size "
        "without generalising, and needs many more samples to generalise. How long after fitting it generalises is reported, not claimed."
    ),
    formula=r"m^{*}_{\mathrm{SGD}}(T)\gg T+O(1)",
    kind="measurement",
    source="keyhole; the question is that of Edelman et al. (2022), the delay is known as grokking",
    prediction=(
        "At T = 15 and m = 40 elimination succeeds in at least 95 % of the runs; the network fits its set in at least 80 % of them and "
        "generalises in at most a quarter. At m = 1000 the network generalises in at least half."
    ),
    could_fail="A network that generalises at m = 40, or does not even fit; or one that fails at m = 1000.",
    papers=(EDELMAN_2022,),
)
TASK = SparseTask("parity:3")
CONTEXT = 15
SIZES = (40, 150, 300, 1000)
FITS = 0.8
SEEDS = {"quick": 6, "paper": 30}
NETWORK = TransformerLearner(replace(preset("parity"), batch=128, steps=5000, tolerance=0.0, decay=0.03, every=100))


def look(scale: Scale, seed: int) -> Outcome:
    """Train both learners at each size."""
    seeds = SEEDS[scale]
    network = in_full(trained(TASK, (CONTEXT,), seed, learner=NETWORK, samples=SIZES, seeds=seeds))
    algebra = in_full(trained(TASK, (CONTEXT,), seed, learner="gf2", samples=SIZES, seeds=10 * seeds))
    return judge({"network": _by_size(network), "elimination over GF(2)": _by_size(algebra)})


def _by_size(runs: Sequence[tuple[Any, RunResult]]) -> dict[int, list[RunResult]]:
    return {size: [result for row, result in runs if row.samples == size] for size in SIZES}


def judge(measured: Mapping[str, Mapping[int, Sequence[RunResult]]]) -> Outcome:
    """Success by size for both learners, and the delay between fitting and generalising."""
    network, algebra = measured["network"], measured["elimination over GF(2)"]
    least, most = min(network), max(network)
    rows = [_share(name, size, results) for name, sizes in measured.items() for size, results in sizes.items()]
    rate = {(row["learner"], row["m"]): row["rate"] for row in rows}
    upper = {(row["learner"], row["m"]): row["high"] for row in rows}
    solved, stuck = rate["elimination over GF(2)", least], rate["network", least]
    learned = rate["network", most]
    fitted = sum(result.fitted for result in network[least])
    fits = fitted / len(network[least])
    unfit = clopper_pearson(fitted, len(network[least]), 0.05)[1] < FITS
    verdict: Verdict = "undecided at this scale"
    if upper["elimination over GF(2)", least] < 0.95 or stuck > 0.5 or upper["network", most] < 0.5 or unfit:
        verdict = "fails here"
    elif solved >= 0.95 and stuck <= 0.25 and learned >= 0.5 and fits >= FITS:
        verdict = "holds"
    delays = [delay for results in network.values() for result in results if (delay := _delay(result)) is not None]
    numbers = {f"{row['learner']} at m = {row['m']}": float(row["rate"]) for row in rows}
    numbers |= {
        f"fitted at m = {least}": fits,
        "longest delay": max(delays, default=0.0),
        "runs that generalised": float(len(delays)),
    }
    return Outcome(
        verdict=verdict,
        measurement=(
            f"m = {least}: elimination {solved:.0%}, network {stuck:.0%} ({fits:.0%} fit their set); m = {most}: network {learned:.0%}. "
            f"Of {len(delays)} runs that generalised the longest delay after fitting was {max(delays, default=0.0):.0f} steps."
        ),
        numbers=numbers,
        interval=f"95 % Clopper–Pearson at every size; {len(algebra[least])} runs of elimination and {len(network[least])} of the network each.",
        figures=(_success(rows), _curve(network)),
        caveats=(
            "That it holds is said of the shares themselves, not of their intervals, which are wide at quick scale.",
            "One context, one setting (decay .03, no early stop), chosen by trying a few on seeds of the tuning: the level of m* moves with both.",
        ),
    )


def _share(name: str, size: int, results: Sequence[RunResult]) -> dict[str, Any]:
    wins = sum(result.success for result in results)
    low, high = clopper_pearson(wins, len(results), 0.05)
    return {"learner": name, "m": size, "rate": wins / len(results), "low": low, "high": high}


def _delay(result: RunResult) -> float | None:
    """Steps from the first reading without training error to the first with 99 % of probe inputs right."""
    fitted = next((r["step"] for r in result.readings if r.get("train_accuracy") == 1), None)
    general = next((r["step"] for r in result.readings if r["accuracy"] >= 0.99), None)
    return None if fitted is None or general is None else max(0.0, general - fitted)


def _success(rows: list[dict[str, Any]]) -> Figure:
    return Figure(
        title=f"A parity of three among {CONTEXT} bits from a fixed set",
        subtitle="share of runs that generalise, 95 % intervals",
        kind="lines",
        rows=tuple(rows),
        x=Axis("m", "samples m", "log"),
        y=Axis("rate", "share of runs"),
        colour=Axis("learner", "", "category"),
        low="low",
        high="high",
    )


def _curve(network: Mapping[int, Sequence[RunResult]]) -> Figure:
    """Training and fresh accuracy of the run with the longest delay."""
    every = [(size, result) for size, results in network.items() for result in results]
    size, chosen = max(every, key=lambda one: (_delay(one[1]) or -1.0, one[0]))
    return grokking_figure(f"Fitting and understanding, m = {size}: the longest delay", {"run": chosen.readings})


STUDY = Study(CLAIM, look)
