"""Whether a model is exchangeable: rows moved with their positions, and tokens moved without them.

That an encoder's last rows move with its (token, position) pairs is a property of the architecture, and says nothing
of data: it tests that the model was read right. How far the last rows change when tokens move and positions stay says
how much the order matters to this model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.errors import DataError
from keyhole.pretrained.forward import Prepared

ROUNDING = 1e-9  # of the largest entry: double precision through tens of layers
CAUSAL = "not exchangeable: a row sees only those before it"
ROTARY = "not exchangeable as read here: queries and keys are turned by their places"
UNKNOWN = "undecided: the file does not say how the model knows positions"


@dataclass(frozen=True)
class OrderReport:
    """What moving rows does to a model, over some inputs and one permutation of each.

    Both changes are of the last rows, put back into their places: the largest entry by which rows moved with their
    positions differ, as a share of the largest entry there is; and the mean over rows of ‖change‖/‖row‖ for tokens
    moved alone. None where the question has no meaning for the model.
    """

    verdict: str
    moved_together: float | None
    moved_alone: float | None
    inputs: int


def order_of_tokens(model: Prepared, texts: Sequence[np.ndarray], *, seed: int = 0) -> OrderReport:
    """Move the tokens of each text, with their positions and without; the first and the last stay where they are.

    Ask it of a model in double precision. Causal and rotary models are reported as not exchangeable, and not run.
    """
    reason = _without_meaning(model)
    if reason is not None:
        return OrderReport(reason, None, None, len(texts))
    rng = np.random.default_rng(seed)
    together, alone = [], []
    for text in texts:
        if len(text) < 4:
            raise DataError(f"A text of {len(text)} tokens was given; two between the first and the last are needed.")
        order = np.concatenate([[0], 1 + rng.permutation(len(text) - 2), [len(text) - 1]])
        plain = model.run(model.embed(text)[None])[0][order]
        both = model.run(model.embed(text[order], positions=order)[None])[0]
        apart = model.run(model.embed(text[order])[None])[0]
        together.append(np.abs(both - plain).max() / np.abs(plain).max())
        alone.append((np.linalg.norm(apart - plain, axis=1) / np.linalg.norm(plain, axis=1)).mean())
    return _report(float(max(together)), float(np.mean(alone)), len(texts))


def order_of_rows(model: Prepared, inputs: np.ndarray, *, seed: int = 0) -> OrderReport:
    """Move the rows (inputs, T, features) of a model without positions: its last rows must move with them."""
    reason = _without_meaning(model)
    if reason is not None:
        return OrderReport(reason, None, None, len(inputs))
    if model.checkpoint.positions.kind != "none":
        raise DataError(f"{model.checkpoint.source} has positions; give it tokens, so that they can be moved alone.")
    rng = np.random.default_rng(seed)
    together = []
    for rows in inputs:
        order = rng.permutation(len(rows))
        plain = model.run(model.embed_features(rows)[None])[0][order]
        moved = model.run(model.embed_features(rows[order])[None])[0]
        together.append(np.abs(moved - plain).max() / np.abs(plain).max())
    return _report(float(max(together)), None, len(inputs))


def _without_meaning(model: Prepared) -> str | None:
    kind = model.checkpoint.positions.kind
    if model.checkpoint.causal:
        return CAUSAL
    return {"rotary": ROTARY, "unknown": UNKNOWN}.get(kind)


def _report(together: float, alone: float | None, inputs: int) -> OrderReport:
    if together > ROUNDING:
        return OrderReport("not equivariant: rows moved with their positions change", together, alone, inputs)
    told = "equivariant to rounding"
    return OrderReport(
        told if alone is None else f"{told}; order matters through positions alone", together, alone, inputs
    )
