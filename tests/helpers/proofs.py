"""A certificate as the answer that a user gets."""

from keyhole.api.prove import proof_of

from helpers.planted import junta_of, planted

ANY = planted(junta_of("x0"), 2)


def proof(found):
    """The answer, about any model."""
    return proof_of("a model", found, ANY)


def record(found):
    """Its JSON as plain values."""
    return proof(found).record()


def text(found):
    """All that is printed of it, in one line."""
    return " ".join(proof(found).text(1000, verbose=True).split())
