"""From a fixed training set, how many samples does a parity take beside linear algebra, and is it fitted before it is understood?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.training.sweeps import read_runs, train
from keyhole.apps.ledger.verdict import Share, verdict_of
from keyhole.figure import Axis, Figure, line_figure
from keyhole.papers import EDELMAN_2022
from keyhole.sweeps.laws import course_figure
from keyhole.sweeps.runs import RunResult
from keyhole.training import SparseTask
from keyhole.training.learners import TransformerLearner, preset

BOTH = ("train_accuracy", "accuracy")  # the first may be 1 long before the second
SUCCESS = Claim(
    id="parity-fixed-set",
    title="From 40 samples elimination finds a parity that a trained network does not",
    statement=(
        "Gaussian elimination over GF(2) finds a parity of 15 bits from 40 samples in most runs, and a one-layer transformer in fewer than "
        "half. How many samples the network needs, and how long after fitting it generalises, is reported."
    ),
    formula=r"\Pr[\text{SGD succeeds at } m=40]<\tfrac12<\Pr[\text{elimination succeeds at } m=40]",
    kind="measurement",
    source="keyhole; the question is that of Edelman et al. (2022), the delay is known as grokking",
    prediction=(
        "At T = 15 and m = 40 the 95 % interval of the network's success rate lies below ½, and that of elimination above ½."
    ),
    could_fail="An interval of the network's success rate above ½, or one of elimination's below ½.",
    papers=(EDELMAN_2022,),
)
MEMORISED = Claim(
    id="parity-memorised",
    title="From 40 samples a network memorises a parity's samples",
    statement="A one-layer transformer fits 40 samples of a 3-way parity of 15 bits without generalising, in more than half of the runs.",
    formula=r"\Pr[\text{fits and does not generalise at } m=40]>\tfrac12",
    kind="measurement",
    source="keyhole; the question is that of Edelman et al. (2022), the delay is known as grokking",
    prediction="At T = 15 and m = 40 the 95 % interval of the share of runs that fit and do not generalise lies above ½.",
    could_fail="An interval of that share below ½.",
    papers=(EDELMAN_2022,),
)

TASK = SparseTask("parity:3")
CONTEXT = 15
SIZES = (40, 150, 300, 1000)
SEEDS = {"quick": 6, "paper": 30}
SHOWN = 3  # runs that are drawn
NETWORK = TransformerLearner(replace(preset("parity"), batch=128, steps=5000, tolerance=0.0, decay=0.03, every=100))

SETTING = "One context, one setting (decay .03, no early stop), chosen by trying a few on seeds of the tuning: the level of m* moves with both."
Measured = Mapping[str, Mapping[int, Sequence[RunResult]]]  # learner → size → runs


def measure(conclude: Callable[[Measured], Outcome], scale: Scale, seed: int) -> Outcome:
    """Train both learners at each size, and conclude; the two claims share the runs."""
    seeds = SEEDS[scale]
    network = read_runs(train(TASK, (CONTEXT,), seed, learner=NETWORK, samples=SIZES, seeds=seeds))
    algebra = read_runs(train(TASK, (CONTEXT,), seed, learner="gf2", samples=SIZES, seeds=10 * seeds))
    return conclude({"network": _by_size(network), "elimination over GF(2)": _by_size(algebra)})


def _by_size(runs: Sequence[tuple[Any, RunResult]]) -> dict[int, list[RunResult]]:
    return {size: [result for row, result in runs if row.samples == size] for size in SIZES}


def conclude_success(measured: Measured) -> Outcome:
    """Success by size for both learners, and the delay between fitting and generalising."""
    network, algebra = measured["network"], measured["elimination over GF(2)"]
    least, most = min(network), max(network)
    rows = [_share(name, size, results) for name, sizes in measured.items() for size, results in sizes.items()]
    solved, stuck, learned = _won(algebra[least]), _won(network[least]), _won(network[most])
    delays = [delay for results in network.values() for result in results if (delay := _delay(result)) is not None]
    numbers = {f"{row['learner']} at m = {row['m']}": float(row["rate"]) for row in rows}
    numbers |= {"longest delay": max(delays, default=0.0), "runs that generalised": float(len(delays))}
    success = line_figure(
        f"A parity of three among {CONTEXT} bits from a fixed set",
        rows,
        Axis("m", "samples m", "log"),
        Axis("rate", "share of runs"),
        Axis("learner", "", "category"),
        subtitle="share of runs that generalise, 95 % intervals",
        band=True,
    )
    return Outcome(
        verdict=verdict_of(
            holds=solved.most == "holds" and stuck.most == "fails here",
            fails=solved.most == "fails here" or stuck.most == "holds",
        ),
        measurement=(
            f"m = {least}: elimination {solved.value:.0%}, network {stuck.value:.0%}; m = {most}: network {learned.value:.0%}. "
            f"Of {len(delays)} runs that generalised the longest delay after fitting was {max(delays, default=0.0):.0f} steps."
        ),
        numbers=numbers,
        interval=f"Elimination at m = {least}: {solved}; network: {stuck}; network at m = {most}: {learned}.",
        figures=(success, _curve(network)),
        caveats=(SETTING,),
    )


def conclude_memorised(measured: Measured) -> Outcome:
    """The share of small sets that the network fits without generalising."""
    network = measured["network"]
    least = min(network)
    memorised = [result.fitted and not result.success for result in network[least]]
    share = Share(sum(memorised), len(memorised))
    ordered = sorted(zip(memorised, network[least], strict=True), key=lambda pair: not pair[0])
    shown = {f"run {index}": result.readings for index, (_, result) in enumerate(ordered[:SHOWN], 1)}
    return Outcome(
        verdict=share.most,
        measurement=f"At m = {least} the network fits its set and does not generalise in {share.hits} of {share.runs} runs.",
        numbers={"fitted and not generalising": float(share.hits), "runs": float(share.runs)},
        interval=f"{share}.",
        figures=(course_figure(f"Fitting without understanding, m = {least}", shown, BOTH, scale="log"),),
        caveats=(SETTING,),
    )


def _won(results: Sequence[RunResult]) -> Share:
    return Share(sum(result.success for result in results), len(results))


def _share(name: str, size: int, results: Sequence[RunResult]) -> dict[str, Any]:
    share = _won(results)
    low, high = share.ends
    return {"learner": name, "m": size, "rate": share.value, "low": low, "high": high}


def _delay(result: RunResult) -> float | None:
    """Steps from the first reading without training error to the first with 99 % of probe inputs right."""
    fitted = next((r["step"] for r in result.readings if r.get("train_accuracy") == 1), None)
    general = next((r["step"] for r in result.readings if r["accuracy"] >= 0.99), None)
    return None if fitted is None or general is None else max(0.0, general - fitted)


def _curve(network: Mapping[int, Sequence[RunResult]]) -> Figure:
    """Training and fresh accuracy of the run with the longest delay."""
    every = [(size, result) for size, results in network.items() for result in results]
    size, chosen = max(every, key=lambda one: (_delay(one[1]) or -1.0, one[0]))
    title = f"Fitting and understanding, m = {size}: the longest delay"
    return course_figure(title, {"run": chosen.readings}, BOTH, scale="log")


EXPERIMENTS = (
    Experiment(SUCCESS, partial(measure, conclude_success)),
    Experiment(MEMORISED, partial(measure, conclude_memorised)),
)
