"""Repairs: a model near the given one for which the proof goes through. They change the model, and say so.

Sink projection replaces every token that the junta does not read by what such tokens are on average: one constant key
and value. The result is still a Transformer, with a padding mask over those positions and one extra key and value, and
it is a junta by construction. Sharpening doubles every score, so that less attention leaks to other tokens. Neither
needs labels; sharpening is kept only if no training sample is lost by it.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from keyhole.attention import Evaluator, Softmax, Tabulated, dense
from keyhole.boolean import Junta, SymbolLaw, without_ignored
from keyhole.boolean.fitting import Sample
from keyhole.prover.extraction.extraction import agreement, majority_table
from keyhole.prover.proof.equal_to_function import prove_equal
from keyhole.prover.sample.sample_bound import wrong_answers

if TYPE_CHECKING:
    from keyhole.prover.certificate import ModelCertificate

SHARPER = 2.0  # fixed about half of the trained models tried; 4 often breaks the function


@dataclass(frozen=True, eq=False)
class Repair:
    """The changed model and what was changed."""

    name: str
    says: str
    model: Tabulated


def repaired(
    shown: "ModelCertificate", evaluator: Evaluator, sample: Sample | None
) -> tuple["ModelCertificate", Evaluator]:
    """The first repair that ends in a proof: sharpening, where no sample is lost by it, else the sink projection."""
    model, terms, junta = evaluator.model, shown.terms, shown.junta
    if junta is None:  # nothing to be near to
        return shown, evaluator
    if sample is not None and not wrong_answers(evaluator, sample).any():
        sharp = sharpened(model)
        sharp_evaluator = Evaluator(sharp.model)
        looked = prove_equal(sharp.model, junta, time_limit=terms.time_limit)
        if looked.status == "PROVED" and not wrong_answers(sharp_evaluator, sample).any():
            changed = replace(shown, repair=sharp, before=shown.verification, verification=looked, of_weights=False)
            return changed, sharp_evaluator
    sunk = sink_projection(model, junta, terms.law)
    projected = Evaluator(sunk.model)
    background = np.zeros((1, model.tokens), dtype=np.int8)  # any: every cell is evaluated once
    computed = Junta(junta.positions, junta.symbols, majority_table(projected, background, junta.positions))
    looked = prove_equal(sunk.model, computed, time_limit=terms.time_limit)
    read = replace(shown.extraction, junta=without_ignored(computed))
    if not np.array_equal(computed.table, junta.table):
        sunk = replace(sunk, says=f"{sunk.says} It computes another function than was read off the model as given.")
        share = agreement(evaluator, computed, seed=terms.seed, law=terms.law)
        read = replace(read, agreement=share)
    changed = replace(shown, repair=sunk, before=shown.verification, verification=looked)
    return replace(changed, extraction=read, of_weights=False), projected


def sink_projection(model: Tabulated, junta: Junta, law: SymbolLaw) -> Repair:
    """The model that sees a constant key and value wherever the junta does not look.

    Statement  With N̄ and Z̄ the means of a head's sums over the other tokens, one token of mass Z̄ and value N̄/Z̄
               has exactly these sums; so has each of T − s tokens of mass Z̄/(T − s).
    Proof      Sums add.
    Source     Ours.
    """
    model = dense(model)
    others = np.setdiff1d(np.arange(model.tokens), junta.positions)
    if not len(others):
        return Repair("none", "every position is read; nothing was changed", model)
    heads = []
    for head in model.heads:
        temperature = head.normaliser.temperature if isinstance(head.normaliser, Softmax) else 1.0
        top = head.scores[others].max()
        mass = np.exp((head.scores[others] - top) / temperature) * np.asarray(law.chances)
        scores, values = head.scores.copy(), head.values.copy()
        scores[others] = top + temperature * np.log(mass.sum() / len(others))
        values[others] = np.einsum("ta,tak->k", mass / mass.sum(), head.values[others])
        heads.append(replace(head, scores=scores, values=values))
    says = (
        f"The model was changed: its {len(others)} other positions are masked, and each head has one extra constant "
        "key and value, the mean of theirs."
    )
    return Repair("sink projection", says, replace(model, heads=tuple(heads)))


def sharpened(model: Tabulated) -> Repair:
    """The model with every score multiplied."""
    heads = tuple(
        replace(head, scores=SHARPER * head.scores, cls_score=SHARPER * head.cls_score) for head in model.heads
    )
    says = f"The model was changed: every query is {SHARPER:g} times as long, so that attention is sharper."
    return Repair("sharpening", says, replace(model, heads=heads))
