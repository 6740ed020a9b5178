"""A guarantee: a number, the conditions under which it holds, and the derivation that gives it."""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, NamedTuple

from keyhole.bounds.derivation import Step, number_record
from keyhole.bounds.theorems.peeling import peel
from keyhole.bounds.theorems.registry import Route
from keyhole.bounds.theorems.risk import Loss, Statement, risk_step
from keyhole.bounds.validate import Real, failure, positive, sample_size
from keyhole.errors import AssumptionError
from keyhole.norm_profile import NormProfile

MOST_SAMPLES = 2**200  # beyond this a sample size is not worth a number


class Sensitivity(NamedTuple):
    """What halving one norm does: −0.31 is 31 % less."""

    label: str
    change: float


@dataclass(frozen=True, repr=False)
class Guarantee:
    """A statement, with the theorem and the norms it came from, so that it can be asked again."""

    statement: Statement
    route: Route
    profile: NormProfile

    @property
    def value(self) -> float:
        """The bound on the gap."""
        return self.statement.value

    @property
    def samples(self) -> float:
        """The number of samples, m."""
        return self.statement.samples

    @property
    def valid_if(self) -> tuple[str, ...]:
        """The conditions under which it holds."""
        return self.statement.valid_if

    @property
    def derivation(self) -> Step:
        """The steps that give the value, each with its share."""
        return self.statement.derivation

    @property
    def vacuous(self) -> bool:
        """Whether it says no more than the range of the loss does."""
        return self.statement.vacuous

    @property
    def dominating(self) -> Step:
        """The leaf of the derivation with the largest share."""
        return self.derivation.dominating()

    def again(self, *, profile: NormProfile | None = None, samples: Real | None = None) -> "Guarantee":
        """The same question with other norms, as mere numbers, or another number of samples."""
        return _guarantee(
            self.route,
            profile or self.profile,
            self.samples if samples is None else samples,
            delta=self.statement.delta,
            spent=self.statement.spent,
            loss=self.statement.loss,
            two_sided=self.statement.two_sided,
            measured=self.statement.measured,
        )

    def samples_for(self, gap: Real) -> int:
        """Fewest samples with a gap of at most this, every other number unchanged; the bound falls in m."""
        wanted = positive("the gap", gap)
        low, high = 0, 1
        while self.again(samples=high).value > wanted:
            low, high = high, 2 * high
            if high > MOST_SAMPLES:
                raise AssumptionError(f"No number of samples up to 2^200 brings this bound down to {gap}.")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.again(samples=middle).value <= wanted else (middle, high)
        return high

    def fewer(self, gap: float, enough: float) -> float:
        """Samples for a gap, to a thousandth, when `enough` are known to do: halve, then close in."""
        while enough > 1 and self.again(samples=max(1.0, enough / 2)).value <= gap:
            enough = max(1.0, enough / 2)
        low = enough / 2
        for _ in range(10):  # a factor of two halved ten times in its logarithm: below 1.001
            middle = sqrt(low * enough)
            fits = middle >= 1 and self.again(samples=middle).value <= gap
            low, enough = (low, middle) if fits else (middle, enough)
        return enough

    def sensitivity(self, gap: Real | None = None) -> tuple[Sensitivity, ...]:
        """What halving each norm, as a mere number, does: to the value, or to the samples for a gap."""
        now = self.value if gap is None else float(self.samples_for(gap))
        changes = []
        for dial in self.route.dials(self.profile):
            norm = dial.read(self.profile)
            if norm > 0:
                halved = self.again(profile=dial.turn(self.profile, norm / 2))
                then = halved.value if gap is None else halved.fewer(float(gap), now)
                changes.append(Sensitivity(dial.label, then / now - 1))
        return tuple(sorted(changes, key=lambda found: found.change))

    def record(self) -> dict[str, Any]:
        """The guarantee and its derivation as plain values, which `keyhole.show` sets as text, HTML and LaTeX."""
        stated, dominating = self.statement, self.dominating
        return {
            "route": self.route.key,
            "title": stated.title,
            **number_record("value", stated.value),
            "vacuous": stated.vacuous,
            "samples": stated.samples,
            "delta": stated.delta,
            "delta_spent": stated.spent,
            "two_sided": stated.two_sided,
            "measured": stated.measured,
            "dominating": dominating.name,
            "valid_if": list(stated.valid_if),
            "derivation": stated.derivation.record(),
            "note": stated.note,
            "sentence": str(stated),
            "dominating_lemma": dominating.lemma.name,
            "loss_ceiling": stated.loss.ceiling,
        }

    def __str__(self) -> str:
        """One sentence."""
        return str(self.statement)

    def __repr__(self) -> str:
        return f"<Guarantee: {self}>"


