"""How large can the gap between training and test error be, with these norms? Every theorem that applies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, log
from typing import Any, ClassVar

from keyhole.api.margin_bound import MarginBound, margin_bound
from keyhole.api.norm_sources import NormSource, Source, source_of
from keyhole.api.result import Result
from keyhole.api.trained_run import TrainedRun
from keyhole.bounds import (
    ROUTES,
    Guarantee,
    Real,
    Rival,
    Step,
    failure,
    guarantee,
    identification_size,
    information_floor,
    kept_share,
    rivals,
    sample_size,
)
from keyhole.bounds.finite import EXACT_UP_TO, certificate_nats, exact_error
from keyhole.decimals import at_least, at_most, brief, surely
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.figure import Axis, Figure
from keyhole.files.record import hidden
from keyhole.norm_profile import NormProfile, require_possible
from keyhole.show.answer import Show

MEANING = (
    "gap: the difference between the mean loss on the training set and the expected loss on new inputs. Theorems T and "
    "L use the path norm P_∞, Theorem P the path norm P; law: how inputs are distributed."
)
MOST_CONTEXTS = 100  # of a growth
SECONDS = 5.0  # for the proof of a run for which no theorem says anything
GROWTH_GAP = 0.2  # of the growth table, where no gap is asked for
LIMITS = {
    ("tabulated", "fixed"): "1: the complexity grows like √log T exactly, so samples like log T",
    ("tabulated", "compiled"): "1: P_∞ does not grow with T",
    ("lists", "fixed"): "1: ln(2N) grows like log T, and the depth D of the lists hardly moves",
    ("lists", "compiled"): "1: P_∞ does not grow with T",
    ("product-lists", "fixed"): "1: ln(2N) grows like log T, and the depth D of the lists hardly moves",
    ("product-lists", "compiled"): "1: P_∞ does not grow with T",
    ("fixed",): "1: C/Λ is constant in T, and Λ holds log m too, so the exponent rises slowly",
    ("compiled",): "3: the logits of exact heads grow like log T and enter squared",
}


@dataclass(frozen=True)
class Refused:
    """A theorem that does not apply, and why."""

    theorem: str
    reason: str


@dataclass(frozen=True)
class Promise:
    """A bound on the error of a run that the prover has, from its function and its training set."""

    error: float
    delta: float
    run: str


@dataclass(frozen=True)
class FiniteBound:
    """A number from counting the functions of few positions: an error, or a number of samples."""

    name: str
    value: float
    from_below: bool = False


@dataclass(frozen=True)
class Growth:
    """The samples that one theorem asks for at several contexts, and the exponent of log T between neighbours."""

    theorem: str
    norms: str  # "fixed" or "compiled at each context"
    contexts: tuple[int, ...]
    samples: tuple[float, ...]  # needed for the gap
    exponents_of_log_T: tuple[float, ...]  # noqa: N815  (the key of its record)
    limit: str


@dataclass(frozen=True, repr=False)
class Bound(Result):
    """The guarantees of all theorems that apply, the smallest first; refusals with their reasons, rivals, growth."""

    schema: ClassVar[str] = "bound/1"
    properties: ClassVar[tuple[str, ...]] = ("best", "vacuous", "summary", "samples_for_gap")

    source: str  # whose norms they are
    guarantees: tuple[Guarantee, ...]
    refused: tuple[Refused, ...]
    rivals: tuple[Rival, ...]
    finite_classes: tuple[FiniteBound, ...] = ()  # of a function
    growth: tuple[Growth, ...] = ()
    construction: str | None = None  # of a function, where it is another than the usual one
    by_margin: MarginBound | None = None  # of a trained run: what its training margins promise
    gap: Real | None = hidden(default=None)
    samples_needed: tuple[int, ...] = hidden(default=())  # for the gap, by each guarantee
    promise: "Promise | None" = hidden(default=None)  # of a run for which no theorem says anything

    @property
    def smallest(self) -> Guarantee:
        """The smallest of the guarantees."""
        if not self.guarantees:
            raise AssumptionError(f"No theorem applies to {self.source}: {self.refused[0].reason}")
        return min(self.guarantees, key=lambda stated: stated.value)

    @property
    def best(self) -> str | None:
        """The key of the theorem that gives it."""
        return self.smallest.route if self.guarantees else None

    @property
    def vacuous(self) -> bool:
        """True if every guarantee is vacuous, or there is none."""
        return not self.guarantees or self.smallest.vacuous

    @property
    def summary(self) -> str:
        """The smallest guarantee in a sentence, or why there is none."""
        return str(self.smallest) if self.guarantees else f"no theorem applies: {self.refused[0].reason}"

    @property
    def samples_for_gap(self) -> Mapping[str, Real] | None:
        """The samples that each theorem needs for the gap."""
        if not self.gap:
            return None
        titles = (stated.title for stated in self.guarantees)
        return {"gap": self.gap, **dict(zip(titles, self.samples_needed, strict=True))}

    def lines(self, show: Show) -> None:
        """Set a row per theorem, the smallest gap first; then what finite classes say, and growth."""
        if self.promise is not None:
            sure = f"with probability ≥ {surely(self.promise.delta)}"
            show.line(f"error ≤ {at_most(self.promise.error, 4)} on new inputs, {sure}, by proof and counting")
        if self.by_margin is not None:
            show.line(self.by_margin.sentence)
        self._table(show)
        if self.promise is not None:
            show.line(f"next: keyhole prove --run {self.promise.run}")
        if self.construction is not None:
            show.line(f"The norms are those of the {self.construction} construction, which is the best one here.")
        for entry in self.finite_classes if show.verbose else self.finite_classes[:1]:
            value = at_least(entry.value, 4) if entry.from_below else at_most(entry.value, 4)
            show.line(f"{entry.name}: {value}")
        if self.growth:
            self._grow(show)
        if show.verbose:
            self._explain(show)

    def _table(self, show: Show) -> None:
        if not self.guarantees:
            return show.line(f"No theorem applies to {self.source}: {self.refused[0].reason}")
        first = self.guarantees[0]
        measured = "; norms measured after training" if first.measured else ""
        sure = f"with probability ≥ {surely(first.delta)}{measured}"
        show.line(
            f"{self.source}: test error minus training error (the gap) after {brief(first.samples)} samples, {sure}"
        )
        needed = {f"samples for {self.gap:g}": ">"} if self.gap else {}
        counts = self.samples_needed or (0,) * len(self.guarantees)
        rows = []
        for stated, count in sorted(zip(self.guarantees, counts, strict=True), key=lambda pair: pair[0].value):
            entries = (at_most(stated.value), "vacuous" if stated.vacuous else "", f"{count:,}")
            rows.append((stated.title.removeprefix("Theorem "), *entries[: 3 if needed else 2]))
        show.table({"theorem": "<", "gap ≤": ">", "": "<", **needed}, rows)
        smaller = [rival for rival in self.rivals if _is_smaller(rival, self.smallest)]
        if smaller:
            words = ", ".join(f"{rival.name} {at_most(rival.value or 0.0)} ({rival.quantity})" for rival in smaller)
            show.line(f"smaller here, of bounds that are not ours: {words}", hang=2)
        return None

    def _grow(self, show: Show) -> None:
        rows = []
        for grown in self.growth:
            title, norms = grown.theorem.removeprefix("Theorem ").partition(":")[0], grown.norms.partition(" ")[0]
            exponents = ("", *(f"{exponent:.3f}" for exponent in grown.exponents_of_log_T))
            for context, samples, exponent in zip(grown.contexts, grown.samples, exponents, strict=True):
                rows.append((title, norms, f"{context:,}", at_most(samples, 4), exponent))
        show.line()
        show.line(f"samples needed for a gap of {self.gap or GROWTH_GAP:g}")
        show.table({"theorem": "<", "norms": "<", "T": ">", "samples": ">", "exponent of log T": ">"}, rows)

    def _explain(self, show: Show) -> None:
        """Every derivation, their lemmas, the theorems that do not apply, and the rivals."""
        show.line(MEANING)
        lemmas: dict[str, Step] = {}
        for stated in self.guarantees:
            show.line()
            _say_derivation(show, stated)
            lemmas |= {step.lemma: step for _, _, step in stated.derivation.walk()}
        show.line()
        for name, step in lemmas.items():
            show.line(f"{name}: {step.formula}   {step.source}", hang=4)
        for grown in self.growth:
            show.line(f"{grown.theorem}, norms {grown.norms}: limit of the exponent {grown.limit}")
        if self.refused:
            show.line()
        for reason in dict.fromkeys(refused.reason for refused in self.refused):
            theorems = "; ".join(refused.theorem for refused in self.refused if refused.reason == reason)
            show.line(f"Not evaluated: {theorems}. {reason}")
        if self.rivals:
            show.line()
        for rival in self.rivals:
            value = "no number" if rival.value is None else at_most(rival.value, 4)
            known = "; ".join(filter(None, (rival.kind, rival.source, rival.remark)))
            show.line(f"{rival.key}  {rival.name}: {rival.quantity} {value}  [{known}]")

    def figure(self) -> Figure:
        """Draw the samples needed against the context, a line per theorem."""
        if not self.growth:
            raise AssumptionError(
                "A figure of growth was asked for without contexts; give contexts, such as 100, 1000."
            )
        rows: list[dict[str, Any]] = [
            {"T": context, "m": samples, "bound": f"{grown.theorem.split(':')[0]}, norms {grown.norms}"}
            for grown in self.growth
            for context, samples in zip(grown.contexts, grown.samples, strict=True)
        ]
        return Figure(
            title="Samples a bound asks for",
            subtitle=f"two-sided gap {self.gap or GROWTH_GAP:g}",
            kind="lines",
            rows=tuple(rows),
            x=Axis("T", "context length T", "log"),
            y=Axis("m", "samples m", "log"),
            colour=Axis("bound", "", "category"),
        )


def _is_smaller(rival: Rival, best: Guarantee) -> bool:
    """Return whether a rival bounds the gap with known constants, and lower."""
    known = rival.kind == "bound" and "gap" in rival.quantity and rival.origin.status != "recalled"
    return known and rival.value is not None and rival.value < best.value


def _say_derivation(show: Show, stated: Guarantee) -> None:
    """The tree of steps, each with its share; the conditions; and the effect of halving each norm."""
    show.line(stated.sentence)
    for depth, share, step in stated.derivation.walk():
        given = ", ".join(f"{name} = {brief(value)}" for name, value in step.given)
        inputs = f"   [{given}]" if given else ""
        words = f"{100 * share:3.0f} %  {step.name} = {brief(step.value)}   {step.lemma}{inputs}"
        show.line(f"{'   ' * depth}{words}", hang=8)
    for condition in stated.valid_if:
        show.line(f"  valid if {condition}", hang=4)
    if stated.note:
        show.line(f"  {stated.note}", hang=2)
    change = stated.sensitivity
    halved = ", ".join(f"{norm} {100 * share:+.0f} %" for norm, share in change.halved.items())
    show.line(f"  halving one norm changes {change.of}: {halved or change.reason}", hang=4)


def bound(
    source: Source | NormSource,
    samples: Real | None = None,
    context: int | None = None,
    *,
    delta: Real = 0.01,
    gap: Real | None = None,
    contexts: Sequence[int] = (),
    law: str | Real | None = None,
    accepted: Real | None = None,
) -> Bound:
    """Evaluate every theorem that covers the norms of `source`, after so many samples.

    A source is a name such as and:3, a formula, what `compile` gave, a profile, or a model; `file_norms`, `json_norms`
    and `run_norms` of `keyhole.api.norm_sources` give the norms of a file or of a trained run, which brings its number
    of samples and its law.

    `gap` also finds the samples that each theorem needs for it, `contexts` how these grow. `law` is how inputs are
    drawn: "uniform", or the least probability of a symbol where symbols are independent; a conjunction or disjunction
    is then also compiled by the veto construction, and the smaller bound is given. `accepted` is the probability with
    which a drawn training set was kept, where sets were redrawn until they met a condition: every number is computed
    at δ·accepted, and promised of kept sets at δ.

    >>> print(bound("and:3", 1e5, 100).guarantees[0])
    gap ≤ 0.0876 with probability ≥ 0.99 at m = 100,000 (Theorem T: one layer with a fixed query)
    """
    if context is not None and context < 1:
        raise AssumptionError(f"A context has at least one position; got {context}.")
    norms = source if isinstance(source, NormSource) else source_of(source, context)
    profile = _under(law, _at(norms, context))
    require_possible(profile)
    m, promised = sample_size(_samples(norms, samples, law)), failure(delta)
    if norms.conditioned and accepted is None:
        raise AssumptionError(
            "The training set was redrawn until it was balanced, and a bound must know how likely a set is kept. Give "
            "that probability to `keyhole.bound`, as `accepted`."
        )
    chance = promised * kept_share(accepted)
    share = chance / len(ROUTES) if norms.measured else chance  # the smallest of several is taken after looking
    profiles = {"": profile}  # known before any data, so the smaller bound is had without a price
    if law is not None and "veto" in norms.constructions:
        veto = norms.constructions["veto"](norms.context)
        profiles |= {} if veto is None else {"veto": _under(law, veto)}
    stated = {name: _guarantees(each, m, promised, share, measured=norms.measured) for name, each in profiles.items()}
    construction = min(stated, key=lambda name: min((each.value for each in stated[name][0]), default=inf))
    profile, (guarantees, refused) = profiles[construction], stated[construction]
    if not guarantees and not norms.measured:
        raise AssumptionError(f"No theorem applies to these norms: {refused[-1].reason}")  # of the widest
    if guarantees:
        guarantees.sort(key=min(guarantees, key=lambda each: each.value).__ne__)  # the smallest first
    useful = any(not each.vacuous for each in guarantees)
    return Bound(
        source=norms.name,
        guarantees=tuple(guarantees),
        refused=tuple(refused),
        rivals=rivals(profile, m, chance, measured=norms.measured),
        finite_classes=() if norms.sparsity is None else _finite(norms.sparsity, norms.context, m, promised, chance),
        growth=_growths(norms, profile, guarantees, contexts, gap or GROWTH_GAP, construction=construction),
        construction=construction or None,
        by_margin=None if norms.margins is None else margin_bound(profile, norms.margins, promised, spent=chance),
        gap=gap,
        samples_needed=() if gap is None else tuple(each.samples_for(gap) for each in guarantees),
        promise=None if norms.run is None or useful else _promise(norms.run, promised, accepted),
    )


def _promise(run: TrainedRun, delta: float, accepted: Real | None) -> Promise | None:
    """Return what the prover promises of the error of a run, if that is less than 1."""
    from keyhole.api.prove import Effort, TrainingSet, prove

    training = TrainingSet(accepted=1.0 if accepted is None else float(accepted))
    proof = prove(run, training, delta=delta, effort=Effort(time_limit=SECONDS))
    return None if proof.error_bound is None or proof.vacuous else Promise(proof.error_bound, delta, run.name)


def _at(norms: NormSource, context: int | None) -> NormProfile:
    """The profile at a context, which norms that belong to a model cannot leave."""
    if context is None or context == norms.context:
        return norms.profile
    if norms.fixed:
        raise AssumptionError(
            f"The norms of {norms.name} have a context of {norms.context}, and {context} was given; leave it out."
        )
    return replace(norms.profile, tokens=context + norms.profile.constant_tokens)


def _samples(norms: NormSource, samples: Real | None, law: str | Real | None) -> Real:
    """The number of samples; refuse one, or a law, that a trained run does not have."""
    if norms.samples is None:
        if samples is None:
            raise AssumptionError("A bound was asked for without a number of samples; give `samples`.")
        return samples
    if samples not in (None, norms.samples):
        raise AssumptionError(
            f"The run {norms.name} was trained on {norms.samples:,} samples, and {samples:g} were given; leave them "
            "out."
        )
    if law is not None:
        raise AssumptionError(
            f"The run {norms.name} has the law its inputs were drawn from, and {law} was given; leave it out."
        )
    return norms.samples


def _guarantees(
    profile: NormProfile, samples: float, delta: float, spent: float, *, measured: bool
) -> tuple[list[Guarantee], list[Refused]]:
    """The guarantee at δ of every theorem that applies, computed at the share of it, and why the others do not."""
    stated: list[Guarantee] = []
    refused: list[Refused] = []
    for route in ROUTES:
        try:
            stated.append(guarantee(route, profile, samples, delta=delta, spent=spent, measured=measured))
        except AssumptionError as refusal:
            refused.append(Refused(route.title, str(refusal)))
    return stated, refused


def _growths(
    source: NormSource,
    profile: NormProfile,
    guarantees: Sequence[Guarantee],
    contexts: Sequence[int],
    gap: Real,
    *,
    construction: str,
) -> tuple[Growth, ...]:
    """Return the growth of every guarantee at fixed norms, and end to end if norms are known at every context."""
    if len(contexts) > MOST_CONTEXTS:  # each costs a search for every theorem
        raise ArgumentError(
            f"The growth at {len(contexts)} contexts was asked for; name at most {MOST_CONTEXTS}, such as 100, 10,000 "
            "and 1,000,000: it is smooth between them."
        )
    if not contexts:
        return ()
    kinds = {"fixed": [replace(profile, tokens=T + profile.constant_tokens) for T in contexts]}
    if source.constructions:
        made = [source.constructions[construction](T) or source.constructions[""](T) or profile for T in contexts]
        kinds["compiled"] = [replace(norms, least_probability=profile.least_probability) for norms in made]
    logs = [log(log(2 * T + 2)) for T in contexts]  # log log(2T+2), the logarithm that Theorem T reads
    grown = []
    for kind, profiles in kinds.items():
        for stated in guarantees:
            sizes = tuple(float(stated.again(profile=norms).samples_for(gap)) for norms in profiles)
            limit = LIMITS.get((stated.route, kind)) or LIMITS[(kind,)]
            words = "fixed" if kind == "fixed" else "compiled at each context"
            exponents = tuple(
                (log(after) - log(before)) / (far - near)
                for (before, after), (near, far) in zip(pairwise(sizes), pairwise(logs), strict=True)
            )
            grown.append(Growth(stated.title, words, tuple(contexts), sizes, exponents, limit))
    return tuple(grown)


def _under(law: str | Real | None, profile: NormProfile) -> NormProfile:
    """The profile with the law of its inputs, where one is given."""
    if law is None:
        return profile
    if law == "uniform":
        return replace(profile, least_probability=1 / profile.symbols)
    if isinstance(law, str):
        raise AssumptionError(
            f'A law of inputs is "uniform", or a number, the least probability of a symbol; got {law!r}.'
        )
    return replace(profile, least_probability=float(law))


def _finite(sparsity: int, context: int, samples: float, delta: float, spent: float) -> tuple[FiniteBound, ...]:
    """Count the functions of so many positions: numbers at δ, computed at the share `spent`, and never vacuous."""
    s, m = sparsity, int(samples)
    sure = f"with probability ≥ {surely(delta)}"
    occam = f"Occam: {sure}, every function of {s} positions that fits all {m:,} samples errs at most"
    whole = float(identification_size(context, s, spent, witnessed=False))
    fits = f"identification: samples from which on, {sure}, a function of {s} positions that fits is the target"
    assumed = f"on uniform bits, if the target reads at most {s} positions"
    identified = [FiniteBound(f"{fits}, {assumed}", whole)]
    if s <= EXACT_UP_TO:  # beyond, the number does not use the rule
        seen = float(identification_size(context, s, spent))
        identified = [
            FiniteBound(f"{fits}, {assumed} and the samples show every pattern of the function's positions", seen),
            FiniteBound("identification: the same, whether or not the samples show every pattern", whole),
        ]
    floor = "information floor: with fewer samples every learner names the positions of some target wrongly"
    return (
        FiniteBound(occam, exact_error(certificate_nats(context, s, spent), m)),
        *identified,
        FiniteBound(floor, information_floor(context, s), from_below=True),
    )
