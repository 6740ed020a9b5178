"""Inputs of several lengths as batches, and images as patches."""

from collections.abc import Iterator, Sequence

import numpy as np

from keyhole.arrays import Bool, Float
from keyhole.errors import DataError

Rows = Float[np.ndarray, "batch T d"]


def batches(lengths: Sequence[int], cells: int = 2**17) -> Iterator[list[int]]:
    """Yield indices of inputs in batches of like lengths, (longest)² · inputs ≤ `cells`, so that maps stay small.

    >>> list(batches([3, 10, 3, 2], cells=100))
    [[3, 0, 2], [1]]
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda each: lengths[each]):
        if batch and lengths[index] ** 2 * (len(batch) + 1) > cells:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def filled(parts: Sequence[np.ndarray]) -> tuple[Rows, Bool[np.ndarray, "batch T"]]:
    """Return rows of several inputs as one batch, filled up with zeros, and which rows are real."""
    longest = max(len(part) for part in parts)
    rows = np.zeros((len(parts), longest, parts[0].shape[1]))
    visible = np.zeros((len(parts), longest), dtype=bool)
    for number, part in enumerate(parts):
        rows[number, : len(part)] = part
        visible[number, : len(part)] = True
    return rows, visible


def patches(images: Float[np.ndarray, "n channels height width"], side: int) -> Float[np.ndarray, "n count f"]:
    """Return images cut into squares, row by row, each flattened by channel, row and column.

    >>> patches(np.arange(16.0).reshape(1, 1, 4, 4), 2)[0, 1].tolist()
    [2.0, 3.0, 6.0, 7.0]
    """
    n, channels, height, width = images.shape
    if height % side or width % side:
        raise DataError(f"Images of {height} × {width} cannot be cut into squares of side {side}.")
    cut = images.reshape(n, channels, height // side, side, width // side, side)
    return cut.transpose(0, 2, 4, 1, 3, 5).reshape(n, -1, channels * side * side)
