"""A model against a language on every word of one length: exhaustive enumeration is the judge."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.attention import RMSNorm, TanhGELU, tabulate
from keyhole.attention.evaluation import evaluate
from keyhole.errors import ShapeError
from keyhole.languages import Automaton, AutomatonClasses, CountClasses
from keyhole.prover.proof.after_attention import tail_of, trace
from keyhole.prover.proof.tables import outputs, tables_of
from keyhole.prover.proof.true_on_words import prove_on_words

from helpers.planted_juntas import FEW, all_sequences
from helpers.random_models import Plan, random_model


def outputs_of(model):
    """Every sequence and f there."""
    tables = tables_of(model, tuple(range(model.tokens)))
    sequences = all_sequences(model.tokens, model.symbols)
    shown = np.eye(model.symbols, dtype=np.int64)[sequences]
    return sequences, trace(tail_of(model), outputs(tables, shown)).output.mid


def at_least(tokens, count, *, automaton):
    """The claim "at least so many ones" as two classes."""
    if automaton:
        moves = np.array([[state, min(state + 1, tokens)] for state in range(tokens + 1)])
        many = np.arange(tokens + 1) >= count
        counter = Automaton(moves, 0, many)
        return [
            (True, AutomatonClasses(tokens, counter, many[None])),
            (False, AutomatonClasses(tokens, counter, ~many[None])),
        ]
    ends = [(True, count, tokens), (False, 0, count - 1)]
    return [
        (wanted, CountClasses(tokens, (False, True), np.array([low]), np.array([high]))) for wanted, low, high in ends
    ]


plans = st.builds(
    Plan,
    seed=st.integers(0, 10**6),
    tokens=st.integers(2, 7),
    heads=st.integers(1, 3),
    placement=st.sampled_from(["pre", "post"]),
    norms=st.booleans(),
    residual=st.sampled_from(["none", "each", "block"]),
    gelu=st.booleans(),
    final_norm=st.booleans(),
)


def variant(model, kind):
    """The same model with another norm or another activation."""
    block = model.blocks[0]
    wiring, feed = block.wiring, block.wiring.feedforward
    if kind == "rms":
        norms = {
            name: RMSNorm(norm.gain, norm.bias, norm.eps)
            for name in ("attention_norm", "feedforward_norm")
            if (norm := getattr(wiring, name)) is not None
        }
        last = model.readout.norm
        last = None if last is None else RMSNorm(last.gain, last.bias, last.eps)
        model = replace(model, readout=replace(model.readout, norm=last))
        wiring = replace(wiring, **norms)
    if kind == "tanh":
        wiring = replace(wiring, feedforward=replace(feed, activation=TanhGELU()))
    return replace(model, blocks=(replace(block, wiring=wiring),))


def between_classes(plan, count, extra, kind):
    """A random model whose bias stands between the two classes where it can, moved by something extra."""
    model = variant(random_model(plan), kind)
    codes = replace(model.embedding.positions, table=0.2 * model.embedding.positions.table)
    model = replace(model, embedding=replace(model.embedding, positions=codes))
    sequences, f = outputs_of(tabulate(model))
    true = sequences.sum(axis=1) >= count
    sign = 1.0 if f[true].mean() > f[~true].mean() else -1.0
    shift = -((sign * f[true]).min() + (sign * f[~true]).max()) / 2 + extra
    bias = np.asarray(sign * model.readout.bias + shift)
    return replace(model, readout=replace(model.readout, weight=sign * model.readout.weight, bias=bias))


@pytest.mark.slow
@settings(max_examples=FEW)
@given(
    plans,
    st.integers(1, 7),
    st.booleans(),
    st.sampled_from([0.0, 0.0, 0.3]),
    st.sampled_from(["plain", "rms", "tanh"]),
)
def test_the_verdict_is_that_of_enumeration(plan, count, automaton, extra, kind):
    """PROVED only where every word is right, with a margin not above the true one; a wrong word is wrong."""
    count = min(count, plan.tokens)
    model = between_classes(plan, count, extra, kind)
    sequences, f = outputs_of(tabulate(model))
    true = sequences.sum(axis=1) >= count
    margin = min(f[true].min(), -f[~true].max())
    assert np.allclose(f, evaluate(tabulate(model), sequences), rtol=1e-9, atol=1e-9)  # the model as it runs
    tokens = sequences.shape[1]
    found = prove_on_words(
        tabulate(model), tuple(range(tokens)), at_least(tokens, count, automaton=automaton), time_limit=1.0
    )
    if found.status == "PROVED":
        assert 0 < found.margin <= margin
    if found.status == "COUNTEREXAMPLE":
        index = int(np.flatnonzero((sequences == found.counterexample).all(axis=1))[0])
        assert found.wanted == true[index]
        assert (f[index] > 0) != found.wanted
    if found.status == "UNDECIDED" and found.bound is not None:
        assert found.bound <= max(margin, 0)


@pytest.mark.slow
@pytest.mark.parametrize("automaton", [False, True])
def test_a_planted_wrong_word_is_never_passed_over(automaton):
    """A bias moved just past the least f of one class turns PROVED into a wrong word or UNDECIDED, never PROVED."""
    statuses = []
    for seed in range(6):
        model = random_model(Plan(seed=seed, tokens=6, heads=1, norms=False, residual="none"))
        codes = replace(model.embedding.positions, table=0.1 * model.embedding.positions.table)
        model = replace(model, embedding=replace(model.embedding, positions=codes))
        sequences, f = outputs_of(tabulate(model))
        true = sequences.sum(axis=1) >= 3
        shift = -f[true].min() - 1e-6  # exactly one class is wrong, at its least word
        planted = replace(model, readout=replace(model.readout, bias=np.asarray(model.readout.bias + shift)))
        found = prove_on_words(
            tabulate(planted), tuple(range(6)), at_least(6, 3, automaton=automaton)[:1], time_limit=2.0
        )
        statuses.append(found.status)
    assert "PROVED" not in statuses
    assert statuses.count("COUNTEREXAMPLE") >= 5


def test_words_of_another_length_are_refused():
    """Words need as many symbols as positions that are read."""
    model = tabulate(random_model(Plan(tokens=4)))
    with pytest.raises(ShapeError, match="length 3"):
        prove_on_words(model, (0, 1, 2, 3), at_least(3, 1, automaton=False))
