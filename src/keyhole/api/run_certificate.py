"""The certificate of one stored run in short, and what many of them add up to. Nothing here imports the certifier."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from keyhole.decimals import at_least, at_most, chance
from keyhole.verdicts import CertificateStatus


@dataclass(frozen=True)
class RunCertificate:
    """One run's certificate in short."""

    identity: str
    context: int
    samples: int | None
    seed: int
    true_error: float  # on the run's fresh inputs
    function: str | None = None  # as read off the model
    right: bool | None = None  # the function is the hidden target; None: not known
    status: CertificateStatus = "UNDECIDED"
    margin: float | None = None
    eta: float | None = None  # rate at which model and function can disagree
    disagreements: int | None = None  # of model and function on fresh inputs, 0 after a proof
    mistakes: int | None = None  # of the model on 100,000 fresh inputs; None: it could not be asked
    error_bound: float | None = None
    trivial_error: float | None = None
    held_out_bound: float | None = None  # that of a half set aside
    identified: bool | None = None  # None: nothing was assumed
    proof_seconds: float = 0.0  # comparing model and function on every input
    seconds: float = 0.0  # all of it, but for training
    reason: str = ""  # why it is undecided
    identified_by: str = ""  # the rule: enumeration is certain if what is assumed holds, sample size holds at level δ
    wrong_low: float | None = None  # of inputs on which model and function differ, where that is not proved none
    wrong_high: float | None = None  # the other end; the interval fails with probability at most δ
    delta: float = 0.01  # the chance of each promise to fail
    warnings: tuple[str, ...] = ()  # about the model or its sample

    @property
    def clean(self) -> bool:
        """True where the model made no error on 100,000 fresh inputs."""
        return self.mistakes == 0


def delta_over_many(certificates: Sequence[RunCertificate]) -> str:
    """Return the meaning of δ for many certificates together; empty for none."""
    if not certificates:
        return ""
    delta, count = max(certificate.delta for certificate in certificates), len(certificates)
    return (
        f"each bound fails with probability at most δ = {chance(delta)} over the draw of its own training set; so of "
        f"{count:,} certificates at most {count:,}δ = {chance(delta, times=count)} are issued and wrong on average, "
        f"and none is with probability at least 1 − {count:,}δ"
    )


def wrong_over_many(certificates: Sequence[RunCertificate]) -> str:
    """On which shares of inputs the refuted models are wrong, all together; empty where none has an interval."""
    known = [
        (certificate.wrong_low, certificate.wrong_high)
        for certificate in certificates
        if certificate.status == "COUNTEREXAMPLE"
    ]
    ends = [(low, high) for low, high in known if low is not None and high is not None]
    if not ends:
        return ""
    least, most = min(ends), max(ends, key=lambda end: end[1])
    low, high = at_least(least[0], 2), at_most(most[1], 2)
    return f"refuted models differ from their function on {low} to {high} of inputs; the JSON has an interval for each"


def shares(certificates: Sequence[RunCertificate]) -> list[dict[str, Any]]:
    """Count for each (T, m) the runs without an error, proved, refuted and identified; median bound and time."""
    groups: dict[tuple[int, int | None], list[RunCertificate]] = {}
    for certificate in certificates:
        groups.setdefault((certificate.context, certificate.samples), []).append(certificate)
    rows = []
    for (context, samples), members in sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] or 0)):
        bounds = [certificate.error_bound for certificate in members if certificate.error_bound is not None]
        rows.append(
            {
                "context": context,
                "samples": samples,
                "settled": len(members),
                "clean": sum(certificate.clean for certificate in members),
                "proved": sum(certificate.status == "PROVED" for certificate in members),
                "counterexamples": sum(certificate.status == "COUNTEREXAMPLE" for certificate in members),
                "identified": sum(bool(certificate.identified) for certificate in members),
                "error_bound": median(bounds) if bounds else None,
                "seconds": median(certificate.seconds for certificate in members),
                "undecided": sum(certificate.status == "UNDECIDED" for certificate in members),
            }
        )
    return rows
