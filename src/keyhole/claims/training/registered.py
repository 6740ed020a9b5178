"""The registered experiment on growth laws: what its released rows say, by the rule that was fixed beforehand.

Nothing is trained here: `data/registered` has the plan and the rows that are finished. `RELEASED` is raised with the
rows, so that a finding that was kept is measured again.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import keyhole
from keyhole.api.plans import PlanResult, run_plan
from keyhole.api.sample_complexity import SampleComplexity
from keyhole.claims.finding import Outcome, Scale
from keyhole.verdicts import ClaimVerdict

RELEASED = 0  # rows in data/registered
SWEEP = "AND of 3 on uniform bits by the transformer"  # the one that is judged
LAW = "log"
PACKAGE = Path(keyhole.__file__).parent


def released() -> Path | None:
    """The folder of plan and rows: of the repository, or of an installed package; None where there is neither."""
    places = (PACKAGE.parents[1] / "data" / "registered", PACKAGE / "registered")
    return next((place for place in places if (place / "plan.toml").exists()), None)


def measure(scale: Scale, seed: int) -> Outcome:  # noqa: ARG001  (rows that were released have neither)
    """The verdict of the plan's rule on the rows so far."""
    folder = released()
    if folder is None:
        return Outcome(
            "not measured here",
            "The released rows are not part of this installation; run in a clone of the repository.",
            {},
            "None: nothing was measured.",
        )
    with TemporaryDirectory() as store:
        return conclude(run_plan(folder / "plan.toml", data=folder, store=store, make=False))


def conclude(result: PlanResult) -> Outcome:
    """Log T named, another law named, or neither; of contexts that are not all finished nothing is said yet."""
    judged, left = result.answers[SWEEP], result.unfinished[SWEEP]
    verdict: ClaimVerdict = "not finished" if left else "undecided at this scale"
    if not left and judged.verdict is not None and judged.verdict.decided:
        verdict = "holds" if judged.verdict.winner.name == LAW else "fails here"
    standings = [f"{name}: {_standing(answer, result.unfinished[name])}" for name, answer in result.answers.items()]
    known = any(answer.thresholds for answer in result.answers.values())
    return Outcome(
        verdict=verdict,
        measurement=(_progress(result) if left else "") + "; ".join(standings) + ".",
        numbers={
            "contexts finished": float(sum(len(answer.thresholds) for answer in result.answers.values())),
            "contexts planned": float(sum(len(answer.contexts) for answer in result.plan.sweeps.values())),
            "runs of finished contexts": float(sum(answer.runs for answer in result.answers.values())),
        },
        interval="90 % intervals of each m*; the rule's odds stand for the law.",
        figures=(result.figure(),) if known else (),
        caveats=(f"The plan has the hash {result.plan.hash}; it was fixed before its first run.",),
    )


def _progress(result: PlanResult) -> str:
    """How much of the plan is done, where the judged sweep is not."""
    done = sum(len(answer.thresholds) for answer in result.answers.values())
    planned = sum(len(sweep.contexts) for sweep in result.plan.sweeps.values())
    return f"The runs are not finished: {done} of {planned} contexts are. So nothing is said of the claim yet. "


def _standing(answer: SampleComplexity, left: list[int]) -> str:
    """What a sweep says: its verdict, or how far it has come."""
    if left:
        done = [threshold.context for threshold in answer.thresholds]
        return f"under way: {f'to T = {max(done)}' if done else 'no context finished'}"
    if answer.verdict is None:
        return "too few thresholds were bracketed"
    longest = max(threshold.context for threshold in answer.thresholds)
    return f"to T = {longest}: {answer.verdict}"
