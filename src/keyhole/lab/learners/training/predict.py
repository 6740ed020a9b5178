"""A trained network as a predictor, and which settings decide a compiled program."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
from jaxtyping import Bool, UInt8

from keyhole.attention import evaluate, safe_width, tabulate
from keyhole.lab.learners.base import Predictor
from keyhole.lab.learners.settings import TransformerSettings
from keyhole.lab.learners.training.compiling import Program
from keyhole.lab.learners.training.network import Parameters, apply, model_of

PREDICTED = 1024  # inputs predicted in one call


def shape_of(settings: TransformerSettings) -> TransformerSettings:
    """The settings with everything that is traced blotted out: what decides the compiled program."""
    most = -(-settings.steps // settings.every)
    penalised = float(settings.path_penalty > 0)
    return replace(
        settings, rate=1.0, decay=0.0, warmup=0, steps=most * settings.every, tolerance=0.0, path_penalty=penalised
    )


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
    if not spread < safe_width(np.finfo(np.float32), context):
        tabulated = tabulate(model_of(settings, weights))
        return lambda inputs: np.asarray(evaluate(tabulated, inputs)) > 0
    applied = compiled_outputs(shape_of(settings))

    def predict(inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n"]:
        spare = -len(inputs) % PREDICTED
        padded = np.pad(inputs, ((0, spare), (0, 0)))
        parts = [applied(parameters, part) for part in np.split(padded, len(padded) // PREDICTED)]
        return np.asarray(np.concatenate([np.asarray(part) for part in parts])[: len(inputs)] > 0)

    return predict


def has_diverged(weights: dict[str, np.ndarray]) -> bool:
    """Whether some weight is no longer a number."""
    return not all(np.isfinite(array).all() for array in weights.values())


@cache
def compiled_outputs(settings: TransformerSettings) -> Program:
    """The program for the network's outputs, shared by readings and predictions of as many rows."""
    return Program(partial(apply, settings), f"outputs {settings}")
