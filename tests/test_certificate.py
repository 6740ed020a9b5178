"""Certificates: a claim, its verdict, and what anyone needs to check it again."""

from itertools import product

import pytest

from keyhole.boolean.formula import parse
from keyhole.boolean.shape import threshold_certificate

CLAIM = "a threshold of a weighted sum of its bits"


@pytest.mark.parametrize(
    ("formula", "verdict", "why"),
    [
        ("x0 & x1 & ~x5", "proved", "it counts literals, monotonically"),
        ("x4 & x7 | ~x4 & x9", "refuted", "raising x4 raises the value here and lowers it there"),
    ],
)
def test_a_certificate_reads_as_a_sentence(formula, verdict, why):
    """What was asked of a function, whether it is so, why, and on which inputs."""
    sentence = str(threshold_certificate(parse(formula)))
    assert sentence == f"{CLAIM}: {verdict} ({why}; every pattern of the relevant bits)"


def test_certificates_are_values():
    """One function written twice has equal certificates, another has another; all serve as keys."""
    written, again = parse("x0 & (x1 | x2)"), parse("x0 & x2 | x1 & x0")
    first, second, other = (threshold_certificate(each) for each in (written, again, parse("x0 ^ x1")))
    assert first == second
    assert len({first, second, other}) == 2
    assert first.evidence != threshold_certificate(parse("x0 & x1 & x2")).evidence


def test_the_evidence_checks_again():
    """The weights of a proved certificate give the function on every pattern, by hand; a refuted one has none."""
    function = parse("x0 & (x1 | x2)")
    certificate = threshold_certificate(function)
    weights, least = certificate.evidence["weights"], certificate.evidence["threshold"]
    for bits in product((0, 1), repeat=3):
        assert (sum(w * b for w, b in zip(weights, bits, strict=True)) >= least) == (bits[0] and (bits[1] or bits[2]))
    assert not threshold_certificate(parse("x0 ^ x1")).evidence
