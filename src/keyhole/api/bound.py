"""What do these norms guarantee? Every theorem that applies, its rivals, the samples each one needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.bound_growth import GROWTH_GAP, Growth, growths, require_few
from keyhole.api.margin_bound import MarginBound, margin_bound
from keyhole.api.norm_sources import Source, Subject, name_of, read_subject, veto_norms
from keyhole.api.old_result import OldResult as Result
from keyhole.bounds import (
    ROUTES,
    Guarantee,
    Real,
    failure,
    guarantee,
    identification_size,
    information_floor,
    kept_share,
    number_record,
    rivals,
    sample_size,
)
from keyhole.bounds.finite import EXACT_UP_TO, certificate_nats, exact_error
from keyhole.bounds.theorems import Rival
from keyhole.compiler import Compiled
from keyhole.decimals import surely
from keyhole.errors import AssumptionError
from keyhole.figure import Axis, Figure
from keyhole.files.atomic import write_file
from keyhole.files.norms import template
from keyhole.norm_profile import NormProfile, require_possible
from keyhole.show.derivation import derivation_latex
from keyhole.show.document import Document
from keyhole.show.guarantee import bound_document, bound_html, explained_document
from keyhole.show.site import save_figure
from keyhole.show.text import to_text

DRAWN = (".svg", ".pdf", ".png", ".csv")  # endings of files that have the figure of growth


@dataclass(frozen=True, repr=False)
class Bound(Result):
    """The answer: guarantees in the order to be read, refusals with their reasons, rivals, and growth."""

    schema: ClassVar[str] = "bound/1"

    source: str  # whose norms they are
    guarantees: tuple[Guarantee, ...]
    refused: tuple[tuple[str, str], ...]
    rivals: tuple[Rival, ...]
    gap: Real | None = None
    samples_needed: tuple[tuple[str, int], ...] = ()
    growth: tuple[Growth, ...] = ()
    finite: tuple[tuple[str, float], ...] = ()  # for a named function: what finite classes say
    construction: str | None = None  # of a named function, where it is another than the default
    by_margin: MarginBound | None = None  # for a trained run: what its training margins promise

    @property
    def best(self) -> Guarantee:
        """The smallest of the guarantees; refused where no theorem applies."""
        if not self.guarantees:
            raise AssumptionError(f"No theorem applies to {self.source}: {self.refused[0][1]}")
        return min(self.guarantees, key=lambda stated: stated.value)

    @property
    def vacuous(self) -> bool:
        """Whether every guarantee is, or there is none."""
        return not self.guarantees or self.best.vacuous

    @property
    def summary(self) -> str:
        """The smallest guarantee in a sentence, or why there is none."""
        return str(self.best) if self.guarantees else f"no theorem applies: {self.refused[0][1]}"

    def document(self) -> Document:
        """A sentence per theorem, what was refused, and growth."""
        return bound_document(self._plain())

    def explained(self) -> Document:
        """The same, then every derivation, what halving each norm does, and the rivals with their standing."""
        return explained_document(self.record())

    def explain(self) -> str:
        """Everything as text: derivations, what halving each norm does, the rivals with their standing."""
        return to_text(self.explained())

    def html(self) -> str:
        """Every derivation as HTML."""
        return bound_html(self._plain())

    def latex(self) -> str:
        """Every derivation as nested LaTeX lists, for lualatex or xelatex."""
        return "\n\n".join(derivation_latex(stated.record()) for stated in self.guarantees)

    def _repr_html_(self) -> str:
        return self.html()

    def figure(self) -> Figure:
        """Samples needed against the context, a line per theorem; refused where no growth was asked for."""
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

    def save(self, path: str | Path, *, explained: bool = False) -> Path:
        """Write the answer in the format of the path's ending, and return the path.

        .json has the record, .txt the answer as it is shown, or explained; .html every derivation; .svg, .pdf, .png
        and .csv have the figure of growth.
        """
        path = Path(path)
        self.require_ending(path)
        ending = path.suffix.lower()
        if ending in DRAWN:
            return save_figure(self.figure(), path)
        if explained and ending == ".txt":
            return write_file(path, f"{self.explain()}\n".encode())
        return super().save(path)

    @classmethod
    def require_ending(cls, path: Path) -> None:
        """Refuse a name that says no format, before anything is computed for it."""
        if path.suffix.lower() not in DRAWN:
            super().require_ending(path)

    def record(self, *, halved: bool = True) -> dict[str, Any]:
        """The answer as plain lists and dictionaries; what is no number is null with a reason.

        What halving each norm does takes longest to compute, and is left out unless it is asked for.
        """
        plain = self._plain()
        if not halved:
            return plain
        for stated, entry in zip(self.guarantees, plain["guarantees"], strict=True):
            entry["sensitivity"] = _sensitivity_record(stated)
        return plain

    def _plain(self) -> dict[str, Any]:
        """The record but for what halving each norm does, which takes longest and is shown only if asked for."""
        return {
            "source": self.source,
            "construction": self.construction,
            "by_margin": None if self.by_margin is None else self.by_margin.record(),
            "best": self.best.route.key if self.guarantees else None,
            "vacuous": self.vacuous,
            "guarantees": [stated.record() for stated in self.guarantees],
            "samples_for_gap": {"gap": self.gap, **dict(self.samples_needed)} if self.gap else None,
            "refused": [{"theorem": title, "reason": reason} for title, reason in self.refused],
            "rivals": [
                {
                    "key": rival.key,
                    "name": rival.name,
                    "quantity": rival.quantity,
                    "kind": rival.kind,
                    "source": str(rival.source),
                    **number_record("value", rival.value, rival.remark),
                }
                for rival in self.rivals
            ],
            "finite_classes": [
                {"name": name, **number_record("value", value), "from_below": name == FLOOR}
                for name, value in self.finite
            ],
            "growth": [grown.record() for grown in self.growth],
        }


def _sensitivity_record(stated: Guarantee) -> dict[str, Any]:
    """What halving each norm does: to the gap, or, where it is vacuous, to the samples for half the range."""
    half = stated.statement.loss.ceiling / 2 if stated.vacuous else None
    of = "the gap" if half is None else f"the samples for a gap of {half:g}"
    try:
        return {"of": of, "halved": {change.label: change.change for change in stated.sensitivity(half)}}
    except AssumptionError as refusal:  # no number of samples is enough
        return {"of": of, "halved": {}, "reason": str(refusal)}


def norms_template() -> str:
    """A JSON of norms to edit, which `bound` reads."""
    return template()


def bound(
    source: Source,
    samples: Real | None = None,
    context: int | None = None,
    *,
    delta: Real = 0.01,
    gap: Real | None = None,
    measured: bool = False,
    contexts: Sequence[int] = (),
    law: str | Real | None = None,
    accepted: Real | None = None,
    store: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Bound:
    """What the norms of `source` guarantee after `samples` samples, by every theorem that applies.

    A source is a name such as and:3, a formula, what `compile` gave or its file, a file of norms, a profile, a model,
    or the name of a trained run, which brings its training set's size and its law; where its weights were not kept it
    is trained again, and `tell` is told. The smallest guarantee comes first. `gap` asks for the samples each theorem
    needs; `contexts` for their growth; `measured` says that the norms were read off a trained model, as those of models
    and runs always are, which costs a part of δ. `law` says how inputs are drawn: "uniform", or a number, the least
    probability of a symbol where symbols are independent; None says nothing. With a law a conjunction or disjunction is
    compiled by the veto construction, too, and the smaller bound is given. `accepted` is the probability with which a
    drawn training set was kept, where sets were redrawn until they met a condition: every number is then computed at
    δ·accepted, and promised of kept sets at δ. A run without a LayerNorm after
    attention also gets a promise on its error, from the margins of its training set, at level δ by itself.

    >>> print(bound("and:3", 1e5, 100).guarantees[0])
    gap ≤ 0.0876 with probability ≥ 0.99 at m = 100,000 (Theorem T: one layer with a fixed query)
    """
    require_few(contexts)
    subject = read_subject(source, context, store, tell)
    profile, measured = _under(law, subject.profile), measured or subject.measured
    require_possible(profile)
    if subject.samples is not None:
        _require_own(source, subject, samples, law)
    samples = subject.samples if samples is None else samples
    if samples is None:
        raise AssumptionError("A bound was asked for without a number of samples; give `samples`.")
    if subject.conditioned and accepted is None:
        raise AssumptionError(
            f"The training set of {source} was redrawn until it was balanced, and a bound must know how likely a set "
            "is kept. Give that probability, `accepted`."
        )
    m, promised = sample_size(samples), failure(delta)
    chance = promised * kept_share(accepted)
    share = chance / len(ROUTES) if measured else chance  # the smallest of several is taken after looking
    guarantees, refused = _guarantees(profile, m, promised, share, measured=measured)
    vetoed = None if law is None else veto_norms(source, context)
    if vetoed is not None:  # both are known before any data, so the smaller bound is had without a price
        others, reasons = _guarantees(_under(law, vetoed), m, promised, share, measured=measured)
        if _smallest(others) < _smallest(guarantees):
            profile, guarantees, refused = _under(law, vetoed), others, reasons
        else:
            vetoed = None
    if not guarantees and not subject.measured:
        raise AssumptionError(f"No theorem applies to these norms: {refused[-1][1]}")  # of the widest
    if guarantees:
        guarantees.sort(key=min(guarantees, key=lambda stated: stated.value).__ne__)  # the smallest first
    needed = () if gap is None else tuple((g.route.title, g.samples_for(gap)) for g in guarantees)
    return Bound(
        source=name_of(source),
        guarantees=tuple(guarantees),
        refused=tuple(refused),
        rivals=rivals(profile, samples, chance, measured=measured),
        gap=gap,
        samples_needed=needed,
        finite=_finite(
            subject.sparsity,
            source.plan.context if isinstance(source, Compiled) else context,
            samples,
            promised,
            chance,
        ),
        growth=growths(source, profile, guarantees, contexts, gap or GROWTH_GAP, vetoed=vetoed is not None)
        if contexts
        else (),
        construction=None if vetoed is None else "veto",
        by_margin=None if subject.margins is None else margin_bound(profile, subject.margins, promised, spent=chance),
    )


def _guarantees(
    profile: NormProfile, samples: float, delta: float, spent: float, *, measured: bool
) -> tuple[list[Guarantee], list[tuple[str, str]]]:
    """What every theorem that applies guarantees at δ, computed at the share of it, and why the others do not."""
    found: list[Guarantee] = []
    refused: list[tuple[str, str]] = []
    for route in ROUTES:
        try:
            found.append(guarantee(route, profile, samples, delta=delta, spent=spent, measured=measured))
        except AssumptionError as refusal:
            refused.append((route.title, str(refusal)))
    return found, refused


def _smallest(guarantees: Sequence[Guarantee]) -> float:
    return min((stated.value for stated in guarantees), default=inf)


def _require_own(source: Source, subject: Subject, samples: Real | None, law: str | Real | None) -> None:
    """Refuse a number of samples, or a law, that a trained run does not have."""
    if samples not in (None, subject.samples):
        raise AssumptionError(
            f"The run {source} was trained on {subject.samples:,} samples, and {samples:g} were given; leave them out."
        )
    if law is not None:
        raise AssumptionError(
            f"The run {source} has the law its inputs were drawn from, and {law} was given; leave it out."
        )


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


def _finite(
    sparsity: int | None, context: int | None, samples: Real, delta: float, spent: float
) -> tuple[tuple[str, float], ...]:
    """What finite classes say at δ, computed at the share `spent`, of a function named by its sparsity.

    These bounds are not vacuous.
    """
    if sparsity is None or context is None:
        return ()
    s, m = sparsity, int(samples)
    nats = certificate_nats(context, s, spent)
    sure = f"with probability ≥ {surely(delta)}"
    whole = float(identification_size(context, s, spent, witnessed=False))
    fits = (
        f"identification: samples from which on, {sure}, a function of {s} positions that fits them all is the target"
    )
    assumed = f"on uniform bits, if the target reads at most {s} positions"
    identified: tuple[tuple[str, float], ...] = ((f"{fits}, {assumed}", whole),)
    if s <= EXACT_UP_TO:  # beyond, the number does not use the rule
        seen = float(identification_size(context, s, spent))
        identified = (
            (f"{fits}, {assumed} and the samples show every pattern of the function's positions", seen),
            ("identification: the same, whether or not the samples show every pattern", whole),
        )
    every = f"every function of {s} positions that fits all {m:,} samples"
    occam = f"Occam: {sure}, {every} errs on new inputs at a rate of at most"
    return ((occam, exact_error(nats, m)), *identified, (FLOOR, information_floor(context, s)))


FLOOR = "information floor: with fewer samples every learner names the positions of some target wrongly"
