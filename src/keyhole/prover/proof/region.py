"""Sets of inputs, several at once, and the least value that a functional of the heads' outputs takes on each.

A lower bound of f needs no more of a set of inputs than this: a part of the cube, the words of a language and the
inputs with a given count all offer it.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from keyhole.arrays import Float, Shaped
from keyhole.rigorous import Ball


@dataclass(frozen=True, eq=False)
class Minimisers:
    """For each part: a lower bound, a point where it is nearly attained, and how much each row's choice matters."""

    low: Float[np.ndarray, "parts"]
    shown: Shaped[np.ndarray, "parts rows A"]  # how many copies of each row show each symbol, whole or on average
    spread: Float[np.ndarray, "parts rows"]


@runtime_checkable
class Region(Protocol):
    """Some sets of inputs, called parts."""

    @property
    def count(self) -> int:
        """The number of parts."""

    def middle(self) -> Float[np.ndarray, "parts rows A"]:
        """A typical point of each part, whole or not: where lines and tangents are first laid."""

    def least(self, directions: Ball) -> Float[np.ndarray, "parts D"]:
        """A certified lower bound of each functional over each part; directions have shape (1 or parts, D, width)."""

    def minimisers(self, directions: Ball) -> Minimisers:
        """The same for one functional per part, with a point of the part where the bound is nearly attained."""
