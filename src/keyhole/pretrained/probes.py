"""Probes: the original model's own outputs on a few inputs, which test how its weights were described.

A wrong description (another number of heads, another activation, [CLS] in another place) is another function of the
same numbers, and mostly shows on any input. Probes do not prove a description; a wrong one that agrees with all of
them is possible.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from keyhole.attention import Model, attend, embed_tokens
from keyhole.errors import CheckpointError

# Allowed between our output, in double precision, and the original's, as a share of Σ|w_i x_i| + |b|, the terms that
# the read-out adds. Single precision rounds by u = 6e-8 of these at every step; a chain of half a dozen sums over n
# terms, n up to a thousand, strays by about 6 √n u < 2e-5 of them where rounding errors are of either sign, and our own
# layers in single precision stay below 1e-5. So 1e-4 lets single precision pass, and half precision and TF32, which
# round by 5e-4 and more, not. It is a convention and no theorem: a layer may amplify rounding without bound.
TOLERANCE = 1e-4
HOW = 'give {"inputs": [[0, 1, …], …], "outputs": [0.5, …]}'


@dataclass(frozen=True)
class Agreement:
    """How many inputs were compared, and the largest deviation, as a share of what the read-out adds up."""

    inputs: int
    deviation: float


def require_agreement(model: Model, probes: Any, readout: Float[np.ndarray, "outputs d1"]) -> Agreement:
    """Compare the model with the original's outputs; refuse it beyond the tolerance.

    The last column of `readout` is its bias. An original of two outputs gives both, or the second minus the first.
    """
    inputs, wanted = _read(model, probes, len(readout))
    size, worst = np.abs(readout).sum(axis=0), 0.0
    for index, (sequence, output) in enumerate(zip(inputs, wanted, strict=True)):
        row = _final_row(model, sequence)
        found = float(np.asarray(model.readout(row)))
        terms = row if model.readout.norm is None else model.readout.norm(row)
        scale = float(np.abs(terms) @ size[:-1] + size[-1])
        deviation = abs(found - output)
        if not deviation <= TOLERANCE * scale:
            raise CheckpointError(
                f"On probe {index} the weights, read as described, give {found:.6g}, and the original model gave "
                f"{output:.6g}; they may differ by {TOLERANCE * scale:.2g}. Correct the description (heads, "
                "activation, order of the norms, epsilon, place and token of [CLS]), or compute the probes in single "
                "precision, in evaluation mode."
            )
        worst = max(worst, deviation / scale if scale else 0.0)
    return Agreement(len(inputs), worst)


def _final_row(model: Model, sequence: Shaped[np.ndarray, "T"]) -> Float[np.ndarray, "d"]:
    """The row of [CLS] after the only layer, before the read-out and its norm."""
    wiring, rows = model.blocks[0].wiring, embed_tokens(model.embedding, sequence)
    seen = wiring.enter(rows)
    mixed = tuple(attend(head, seen, seen[-1:]) for head in model.blocks[0].heads)
    return np.asarray(wiring.finish(rows[-1:], mixed)[0])


def _read(
    model: Model, probes: Any, outputs: int
) -> tuple[Shaped[np.ndarray, "probes T"], Float[np.ndarray, "probes"]]:
    """The inputs and the outputs, one number each."""
    if not isinstance(probes, Mapping) or set(probes) != {"inputs", "outputs"}:
        raise CheckpointError(f"The description's probes are {_short(probes)}; {HOW}.")
    try:
        inputs, wanted = np.asarray(probes["inputs"]), np.asarray(probes["outputs"])
    except ValueError as error:  # rows of different lengths
        raise CheckpointError(f"The description's probes are no table of numbers ({error}); {HOW}.") from error
    tokens, symbols = model.embedding.tokens, model.embedding.symbols
    if inputs.ndim != 2 or not inputs.size or inputs.dtype.kind not in "biu" or inputs.shape[1] != tokens:
        raise CheckpointError(
            f"The inputs of the description's probes have shape {inputs.shape} of {inputs.dtype}; give at least one, "
            f"each of {tokens} whole numbers."
        )
    if int(inputs.min()) < 0 or int(inputs.max()) >= symbols:
        raise CheckpointError(
            f"The description's probes hold the symbol {int(inputs.max() if inputs.min() >= 0 else inputs.min())}, and "
            f"the alphabet runs from 0 to {symbols - 1}, the row of [CLS] left out; count symbols so."
        )
    wanted = wanted[:, 0] if wanted.ndim == 2 and wanted.shape[1] == 1 else wanted
    shapes = {(len(inputs),), (len(inputs), outputs)}
    if wanted.shape not in shapes or wanted.dtype.kind not in "iuf" or not np.isfinite(wanted).all():
        raise CheckpointError(
            f"The outputs of the description's probes have shape {wanted.shape}; give a finite number for each of the "
            f"{len(inputs)} inputs{', or both logits' if outputs == 2 else ''}."
        )
    return inputs.astype(np.int64), (wanted[:, 1] - wanted[:, 0] if wanted.ndim == 2 else wanted).astype(np.float64)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
