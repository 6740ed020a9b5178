"""A trained network as a predictor, and which settings decide a compiled program."""

from dataclasses import replace
from functools import cache, partial

import numpy as np

from keyhole.arrays import Bool, Float, UInt8
from keyhole.attention import evaluate, tabulate
from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Predictor
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.attend import PADDING, Parameters, spread_of_safety
from keyhole.training.network.compiling import Program
from keyhole.training.network.network import answer, model_of
from keyhole.training.network.own_settings import own_settings

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
    program = compiled_answers(settings)
    parts = [program(parameters, block) for block in blocks]
    outputs, log_mass = (np.concatenate([np.asarray(part[i]) for part in parts]) for i in (0, 1))
    return outputs, log_mass


def has_diverged(weights: dict[str, np.ndarray]) -> bool:
    """Return whether some weight is not finite."""
    return not all(np.isfinite(array).all() for array in weights.values())


@cache
def compiled_answers(settings: TransformerSettings) -> Program:
    """The program for the network's answers, shared by readings and predictions."""
    return Program(partial(answer, settings), f"answers {settings}")
