"""The output of a one-layer model at one input in decimals: slow, and by other means than the package's balls."""

from decimal import Decimal, localcontext
from functools import cache

from keyhole.attention import GELU, Identity, ReLU, RMSNorm

DIGITS = 60


def numbers(array):
    """Doubles as decimals, which hold them exactly."""
    return [numbers(row) for row in array] if array.ndim > 1 else [Decimal(x) for x in array.tolist()]


def mapped(row, affine):
    """The image of a row under an affine map."""
    weight = numbers(affine.weight)
    bias = [Decimal(0)] * len(weight[0]) if affine.bias is None else numbers(affine.bias)
    return [sum((x * w[j] for x, w in zip(row, weight, strict=True)), b) for j, b in enumerate(bias)]


def normed(row, norm):
    """A LayerNorm or RMSNorm of a row; none leaves it."""
    if norm is None:
        return row
    mean = Decimal(0) if isinstance(norm, RMSNorm) else sum(row) / len(row)
    spread = (sum((x - mean) ** 2 for x in row) / len(row) + Decimal(norm.eps)).sqrt()
    bias = [Decimal(0)] * len(row) if norm.bias is None else numbers(norm.bias)
    return [(x - mean) / spread * g + b for x, g, b in zip(row, numbers(norm.gain), bias, strict=True)]


@cache
def pi():
    """Machin's formula, at the precision of the first call."""
    return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))


def arctan_of_inverse(n):
    """The arctangent of 1/n by its series."""
    return sum(Decimal(-1) ** k / ((2 * k + 1) * Decimal(n) ** (2 * k + 1)) for k in range(2 * DIGITS))


def erf(x):
    """The error function by its series; from 13 on it is 1 to 70 digits."""
    if abs(x) > 13:
        return Decimal(1).copy_sign(x)
    term, total = x, x
    for k in range(1, 800):
        term *= -x * x / k
        total += term / (2 * k + 1)
    return 2 * total / pi().sqrt()


def activated(x, kind):
    """ReLU, the identity, or either GELU of a number."""
    if isinstance(kind, Identity):
        return x
    if isinstance(kind, ReLU):
        return max(x, Decimal(0))
    if isinstance(kind, GELU):
        return x * (1 + erf(x / Decimal(2).sqrt())) / 2
    tanh = 1 - 2 / (1 + (2 * (2 / pi()).sqrt() * (x + Decimal("0.044715") * x**3)).exp())
    return x * (1 + tanh) / 2


def decimal_output(model, sequence):
    """f of a one-layer model with learned codes, factored scores and heads side by side, at one input."""
    with localcontext() as context:
        context.prec = 3 * DIGITS  # the series of erf cancel up to e^169
        (block,) = model.blocks
        wiring, pre, each = block.wiring, block.wiring.placement == "pre", block.wiring.residual == "each"
        tokens, codes = numbers(model.embedding.table), numbers(model.embedding.positions.table)
        stream = numbers(model.embedding.cls)
        rows = [[a + b for a, b in zip(tokens[s], code, strict=True)] for s, code in zip(sequence, codes, strict=True)]
        seen = [normed(row, wiring.attention_norm) if pre else row for row in [*rows, stream]]
        joined = []
        for head in block.heads:
            query = mapped(seen[-1], type(head.value)(head.score.query, head.score.query_bias))
            keys = [mapped(row, type(head.value)(head.score.key, head.score.key_bias)) for row in seen]
            width = Decimal(len(query)).sqrt() * Decimal(head.normaliser.temperature)
            masses = [(sum(q * k for q, k in zip(query, key, strict=True)) / width).exp() for key in keys]
            values = [mapped(row, head.value) for row in seen]
            total = sum(masses)
            joined += [
                sum(m * v for m, v in zip(masses, column, strict=True)) / total for column in zip(*values, strict=True)
            ]
        row = mapped(joined, wiring.output)
        row = [a + b for a, b in zip(stream, row, strict=True)] if each else row
        row = row if pre else normed(row, wiring.attention_norm)
        if wiring.feedforward is not None:
            feed = wiring.feedforward
            hidden = mapped(normed(row, wiring.feedforward_norm) if pre else row, feed.inner)
            fed = mapped([activated(x, feed.activation) for x in hidden], feed.outer)
            row = [a + b for a, b in zip(row, fed, strict=True)] if each else fed
            row = row if pre else normed(row, wiring.feedforward_norm)
        row = [a + b for a, b in zip(stream, row, strict=True)] if wiring.residual == "block" else row
        weight = numbers(model.readout.weight)
        return sum(x * w for x, w in zip(normed(row, model.readout.norm), weight, strict=True)) + Decimal(
            float(model.readout.bias)
        )
