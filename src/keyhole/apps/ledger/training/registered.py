"""The registered experiments on growth laws: what their released rows say, by the rule that was fixed beforehand.

Nothing is trained here: a folder of `data` has the plan and the rows that are finished. `RELEASED` is raised with the
rows, so that a finding that was kept is measured again.
"""

import csv
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from keyhole.api.plans import PlanResult, run_plan
from keyhole.api.sample_complexity import SampleComplexity
from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale, shipped_folder
from keyhole.papers import EDELMAN_2022
from keyhole.sweeps import Execution
from keyhole.sweeps.laws import comparable, compare_laws
from keyhole.sweeps.plans import rows_path
from keyhole.sweeps.thresholds import estimate_threshold
from keyhole.verdicts import ClaimVerdict

GROWTH = Claim(
    id="registered-growth",
    title="A first registered experiment, given up: do samples for a 3-way AND grow like log T, to T = 12,800?",
    statement=(
        "Let m*(T) be the sample size at which a one-layer transformer trained with the default settings generalises in half of the runs, on "
        "uniform bits. Over T = 25, 50, …, 12,800 the law a + b log T is named by a rule that was fixed, with its odds and its power, before "
        "the first run."
    ),
    formula=r"m^{*}(T)=a+b\log T,\qquad T=25,50,\dots,12800",
    kind="measurement",
    source="keyhole, after the experiment of Edelman et al. (2022); log T is the theory's growth at fixed norms, not proved for an optimiser",
    prediction=(
        "The rule for growth laws names one, at odds of 6 to 1 or more. The plan, data/registered/plan.toml, predicts that it is not log T: "
        "so this claim is predicted to fail. If growth were log T this design would name it in 89 % of data sets, and if it were T^0.3 in 72 %."
    ),
    could_fail="A law other than log T that is named once all ten contexts are finished.",
    papers=(EDELMAN_2022,),
    shipped="the rows in data/registered, made on one machine; the plan was given up at T = 800",
)
GROWTH_3200 = Claim(
    id="registered-growth-3200",
    title="A second registered experiment: does the median sample size grow like log T to T = 3,200, at a rate of 0.001?",
    statement=(
        "Let m*(T) be the sample size at which a one-layer transformer trained at a rate of 0.001 generalises in half of the runs, on uniform "
        "bits. Over T = 10, 20, 40, …, 1,280 and 3,200 the law a + b log T is named by a rule that was fixed, with its odds and its power, "
        "before the first run."
    ),
    formula=r"m^{*}(T)=a+b\log T,\qquad T=10,20,\dots,1280,3200",
    kind="measurement",
    source="keyhole, after the experiment of Edelman et al. (2022); log T is the theory's growth at fixed norms, not proved for an optimiser",
    prediction=(
        "The plan, data/registered-3200/plan.toml, predicts that log T is named, or leads without being named, and that neither √T nor T nor a "
        "constant is. If growth were log T this design would name it in 90 % of data sets, and if it were T^0.3 in 34 %. The first plan's rows "
        "to T = 800 and exploratory runs on other seeds were known by then."
    ),
    could_fail="Once all nine contexts are finished: another law that is named, or odds of 6 to 1 that no law of the list is right.",
    papers=(EDELMAN_2022,),
    revision=2,
    shipped="the rows in data/registered-3200, made on one machine; `make registered PLAN=data/registered-3200` makes those that are missing",
)
GROWTH_12800 = Claim(
    id="registered-growth-12800",
    title="A third registered experiment: does the median sample size grow like log T to T = 12,800, at a rate of 0.0003?",
    statement=(
        "Let m*(T) be the sample size at which a one-layer transformer trained at a rate of 0.0003 generalises in half of the runs, on uniform "
        "bits. Over T = 25, 50, …, 12,800 the law a + b log T is named by a rule that was fixed, with its odds and its power, before the "
        "first run."
    ),
    formula=r"m^{*}(T)=a+b\log T,\qquad T=25,50,\dots,12800",
    kind="measurement",
    source="keyhole, after the experiment of Edelman et al. (2022); log T is the theory's growth at fixed norms, not proved for an optimiser",
    prediction=(
        "The plan, data/registered-12800/plan.toml, predicts that log T or (log T)² leads, that neither T nor a constant is named, and that the "
        "same rule names log T for elimination, whose growth is known. If m* rose sixfold, with an error of 8.5 % a point, this design "
        "would name log T in 80 % of data sets were it true, and T^0.3 in 47 %; at smaller rises it names the truth less often. The rows of the first two plans and some eighty exploratory runs were known by then."
    ),
    could_fail="Once all ten contexts are finished: another law that is named, or odds of 6 to 1 that no law of the list is right.",
    papers=(EDELMAN_2022,),
    revision=2,
    shipped="the rows in data/registered-12800, made on one machine; `make registered` makes those that are missing",
)

FIRST, SECOND, THIRD = "registered", "registered-3200", "registered-12800"  # folders, by when their plans were fixed
RELEASED = {FIRST: 2458, SECOND: 2928, THIRD: 5172}  # rows in each
SWEEP = "AND of 3 on uniform bits by the transformer"  # the one that is judged
LAW = "log"
SHARES = (0.75, 0.9)  # of runs, reported beside the one that is judged


def measure(name: str, scale: Scale, seed: int) -> Outcome:  # noqa: ARG001  (released rows have neither)
    """Judge a plan by the rows that were released; of the first, which was given up, say why."""
    folder = shipped_folder(name)
    if folder is None:
        return Outcome(
            "not measured here",
            "The released rows are not part of this installation; run in a clone of the repository.",
            {},
            "None: nothing was measured.",
        )
    with TemporaryDirectory() as store:
        result = run_plan(folder / "plan.toml", data=folder, make=False, execution=Execution(store))
    outcome = conclude(result, given_up=name == FIRST)
    if name != FIRST or outcome.verdict != "not finished":
        return outcome
    return replace(outcome, caveats=(*outcome.caveats, *_why_given_up(folder)))


