"""Claims: every claim with its prediction, and what was found on this machine."""

import json
from typing import Any

from keyhole.apps.ledger.reproduction import list_claims
from keyhole.apps.ledger.story import story_of
from keyhole.apps.live.query import Query
from keyhole.apps.live.screens.base import Answer, Screen
from keyhole.apps.live.settings import Serving
from keyhole.files.record import record_of

LARGEST = 64 * 2**20  # bytes of a file of findings


def claims(_query: Query, serving: Serving) -> Answer:
    """The claims, each with its finding where the report's folder has one."""
    listed = list_claims()
    findings = {finding["claim"]["id"]: finding for finding in _findings(serving)}
    return {
        "claims": [
            {"claim": record_of(claim), "outcome": findings.get(claim.id, {}).get("outcome")} for claim in listed.claims
        ],
        "story": record_of(story_of(claim.id for claim in listed.claims)),
        "not_covered": listed.not_covered,
        "report": bool(findings),
    }


def _findings(serving: Serving) -> list[dict[str, Any]]:
    """Return what the last `reproduce` wrote; nothing if there is no whole file of it."""
    path = serving.report / "findings.json"
    try:
        if path.stat().st_size > LARGEST:
            return []
        read = json.loads(path.read_text("utf8"))["findings"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [each for each in read if isinstance(each, dict) and isinstance(each.get("claim"), dict)]


SCREEN = Screen(
    "claims",
    "Claims",
    "What the two papers claim, what was predicted, and what was found on this machine.",
    {"claims": claims},
)
