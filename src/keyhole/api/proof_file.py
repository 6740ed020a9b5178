"""Does a certificate prove what it says? And the certificates that answers of other questions are written as."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from keyhole.api.result import Result
from keyhole.attention import Model
from keyhole.boolean import Junta, Levels
from keyhole.compiler.circuits import CircuitPlan, slot_tables
from keyhole.decimals import margin
from keyhole.errors import OutputError
from keyhole.files.reading import read_text
from keyhole.prover import (
    Refused,
    SampleBound,
    certificate_of_function,
    certificate_of_junta,
    certificate_of_words,
    certificate_of_wrong_word,
    check_text,
    prove_on_words,
)
from keyhole.show.answer import Show

if TYPE_CHECKING:
    from keyhole.api.length_verdict import LengthVerdict
    from keyhole.api.word_cases import Case
    from keyhole.attention import Tabulated
    from keyhole.compiler import Compiled

FIRST = b"keyhole-certificate"


@dataclass(frozen=True)
class CertifiedPart:
    """One model and claim of a certificate: what is proved, or that a word is answered wrongly, and by how much."""

    verdict: str
    margin: float  # rounded down
    tokens: int
    symbols: int
    claim: str  # cells, counts or states
    positions: int  # that the claim reads
    answers: str  # of every cell, count or state
    leaves: int


@dataclass(frozen=True, repr=False)
class CertificateCheck(Result):
    """The outcome of the checker on a certificate; `refused` has the line at which it proves nothing."""

    schema: ClassVar[str] = "check-certificate/1"

    file: str
    parts: tuple[CertifiedPart, ...]
    refused: str | None = None

    @property
    def answer_is_no(self) -> bool:
        """Return whether the certificate proves nothing."""
        return self.refused is not None

    def lines(self, show: Show) -> None:
        """Say what is proved, or why nothing is."""
        if self.refused is not None:
            show.line(f"REFUSED: {self.file} proves nothing; {self.refused}")
        for part in self.parts:
            inputs = f"all {part.symbols}^{part.tokens} inputs" if part.verdict == "PROVED" else "one input"
            show.line(f"{part.verdict} on {inputs} with an answer, margin {margin(part.margin)}")
            shown = part.answers if len(part.answers) <= 64 else f"{part.answers[:63]}…"
            show.line(f"answers by {part.claim} of {part.positions} positions: {shown} ({part.leaves} leaves)")


def is_certificate(path: Path) -> bool:
    """Return whether a file begins as a certificate does."""
    try:
        with path.open("rb") as file:
            return file.read(len(FIRST)) == FIRST
    except OSError:
        return False


def check_certificate(path: str | Path) -> CertificateCheck:
    """Check every line of a certificate in integer arithmetic, as keyhole_check.py does without keyhole."""
    try:
        shown = check_text(read_text(Path(path)))
    except (Refused, ValueError) as error:
        return CertificateCheck(str(path), (), str(error))
    parts = tuple(
        CertifiedPart(
            verdict, number * 2.0**power, check.length, check.symbols, check.kind, len(check.asked), check.answers,
            check.leaves,
        )
        for verdict, check, number, power in shown
    )  # fmt: skip
    return CertificateCheck(str(path), parts)


def of_compiled(compiled: "Compiled") -> str:
    """Return the certificate of a compiled function."""
    rule, positions = compiled.plan.function.rule, compiled.plan.function.positions
    stated = rule if isinstance(rule, Levels) else Junta(positions, 2, rule.values)
    threshold = 0.0 if compiled.output == "signs" else 0.5
    return certificate_of_function(compiled.tabulated, positions, stated, threshold=threshold)


def of_steps(plan: CircuitPlan) -> str:
    """Return a certificate of each step on all words of the context and the slots before it; together the chain's.

    Statement  If slot g writes its gate on every such word, for every g, then the n steps write the circuit's values on
               all 2^T inputs.
    Proof      Induction on g: a step sees symbols alone, and its proof covers every word of symbols.
    Source     Ours.
    """
    if plan.mode != "steps":
        raise OutputError("Layers have no symbols between them, so they have no certificate of steps; add --steps.")
    juntas = (Junta(slot.positions, 2, slot.table) for slot in plan.slots)
    tables = (slot_tables(plan, gate) for gate in range(len(plan.slots)))
    return "".join(
        certificate_of_function(model, junta.positions, junta) for model, junta in zip(tables, juntas, strict=True)
    )


def of_junta(
    model: "Model | Tabulated",
    junta: Junta,
    counterexample: tuple[int, ...] | None,
    sample: SampleBound | None,
    source: str,
) -> str:
    """Return the certificate that a model equals a function, or of an input where they differ."""
    if counterexample is not None:
        return certificate_of_wrong_word(model, junta, counterexample, digest=digest_of(source))
    return certificate_of_junta(model, junta, sample=sample, digest=digest_of(source))


def of_length(row: "LengthVerdict", cases: "list[Case]", source: str) -> str:
    """Return the certificates of all cases of one length, or of a wrong word of it."""
    texts = []
    for case in cases:
        model = case.model if isinstance(case.model, Model) else case.read.tables
        if row.status == "PROVED":
            texts.append(certificate_of_words(model, case.reads, case.at.classes, digest=digest_of(source)))
            continue
        found = prove_on_words(case.read.tables, case.reads, case.at.classes, drifts=case.read.drifts)
        if found.counterexample is not None:
            claim = case.reads, case.at.classes
            word = found.counterexample.tolist()
            return certificate_of_wrong_word(model, claim, word, digest=digest_of(source))
    if not texts:
        raise OutputError(f"Length {row.length} is {row.status}; a certificate needs a proof or a wrong word.")
    return "".join(texts)


def digest_of(source: str) -> str:
    """Return the SHA-256 of a file of weights; - for anything else."""
    path = Path(source)
    return sha256(path.read_bytes()).hexdigest() if path.is_file() else "-"