def conclude(result: PlanResult, *, given_up: bool = False) -> Outcome:
    """Log T named, refuted, or neither; of contexts that are not all finished nothing is said yet.

    It is refuted where another law is named, or where the rule says, at odds of 6 to 1 or more, that no law of the list
    is right: of the sample size that is judged, at the success and the rate of the plan, and of no other.
    """
    judged, left = result.answers[SWEEP], result.unfinished[SWEEP]
    verdict: ClaimVerdict = "not finished" if left else "undecided at this scale"
    law = None if left else judged.verdict
    if law is not None and law.decided:
        verdict = "holds" if law.winner == LAW else "fails here"
    elif law is not None and law.status == "misfit":
        verdict = "fails here"
    standings = [f"{name}: {_standing(answer, result.unfinished[name])}" for name, answer in result.answers.items()]
    done = sum(len(answer.thresholds) for answer in result.answers.values())
    planned = sum(len(answer.contexts) for answer in result.planned.sweeps.values())
    progress = f"The runs are not finished: {done} of {planned} contexts are. So nothing is said of the claim yet. "
    if given_up:
        progress = (
            f"The plan was given up with {done} of {planned} contexts finished, so nothing is said of the claim. "
        )
    return Outcome(
        verdict=verdict,
        measurement=f"{progress if left else ''}{'; '.join(standings)}.{_foretold(result)}{'' if left else _other_shares(judged)}",
        numbers={
            "contexts finished": float(done),
            "contexts planned": float(planned),
            "runs of finished contexts": float(sum(answer.runs for answer in result.answers.values())),
        },
        interval="90 % intervals of each m*; the rule's odds stand for the law.",
        figures=(result.figure(),) if done else (),
        caveats=(
            f"The plan has the hash {result.planned.hash}; it was fixed before its first run.",
            *(() if left or judged.verdict is None else judged.verdict.warnings),
        ),
    )


def _foretold(result: PlanResult) -> str:
    """Return each law's forecast of the longest context, the nearest first, beside what was measured."""
    predictions = result.predictions.get(SWEEP, ())
    if not predictions:
        return ""
    longest = next(each for each in result.answers[SWEEP].thresholds if each.context == predictions[0].context)
    told = ", ".join(f"{each.formula} {each.predicted.value:.0f}" for each in predictions)
    return (
        f" At T = {longest.context} m* = {longest.m:.0f} was measured for the first sweep; fitted to its shorter "
        f"contexts the laws foretold, the nearest first: {told}."
    )


def _other_shares(judged: SampleComplexity) -> str:
    """Return the sample sizes at which three quarters, and nine tenths, of the runs succeed, and how log T fits them."""
    sentences = [f" All this is of the sample size at which {judged.quantile:.0%} of runs succeed, at this rate."]
    for share in SHARES:
        counts: dict[int, dict[int, tuple[int, int]]] = {}
        for tally in judged.sweep.tallies:
            if tally.samples is not None:
                counts.setdefault(tally.context, {})[tally.samples] = (tally.successes, tally.trials)
        sizes = [estimate_threshold(context, tallies, quantile=share) for context, tallies in counts.items()]
        if not comparable(sizes):
            continue
        found = next(law for law in compare_laws(sizes, smooth=False, resamples=1).laws if law.name == LAW)
        listed = ", ".join("not reached" if size.m is None else f"{size.m:.0f}" for size in sizes)
        sentences.append(
            f"Of {share:.0%} of runs it is {listed}; a deviance from {found.formula} as large as theirs has probability "
            f"{found.fit_p:.2g} if that is true and the intervals are the noise."
        )
    return " ".join(sentences)


def _why_given_up(folder: Path) -> tuple[str, ...]:
    """Return how often the learner fitted its training set: near m* and far above it, and at the longest context."""
    path = rows_path(folder, SWEEP)
    rows = list(csv.DictReader(path.read_text("utf8").splitlines())) if path.exists() else []

    def fitted(context: int, least: int, most: float = inf) -> str:
        chosen = [row for row in rows if int(row["context"]) == context and least <= int(row["samples"]) <= most]
        return f"{sum(int(row['fitted']) for row in chosen)} of {len(chosen)}"

    if not rows:
        return ()
    said = (
        "The plan was given up. Within 2,000 steps the learner does not fit many samples of a long context: at T = 800 "
        f"{fitted(800, 1, 128)} runs on up to 128 samples fit their training set, and {fitted(800, 2048)} on 2,048 or "
        f"more; at T = 12,800 {fitted(12800, 1, 128)} fit up to 128 samples, and {fitted(12800, 256)} fit 256 or more. "
        "So success rises with m and falls again, where the curve of the plan only rises and its design looks for "
        "larger m; and at the longest contexts the steps decide, not the samples. A second plan, "
        "registered-growth-3200, has a smaller rate and shorter contexts."
    )
    return (said,)


def _standing(answer: SampleComplexity, left: list[int]) -> str:
    """Return the verdict of a sweep, or how far it has come."""
    if left:
        done = [threshold.context for threshold in answer.thresholds]
        return f"finished to T = {max(done)}, and not beyond" if done else "no context finished"
    if answer.verdict is None:
        return "too few thresholds were bracketed"
    longest = max(threshold.context for threshold in answer.thresholds)
    return f"to T = {longest}: {answer.verdict}"


first = Experiment(GROWTH, partial(measure, FIRST))
second = Experiment(GROWTH_3200, partial(measure, SECOND))
third = Experiment(GROWTH_12800, partial(measure, THIRD))
