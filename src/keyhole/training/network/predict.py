"""A trained network as a predictor, and the readings that are taken of it every few steps.

Readings are of the network on its training set and on the probe, of its attention and of its norms. Only the network's
outputs are compiled; all else is a little arithmetic on arrays of numpy, which takes longer to compile than to do.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from keyhole.arrays import Bool, Float, UInt8
from keyhole.attention import evaluate, tabulate
from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Predictor, Reading
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.attend import PADDING, Parameters, cls_vector, folded_query, spread_of_safety
from keyhole.training.network.compiling import compiled, own_settings
from keyhole.training.network.network import answer, layer_norm, model_of
from keyhole.training.task import Observation

MANY, FEW, LONG = 720, 256, 4096  # inputs answered in one call: many (a probe and 208 more), or few of long contexts


def shape_of(settings: TransformerSettings) -> TransformerSettings:
    """The settings with everything that is traced blotted out: what decides the compiled program."""
    penalised = float(settings.path_penalty > 0)
    return replace(settings, rate=1.0, decay=0.0, warmup=0, steps=settings.every, tolerance=0.0, path_penalty=penalised)


def predictor_of(
    settings: TransformerSettings,
    context: int,
    parameters: Parameters,
    weights: dict[str, np.ndarray],
    spread: float,
) -> Predictor:
    """The network's answers, in blocks of one shape; scores beyond the product's safe range go by softmax.

    The spread is that of its last reading. A network that diverged answers 0 to everything.
    """
    if has_diverged(weights):
        return lambda inputs: np.zeros(len(inputs), dtype=bool)
    if not spread < spread_of_safety(settings, context):
        tabulated = tabulate(model_of(settings, weights))
        return lambda inputs: np.asarray(evaluate(tabulated, inputs)) > 0
    shape = shape_of(settings)

    def predict(inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n"]:
        if inputs.shape[1] != context:
            raise ArgumentError(
                f"Inputs of length {inputs.shape[1]} were given to a network of T = {context}; give that length."
            )
        return answers_of(shape, parameters, inputs)[0] > 0

    return predict


def answers_of(
    settings: TransformerSettings, parameters: Parameters, inputs: UInt8[np.ndarray, "n T"]
) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n H"]]:
    """The network's number for each input, and ln Σ_t exp(score) of each head."""
    outputs, log_mass = answers_to(settings, parameters, blocks_of(parameters["positions"].shape[0], inputs))
    return outputs[: len(inputs)], log_mass[: len(inputs)]


def blocks_of(context: int, *inputs: UInt8[np.ndarray, "_ _"]) -> list[UInt8[np.ndarray, "rows T"]]:
    """All inputs one below the other, padded to as many positions as the network has, in blocks of one shape."""
    rows, count = FEW if context >= LONG else MANY, sum(len(part) for part in inputs)
    padded = np.full((count + -count % rows, context), PADDING, dtype=np.uint8)
    start = 0
    for part in inputs:
        padded[start : start + len(part), : part.shape[1]] = part
        start += len(part)
    return [padded[start : start + rows] for start in range(0, len(padded), rows)]


@own_settings()
def answers_to(
    settings: TransformerSettings, parameters: Parameters, blocks: list[UInt8[np.ndarray, "rows T"]]
) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n H"]]:
    """The network's number for each row of the blocks, and ln Σ_t exp(score) of each head; of padding too."""
    program = compiled(answer, settings)
    parts = [program(parameters, block) for block in blocks]
    outputs, log_mass = (np.concatenate([np.asarray(part[i]) for part in parts]) for i in (0, 1))
    return outputs, log_mass


def has_diverged(weights: dict[str, np.ndarray]) -> bool:
    """Return whether some weight is not finite."""
    return not all(np.isfinite(array).all() for array in weights.values())


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
    of_cls = np.broadcast_to(cls @ folded, (len(tokens), 1, settings.heads))
    return np.concatenate([scores, of_cls], axis=1)


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
    symbols = probe.inputs[:, probe.positions]
    shares = np.exp(scores[symbols, probe.positions] - log_mass[:, None, :]).sum(axis=1).mean(axis=0)
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
