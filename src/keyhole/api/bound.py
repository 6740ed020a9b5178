"""What do these norms guarantee? Every theorem that applies, its rivals, the samples each one needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from keyhole.api.asking import check_arguments
from keyhole.api.margin_bound import MarginBound, margin_bound
from keyhole.api.result import Result
from keyhole.api.stored_run import names_run, read_run
from keyhole.attention import Model, Tabulated, evaluate, numbers_of, table_profile, tabulate
from keyhole.attention import profile as profile_of
from keyhole.boolean import read_function
from keyhole.bounds import (
    ROUTES,
    TARGETS,
    Guarantee,
    Real,
    failure,
    guarantee,
    identification_size,
    information_floor,
    number_record,
    pair_construction,
    rivals,
    sample_size,
)
from keyhole.bounds.finite import EXACT_UP_TO, certificate_nats, exact_error
from keyhole.bounds.theorems import Rival, with_tokens
from keyhole.compiler import Compiled, choose, load_checked, plan_profile
from keyhole.decimals import surely
from keyhole.errors import ArgumentError, AssumptionError, CompileError, DataError
from keyhole.figure import Axis, Figure
from keyhole.files.atomic import write_file
from keyhole.files.looking import is_folder, is_there
from keyhole.files.model import read_model
from keyhole.files.norms import read_norms, template
from keyhole.pretrained import is_tabulated, load_tabulated
from keyhole.profile import NormProfile, require_possible
from keyhole.show.derivation import derivation_latex
from keyhole.show.document import Document
from keyhole.show.folding import abbreviate
from keyhole.show.guarantee import bound_document, bound_html, explained_document
from keyhole.show.site import save_figure
from keyhole.show.text import to_text

MOST_CONTEXTS = 100  # of a growth
GROWTH_GAP = 0.2  # of the growth table, where no gap is asked for
LARGEST_NAMED = (500, 20)  # positions of a function that is named; of a junta, whose tables have 2^s entries
DRAWN = (".svg", ".pdf", ".png", ".csv")  # endings of files that have the figure of growth


@dataclass(frozen=True)
class Growth:
    """The bounds of one theorem over several contexts, and the exponent of log T between neighbours."""

    theorem: str
    norms: str  # "fixed" or "compiled at each context"
    contexts: tuple[int, ...]
    samples: tuple[float, ...]  # needed for the gap
    exponents: tuple[float, ...]  # of log T, between neighbouring contexts
    limit: str

    def record(self) -> dict[str, Any]:
        """The growth as plain values, for JSON."""
        return {
            "theorem": self.theorem,
            "norms": self.norms,
            "contexts": list(self.contexts),
            "samples": list(self.samples),
            "exponents_of_log_T": list(self.exponents),
            "limit": self.limit,
        }


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


def named_norms(source: str) -> tuple[str, int] | None:
    """Target and sparsity of a name such as and:3, whose norms are known in closed form at every context."""
    target, _, count = source.partition(":")
    if target not in TARGETS or not (count.isascii() and count.isdigit()):
        return None
    if len(count) > 9 or int(count) > LARGEST_NAMED[target == "junta"]:
        most = LARGEST_NAMED[target == "junta"]
        raise AssumptionError(
            f"The norms of {target}:{count[:9]} were asked for; they are known up to {target}:{most}."
        )
    return target, int(count)


NAMED = 60  # letters of a function in an answer
VETO_OUTPUTS = {"and": "bits", "signed-and": "signs"}
Source = str | Path | NormProfile | Model | Tabulated | Compiled


class Subject(NamedTuple):
    """Whose norms they are: with what is known of how they came about."""

    profile: NormProfile
    measured: bool = False  # read off a trained model
    samples: int | None = None  # that it was trained on
    sparsity: int | None = None  # of a function that was named
    conditioned: bool = False  # training sets were redrawn until one was balanced
    margins: np.ndarray | None = None  # yf of its training set


def read_subject(
    source: Source,
    context: int | None,
    store: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Subject:
    """The norms of a source: a trained run by its name, else what `norms_of` knows."""
    if isinstance(source, Model | Tabulated) or _holds_tables(source):
        return Subject(norms_of(source, context), measured=True)
    if isinstance(source, str) and named_norms(source) is None and names_run(source):
        return _run_subject(source, context, store, tell)
    if isinstance(source, Compiled):
        return Subject(norms_of(source, context), sparsity=source.plan.function.sparsity)
    return Subject(norms_of(source, context), sparsity=_sparsity(source))


def _run_subject(name: str, context: int | None, store: Path | None, tell: Callable[[str], None]) -> Subject:
    """The norms of a trained run, under the law its inputs were drawn from."""
    run = read_run(name, store, tell=tell)
    if run.sample is None:
        raise AssumptionError(
            f"The run {name} learned from fresh samples, so it has no training set whose gap could be bounded."
        )
    profile = profile_of(run.model, trained=True)
    if context not in (None, profile.tokens - 1):
        raise AssumptionError(
            f"The run {name} has a context of {profile.tokens - 1}, and {context} was given; leave it out."
        )
    profile = replace(profile, least_probability=min(run.law.chances))
    inputs, labels = run.sample
    margins = (
        None if profile.path_inf is None else (2.0 * labels - 1) * numbers_of(evaluate(tabulate(run.model), inputs))
    )
    return Subject(profile, measured=True, samples=len(labels), conditioned=run.conditioned, margins=margins)


def norms_of(source: Source, context: int | None) -> NormProfile:
    """The norms of a source at a context: a profile, a model, a file of either, a name such as and:3, or a formula."""
    if context is not None and context < 1:
        raise AssumptionError(f"A context has at least one position; got {context}.")
    tokens = None if context is None else context + 1  # [CLS] is one more row
    if isinstance(source, Model | Tabulated | Compiled):
        norms = _model_norms(source)
        if tokens not in (None, norms.tokens):
            raise AssumptionError(
                f"The model has a context of {norms.tokens - 1}, and {context} was given; leave it out."
            )
        return norms
    if isinstance(source, NormProfile):
        return source if context is None else with_tokens(source, context + source.constant_tokens)
    named = named_norms(str(source))
    if named is None and isinstance(source, str) and _is_formula(source):
        return plan_profile(choose(read_function(source, 0), _needed(source, context)).plan)
    if named is not None:
        return pair_construction(named[0], _needed(source, context), named[1])
    path = Path(source)
    if path.suffix == ".safetensors":
        return _stored_norms(path, context)
    if path.suffix in {".npz", ".pt", ".bin"} or is_folder(path, DataError):
        raise DataError(
            f"{source} is no file that bounds are read from; give a model that `keyhole.compile(...).save` wrote, "
            "a JSON of norms, a name such as and:3, a formula, or a run."
        )
    read = read_norms(path, tokens)
    return read if context is None else with_tokens(read, context + read.constant_tokens)


def _model_norms(model: Model | Tabulated | Compiled) -> NormProfile:
    """The norms of a model at hand: those of a compiled one were known before any data were."""
    if isinstance(model, Compiled):
        return model.profile
    return profile_of(model, trained=True) if isinstance(model, Model) else table_profile(model)


def _holds_tables(source: Source) -> bool:
    """Whether a source is a file of tables, as `certify` writes them after a repair: those of a trained model."""
    path = Path(source) if isinstance(source, str | Path) else Path()
    return path.suffix == ".safetensors" and is_tabulated(read_model(path))


def _needed(source: str | Path, context: int | None) -> int:
    """The context, which a name or a formula needs."""
    if context is None:
        raise DataError(f"The norms of {source} depend on the number of positions; give `context`.")
    return context


def _is_formula(source: str) -> bool:
    """Whether a text is meant as a function: it has no ending of a file, and no file has its name."""
    return not Path(source).suffix and not is_there(Path(source), DataError)


def _sparsity(source: Source) -> int | None:
    """How many positions a named function, or a formula, reads."""
    if not isinstance(source, str):
        return None
    named = named_norms(source)
    if named is not None:
        return named[1]
    return read_function(source, 0).sparsity if _is_formula(source) else None


def _stored_norms(path: Path, context: int | None) -> NormProfile:
    """The norms of a model of ours, of whose file everything must be as claimed."""
    stored = read_model(path)
    if is_tabulated(stored):
        return norms_of(load_tabulated(stored), context)
    plan = load_checked(stored, path)
    if context not in (None, plan.context):
        raise DataError(
            f"{path} is a model of context {plan.context}, and the context {context} was given; leave it out, or "
            "compile the function for that context."
        )
    return plan_profile(plan)


def norms_template() -> str:
    """A JSON of norms to edit, which `bound` reads."""
    return template()


def _require_few(contexts: Sequence[int]) -> None:
    """Refuse a growth at more contexts than anyone reads, each of which costs a search for every theorem."""
    if len(contexts) > MOST_CONTEXTS:
        raise ArgumentError(
            f"The growth at {len(contexts)} contexts was asked for; name at most {MOST_CONTEXTS}, such as 100, 10,000 "
            "and 1,000,000: it is smooth between them."
        )


@check_arguments
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
    _require_few(contexts)
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
        source=_name(source),
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
        growth=_growths(source, profile, guarantees, contexts, gap or GROWTH_GAP, vetoed=vetoed is not None)
        if contexts
        else (),
        construction=None if vetoed is None else "veto",
        by_margin=None if subject.margins is None else margin_bound(profile, subject.margins, promised, spent=chance),
    )


def _guarantees(
    profile: NormProfile, samples: float, delta: float, spent: float, *, measured: bool
) -> tuple[list[Guarantee], list[tuple[str, str]]]:
    """What every theorem that applies guarantees at δ, computed at the share of it, and why the others do not."""
    guarantees: list[Guarantee] = []
    refused: list[tuple[str, str]] = []
    for route in ROUTES:
        try:
            guarantees.append(guarantee(route, profile, samples, delta=delta, spent=spent, measured=measured))
        except AssumptionError as refusal:
            refused.append((route.title, str(refusal)))
    return guarantees, refused


def _smallest(guarantees: Sequence[Guarantee]) -> float:
    return min((stated.value for stated in guarantees), default=inf)


def veto_norms(source: Source, context: int | None) -> NormProfile | None:
    """The norms of a named function, or of a formula, by the veto construction; None where it makes no such function.

    A violated literal takes the attention, at a path norm of 1 (bits) or 3 (signs), which pays where a law of
    independent symbols makes scores cost nothing.
    """
    if not isinstance(source, str) or context is None:
        return None
    named = named_norms(source)
    if named is not None and named[0] not in {"and", "signed-and"}:
        return None
    if named is None and not _is_formula(source):
        return None
    function, output = (source, "signs") if named is None else (f"and:{named[1]}", VETO_OUTPUTS[named[0]])
    try:
        return plan_profile(choose(read_function(function, 0), context, "veto", output=output).plan)
    except CompileError:
        return None


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


def _name(source: Source) -> str:
    """What an answer calls its source."""
    if isinstance(source, NormProfile):
        return "norms"
    if isinstance(source, Compiled):
        return f"compiled {abbreviate(str(source.plan.function), NAMED)}"
    return "a model" if isinstance(source, Model | Tabulated) else str(source)


def kept_share(accepted: Real | None) -> float:
    """The probability with which a drawn training set was kept: 1 where none was redrawn.

    Statement  What fails with probability ≤ δ·accepted over drawn sets fails with probability ≤ δ over kept ones.
    Proof      P(fails | kept) ≤ P(fails)/P(kept).
    Source     Textbook.
    """
    if accepted is None:
        return 1.0
    if not 0 < accepted <= 1:
        raise AssumptionError(f"A training set is kept with a probability above 0 and at most 1; got {accepted}.")
    return float(accepted)


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
    fits = f"identification: samples after which a function of {s} positions that fits them all is the target, {sure}"
    assumed = f"on uniform bits, if the target depends on at most {s} of them"
    identified: tuple[tuple[str, float], ...] = ((f"{fits}, {assumed}", whole),)
    if s <= EXACT_UP_TO:  # beyond, the number does not use the rule
        seen = float(identification_size(context, s, spent))
        identified = (
            (f"{fits}, {assumed} and every pattern of the {s} positions was seen", seen),
            ("identification: the same, whether or not every pattern was seen", whole),
        )
    occam = f"Occam: the error of any function of {s} positions that fits {m:,} samples, {sure}, at most"
    return ((occam, exact_error(nats, m)), *identified, (FLOOR, information_floor(context, s)))


FLOOR = "information floor: samples that any learner needs to name the positions without fail"
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


def _growths(
    source: Source,
    profile: NormProfile,
    guarantees: Sequence[Guarantee],
    contexts: Sequence[int],
    gap: Real,
    *,
    vetoed: bool,
) -> tuple[Growth, ...]:
    """Growth of every guarantee at fixed norms, and end to end where the norms are known at every context."""
    grown = []
    compiled = _sparsity(source) is not None
    for kind in ("fixed", "compiled") if compiled else ("fixed",):
        here = [
            replace(profile, tokens=T + profile.constant_tokens)
            if kind == "fixed"
            else replace(
                (vetoed and veto_norms(source, T)) or norms_of(source, T), least_probability=profile.least_probability
            )
            for T in contexts
        ]
        for stated in guarantees:
            sizes = tuple(float(stated.again(profile=norms).samples_for(gap)) for norms in here)
            limit = LIMITS.get((stated.route.key, kind)) or LIMITS[(kind,)]
            words = "fixed" if kind == "fixed" else "compiled at each context"
            grown.append(Growth(stated.route.title, words, tuple(contexts), sizes, _exponents(contexts, sizes), limit))
    return tuple(grown)


def _exponents(contexts: Sequence[int], sizes: Sequence[float]) -> tuple[float, ...]:
    """Slopes of log samples against log log(2T+2), the logarithm that Theorem T reads."""
    logs = [log(log(2 * T + 2)) for T in contexts]
    return tuple((log(sizes[i + 1]) - log(sizes[i])) / (logs[i + 1] - logs[i]) for i in range(len(contexts) - 1))
