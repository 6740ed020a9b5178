"""Findings of longer runs, made elsewhere and shipped with the library: they stand beside those of this machine.

A finding is shipped as `reproduce` wrote it, digest included, under the name of its claim. It is never taken for one of
this machine: the code may have changed since, and its versions say what it was computed with.
"""

from pathlib import Path

import keyhole
from keyhole.apps.ledger.finding import Finding
from keyhole.apps.ledger.ledger import LIBRARY
from keyhole.apps.ledger.stored_finding import read_finding
from keyhole.errors import DataError

PACKAGE = Path(keyhole.__file__).parent


def shipped_folder() -> Path | None:
    """The folder of the findings: of the repository, or of an installed package; None where there is neither."""
    places = (PACKAGE.parents[1] / "data" / "findings", PACKAGE / "findings")
    return next((place for place in places if place.is_dir()), None)


def shipped_findings(folder: Path | None = None) -> dict[str, Finding]:
    """The findings that are shipped, by claim; a file that is not as it was written is left out."""
    place = shipped_folder() if folder is None else folder
    found: dict[str, Finding] = {}
    for experiment in LIBRARY if place is not None else ():
        try:
            content = (place / f"{experiment.claim.id}.json").read_bytes()  # type: ignore[operator]
            found[experiment.claim.id] = read_finding(experiment.claim, content)
        except (OSError, DataError):
            continue
    return found
