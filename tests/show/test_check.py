"""Checks of model files as they are printed, from their records alone."""

from keyhole.show.check import check_document
from keyhole.show.html import to_html
from keyhole.show.text import to_text

RECORD = {
    "file": "a<b>.safetensors",
    "holds": False,
    "inspections": [
        {"name": "proof", "holds": True, "says": "margin ≥ 1 on all 2^9 inputs"},
        {"name": "norms", "holds": False, "says": "readout = 1 fails"},
    ],
}


def test_what_fails_is_in_capitals():
    """The file first, then every look at it."""
    assert to_text(check_document(RECORD)).splitlines() == [
        "file   a<b>.safetensors is NOT as claimed: it failed 1 of 2 checks",
        "proof  passed: margin ≥ 1 on all 2^9 inputs",
        "norms  FAILED: readout = 1 fails",
    ]
    whole = {**RECORD, "holds": True, "inspections": RECORD["inspections"][:1]}
    assert to_text(check_document(whole)).startswith("file   a<b>.safetensors is as claimed: it passed all 1 checks")


def test_file_names_are_escaped():
    """A name with angle brackets is text on a page."""
    assert "a&lt;b&gt;.safetensors" in to_html(check_document(RECORD))
