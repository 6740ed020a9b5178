"""Readings: the network on its training set and on the probe, its attention and its norms, every few steps.

Only the network's outputs are compiled, in `predict`; all else is a little arithmetic on arrays of numpy, which would
take longer to compile than to do.
"""

import math
from collections.abc import Mapping

import numpy as np

from keyhole.arrays import Float
from keyhole.training.learners.base import Reading
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.attend import cls_vector, folded_query
from keyhole.training.network.network import layer_norm
from keyhole.training.observation import Observation

READINGS = (
    "step",
    "loss",
    "train_accuracy",
    "accuracy",
    "mass",
    "mass_best",
    "fourier",
    "spread",
    "norm",
    "movement",
)
Weights = Mapping[str, np.ndarray]
Row = dict[str, float]


def scores_of(settings: TransformerSettings, weights: Weights) -> Float[np.ndarray, "A T1 H"]:
    """The score of every symbol at every position for each head, [CLS] last."""
    cls, tokens, positions = cls_vector(settings, weights), weights["tokens"], weights["positions"]
    norm = layer_norm(settings, weights, "attention_norm") if settings.norm == "pre" else None
    if norm is None:
        folded = folded_query(settings, weights, cls)
        scores = (tokens @ folded)[:, None, :] + (positions @ folded)[None, :, :]
    else:
        cls = norm(cls)
        folded = folded_query(settings, weights, cls)
        scores = norm(tokens[:, None, :] + positions[None, :, :]) @ folded
    own = np.broadcast_to(cls @ folded, (len(tokens), 1, settings.heads))
    return np.concatenate([scores, own], axis=1)


def read_scores(scores: Float[np.ndarray, "A T1 H"], first: Float[np.ndarray, "A T1 H"]) -> Row:
    """Return the range of the largest score of a sequence (`spread`), and the largest change since the first scores."""
    high, low = scores.max(axis=(0, 1)), scores.min(axis=0).max(axis=0)
    return {"spread": float((high - low).max()), "movement": float(np.abs(scores - first).max())}


def read_probe(probe: Observation, outputs: Float[np.ndarray, "P"]) -> Row:
    """The share of right answers, and of Fourier weight on the target's own characters where these are given."""
    row = {"accuracy": float(((outputs > 0) == probe.labels).mean())}
    if probe.shows_target:
        centred = outputs - outputs.mean()
        weight, total = ((centred @ probe.characters) ** 2).sum(), (centred**2).sum()
        row["fourier"] = float(weight / max(total, 1e-30))
    return row


def read_mass(scores: Float[np.ndarray, "A T1 H"], probe: Observation, log_mass: Float[np.ndarray, "P H"]) -> Row:
    """The share of attention on the relevant positions: on average over the heads, and of the head with most."""
    if not probe.shows_target:
        return {}
    shown = probe.inputs[:, probe.positions]
    shares = np.exp(scores[shown, probe.positions] - log_mass[:, None, :]).sum(axis=1).mean(axis=0)
    return {"mass": float(shares.mean()), "mass_best": float(shares.max())}


def read_set(labels: Float[np.ndarray, "m"], outputs: Float[np.ndarray, "m"]) -> Row:
    """The loss and the share of right answers on the training set."""
    losses = np.logaddexp(0.0, outputs) - labels * outputs
    return {"loss": float(losses.mean()), "train_accuracy": float(((outputs > 0) == (labels > 0)).mean())}


def weight_norm(weights: Weights) -> float:
    """The length of all weights as one vector."""
    return math.sqrt(sum(float(np.vdot(array, array)) for array in weights.values()))


def as_numbers(row: Row) -> Reading:
    """One reading in the order of READINGS; what is not finite is left out."""
    return {name: row[name] for name in READINGS if name in row and math.isfinite(row[name])}