def guarantee(
    route: Route,
    profile: NormProfile,
    samples: Real,
    *,
    delta: Real = 0.01,
    spent: Real | None = None,
    loss: Loss | None = None,
    two_sided: bool = True,
    measured: bool = False,
) -> Guarantee:
    """What a theorem guarantees for these norms and this many samples.

    Statement  Rule 3 with the theorem's R_m; for norms `measured` after training, Rule 4 first. It is computed at the
               share `spent` of δ, where that is given, and δ is promised: the rest pays for what the caller does, who
               takes the smallest of several bounds, or redraws training sets.

    >>> from keyhole.bounds.construction_norms import pair_construction
    >>> from keyhole.bounds.theorems.registry import TABULATED
    >>> print(guarantee(TABULATED, pair_construction("and", 100, 3), 1e5))
    gap ≤ 0.0876 with probability ≥ 0.99 at m = 100,000 (Theorem T: one layer with a fixed query)
    """
    route.require(profile)
    try:
        return _guarantee(
            route,
            profile,
            samples,
            delta=delta,
            spent=delta if spent is None else spent,
            loss=loss or Loss(),
            two_sided=two_sided,
            measured=measured,
        )
    except OverflowError as error:
        raise AssumptionError(
            f"The bound for a model of {len(profile.blocks)} layers with these norms is larger than any number that is "
            "computed with, so it says nothing; a bound needs smaller norms, or fewer layers."
        ) from error


def _guarantee(
    route: Route,
    profile: NormProfile,
    samples: Real,
    *,
    delta: Real,
    spent: Real,
    loss: Loss,
    two_sided: bool,
    measured: bool,
) -> Guarantee:
    """As `guarantee`, of any numbers in the place of norms."""
    m, promised, chance = sample_size(samples), failure(delta), failure(spent)
    if chance > promised:
        raise AssumptionError(
            f"A bound computed at δ = {chance:g} promises no smaller one, and {promised:g} was asked for; spend no "
            "more than is promised."
        )
    of_class, nats = peel(profile, route.dials(profile)) if measured else (profile, 0.0)
    if measured:  # a sign pattern read off trained weights was not fixed in advance
        of_class = replace(of_class, readout_nonnegative=False)
    complexity = route.complexity(of_class, m)
    derivation = risk_step(complexity, m, chance, loss, two_sided=two_sided, peeled=nats)
    norms = (
        "the scales of peeling (1 for every norm) were chosen before the data were seen"
        if measured
        else "the norms were fixed before the data were seen, and not measured on a trained model"
    )
    loss_is = f"the loss is {loss.lipschitz:g}-Lipschitz in the output and has values in [0, {loss.ceiling:g}]"
    common = ("the samples are independent draws of one law", norms, loss_is)
    statement = Statement(
        route.title,
        derivation.value,
        m,
        promised,
        chance,
        loss,
        derivation,
        complexity.valid_if + common,
        two_sided,
        measured,
        route.note,
    )
    return Guarantee(statement, route, profile)


def with_tokens(profile: NormProfile, tokens: int) -> NormProfile:
    """The same norms over another number of rows."""
    return replace(profile, tokens=tokens)
