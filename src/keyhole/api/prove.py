"""Read a function off a one-layer model, prove it on every input, and bound the error from the training set."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.api.trained_run import TrainedRun
from keyhole.attention import Model, Tabulated
from keyhole.boolean import Junta, SymbolLaw, biased_bits, uniform_law
from keyhole.checkpoints import is_tabulated, load_tabulated, save_tabulated
from keyhole.decimals import at_most, chance, margin, percent, surely
from keyhole.errors import ArgumentError, CheckpointError, OutputError, require_whole
from keyhole.files.atomic import write_file
from keyhole.files.model import is_ours, read_model, read_weights
from keyhole.files.record import hidden
from keyhole.progress import Progress, Watch, ignore
from keyhole.prover import ModelCertificate, Terms, certificate_of
from keyhole.prover.extraction import SAMPLES, CertifiableModel, certifiable, in_format
from keyhole.prover.sample import FRESH
from keyhole.show.answer import Show
from keyhole.verdicts import CertificateStatus

if TYPE_CHECKING:
    from keyhole.api.target_verdict import TargetVerdict
    from keyhole.boolean.fitting import Sample
    from keyhole.compiler import Compiled
    from keyhole.compiler.constructions import Plan
    from keyhole.prover import WrongShare
    from keyhole.prover.extraction import HeadReading
    from keyhole.training import Instance

    Source = str | Path | Model | Tabulated | Compiled | TrainedRun

Data = str | Path | tuple[Any, Any]

DRAWN = 60  # positions of an input that is drawn in full
DELTA = (
    "δ bounds the probability, over the draw of the training set, that a certificate is issued and wrong; it is not "
    "the probability that this certificate, now issued, is wrong. The best of k certificates, chosen after they were "
    "seen, may be wrong with probability up to kδ."
)


@dataclass(frozen=True)
class NoNetwork:
    """The smallest function that fits the sample, found by trying all."""

    function: str | None
    positions: tuple[int, ...] | None
    error_bound: float | None
    identified: bool | None
    identified_by: str | None
    searched: bool  # to the end
    reason: str  # why not
    fitting: int  # functions of that size that fit


@dataclass(frozen=True, eq=False, repr=False)
class Proof(Result):
    """The function of a model, its proof, and the error that the training set promises; absent parts are None."""

    schema: ClassVar[str] = "prove/1"
    endings: ClassVar[tuple[str, ...]] = (".safetensors", ".cert")

    source: str
    # the function that was read off
    function: str | None
    positions: tuple[int, ...] | None
    table: tuple[int, ...] | None  # an answer for each cell; the first position is the least significant digit
    context: int
    symbols: int
    agreement: float  # with the model, on `agreement_inputs` random inputs
    agreement_inputs: int
    # the comparison on all inputs
    status: CertificateStatus
    reason: str
    margin: float | None  # PROVED: |output| is at least this on every input
    rule: str
    counterexample: tuple[int, ...] | None
    model_answer: bool | None
    function_answer: bool | None
    output: float | None
    branches: int
    verification_seconds: float
    # the rate at which the two can disagree
    eta: float | None
    eta_kind: str | None
    eta_sampled: float | None
    disagreement: tuple[str, ...]
    wrong_share: "WrongShare | None"
    wrong_share_says: tuple[str, ...]
    # the sample
    samples: int | None  # that count
    rows: int | None
    rows_counted: int | None
    rows_distinct: int | None
    rows_written: int | None
    rows_refuted: bool | None
    repeats_chance: float | None
    errors_on_sample: int | None
    model_errors_on_sample: int | None
    rarer_label: float | None
    noise: str
    doubt: str  # why the sample does not follow the law
    # promises
    error_bound: float | None
    vacuous: bool
    trivial_error: float | None
    held_out_bound: float | None
    held_out_kind: str | None
    held_out_errors: int | None
    held_out_inputs: int | None
    no_network: NoNetwork | None
    identified: bool | None
    identified_by: str | None
    identified_by_enumeration: bool | None
    identified_by_sample_size: bool | None
    identification_delta: float | None
    identification: str | None
    identified_why: str | None
    delta: float
    delta_parts: Mapping[str, float]
    # changes of the model
    repair: str | None
    repair_says: str | None
    repaired_before: str | None
    status_before_repair: CertificateStatus | None
    # what to know
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...]
    description: Mapping[str, Any] | None
    seconds: float
    target: "TargetVerdict | None"  # of a run whose function counts more positions than could be read off
    model: Tabulated = hidden()  # the one given, or, repaired, another
    drawn_from: SymbolLaw = hidden()
    given: "Source | None" = hidden(default=None)  # whose weights a certificate is about
    delta_means: str = DELTA
    lists: "tuple[HeadReading, ...] | None" = None  # the heads as decision lists
    law: str | None = None  # of the inputs that the lists are averaged over

    def with_lists(self, count: int) -> "Proof":
        """Return the proof with every head read as decision lists, `count` pairs of position and symbol of each."""
        from keyhole.prover.extraction import read_lists

        law = self.drawn_from
        words = f"independent symbols with chances {', '.join(f'{chance:g}' for chance in law.chances)}"
        if law.uniform:
            words = "uniform bits" if law.symbols == 2 else f"{law.symbols} symbols, all equally likely"
        return replace(self, lists=read_lists(self.model, law, count), law=words)

    def save(self, path: str | Path) -> Path:
        """Write the answer (.json, .txt, .html), the model it is about (.safetensors), or a certificate (.cert)."""
        if Path(path).suffix.lower() == ".cert":
            return write_file(Path(path), self._certificate().encode())
        if Path(path).suffix.lower() not in self.endings:
            return super().save(path)
        names = ("source", "function", "status", "repair", "repair_says", "repaired_before")
        return save_tabulated(self.model, Path(path), {name: getattr(self, name) for name in names})

    def _certificate(self) -> str:
        from keyhole.api.proof_file import of_junta
        from keyhole.prover import SampleBound

        if self.positions is None or self.status == "UNDECIDED":
            raise OutputError("Nothing was proved or refuted, so no certificate can be written.")
        model = self.model if self.repair is not None or self.given is None else _weights(self.given)
        junta = Junta(self.positions, self.symbols, np.array(self.table, dtype=bool))
        sample = None
        if self.status == "PROVED" and self.error_bound is not None and not self.noise and not self.doubt:
            counted = self.samples or 0, self.errors_on_sample or 0
            sample = SampleBound(*counted, self.delta_parts["sample"], self.error_bound)
        return of_junta(model, junta, self.counterexample, sample, self.source)

    @property
    def answer_is_no(self) -> bool:
        """Return whether an input was found on which function and model differ."""
        return self.status == "COUNTEREXAMPLE"

    def lines(self, show: Show) -> None:
        """Say warnings, the function, the verdict and the promised error."""
        for warning in self.warnings:
            show.line(f"WARNING: {warning}")
        if self.target is None or self.function is not None or show.verbose:
            show.line(self.function or f"no function found: {self.reason}")
        self._say_verdict(show)
        self._say_promise(show)
        if self.repair is not None:
            show.line(f"{self.repair}: {self.repair_says} Before, it was {self.status_before_repair}.")
        if self.repaired_before is not None:
            show.line(f"The file was written after a repair: {self.repaired_before}")
        if show.verbose:
            self._say_more(show)
        if self.lists is not None:
            from keyhole.api.decision_lists import say_lists

            say_lists(show, self.lists, self.law or "")

    def _say_verdict(self, show: Show) -> None:
        everywhere = f"all {self.symbols}^{self.context} inputs"
        if self.target is not None:
            show.line(self.target.sentence(everywhere))
        elif self.status == "PROVED" and self.margin is not None:
            show.line(f"PROVED equal to the model on {everywhere}, margin {margin(self.margin)}")
        elif self.counterexample is not None:
            show.line(
                f"COUNTEREXAMPLE: the model answers {self.model_answer} (output {self.output:.3g}), the function "
                f"{self.function_answer}"
            )
            for line in drawn_input(self.counterexample, self.positions or ()):
                show.line(line)
        elif self.function is not None:
            show.line(f"UNDECIDED on {everywhere}: {self.reason} ({self.verification_seconds:.1f} s)")
        if self.wrong_share_says:
            show.line(f"share of such inputs: {self.wrong_share_says[0]}")

    def _say_promise(self, show: Show) -> None:
        if self.error_bound is not None:
            trivial = "" if self.trivial_error is None else f" (a constant answer: {self.trivial_error:.4g})"
            inputs = f"new inputs with {self.noise}" if self.noise else "new inputs"
            bound = f"error ≤ {at_most(self.error_bound, 4)} on {inputs}, probability ≥ {surely(self.delta)}"
            show.line(f"{bound}{trivial}{'; vacuous' if self.vacuous else ''}")
        elif self.doubt:
            show.line(f"no error is promised: {self.doubt}")
        if self.held_out_bound is not None and (show.verbose or self.held_out_kind == "measured"):
            which = "set aside" if self.held_out_kind == "measured" else "if half of the sample had been set aside"
            errors = f"{self.held_out_errors} errors on {self.held_out_inputs:,} inputs {which}"
            show.line(f"held out at most {at_most(self.held_out_bound, 4)}: {errors}")
        if self.identified is not None:
            show.line(f"{'the target' if self.identified else 'not identified as the target'}: {self.identified_why}")

    def _say_more(self, show: Show) -> None:
        """Set what the answer rests on, as named facts."""
        rows = []
        if self.function is not None:
            share = f"{percent(self.agreement, 2)} of {self.agreement_inputs:,} random inputs"
            rows.append(("read off", f"{len(self.positions or ())} of {self.context} positions; agrees on {share}"))
        if self.rule:
            rows.append(("margin", self.rule))
        rows += [("disagreement", says) for says in (*self.disagreement, *self.wrong_share_says[1:])]
        if self.samples is not None:
            errors = f"the function errs on {self.errors_on_sample}, the model on {self.model_errors_on_sample}"
            rows.append(("sample", f"{self.samples:,} of {self.rows:,} labelled inputs count: {errors}"))
        free = self.no_network
        if free is not None and free.error_bound is not None:
            found = f"{free.function}, one of {free.fitting}" if free.fitting > 1 else str(free.function)
            rows.append(
                ("no network", f"the smallest function that fits: {found}; error ≤ {at_most(free.error_bound, 4)}")
            )
        if free is not None and not free.searched:
            rows.append(("search", free.reason))
        if self.identification is not None:
            rows.append(("identified", self.identification))
        parts = ", ".join(f"{chance(part)} {name}" for name, part in self.delta_parts.items())
        rows.append(("δ", f"δ = {chance(self.delta)}; its parts: {parts}. {self.delta_means}"))
        rows += [("assumed", each) for each in self.assumptions]
        show.facts([*rows, ("time", f"{self.seconds:.1f} s")])


def drawn_input(sequence: tuple[int, ...], positions: tuple[int, ...]) -> list[str]:
    """Return an input as text: the symbols at the positions that matter, and all of a short one with marks below.

    >>> drawn_input((0, 1, 1), (1,))
    ['input: x1 = 1', '011', ' ^']
    """
    relevant = ", ".join(f"x{place} = {sequence[place]}" for place in positions) or "no position matters"
    if len(sequence) > DRAWN or max(sequence) > 9:
        return [f"input: {relevant}; the JSON has it whole"]
    marks = "".join("^" if place in positions else " " for place in range(len(sequence))).rstrip()
    return [f"input: {relevant}", "".join(map(str, sequence)), marks]


@dataclass(frozen=True)
class TrainingSet:
    """Labelled inputs that a model was trained on, and how they were drawn."""

    data: Data | None = None  # (inputs, labels), or a file of them; None: those of the run
    held_out: Data | None = None  # labelled inputs that the model never saw
    bias: float | None = None  # the probability of a 1 where inputs are bits; None: one half, or that of the run
    accepted: float = 1.0  # the probability with which a drawn set was kept, where sets were redrawn
    label_noise: float = 0.0  # the share of wrong labels in expectation

    def __post_init__(self) -> None:
        if not 0 <= self.label_noise < 0.5:
            raise ArgumentError(
                f"A label noise of {self.label_noise:g} was given; the share of wrong labels is from 0 to below 0.5."
            )
        if self.label_noise and self.data is None:
            raise ArgumentError(
                f"A label noise of {self.label_noise:g} was given without a training set of one's own; give `data` too."
            )

    @property
    def noise(self) -> str:
        """The noise in words, or nothing."""
        return f"label noise {self.label_noise:g}" if self.label_noise else ""


@dataclass(frozen=True)
class Effort:
    """Limits of the work for an answer."""

    time_limit: float = 10.0  # seconds for a proof, or for the proof at each length
    samples: int | None = None  # random inputs to try beside the proof; None: as many as is usual
    seed: int = 0


def prove(
    model: "Source",
    data: Data | TrainingSet | None = None,
    *,
    assume_junta: int | None = None,
    repair: bool = False,
    delta: float = 0.01,
    effort: Effort = Effort(),  # noqa: B008  (a frozen value)
    watch: Watch = ignore,
) -> Proof:
    """Read the function off a model, prove that both agree on all inputs or refute it, and bound the model's error.

    `model` is a file, a value, or a run (`keyhole.read_run`), which has a training set and a law of its own. `data` is
    the training set: (inputs, labels), a file of them, or a `TrainingSet` that says how they were drawn. With labels
    that are wrong at times no function is called the target for fitting them. `assume_junta` is the largest number of
    positions that the target may read. With `repair` a model without a proof is changed until it has one. Proofs are of
    the weights, in exact arithmetic; of a file or value of tables, of these.
    """
    given = data if isinstance(data, TrainingSet) else TrainingSet(data)
    run = model if isinstance(model, TrainedRun) else None
    of_run = run if given.data is None else None  # whose training set it is
    if of_run is not None and of_run.conditioned and given.accepted == 1:
        raise ArgumentError(
            f"The training set of run {of_run.name} was redrawn until it was balanced, and a bound must know how "
            "likely a set is kept. Give that probability: `TrainingSet(accepted=…)`."
        )
    if assume_junta is not None:
        require_whole(assume_junta=assume_junta)
    if isinstance(model, str | Path):
        subject = read_source(Path(model))
    elif isinstance(model, Model | Tabulated):
        subject = certifiable(model)
    else:
        subject = certifiable(model.model) if isinstance(model, TrainedRun) else _of_plan(model.plan)
    tables = subject.tables
    law = uniform_law(tables.symbols) if run is None else run.law
    if given.bias is not None:
        if given.bias != 0.5 and tables.symbols != 2:
            raise ArgumentError(
                f"A bias of {given.bias:g} was given for an alphabet of {tables.symbols} symbols; it is for bits."
            )
        law = uniform_law(tables.symbols) if given.bias == 0.5 else biased_bits(float(given.bias))
    terms = Terms(
        law=law,
        delta=float(delta),
        accepted=float(given.accepted),
        assume_junta=assume_junta,
        noise=given.noise if of_run is None else of_run.noise,
        repair=repair,
        time_limit=float(effort.time_limit),
        seed=effort.seed,
        fresh=FRESH if effort.samples is None else effort.samples,
    )
    certificate = certificate_of(
        tables,
        _sample(given.data) if of_run is None else of_run.sample,
        drifts=subject.drifts,
        of_weights=subject.of_weights,
        held_out=_sample(given.held_out),
        terms=terms,
        watch=watch,
    )
    certificate = replace(certificate, note=subject.note, assumed=subject.assumed, described=subject.described)
    target = None
    if certificate.junta is None and (instance := _instance_of(model)) is not None:
        from keyhole.api.target_verdict import against_target

        watch(Progress(0, None, "proving the target"))
        target = against_target(subject, instance, time_limit=terms.time_limit)
    name = run.name if run is not None else str(model) if isinstance(model, str | Path) else "a model"
    proof = proof_of(name, certificate, tables if certificate.repair is None else certificate.repair.model, target)
    return replace(proof, given=model)


def proof_of(source: str, found: ModelCertificate, model: Tabulated, target: "TargetVerdict | None" = None) -> Proof:
    """Set the parts of a certificate side by side."""
    junta, verification, free = found.junta, found.verification, found.network_free
    judged, repeats, identification, held = found.judgement, found.repeats, found.identification, found.held_out
    witness = verification.counterexample
    fits = None if free is None or not free.search.fitting else free.search.fitting[0]
    return Proof(
        source=source,
        function=None if junta is None else str(junta),
        positions=None if junta is None else junta.positions,
        table=None if junta is None else tuple(int(answer) for answer in junta.table),
        context=found.tokens,
        symbols=found.symbols,
        agreement=found.extraction.agreement,
        agreement_inputs=SAMPLES,
        status=verification.status,
        reason=verification.reason,
        margin=verification.margin,
        rule=verification.rule,
        counterexample=None if witness is None else tuple(int(symbol) for symbol in witness),
        model_answer=None if verification.wanted is None else not verification.wanted,
        function_answer=verification.wanted,
        output=verification.output,
        branches=verification.parts,
        verification_seconds=verification.seconds,
        eta=None if found.disagreement is None else found.disagreement.rate,
        eta_kind=None if found.disagreement is None else found.disagreement.kind,
        eta_sampled=None if found.sampled is None else found.sampled.rate,
        disagreement=() if found.sampled is None else (str(found.sampled),),
        wrong_share=found.wrong_share,
        wrong_share_says=() if found.wrong_share is None else tuple(found.wrong_share.words),
        samples=None if judged is None else judged.samples,
        rows=None if repeats is None else repeats.rows,
        rows_counted=None if repeats is None else repeats.counted,
        rows_distinct=None if repeats is None else repeats.distinct,
        rows_written=None if repeats is None else repeats.copies,
        rows_refuted=None if repeats is None else repeats.refuted,
        repeats_chance=None if repeats is None else repeats.chance,
        errors_on_sample=None if judged is None else judged.errors,
        model_errors_on_sample=found.model_errors,
        rarer_label=None if judged is None else judged.rarer_label,
        noise=found.terms.noise,
        doubt=found.doubt,
        error_bound=found.error_bound,
        vacuous=found.vacuous,
        trivial_error=found.trivial_error,
        held_out_bound=None if held is None else held.bound,
        held_out_kind=None if held is None else held.kind,
        held_out_errors=None if held is None else held.errors,
        held_out_inputs=None if held is None else held.inputs,
        no_network=None
        if free is None
        else NoNetwork(
            function=None if fits is None else str(fits),
            positions=None if fits is None else fits.positions,
            error_bound=None if free.judgement is None else free.judgement.error_bound,
            identified=None if free.identification is None else free.identification.identified,
            identified_by=None if free.identification is None else free.identification.by,
            searched=free.search.finished,
            reason=free.search.reason,
            fitting=len(free.search.fitting),
        ),
        identified=None if identification is None else identification.identified,
        identified_by=None if identification is None else identification.by,
        identified_by_enumeration=None if identification is None else identification.by == "enumeration",
        identified_by_sample_size=None if identification is None else identification.by == "sample size",
        identification_delta=None if identification is None else identification.delta,
        identification=None if identification is None else str(identification),
        identified_why=None if identification is None else identification.why,
        delta=found.terms.delta,
        delta_parts=found.delta_parts,
        repair=None if found.repair is None else found.repair.name,
        repair_says=None if found.repair is None else found.repair.says,
        repaired_before=found.note or None,
        status_before_repair=None if found.before is None else found.before.status,
        warnings=found.warnings,
        assumptions=found.assumptions,
        description=found.described,
        seconds=found.seconds,
        target=target,
        model=model,
        drawn_from=found.terms.law,
    )


def read_source(path: Path) -> CertifiableModel:
    """Return the model of a file: compiled by keyhole, written after a repair, or PyTorch weights, described."""
    if not path.exists():
        raise CheckpointError(f"The file {str(path)!r} does not exist; name another, or a run by --run.")
    if path.suffix.lower() in (".csv", ".npz"):
        raise CheckpointError(f"{str(path)!r} is a table, not a model; `keyhole fit {path}` finds what fits it.")
    if path.is_dir():
        raise CheckpointError(f"{str(path)!r} is a folder: state a --claim about its model, or name a model file.")
    if not is_ours(path):
        from keyhole.checkpoints import read_foreign

        foreign = read_foreign(*read_weights(path))
        return replace(certifiable(foreign.model), assumed=foreign.assumed, described=foreign.described)
    stored = read_model(path)
    if is_tabulated(stored):
        notes = stored.description.get("notes")
        repairs: list[str] = []
        if isinstance(notes, Mapping):  # of this repair and those before it
            last = notes.get("repair") and f"{notes['repair']}. {notes.get('repair_says', '')}"
            repairs = [str(note) for note in (notes.get("repaired_before"), last) if note]
        return replace(certifiable(load_tabulated(stored)), note=" Then ".join(repairs))
    from keyhole.compiler import load_undamaged, require_dense

    plan = load_undamaged(stored, path)
    require_dense(plan, stored, path)
    return _of_plan(plan)


def _instance_of(model: "Source") -> "Instance | None":
    """Return the function that a run was trained on, or that a construction made, with what its symbols stand for."""
    if isinstance(model, TrainedRun):
        return model.instance
    if isinstance(model, Model | Tabulated) or (isinstance(model, str | Path) and not is_ours(Path(model))):
        return None
    if isinstance(model, str | Path):
        stored = read_model(Path(model))
        if is_tabulated(stored):
            return None
        from keyhole.compiler import load_undamaged

        plan = load_undamaged(stored, Path(model))
    else:
        plan = model.plan
    from keyhole.boolean import UNIFORM
    from keyhole.training import Instance

    return Instance(plan.context, plan.function, UNIFORM, np.array([False, True]))


def _weights(given: "Source") -> Model | Tabulated:
    """Return the weights of a source, or its tables where it is tables."""
    if isinstance(given, Model | Tabulated):
        return in_format(given)  # type: ignore[no-any-return]
    if isinstance(given, TrainedRun):
        return in_format(given.model)  # type: ignore[no-any-return]
    if isinstance(given, str | Path):
        if not is_ours(Path(given)):
            from keyhole.checkpoints import read_foreign

            return in_format(read_foreign(*read_weights(Path(given))).model)  # type: ignore[no-any-return]
        return read_source(Path(given)).tables
    return _of_plan(given.plan).tables


def _of_plan(plan: "Plan") -> CertifiableModel:
    """Return the model that a construction made."""
    from keyhole.compiler import to_tabulated

    model = to_tabulated(plan)
    if plan.output == "bits":  # 1 and 0 are told apart at one half; signs at 0
        model = replace(model, readout=replace(model.readout, bias=np.asarray(-0.5)))
    return certifiable(model)


def _sample(data: Data | None) -> "Sample | None":
    if data is None:
        return None
    from keyhole.files.data import as_sample, read_labelled

    return read_labelled(Path(data)) if isinstance(data, str | Path) else as_sample(*data)
