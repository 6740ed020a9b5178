"""One tensor of a file: its name, shape and number format are known at once, its numbers are read when asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.errors import CheckpointError

# how the numbers of a format lie in a file; bfloat16 is the upper half of float32
FORMATS: Mapping[str, str] = {
    "float64": "<f8",
    "float32": "<f4",
    "float16": "<f2",
    "bfloat16": "<u2",
    "int64": "<i8",
    "int32": "<i4",
    "int16": "<i2",
    "int8": "|i1",
    "uint8": "|u1",
    "bool": "|b1",
}
WEIGHTS = ("float64", "float32", "float16", "bfloat16")


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """A tensor of a file; `raw` gives its numbers as they lie there, from the disk where that can be."""

    name: str
    shape: tuple[int, ...]
    number_format: str
    raw: Callable[[], np.ndarray] = field(repr=False)

    @property
    def size(self) -> int:
        """The number of its entries."""
        return prod(self.shape)

    def stored(self) -> np.ndarray:
        """Return the numbers as they lie there, finite or not."""
        raw = np.asarray(self.raw())
        return (raw.astype(np.uint32) << 16).view(np.float32) if self.number_format == "bfloat16" else raw

    def numbers(self) -> np.ndarray:
        """Return the numbers in double precision, in an array of their own; refuse what is not finite."""
        if self.number_format not in WEIGHTS:
            raise CheckpointError(
                f"{self.name} holds {self.number_format} numbers, and weights are read as {', '.join(WEIGHTS)}; save "
                "the model in one of these (a quantised one is to be dequantised first)."
            )
        numbers: np.ndarray = self.stored().astype(np.float64)  # no longer a view of the disk to who uses it
        if not np.isfinite(numbers).all():
            raise CheckpointError(
                f"{self.name} holds NaN or infinity, and weights are finite; take a checkpoint from before it diverged."
            )
        return numbers

    def loaded_as(self, number_format: str) -> "StoredTensor":
        """Return the tensor as torch loads it in another format: to nearest, ties to even, by single precision."""
        if number_format == self.number_format or self.number_format not in WEIGHTS:
            return self

        def raw() -> np.ndarray:
            numbers = self.numbers()
            if number_format == "float64":
                return numbers
            with np.errstate(over="ignore"):  # an infinity is refused when the numbers are asked for
                single = numbers.astype(np.float32)
                if number_format != "bfloat16":
                    return single.astype(FORMATS[number_format])
            bits = single.view(np.uint32)
            rounded: np.ndarray = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
            return rounded

        return replace(self, number_format=number_format, raw=raw)


def in_memory(arrays: Mapping[str, Any]) -> dict[str, StoredTensor]:
    """Return arrays by name, as if they lay in a file.

    >>> in_memory({"w": np.ones((2, 3))})["w"].shape
    (2, 3)
    """
    plain = {name: np.asarray(array) for name, array in arrays.items()}
    return {name: StoredTensor(name, each.shape, each.dtype.name, each.view) for name, each in plain.items()}


def mapped(path: Path, name: str, shape: tuple[int, ...], number_format: str, offset: int) -> StoredTensor:
    """Return a tensor whose numbers lie in a file from a byte on; they are mapped, not copied."""

    def raw() -> np.ndarray:
        kind = np.dtype(FORMATS[number_format])
        if not prod(shape):
            return np.empty(shape, kind)
        return np.memmap(path, dtype=kind, mode="r", offset=offset, shape=shape)

    return StoredTensor(name, shape, number_format, raw)
