"""A projected model is a junta by construction, a Transformer with one extra key, and near the model it came from."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.attention.evaluation import Evaluator, evaluate, token_terms
from keyhole.attention.normalisers import Softmax
from keyhole.attention.tables import tabulate
from keyhole.boolean.junta import Junta, biased_bits, uniform_law
from keyhole.prover.extraction.extraction import certifiable, majority_table
from keyhole.prover.repair import sharpened, sink_projection

from helpers.planted import every_sequence, junta_of, planted
from helpers.random_models import Plan, plans, random_model


@settings(max_examples=25)
@given(plan=plans, data=st.data())
def test_a_junta_by_construction(plan, data):
    """Its output depends on the kept positions alone, and its table is their answers."""
    plan = replace(plan, tokens=min(plan.tokens, 6))
    model = certifiable(tabulate(random_model(plan))).tables
    kept = tuple(sorted(data.draw(st.sets(st.integers(0, plan.tokens - 1), max_size=2))))
    junta = Junta(kept, plan.symbols, np.zeros(plan.symbols ** len(kept), dtype=bool))
    sunk = sink_projection(model, junta, uniform_law(plan.symbols)).model
    rows = uniform_law(plan.symbols).draw(40, plan.tokens, np.random.default_rng(0))
    plain = rows.copy()
    plain[:, [place for place in range(plan.tokens) if place not in kept]] = 0
    out = np.asarray(evaluate(sunk, rows))
    # equal numbers are summed in the same order, so the outputs are equal but for the last bits
    np.testing.assert_allclose(out, np.asarray(evaluate(sunk, plain)), rtol=1e-9, atol=1e-9)
    clear = np.abs(out) > 1e-9
    computed = Junta(kept, plan.symbols, majority_table(Evaluator(sunk), plain[:1], kept))
    assert np.array_equal(computed(rows)[clear], (out > 0)[clear])


@pytest.mark.parametrize("law", [uniform_law(2), biased_bits(0.8)])
def test_the_sink_has_the_mean_sums(law):
    """What the other tokens add to each head is exactly the mean, over the law, of what they added before."""
    model = certifiable(tabulate(random_model(Plan(tokens=7, heads=3, symbols=2)))).tables
    junta = Junta((1, 4), 2, np.zeros(4, dtype=bool))
    others = [0, 2, 3, 5, 6]
    sunk = sink_projection(model, junta, law).model
    (before, own), (after, own_after) = token_terms(model), token_terms(sunk)
    mean = np.einsum("tac,a->c", before[others], np.array(law.chances))
    start = 0
    for head in model.heads:  # each head has its own shift, which the [CLS] mass shows
        stop = start + head.values.shape[2] + 1
        scale = own[stop - 1] / own_after[stop - 1]
        np.testing.assert_allclose(after[others, 1, start:stop].sum(axis=0) * scale, mean[start:stop], rtol=1e-12)
        start = stop


def test_one_extra_key_and_a_mask():
    """The tokens of the junta, [CLS] and one more token of the sink's score and value give the same output."""
    model = certifiable(tabulate(random_model(Plan(tokens=6, heads=2, symbols=2, norms=True)))).tables
    junta = Junta((0, 3), 2, np.zeros(4, dtype=bool))
    sunk = sink_projection(model, junta, uniform_law(2)).model
    # four masked keys of score s weigh as much as one of s + τ ln 4
    logits = [float(head.scores[1, 0]) + head.normaliser.temperature * np.log(4) for head in sunk.heads]
    kept = [0, 3, 1]  # the third row becomes the extra key
    heads = []
    for head, logit in zip(sunk.heads, logits, strict=True):
        scores, values = head.scores[kept].copy(), head.values[kept]
        scores[2] = logit
        heads.append(replace(head, scores=scores, values=values))
    masked = replace(sunk, tokens=3, heads=tuple(heads))
    rows = every_sequence(6)
    short = np.stack([rows[:, 0], rows[:, 3], np.zeros(len(rows), dtype=rows.dtype)], axis=1)
    np.testing.assert_allclose(evaluate(masked, short), evaluate(sunk, rows), rtol=1e-12)


def test_the_table_is_kept_and_the_change_is_said():
    """A planted model with noise keeps its table; the repair says that the model was changed."""
    junta = junta_of("maj(x1, x5, x9)")
    done = sink_projection(planted(junta, 12, noise=0.2), junta, uniform_law(2))
    assert done.name == "sink projection"
    assert " 9 " in done.says
    assert np.array_equal(
        majority_table(Evaluator(done.model), np.zeros((1, 12), np.int8), junta.positions), junta.table
    )


def test_nothing_to_project():
    """A junta of every position leaves the model as it is, and no change is claimed."""
    junta = junta_of("x0 & x1")
    done = sink_projection(planted(junta, 2), junta, uniform_law(2))
    assert (done.name, "nothing was changed" in done.says) == ("none", True)


def test_sharpening_halves_the_temperature():
    """Scores twice as large are the same as a softmax of half the temperature."""
    model = certifiable(tabulate(random_model(Plan(tokens=5, heads=2, symbols=3)))).tables
    colder = tuple(replace(head, normaliser=Softmax(head.normaliser.temperature / 2)) for head in model.heads)
    rows = every_sequence(5, 3)
    done = sharpened(model)
    assert "The model was changed" in done.says
    np.testing.assert_allclose(evaluate(done.model, rows), evaluate(replace(model, heads=colder), rows), rtol=1e-9)
