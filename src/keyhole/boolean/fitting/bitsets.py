"""Bits packed into words of 64, so that whole rows or columns of a sample are compared at once."""

import numpy as np

from keyhole.arrays import Bool, UInt64

Words = UInt64[np.ndarray, "..."]  # words last, unless said otherwise


def pack(bits: Bool[np.ndarray, "rows n"]) -> Words:
    """Each row as words, least significant bit first; the rest of the last word is 0.

    >>> pack(np.array([[True, False, True]])).tolist()
    [[5]]
    """
    packed = np.packbits(bits, axis=1, bitorder="little")
    padded = np.zeros((len(bits), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return np.asarray(padded.view("<u8"), dtype=np.uint64)


def unpack(words: Words, n: int) -> Bool[np.ndarray, "rows n"]:
    """The first n bits of each row.

    >>> unpack(np.array([[5]], dtype=np.uint64), 3).tolist()
    [[True, False, True]]
    """
    octets = np.ascontiguousarray(words).astype("<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n, bitorder="little").view(np.bool_)


def set_bits(words: UInt64[np.ndarray, "words"]) -> list[int]:
    """The places of the ones in a row of words, in increasing order.

    >>> set_bits(np.array([5, 1], dtype=np.uint64))
    [0, 2, 64]
    """
    return np.flatnonzero(unpack(words[None], 64 * len(words))[0]).tolist()
