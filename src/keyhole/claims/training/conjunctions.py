"""As the context grows, how many samples does a trained attention layer need for a 3-way AND?"""

from dataclasses import dataclass

from keyhole.api.sample_complexity import SampleComplexity
from keyhole.claims.finding import Outcome, Scale
from keyhole.claims.training.sweeps import train
from keyhole.estimate import Estimate
from keyhole.figure import Figure
from keyhole.lab import SparseTask
from keyhole.lab.laws import LawVerdict, learners_figure
from keyhole.lab.learners import transformer_with_preset
from keyhole.lab.thresholds import Threshold
from keyhole.verdicts import ClaimVerdict

LONG = {"quick": (25, 50, 100, 200, 400, 800), "paper": (10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120)}
SHORT = {"quick": (25, 50, 100, 200), "paper": (10, 20, 40, 80, 160, 320, 640)}
BUDGET = {"quick": (36, 24), "paper": (300, 150)}  # runs at each context, of the default learner and of the paper's
PRECISION = {"quick": 0.3, "paper": 0.15}
SLOWER = 2.0  # how many times slower than T the threshold must grow, at least
UNLIKELY = 0.05  # Akaike weight below which a law is set aside


@dataclass(frozen=True)
class Growth:
    """What one learner setting showed: thresholds over T, and the laws fitted to them."""

    setting: str
    thresholds: tuple[Threshold, ...]
    floors: dict[int, float | None]
    laws: LawVerdict | None

    @property
    def known(self) -> list[Threshold]:
        """The thresholds that were bracketed."""
        return [one for one in self.thresholds if one.m is not None]

    @property
    def factor(self) -> Estimate:
        """m*(longest)/m*(shortest) with the widest reading of both intervals."""
        first, last = self.known[0], self.known[-1]
        values = [float(one.m or 0) for one in (first, last)]
        low = (last.low or 0.0) / (first.high or values[0])
        high = float("inf") if last.high is None or not first.low else last.high / first.low
        return Estimate(values[1] / values[0], low, high)

    @property
    def span(self) -> float:
        """Longest over shortest context."""
        return self.known[-1].context / self.known[0].context

    @property
    def linear_weight(self) -> float:
        """Akaike's weight of a + bT."""
        return next((law.weight for law in self.laws.laws if law.name == "linear"), 0.0) if self.laws else 1.0


def measure_uniform(scale: Scale, seed: int) -> Outcome:
    """On uniform bits: m* over T for the default settings, over a shorter range for the paper's, and growth laws."""
    return conclude(find_growth("uniform", scale, seed), "uniform")


def measure_balanced(scale: Scale, seed: int) -> Outcome:
    """The same on bits under which the conjunction is true half of the time."""
    return conclude(find_growth("balanced", scale, seed), "balanced")


def find_growth(law: str, scale: Scale, seed: int) -> tuple[Growth, ...]:
    """Thresholds and laws of both learner settings."""
    task = SparseTask("and:3", law)
    followed = SparseTask("and:3", law, balanced_sets=law == "balanced")
    long, short = BUDGET[scale]
    precision = PRECISION[scale]
    default = train(task, LONG[scale], seed, precision=precision, budget=long)
    paper = train(
        followed, SHORT[scale], seed, learner=transformer_with_preset("paper"), precision=precision, budget=short
    )
    return (growth("default settings", default), growth("the public reproduction's protocol", paper))


def growth(setting: str, learned: SampleComplexity) -> Growth:
    """What a sweep shows of growth."""
    return Growth(setting, learned.thresholds, learned.floors, learned.verdict)


def conclude(measured: tuple[Growth, ...], law: str) -> Outcome:
    """Sublinear in every setting, or not, or not to be told."""
    told = [one for one in measured if len(one.known) >= 2]
    numbers: dict[str, float] = {}
    for one in told:
        factor = one.factor
        numbers |= {
            f"growth of m* ({one.setting})": factor.value,
            f"lower end ({one.setting})": factor.low,
            f"growth of T ({one.setting})": one.span,
            f"weight of the linear law ({one.setting})": one.linear_weight,
        } | ({f"upper end ({one.setting})": factor.high} if factor.high < float("inf") else {})
    verdict: ClaimVerdict = "undecided at this scale"
    if any(_refutes(one) for one in told):
        verdict = "fails here"
    elif all(len(one.known) == len(one.thresholds) >= 2 and _supports(one) for one in measured):
        verdict = "holds"
    return Outcome(
        verdict=verdict,
        measurement="; ".join(_sentence(one) for one in measured) + ".",
        numbers=numbers,
        interval="90 % intervals of each m*, by resampling and likelihood; ratios by the widest reading of both ends.",
        figures=(_figure(measured, law),),
        caveats=tuple(dict.fromkeys(warning for one in measured if one.laws for warning in one.laws.warnings)),
    )


def _supports(one: Growth) -> bool:
    return one.factor.high <= one.span / SLOWER and one.linear_weight < UNLIKELY


def _refutes(one: Growth) -> bool:
    return one.factor.low > one.span / SLOWER or (one.laws is not None and one.linear_weight > 1 - UNLIKELY)


def _sentence(one: Growth) -> str:
    if len(one.known) < 2:
        return f"{one.setting}: too few thresholds were bracketed"
    first, last = one.known[0], one.known[-1]
    laws = f"; {one.laws}" if one.laws else ""
    return f"{one.setting}: m* from {first.m:.0f} at T = {first.context} to {last.m:.0f} at T = {last.context}{laws}"


def _figure(measured: tuple[Growth, ...], law: str) -> Figure:
    floors = {context: floor for one in measured for context, floor in one.floors.items()}
    settings = {one.setting: one.thresholds for one in measured if one.thresholds}
    return learners_figure(f"Samples a 3-way AND takes on {law} bits", settings, floors=floors)
