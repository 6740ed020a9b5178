"""Probes: the original model's own outputs on a few inputs, which test how its weights were described.

A wrong description (another number of heads, another activation, [CLS] in another place) is another function of the
same numbers, and mostly shows on any input. Probes do not prove a description; a wrong one that agrees with all of
them is possible. Probes that any description would pass, because they are few, or their outputs hardly differ, or
single precision cannot tell them apart, count as no test.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import Model, embed_tokens, transform
from keyhole.errors import CheckpointError

# Allowed between our output, in double precision, and the original's, as a share of Σ|w_i x_i| + |b|, the terms that
# the read-out adds. Single precision rounds by u = 6e-8 of these at every step; a chain of half a dozen sums over n
# terms, n up to a thousand, strays by about 6 √n u < 2e-5 of them where rounding errors are of either sign, and our own
# layers in single precision stay below 1e-5. So 1e-4 lets single precision pass, and half precision and TF32, which
# round by 5e-4 and more, not. It is a convention and no theorem: a layer may amplify rounding without bound.
TOLERANCE = 1e-4
UNIT = 2.0**-24  # u, the rounding of single precision
FEWEST = 4  # different inputs that test a description
RESOLVED = 0.01  # the share of the outputs' own spread up to which a deviation may be allowed in a test
HOW = 'give {"inputs": [[0, 1, …], …], "outputs": [0.5, …]}'


@dataclass(frozen=True)
class Agreement:
    """The number of inputs compared, the largest deviation, and the reason if that is not a test.

    The deviation is a share of what the read-out adds up; of two logits, of what their difference adds up, their
    rounding in single precision put in so that `TOLERANCE` is allowed there too. `untested`
    says why the comparison tests nothing, where it does not: a wrong description might have passed as well.
    """

    inputs: int
    deviation: float
    outputs: int = 1  # of the original model
    untested: str = ""


def require_agreement(model: Model, probes: Any, readout: Float[np.ndarray, "outputs d1"]) -> Agreement:
    """Compare the model with the original's outputs; refuse it beyond the tolerance.

    The last column of `readout` is its bias. An original of two outputs gives both, or the second minus the first. The
    difference decides, so it is compared with terms of its own: what the two rows of the read-out have in common
    cancels in it, and allows for no more than the rounding of two such sums in single precision. Logits that are
    given are compared each on its own as well.
    """
    inputs, decided, logits = _read(model, probes, len(readout))
    worst, allowed, rounded = 0.0, 0.0, 0.0
    for index, (sequence, wanted) in enumerate(zip(inputs, decided, strict=True)):
        row = np.asarray(transform(model.blocks, embed_tokens(model.embedding, sequence))[-1])
        terms = np.append(row if model.readout.norm is None else model.readout.norm(row), 1.0)
        rounding = 0.0 if len(readout) == 1 else _rounding(readout, terms)
        scale = float(np.abs(terms) @ np.abs(readout[-1] - (readout[0] if len(readout) == 2 else 0.0)))
        allowance = TOLERANCE * scale + rounding
        output = float(np.asarray(model.readout(row)))
        _require_near(f"On probe {index}", output, float(wanted), allowance)
        if logits is not None:
            for which, (logit, weights) in enumerate(zip(logits[index], readout, strict=True)):
                near = TOLERANCE * float(np.abs(terms) @ np.abs(weights))
                _require_near(f"On probe {index}, of logit {which},", float(terms @ weights), float(logit), near)
        worst = max(worst, TOLERANCE * abs(output - float(wanted)) / allowance if allowance else 0.0)
        allowed, rounded = max(allowed, allowance), max(rounded, rounding)
    different, spread = len(np.unique(inputs, axis=0)), float(np.ptp(decided))
    untested = _untested(different, spread, allowed, rounded)
    return Agreement(len(inputs), worst, len(readout), untested)


def _rounding(readout: Float[np.ndarray, "outputs d1"], terms: Float[np.ndarray, "d1"]) -> float:
    """Bound the error of single precision when it adds up two logits and subtracts them.

    Statement  A sum of n products strays by at most n u/(1 − n u) Σ|w_i x_i|, in any order, and a difference by u of
               itself.
    Source     Textbook (Higham).
    """
    steps = (len(terms) + 1) * UNIT
    return float(steps / (1 - steps) * (np.abs(terms) @ np.abs(readout).sum(axis=0)))


def _require_near(where: str, output: float, wanted: float, allowed: float) -> None:
    if not abs(output - wanted) <= allowed:
        raise CheckpointError(
            f"{where} the weights, read as described, give {output:.6g}, and the original model gave {wanted:.6g}; "
            f"they may differ by {allowed:.2g}. Correct the description (heads, activation, order of the norms, "
            "epsilon, place and token of [CLS]), or compute the probes in single precision, in evaluation mode."
        )


def _untested(different: int, spread: float, allowed: float, rounded: float) -> str:
    """Return why outputs that agree do not test the description; empty if they do."""
    if different < FEWEST:
        return f"{different} different input{'' if different == 1 else 's'} came with outputs, and {FEWEST} are needed"
    if spread == 0:
        return "the original model gave the same output on all of them; give inputs on which its outputs differ"
    if RESOLVED * spread >= allowed:
        return ""
    if 2 * rounded > allowed:
        return (
            f"the two logits differ by amounts that vary by {spread:.2g} only, and rounding in single precision may "
            f"change them by {rounded:.2g}; take from both rows of the read-out what they have in common"
        )
    return (
        f"the original model's outputs vary by {spread:.2g} only, and a deviation of {allowed:.2g} is allowed; give "
        "inputs on which its outputs differ more"
    )


def _read(model: Model, probes: Any, outputs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the inputs, what decides on each (the output, or the second logit minus the first), and both logits."""
    if not isinstance(probes, Mapping) or set(probes) != {"inputs", "outputs"}:
        text = repr(probes)
        text = text if len(text) <= 60 else f"{text[:57]}..."
        raise CheckpointError(f"The description's probes are {text}; {HOW}.")
    try:
        inputs, wanted = np.asarray(probes["inputs"]), np.asarray(probes["outputs"])
    except ValueError as error:  # rows of different lengths
        raise CheckpointError(f"The description's probes are not a table of numbers ({error}); {HOW}.") from error
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
    wanted = wanted.astype(np.float64)
    inputs = inputs.astype(np.int64)
    return (inputs, wanted[:, 1] - wanted[:, 0], wanted) if wanted.ndim == 2 else (inputs, wanted, None)
