"""What does a one-layer model compute on every input, and what error does its training set promise?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.decision_lists import lists_record
from keyhole.api.old_result import OldResult as Result
from keyhole.api.stored_run import TrainedRun
from keyhole.api.target_verdict import TargetVerdict, against_target
from keyhole.attention import Model, Tabulated
from keyhole.boolean import SymbolLaw, biased_bits, uniform_law
from keyhole.boolean.fitting import Sample
from keyhole.bounds import Real
from keyhole.checkpoints import is_tabulated, load_tabulated, read_foreign, save_tabulated
from keyhole.compiler import compiled, load_undamaged, require_dense, to_tabulated
from keyhole.compiler.constructions import Plan
from keyhole.errors import ArgumentError, CheckpointError
from keyhole.files.data import as_sample, read_labelled
from keyhole.files.looking import is_there
from keyhole.files.model import read_model
from keyhole.files.safetensors_in import is_ours, read_weights
from keyhole.progress import Progress, Watch, ignore
from keyhole.prover import ModelCertificate, Terms, certificate_of, certificate_record, formula
from keyhole.prover.extraction import CertifiableModel, HeadReading, certifiable, read_lists
from keyhole.prover.sample import FRESH
from keyhole.show.certificate import certificate_document
from keyhole.show.decision_lists import lists_document
from keyhole.show.document import Document
from keyhole.show.folding import abbreviate

Source = str | Path | Model | Tabulated | compiled.Compiled | TrainedRun
Data = str | Path | tuple[Any, Any]

MODEL = ".safetensors"
NAMED = 80  # letters of the function in a summary
KEPT = ("source", "function", "status", "repair", "repair_says", "repaired_before")  # in the file of a model


@dataclass(frozen=True, eq=False, repr=False)
class Proof(Result):
    """A certificate, and the model it is about: the one given, or, repaired, another."""

    schema: ClassVar[str] = "prove/1"

    source: str
    certificate: ModelCertificate
    model: Tabulated
    lists: tuple[HeadReading, ...] | None = None  # its heads read as decision lists, where that was asked for
    law: SymbolLaw | None = None  # of the inputs that the lists are averaged over
    target: TargetVerdict | None = None  # of a run whose function counts more positions than could be read off

    @property
    def status(self) -> str:
        """PROVED, COUNTEREXAMPLE or UNDECIDED: whether the model equals the function on every input."""
        return self.certificate.status

    @property
    def function(self) -> str | None:
        """The function as a formula."""
        junta = self.certificate.junta
        return None if junta is None else formula(junta)

    @property
    def error_bound(self) -> float | None:
        """The error promised for the model, where there is a sample."""
        return self.certificate.error_bound

    def record(self) -> dict[str, Any]:
        """The certificate as plain values, for JSON."""
        lists, target = lists_record(self.lists), None if self.target is None else self.target.record()
        return {
            "source": self.source,
            **certificate_record(self.certificate),
            "lists": lists,
            "law": self._law_words(),
            "target": target,
        }

    def with_lists(self, count: int) -> "Proof":
        """Return the proof with every head read as decision lists, `count` pairs of position and symbol of each."""
        law = self.certificate.terms.law
        return replace(self, lists=read_lists(self.model, law, count), law=law)

    def _law_words(self) -> str | None:
        return None if self.law is None else law_words(self.law)

    def save_model(self, path: str | Path) -> Path:
        """Write the model the certificate is about, which `prove` reads again."""
        record = self.record()
        return save_tabulated(self.model, Path(path), {name: record[name] for name in KEPT})

    def save(self, path: str | Path) -> Path:
        """Write the certificate as .json, .txt or .html, or the model it is about as .safetensors."""
        return self.save_model(path) if Path(path).suffix.lower() == MODEL else super().save(path)

    @classmethod
    def require_ending(cls, path: Path) -> None:
        """Refuse a name that says no format, before anything is computed for it."""
        if path.suffix.lower() != MODEL:
            super().require_ending(path)

    @property
    def summary(self) -> str:
        """The function, and whether the model equals it on every input."""
        certificate = self.certificate
        if self.target is not None:
            name, inputs = abbreviate(self.target.function, NAMED), f"{certificate.symbols}^{certificate.tokens} inputs"
            return f"{self.target.status} against its target {name}, on all {inputs}"
        function = "no function found" if self.function is None else abbreviate(self.function, NAMED)
        verdict = {"PROVED": "PROVED equal to", "COUNTEREXAMPLE": "COUNTEREXAMPLE to"}.get(self.status, "UNDECIDED:")
        return f"{verdict} {function} on all {certificate.symbols}^{certificate.tokens} inputs"

    def document(self) -> Document:
        """Warnings, the function, the status, what the sample promises, what is assumed, and the lists if asked for."""
        record = self.record()
        lists = () if record["lists"] is None else lists_document(record["lists"], str(record["law"]))
        return (*certificate_document(record), *lists)


def read_source(path: Path) -> CertifiableModel:
    """The model of a file: compiled by keyhole, written after a repair, or PyTorch weights, described."""
    if not is_ours(path):
        foreign = read_foreign(*read_weights(path))
        return replace(certifiable(foreign.model), assumed=foreign.assumed, described=foreign.described)
    stored = read_model(path)
    if is_tabulated(stored):
        return replace(certifiable(load_tabulated(stored)), note=_note(stored.description.get("notes")))
    plan = load_undamaged(stored, path)
    require_dense(plan, stored, path)
    return _of_plan(plan)


def _of_plan(plan: Plan) -> CertifiableModel:
    """The model that a construction made."""
    model = to_tabulated(plan)
    if plan.output == "bits":  # 1 and 0 are told apart at one half; signs at 0
        model = replace(model, readout=replace(model.readout, bias=np.asarray(-0.5)))
    return certifiable(model)


@dataclass(frozen=True)
class TrainingSet:
    """Labelled inputs that a model was trained on, and how they were drawn."""

    data: Data | None = None  # (inputs, labels), or a file of them; None: those of the run
    held_out: Data | None = None  # labelled inputs that the model never saw
    bias: Real | None = None  # the probability of a 1 where inputs are bits; None: one half, or that of the run
    accepted: Real = 1.0  # the probability with which a drawn set was kept, where sets were redrawn
    label_noise: Real = 0.0  # the share of wrong labels in expectation


@dataclass(frozen=True)
class Effort:
    """How much is done for an answer."""

    time_limit: Real = 10.0  # seconds for a proof, or for the proof at each length
    samples: int | None = None  # random inputs to try beside the proof; None: as many as is usual
    seed: int = 0


def prove(
    model: Source,
    data: Data | TrainingSet | None = None,
    *,
    assume_junta: int | None = None,
    repair: bool = False,
    delta: Real = 0.01,
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
    noise = _noise(given, float(given.label_noise))
    if run is not None and run.conditioned and given.data is None and given.accepted == 1:
        raise ArgumentError(
            f"The training set of run {run.name} was redrawn until it was balanced, and a bound must know how likely "
            "a set is kept. Give that probability: `TrainingSet(accepted=…)`."
        )
    subject = _subject(model)
    tables = subject.tables
    drawn = run is not None and given.data is None
    terms = Terms(
        law=_law(tables, given.bias) if run is None or given.bias is not None else run.law,
        delta=float(delta),
        accepted=float(given.accepted),
        assume_junta=assume_junta,
        noise=run.noise if drawn and run is not None else noise,
        repair=repair,
        time_limit=float(effort.time_limit),
        seed=effort.seed,
        fresh=FRESH if effort.samples is None else effort.samples,
    )
    certificate = certificate_of(
        tables,
        run.sample if drawn and run is not None else _sample(given.data),
        drifts=subject.drifts,
        of_weights=subject.of_weights,
        held_out=_sample(given.held_out),
        terms=terms,
        watch=watch,
    )
    certificate = replace(certificate, note=subject.note, assumed=subject.assumed, described=subject.described)
    target = None
    if run is not None and certificate.junta is None:
        watch(Progress(0, None, "proving the target"))
        target = against_target(subject, run.instance, time_limit=terms.time_limit)
    about = tables if certificate.repair is None else certificate.repair.model
    name = str(model) if isinstance(model, str | Path) else "a model" if run is None else run.name
    return Proof(name, certificate, about, target=target)


def law_words(law: SymbolLaw) -> str:
    """A law of independent symbols in a few words."""
    if law.uniform:
        return "uniform bits" if law.symbols == 2 else f"{law.symbols} symbols, all equally likely"
    return f"independent symbols with chances {', '.join(f'{chance:g}' for chance in law.chances)}"


def _subject(source: Source) -> CertifiableModel:
    """What is certified: the model of a file, of a compiled function, or one that is given."""
    if isinstance(source, str | Path):
        if not is_there(Path(source), CheckpointError):
            raise CheckpointError(
                f"There is no file {str(source)!r}. Name a model file; a run of the store is named by --run, or read "
                "by `keyhole.read_run`."
            )
        return read_source(Path(source))
    if isinstance(source, compiled.Compiled):
        return _of_plan(source.plan)
    return certifiable(source.model if isinstance(source, TrainedRun) else source)


def _note(notes: Any) -> str:
    """The repairs that a file's notes tell of, the earliest first."""
    if not isinstance(notes, Mapping):
        return ""
    last = notes.get("repair") and f"{notes['repair']}. {notes.get('repair_says', '')}"
    return " Then ".join(str(note) for note in (notes.get("repaired_before"), last) if note)


def _noise(given: TrainingSet, rate: float) -> str:
    """The noise of a sample of one's own, in words, or nothing."""
    if not 0 <= rate < 0.5:
        raise ArgumentError(
            f"A label noise of {rate:g} was given; it is the share of wrong labels, from 0 to below 0.5."
        )
    if rate and given.data is None:
        raise ArgumentError(
            f"A label noise of {rate:g} was given without a training set of one's own; give `data` too."
        )
    return f"label noise {rate:g}" if rate else ""


def _law(tables: Tabulated, bias: Real | None) -> SymbolLaw:
    """Uniform symbols, or bits of this bias."""
    if bias is None or bias == 0.5:
        return uniform_law(tables.symbols)
    if tables.symbols != 2:
        raise ArgumentError(
            f"A bias of {bias:g} was given for an alphabet of {tables.symbols} symbols; it is for bits."
        )
    return biased_bits(float(bias))


def _sample(data: Data | None) -> Sample | None:
    if data is None:
        return None
    return read_labelled(Path(data)) if isinstance(data, str | Path) else as_sample(*data)
