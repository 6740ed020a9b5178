"""The information of a representation about the latent, and its entropy, by enumeration.

A representation is sufficient if it keeps all of I(z; X), and minimal among the sufficient ones if its entropy is
least. The posterior is both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from keyhole.arrays import Float, Int, Shaped
from keyhole.latent.models import FiniteModel, counts_of, entropies

Representation: TypeAlias = Callable[[Int[Any, "n T"]], Shaped[Any, "n *width"]]

APART = 1e-9  # equal posteriors of different sequences are rounded sums in other orders; they agree far beyond this


@dataclass(frozen=True)
class Information:
    """The information of a representation R of a sequence, in nats."""

    classes: int  # how many values R takes
    entropy: float  # H(R) = I(X; R)
    about_latent: float  # I(z; R)


def enumerate_sequences(letters: int, length: int) -> Int[Any, "all T"]:
    """Every sequence of `length` letters, in the order of counting.

    >>> enumerate_sequences(2, 2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    return np.stack(np.unravel_index(np.arange(letters**length), (letters,) * length), axis=1)


def joint_probabilities(model: FiniteModel, sequences: Int[Any, "n T"]) -> Float[Any, "n m"]:
    """P(X, z) for every sequence and every latent value."""
    with np.errstate(divide="ignore"):
        return np.exp(np.log(model.prior) + model.log_likelihood(sequences).sum(axis=1))


def partition(represented: Shaped[Any, "n *width"]) -> Int[Any, "n"]:
    """The classes of sequences that a representation cannot tell apart: a number per class.

    Reals are one if no gap between neighbours is above 1e-9; probability laws are compared by their logarithms, since
    a posterior of 1e-12 and one of 1e-15 are different beliefs.

    >>> partition(np.array([[1e-12, 1 - 1e-12], [1e-15, 1 - 1e-15]])).tolist()
    [1, 0]
    """
    rows = np.asarray(represented).reshape(len(represented), -1)
    if np.issubdtype(rows.dtype, np.floating):
        if rows.shape[1] > 1 and bool(np.all(rows >= 0)) and bool(np.all(np.abs(rows.sum(axis=1) - 1) <= APART)):
            with np.errstate(divide="ignore"):
                rows = np.log(rows)
        rows = np.stack([_cells(column) for column in rows.T], axis=1)
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def compare_representations(
    model: FiniteModel, length: int, own: Mapping[str, Representation] | None = None
) -> dict[str, Information]:
    """The whole sequence, the counts, the posterior, and representations of one's own, side by side.

    Statement  R is sufficient if and only if I(z; R) = I(z; X); among sufficient R, H(R) is least for the
               posterior, which is a function of every one of them.
    Assumes    Latent values with the same token law are taken as one.
    Proof      Sufficiency is P(z | X) = P(z | R), the equality case of the data-processing inequality. If it
               holds, π_X = P(z | R) is a function of R, so H(π_X) ≤ H(R).
    Source     Standard. That the posterior is sufficient and minimal is claim (a) of Zhang et al. (arXiv
               2212.14852, abstract); the proof is ours.
    """
    sequences = enumerate_sequences(model.letters, length)
    joint = joint_probabilities(model, sequences)
    chosen: dict[str, Representation] = {
        "sequence": lambda tokens: tokens,
        "counts": counts_of(model),
        "posterior": model.posterior,
        **(own or {}),
    }
    return {name: _information(joint, partition(represent(sequences))) for name, represent in chosen.items()}


def determines(model: FiniteModel, length: int, fine: Representation, coarse: Representation) -> bool:
    """Return whether the second representation is a function of the first, on sequences that can occur."""
    sequences = enumerate_sequences(model.letters, length)
    possible = sequences[joint_probabilities(model, sequences).sum(axis=1) > 0]
    first, second = partition(fine(possible)), partition(coarse(possible))
    pairs = np.unique(np.stack([first, second], axis=1), axis=0)
    return len(pairs) == len(np.unique(first))


def _cells(numbers: Float[Any, "n"]) -> Int[Any, "n"]:
    """Group numbers that are neighbours in order and no further apart than rounding."""
    order = np.argsort(numbers)
    with np.errstate(invalid="ignore"):  # −∞ − (−∞): no gap
        steps = np.diff(numbers[order]) > APART
    cells = np.empty(len(numbers), dtype=np.int64)
    cells[order] = np.concatenate([[0], np.cumsum(steps)])
    return cells


def _information(joint: Float[Any, "n m"], groups: Int[Any, "n"]) -> Information:
    occurs = joint.sum(axis=1) > 0
    joint, groups = joint[occurs], np.unique(groups[occurs], return_inverse=True)[1]
    merged = np.stack([np.bincount(groups, weights=column) for column in joint.T], axis=1)  # P(R, z)
    whole = merged.sum(axis=1)
    entropy = float(entropies(whole[None, :])[0])
    latent = float(entropies(merged.sum(axis=0)[None, :])[0])
    return Information(len(whole), entropy, entropy + latent - float(entropies(merged.reshape(1, -1))[0]))
