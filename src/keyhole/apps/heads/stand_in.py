"""A stand-in of a checkpoint, for which the deep bound holds; it is not a bound for the network itself.

No theorem here speaks of LayerNorms, feed-forward parts and biases between layers. The stand-in has the network's W_QK
and W_OV; in place of its norms every row is projected on a ball after each layer; feed-forward parts and biases are
left out, and the read-out has norm 1. Its terms show which layers and heads a norm bound would have to pay for.
"""

from math import sqrt

import numpy as np

from keyhole.apps.heads.norms import HeadStatistics
from keyhole.attention import ThinNorms
from keyhole.checkpoints import Checkpoint, RowNorm
from keyhole.errors import AssumptionError
from keyhole.norm_profile import BlockNorms, HeadNorms, MatrixNorms, NormProfile

STAND_IN = (
    "Not a bound for this network: of a stand-in with its W_QK and W_OV, whose rows are projected on a ball after each "
    "layer where the network has norms, without feed-forward parts and biases, and with a read-out of norm 1."
)


def row_radius(norm: RowNorm | None, width: int) -> float | None:
    """Return the largest ‖x‖ after a norm, or None if it has no bound.

    Statement  ‖g ⊙ x̂ + b‖ ≤ √d max|g| + ‖b‖ for LayerNorm and RMSNorm.
    Proof      A row divided by its deviation, or its root mean square, has ‖x̂‖ ≤ √d; ε only shortens it.
    Equality   Without a bias, gains all equal, as ε → 0.
    Source     Standard.
    """
    if norm is None or norm.kind not in ("layer", "rms"):
        return None
    gain = 1.0 if norm.gain is None else float(np.abs(norm.gain).max())
    return sqrt(width) * gain + (0.0 if norm.bias is None else float(np.linalg.norm(norm.bias)))


def attention_radii(checkpoint: Checkpoint) -> tuple[float, ...]:
    """Return the largest norm of a row that each layer's attention sees; refuse a model where nothing bounds it."""
    radii: list[float | None] = []
    width = checkpoint.sizes.width
    for layer in checkpoint.layers:
        if checkpoint.placement == "pre":
            radii.append(row_radius(layer.attention_norm, width))
        elif layer.index == 0:
            part = checkpoint.embedding  # whose rows the first layer of a post-norm model sees
            radius = row_radius(part.norm, width if part.widen is None else part.widen.inputs)
            if radius is not None and part.widen is not None:
                shift = 0.0 if part.widen.bias is None else float(np.linalg.norm(part.widen.bias))
                radius = float(np.linalg.norm(part.widen.weight, 2)) * radius + shift
            radii.append(radius)
        else:
            before = checkpoint.layers[layer.index - 1]
            radii.append(row_radius(before.feedforward_norm or before.attention_norm, width))
    known = tuple(radius for radius in radii if radius is not None)
    if len(known) < len(radii):
        at = radii.index(None) + 1
        raise AssumptionError(
            f"Nothing bounds the rows that the attention of layer {at} sees (a LayerNorm or RMSNorm would), so no norm "
            "bound speaks of this model, nor of a stand-in."
        )
    return known


def stand_in_profile(checkpoint: Checkpoint, heads: tuple[HeadStatistics, ...], tokens: int) -> NormProfile:
    """Return the norms of the stand-in over so many rows, in units in which every row is in the unit ball.

    Statement  With rows x = B u, ‖u‖ ≤ 1, the scores x M x' are u (B² M) u', and B Π(x + Σ W_OV …)/B has the values
               W_OV: a layer of the deep theorem with B² M for M.
    Source     Ours.
    """
    radii = attention_radii(checkpoint)
    width = checkpoint.sizes.width
    blocks = []
    for radius, stored in zip(radii, checkpoint.layers.stored, strict=True):
        of_layer = [head for head in heads if head.layer == checkpoint.layers.stored.index(stored)]
        scaled = [(_scaled(each.score, width, radius**2), _scaled(each.value, width, 1.0)) for each in of_layer]
        blocks.append(BlockNorms(heads=tuple(HeadNorms(*both) for both in scaled), residual=True))
    return NormProfile(
        blocks=tuple(blocks), tokens=tokens, readout=1.0, token_radius=1.0, query_radius=1.0, projected=True
    )


def _scaled(norms: ThinNorms, width: int, scale: float) -> MatrixNorms:
    """Return the norms of a multiple; Cauchy–Schwarz bounds the sum of entries, since no product is formed."""
    columns, rows = scale * norms.columns21, scale * norms.rows21
    return MatrixNorms(
        width,
        width,
        spectral=scale * norms.spectral,
        frobenius=scale * norms.frobenius,
        columns21=columns,
        rows21=rows,
        entries11=sqrt(width) * min(columns, rows),
    )
