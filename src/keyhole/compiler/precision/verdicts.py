"""Verdicts on number formats: proved, refuted by an input, or only tried.

A statement names the format of storage (logits, values, read-out), that of accumulation (every sum and quotient) and
the order of summation, which is here that of positions, as a running sum.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from keyhole.boolean import Levels, decide
from keyhole.compiler.constructions.plan import Plan, every_pattern, half_gap, wanted
from keyhole.compiler.precision.rounding import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, NumberFormat, output_error
from keyhole.compiler.precision.simulation import simulate
from keyhole.decimals import at_most, margin
from keyhole.verdicts import FormatOutcome

ORDER = "a running sum in the order of positions, [CLS] last"
ASSUMED = (
    "the formats are proved for one way to run the model: the largest score subtracted first, exp within 1 unit in the "
    "last place, sums in the order of positions, nothing flushed to zero. An exported torch or TransformerLens module "
    "computes in another way, and nothing is proved of it in any format"
)
FORMATS: Mapping[str, tuple[NumberFormat, NumberFormat]] = {  # storage, accumulation
    "float64": (FLOAT64, FLOAT64),
    "float32": (FLOAT32, FLOAT32),
    "bfloat16": (BFLOAT16, BFLOAT16),
    "float16": (FLOAT16, FLOAT16),
    "bfloat16 stored, float32 summed": (BFLOAT16, FLOAT32),
    "float16 stored, float32 summed": (FLOAT16, FLOAT32),
}
NUMBERS = 2**17  # of a simulation held at once: inputs times units
INPUTS = 256  # simulated at most
DIGITS = 17  # tell any two doubles apart
ROWS = 4096  # positions simulated one by one, where each has a logit of its own


@dataclass(frozen=True)
class FormatVerdict:
    """The fate of the signs in one pair of formats."""

    storage: str
    accumulation: str
    outcome: FormatOutcome
    bound: float  # what Lemma R sets against the margin (up to one common positive factor); infinite if nothing
    margin: float  # what the bound must stay below
    tried: int  # inputs simulated
    deviation: float | None  # largest |output − wanted| seen among them
    counterexample: str | None  # an input whose answer is wrong

    def __str__(self) -> str:
        if self.outcome == "proved":
            digits = 3  # and more where the two are so near that rounding them apart would turn them round
            while float(at_most(self.bound, digits)) >= float(margin(self.margin, digits)) and digits < DIGITS:
                digits += 1
            return f"signs proved: rounding bound {at_most(self.bound, digits)} < margin {margin(self.margin, digits)}"
        if self.outcome == "refuted":
            return f"refuted: wrong on {self.counterexample}"
        if not self.tried:
            return "neither proved nor tried: each position has its own score, and there are too many to add up"
        deviation = at_most(self.deviation or 0.0)
        return f"not proved: {self.tried} inputs were tried and are right, with an output off by up to {deviation}"


def judge_formats(plan: Plan, margin: float) -> dict[str, FormatVerdict]:
    """Every format's verdict on a plan whose outputs, in exact arithmetic, keep this margin."""
    return {name: judge_format(plan, margin, *formats) for name, formats in FORMATS.items()}


def judge_format(plan: Plan, margin: float, storage: NumberFormat, accumulation: NumberFormat) -> FormatVerdict:
    """Prove by Lemma R where its bound is below the margin; otherwise look for an input that comes out wrong."""
    bound = output_error(plan, storage, accumulation)
    if bound < margin:
        return FormatVerdict(storage.name, accumulation.name, "proved", bound, margin, 0, None, None)
    relevant, others = inputs_to_try(plan)
    if not len(relevant):
        return FormatVerdict(storage.name, accumulation.name, "tried", bound, margin, 0, None, None)
    with np.errstate(invalid="ignore", over="ignore"):  # a lost number is a wrong answer, and is counted as one
        output = simulate(plan, relevant, others, storage, accumulation)
    truth = decide(plan.function.rule, relevant)
    right = np.where(truth, output > 1 - half_gap(plan.output), output < 1 - half_gap(plan.output))
    target = np.where(truth, 1.0, wanted(truth=False, output=plan.output))
    wrong, counterexample = np.flatnonzero(~right), None
    if len(wrong):
        bits = "".join(str(int(bit)) for bit in relevant[wrong[0]])
        counterexample = f"relevant bits {bits} (in the order of positions), all other bits {int(others[wrong[0]])}"
    return FormatVerdict(
        storage.name,
        accumulation.name,
        "refuted" if len(wrong) else "tried",
        bound,
        margin,
        len(relevant),
        float(np.abs(output - target).max()),
        counterexample,
    )


def inputs_to_try(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Inputs worth trying: patterns of the relevant bits, the other bits all 0 or all 1."""
    s = plan.function.sparsity
    if isinstance(plan.heads[0].rest_logits, np.ndarray) and plan.context > ROWS:
        return np.zeros((0, s), dtype=bool), np.zeros(0, dtype=bool)
    limit = max(2, min(INPUTS, NUMBERS // (plan.width + 1)) // 2)
    if 1 << min(s, 30) <= limit:
        patterns = every_pattern(s)
    else:
        rng = np.random.default_rng(0)
        drawn = rng.integers(0, 2, size=(limit, s), dtype=np.uint8).astype(bool)
        counts = np.tri(s + 1, s, -1, dtype=bool)  # levels next to each other are where little separates answers
        literals = np.array(plan.function.rule.negated) if isinstance(plan.function.rule, Levels) else False
        patterns = np.concatenate([(counts ^ literals)[:: max(1, 2 * (s + 1) // limit)], drawn])[:limit]
    return np.concatenate([patterns, patterns]), np.repeat([False, True], len(patterns))
