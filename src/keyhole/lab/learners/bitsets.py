"""Bits packed into words of 64, for learners that compare whole columns at once."""

import numpy as np
from jaxtyping import Bool, UInt8, UInt64

from keyhole.errors import ArgumentError
from keyhole.lab.task import Examples, ProblemSize

Words = UInt64[np.ndarray, "..."]  # words last, unless said otherwise


def bits_of(size: ProblemSize, examples: Examples, learner: str) -> Bool[np.ndarray, "n T"]:
    """The training inputs as bits; refuses what an exact learner cannot read."""
    require_bits(size, learner)
    return as_bits(examples.inputs)


def require_bits(size: ProblemSize, learner: str) -> None:
    """Refuse symbols that are no bits."""
    if size.symbols != 2:
        raise ArgumentError(f"{learner} reads bits, and this task has {size.symbols} symbols; use an alphabet of 2.")


def as_bits(inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n T"]:
    """Symbols 0 and 1 as bits, without a copy."""
    return inputs.view(np.bool_)


def pack(bits: Bool[np.ndarray, "rows n"]) -> Words:
    """Each row as words, least significant bit first; the rest of the last word is 0."""
    packed = np.packbits(bits, axis=1, bitorder="little")
    padded = np.zeros((len(bits), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return np.asarray(padded.view("<u8"), dtype=np.uint64)


def unpack(words: Words, n: int) -> Bool[np.ndarray, "rows n"]:
    """The first n bits of each row."""
    octets = np.ascontiguousarray(words).astype("<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n, bitorder="little").view(np.bool_)
