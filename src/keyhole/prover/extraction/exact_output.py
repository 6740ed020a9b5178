"""The output of a one-layer model at one input in balls of as many bits as its sign takes.

Double precision leaves the sign of a near tie open; here every weight is exact, and each operation widens its ball by
its own rounding alone.
"""

from collections.abc import Callable
from functools import cache
from math import inf, nextafter
from typing import Any

import numpy as np
from flint import arb, ctx

from keyhole.arrays import Int
from keyhole.attention import (
    GELU,
    Activation,
    Affine,
    Identity,
    LayerNorm,
    Model,
    ReLU,
    RMSNorm,
    Tabulated,
    TanhGELU,
    numbers_of,
    tabulate,
)
from keyhole.errors import AssumptionError
from keyhole.prover.extraction.exact_tables import LARGEST, entries, lifted, temperature

BITS = tuple(2**power for power in range(7, 13))
Numbers = np.ndarray  # balls of Arb, whose package has no types
ExactOutput = Callable[[Int[np.ndarray, "T"]], tuple[float, float]]


def exact_output(given: Model | Tabulated) -> ExactOutput | None:
    """Return a function from an input to two doubles with f between them; None where the model is too large.

    Statement  The ends are above 0 or below 0 unless |f| is below what `BITS` tell, as where two answers tie.
    Assumes    One block of softmax heads; bilinear scores and affine values, or tables that are the model.
    Proof      Ball arithmetic; a zero inside is tried again with twice the bits, up to the last of `BITS`.
    Source     Ours.
    """
    rows = given.embedding if isinstance(given, Model) else given
    width = given.embedding.width if isinstance(given, Model) else sum(head.values.shape[2] for head in given.heads)
    if rows.tokens * rows.symbols * width > LARGEST:
        return None
    terms: dict[int, list[tuple[Numbers, Numbers]]] = {}

    @cache
    def tables() -> Tabulated:
        return tabulate(given) if isinstance(given, Model) else given

    def output(sequence: Int[np.ndarray, "T"]) -> tuple[float, float]:
        shown = np.append(tables().rows * tables().symbols + sequence, -1)  # [CLS] is the last
        for bits in BITS:
            with ctx.workprec(bits):
                if bits not in terms:
                    terms[bits] = [_terms(given, index) for index in range(len(tables().heads))]
                f = _finished(tables(), [(mass[shown], lifts[shown]) for mass, lifts in terms[bits]])
                if bits == BITS[-1] or f > 0 or f < 0:
                    return nextafter(float(f.lower()), -inf), nextafter(float(f.upper()), inf)
        raise AssertionError

    return output


def _terms(given: Model | Tabulated, index: int) -> tuple[Numbers, Numbers]:
    """Return the masses of a head over the largest, and masses times values, of all pairs and, last, of [CLS]."""
    if isinstance(given, Model):
        scores, values = entries(given, index)
    else:
        head = given.heads[index]
        scores = lifted(np.append(numbers_of(head.scores).ravel(), numbers_of(head.cls_score))) / temperature(head)
        table = numbers_of(head.values)
        values = lifted(np.concatenate([table.reshape(-1, table.shape[-1]), numbers_of(head.cls_value)[None]]))
    largest = max(scores, key=lambda score: float(score.mid()))
    mass = np.exp(scores - largest)
    return mass, mass[:, None] * values


def _finished(tables: Tabulated, shown: list[tuple[Numbers, Numbers]]) -> Any:
    """Return f from the masses, and masses times values, that each head shows."""
    wiring, readout = tables.wiring, tables.readout
    if wiring.projected:
        raise AssumptionError("A model that projects its rows into the unit ball has no exact output here.")
    stream, pre, each = lifted(numbers_of(tables.stream)), wiring.placement == "pre", wiring.residual == "each"
    mixed = [
        _activated(lifts.sum(axis=0) / mass.sum(), head.activation)
        for head, (mass, lifts) in zip(tables.heads, shown, strict=True)
    ]
    row = np.concatenate(mixed) if wiring.join == "concatenate" else sum(mixed[1:], mixed[0])
    row = row if wiring.output is None else _mapped(row, wiring.output)
    row = stream + row if each else row
    row = row if pre else _normed(row, wiring.attention_norm)
    feed = wiring.feedforward
    if feed is not None:
        fed = _normed(row, wiring.feedforward_norm) if pre else row
        fed = _activated(fed if feed.inner is None else _mapped(fed, feed.inner), feed.activation)
        fed = fed if feed.outer is None else _mapped(fed, feed.outer)
        row = row + fed if each else fed
        row = row if pre else _normed(row, wiring.feedforward_norm)
    row = stream + row if wiring.residual == "block" else row
    row = _normed(row, readout.norm)
    bias = arb(0) if readout.bias is None else arb(float(numbers_of(readout.bias)))
    return row @ lifted(numbers_of(readout.weight)) + bias


def _mapped(row: Numbers, affine: Affine) -> Numbers:
    image: Numbers = row @ lifted(numbers_of(affine.weight))
    return image if affine.bias is None else image + lifted(numbers_of(affine.bias))


def _normed(row: Numbers, norm: LayerNorm | None) -> Numbers:
    if norm is None:
        return row
    centred = row if isinstance(norm, RMSNorm) else row - row.sum() / len(row)
    normed: Numbers = (
        centred / ((centred * centred).sum() / len(row) + arb(norm.eps)).sqrt() * lifted(numbers_of(norm.gain))
    )
    return normed if norm.bias is None else normed + lifted(numbers_of(norm.bias))


def _activated(row: Numbers, activation: Any) -> Numbers:
    curves: dict[type[Activation], Callable[[Any], Any]] = {
        Identity: lambda x: x,
        ReLU: lambda x: x.max(arb(0)),
        GELU: lambda x: x * (1 + (x / arb(2).sqrt()).erf()) / 2,
        TanhGELU: lambda x: x * (1 + ((2 / arb.pi()).sqrt() * (x + arb("0.044715") * x**3)).tanh()) / 2,
    }
    return np.array([curves[type(activation)](x) for x in row], dtype=object)
