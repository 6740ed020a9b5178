"""A finding on disk: its outcome under a digest, and back; the claim is always the ledger's.

Findings of longer runs, made elsewhere, are shipped with the library as `reproduce` wrote them, digest included, under
the name of their claim. They stand beside those of this machine and are never taken for them: the code may have changed
since, and their versions say what they were computed with.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keyhole.apps.ledger.finding import Claim, Finding, Outcome, shipped_folder
from keyhole.apps.ledger.ledger import LIBRARY
from keyhole.errors import AssumptionError, DataError
from keyhole.figure import figure_from
from keyhole.files.record import record_of, to_record

STORED = ("run", "scale", "seed", "seconds", "versions", "outcome")  # under the digest


def finding_bytes(finding: Finding) -> bytes:
    """Return the finding as it is stored: all but the claim, and a digest over it."""
    record = to_record("finding/2", {name: record_of(getattr(finding, name)) for name in STORED})
    return f"{json.dumps({**record, 'digest': digest(record)}, indent=2, ensure_ascii=False)}\n".encode()


def digest(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON of a stored finding."""
    plain = {name: record[name] for name in STORED}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def read_finding(claim: Claim, content: bytes, *, origin: str = "") -> Finding:
    """Read a stored finding of this claim; raise DataError unless it is as it was written."""
    try:
        record = json.loads(content)
        if record["digest"] != digest(record):
            raise DataError("The finding is not as it was written: its digest does not match.")
        outcome = dict(record["outcome"])
        outcome["figures"] = tuple(map(figure_from, outcome["figures"]))
        outcome["caveats"] = tuple(outcome["caveats"])
        stored = {name: record[name] for name in STORED}
        return Finding(claim, **{**stored, "outcome": Outcome(**outcome)}, origin=origin)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError, AssumptionError) as error:
        raise DataError("The file is not a stored finding.") from error


def shipped_findings(folder: Path | None = None) -> dict[str, Finding]:
    """The findings that are shipped, by claim; a file that is not as it was written is left out."""
    place = shipped_folder("findings") if folder is None else folder
    found: dict[str, Finding] = {}
    for experiment in LIBRARY if place is not None else ():
        try:
            content = (place / f"{experiment.claim.id}.json").read_bytes()  # type: ignore[operator]
            found[experiment.claim.id] = read_finding(experiment.claim, content)
        except (OSError, DataError):
            continue
    return found
