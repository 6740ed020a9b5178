"""A guarantee: a number, the conditions under which it holds, and the derivation that gives it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import ClassVar

from keyhole.bounds.derivation import HIDDEN, Step
from keyhole.bounds.theorems.peeling import peel
from keyhole.bounds.theorems.registry import Route
from keyhole.bounds.theorems.risk import Loss, risk_step
from keyhole.bounds.validate import Real, failure, positive, sample_size
from keyhole.decimals import at_most, brief, surely
from keyhole.errors import AssumptionError
from keyhole.norm_profile import NormProfile

MOST_SAMPLES = 2**200  # beyond this a sample size is not worth a number


@dataclass(frozen=True)
class Sensitivity:
    """The change of a number if one norm alone is halved: −0.31 is 31 % less."""

    of: str  # the number: the gap, or the samples for a gap
    halved: Mapping[str, float]  # by the name of the norm, the largest fall first
    reason: str = ""  # why there are none


@dataclass(frozen=True, repr=False)
class Guarantee:
    """With probability ≥ 1 − δ the gap between expected and average loss is at most `value`.

    The value may be computed at less than δ: where the smallest of several bounds is taken after looking, or training
    sets were redrawn, `delta_spent` is smaller than the δ that is promised. The theorem and the norms stand beside, so
    that the question can be asked again with other numbers.
    """

    properties: ClassVar[tuple[str, ...]] = (
        "route", "title", "vacuous", "dominating", "dominating_lemma", "note", "sentence", "loss_ceiling",
        "sensitivity",
    )  # fmt: skip

    theorem: Route = field(metadata=HIDDEN)
    profile: NormProfile = field(metadata=HIDDEN)
    loss: Loss = field(metadata=HIDDEN)
    value: float
    samples: float  # m
    delta: float  # promised
    delta_spent: float
    two_sided: bool
    measured: bool
    valid_if: tuple[str, ...]
    derivation: Step

    @property
    def route(self) -> str:
        """The key of the theorem."""
        return self.theorem.key

    @property
    def title(self) -> str:
        """The name of the theorem."""
        return self.theorem.title

    @property
    def note(self) -> str:
        """A remark on such bounds."""
        return self.theorem.note

    @property
    def loss_ceiling(self) -> float:
        """The largest loss."""
        return self.loss.ceiling

    @property
    def vacuous(self) -> bool:
        """True if the bound says no more than the range of the loss does."""
        return self.value >= self.loss.ceiling

    @property
    def dominating(self) -> str:
        """The leaf of the derivation with the largest share."""
        return self.derivation.leaf().name

    @property
    def dominating_lemma(self) -> str:
        """The lemma of that leaf."""
        return self.derivation.leaf().lemma

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        marks = [self.title]
        marks += [] if self.two_sided else ["one-sided"]
        marks += ["norms measured after training"] if self.measured else []
        marks += ["VACUOUS"] if self.vacuous else []
        chance = f"with probability ≥ {surely(self.delta)} at m = {brief(self.samples)}"
        return f"gap ≤ {at_most(self.value)} {chance} ({'; '.join(marks)})"

    @property
    def sensitivity(self) -> Sensitivity:
        """The effect of halving each norm: on the gap, or, if it is vacuous, on the samples for half the range."""
        half = self.loss.ceiling / 2 if self.vacuous else None
        of = "the gap" if half is None else f"the samples for a gap of {half:g}"
        try:
            return Sensitivity(of, self.halved(half))
        except AssumptionError as refusal:  # no number of samples is enough
            return Sensitivity(of, {}, str(refusal))

    def again(self, *, profile: NormProfile | None = None, samples: Real | None = None) -> "Guarantee":
        """Ask again with other norms, as mere numbers, or another number of samples."""
        return _guarantee(
            self.theorem,
            profile or self.profile,
            self.samples if samples is None else samples,
            delta=self.delta,
            spent=self.delta_spent,
            loss=self.loss,
            two_sided=self.two_sided,
            measured=self.measured,
        )

    def samples_for(self, gap: Real) -> int:
        """Return the fewest samples with a gap of at most this, every other number unchanged; the bound falls in m."""
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
        """Return the samples for a gap, to a thousandth, when `enough` are known to do: halve, then close in."""
        while enough > 1 and self.again(samples=max(1.0, enough / 2)).value <= gap:
            enough = max(1.0, enough / 2)
        low = enough / 2
        for _ in range(10):  # a factor of two halved ten times in its logarithm: below 1.001
            middle = sqrt(low * enough)
            fits = middle >= 1 and self.again(samples=middle).value <= gap
            low, enough = (low, middle) if fits else (middle, enough)
        return enough

    def halved(self, gap: Real | None = None) -> dict[str, float]:
        """Return the relative change of the value, or of the samples for a gap, if one norm alone is halved."""
        now = self.value if gap is None else float(self.samples_for(gap))
        changes = {}
        for dial in self.theorem.dials(self.profile):
            norm = dial.read(self.profile)
            if norm > 0:
                then = self.again(profile=dial.turn(self.profile, norm / 2))
                changes[dial.label] = (then.value if gap is None else then.fewer(float(gap), now)) / now - 1
        return dict(sorted(changes.items(), key=lambda change: change[1]))

    def __str__(self) -> str:
        return self.sentence

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
    """Evaluate a theorem for these norms and this many samples.

    Statement  Rule 3 with the theorem's R_m; for norms `measured` after training, Rule 4 first. It is computed at the
               share `spent` of δ, where that is given, and δ is promised: the rest pays for taking the smallest of
               several bounds, or for redrawn training sets.

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
    return Guarantee(
        theorem=route,
        profile=profile,
        loss=loss,
        value=derivation.value,
        samples=m,
        delta=promised,
        delta_spent=chance,
        two_sided=two_sided,
        measured=measured,
        valid_if=complexity.valid_if + common,
        derivation=derivation,
    )
