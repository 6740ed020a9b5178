"""Parts of a region cut by half-spaces of the heads' outputs: ⟨w, o⟩ ≥ τ.

A unit's pre-activation is linear in the outputs o of all heads, so a cut at a bend of the unit is such a half-space.
No new minimisation is needed: a multiple of the cut's normal is taken off the functional.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from keyhole.arrays import Float
from keyhole.errors import ShapeError
from keyhole.languages import WordClasses
from keyhole.prover.proof.relaxation import either
from keyhole.prover.proof.tables import Tables
from keyhole.prover.proof.verification import Minimisers, Region
from keyhole.prover.proof.words import WordRegion
from keyhole.rigorous import Ball, exact

Cut = TypeVar("Cut", bound="CutWords")
SCALES = (0.25, 0.5, 1.0, 2.0)  # of the multiple that makes a functional orthogonal to a cut


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """A region whose parts are each cut by the same number of half-spaces; a cut with w = 0 and τ = 0 cuts nothing."""

    base: Region
    normals: Float[np.ndarray, "parts C K"]
    levels: Float[np.ndarray, "parts C"]

    @property
    def count(self) -> int:
        """The number of parts."""
        return self.base.count

    def middle(self) -> Float[np.ndarray, "parts rows A"]:
        """A typical point of the parts before they were cut."""
        return self.base.middle()

    def least(self, directions: Ball) -> Float[np.ndarray, "parts D"]:
        """A certified lower bound of each functional over each part.

        Statement  ⟨d, o⟩ ≥ min ⟨d − μw, o⟩ + μτ for every μ ≥ 0, where ⟨w, o⟩ ≥ τ.
        Proof      ⟨d, o⟩ = ⟨d − μw, o⟩ + μ⟨w, o⟩.
        Source     Standard (Lagrange).
        """
        low = self.base.least(directions)
        for cut in range(self.normals.shape[1]):
            tilted, more = self._tilted(directions, cut, 1.0)
            low = np.fmax(low, _below(self.base.least(tilted), more))
        return np.asarray(low)

    def minimisers(self, directions: Ball) -> Minimisers:
        """The same for one functional per part; each cut in turn takes the multiple that serves best."""
        best, shift = self.base.minimisers(directions), exact(np.zeros((self.count, 1)))
        for cut in range(self.normals.shape[1]):
            kept, moved = directions, shift
            for scale in SCALES:
                tilted, more = self._tilted(directions, cut, scale)
                minimisers = self.base.minimisers(tilted)
                low = _below(minimisers.low[:, None], shift + more)[:, 0]
                new = low > best.low
                best = Minimisers(
                    np.where(new, low, best.low),
                    np.where(new[:, None, None], minimisers.shown, best.shown),
                    np.where(new[:, None], minimisers.spread, best.spread),
                )
                kept = either(new[:, None, None], tilted, kept)
                moved = either(new[:, None], shift + more, moved)
            directions, shift = kept, moved
        return best

    def _tilted(self, directions: Ball, cut: int, scale: float) -> tuple[Ball, Ball]:
        """The functional d − μw and the number μτ, with μ = scale · ⟨d, w⟩/⟨w, w⟩ where that is positive, else 0."""
        w = self.normals[:, cut]
        square = (w * w).sum(axis=-1)
        along = (directions.mid @ w[:, :, None])[:, :, 0] / np.where(square > 0, square, 1.0)[:, None]
        multiple = exact(np.where(np.isfinite(along), np.maximum(scale * along, 0.0), 0.0))
        tilted = directions - multiple[:, :, None] * exact(w[:, None, :])
        return tilted, multiple * exact(self.levels[:, cut][:, None])


def _below(low: np.ndarray, constant: Ball) -> np.ndarray:
    return np.asarray(np.nextafter(low + constant.low, -np.inf))


@dataclass(frozen=True, eq=False)
class CutWords:
    """Some words, cut by half-spaces of the heads' outputs, and the half-space at which they are cut next."""

    words: WordClasses
    normals: Float[np.ndarray, "C K"]
    levels: Float[np.ndarray, "C"]
    normal: Float[np.ndarray, "K"] | None = None
    level: float = 0.0

    @classmethod
    def whole(cls: type[Cut], words: WordClasses, width: int, **more: Any) -> Cut:  # noqa: PYI019  (the run-time checker reads no Self here)
        """Return words that are not cut yet, of heads with outputs of this width together."""
        return cls(words, np.zeros((0, width)), np.zeros(0), **more)

    def halves(self: Cut) -> list[Cut]:  # noqa: PYI019  (the run-time checker reads no Self here)
        """Return the two sides of the half-space at which the words are cut next."""
        if self.normal is None:
            raise ShapeError("words without a half-space were to be cut; name one first")
        return [
            replace(
                self,
                normals=np.concatenate([self.normals, sign * self.normal[None]]),
                levels=np.append(self.levels, sign * self.level),
            )
            for sign in (1.0, -1.0)
        ]


def region_of(tables: Tables, rows: tuple[int, ...], parts: Sequence[CutWords]) -> Region:
    """Return cut words as one region."""
    base = WordRegion(tables, rows, parts[0].words.joined([part.words for part in parts[1:]]))
    most = max(len(part.levels) for part in parts)
    if not most:
        return base
    normals = np.stack([np.pad(part.normals, ((0, most - len(part.levels)), (0, 0))) for part in parts])
    levels = np.stack([np.pad(part.levels, (0, most - len(part.levels))) for part in parts])
    return HalfSpaces(base, normals, levels)
