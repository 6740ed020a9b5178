"""Certificates: a claim, its verdict, and what anyone needs to check it again."""

from dataclasses import FrozenInstanceError

import pytest

from keyhole.boolean.certificate import Certificate

PROVED = Certificate("even", "proved", "by counting", "every input", {"count": 4})


def test_a_certificate_reads_as_a_sentence():
    """Claim, verdict, method and scope, in that order."""
    assert str(PROVED) == "even: proved (by counting; every input)"


def test_certificates_are_values():
    """Equal by all fields, evidence included; hashable whatever the evidence; not to be changed."""
    assert Certificate("even", "proved", "by counting", "every input", {"count": 4}) == PROVED
    assert Certificate("even", "proved", "by counting", "every input", {"count": 5}) != PROVED
    assert hash(PROVED) == hash(Certificate("even", "proved", "by counting", "every input"))
    assert Certificate("even", "undecided", "too long", "every input").evidence == {}
    with pytest.raises(FrozenInstanceError):
        PROVED.verdict = "refuted"
