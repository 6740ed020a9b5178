"""Near ties: read-outs moved until some word is within 10^−k of a tie; sixty digits of decimals are the judge.

KEYHOLE_FUZZ=138 draws as many models as a claim about near ties wants.
"""

import os
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from keyhole.attention import TanhGELU, evaluate, tabulate
from keyhole.languages import CountClasses
from keyhole.prover.extraction import certifiable, exact_output
from keyhole.prover.proof.true_on_words import prove_on_words

from helpers.decimal_forward import decimal_output
from helpers.planted_juntas import all_sequences
from helpers.random_models import Plan, random_model

MODELS = int(os.environ.get("KEYHOLE_FUZZ", "12"))


def drawn(seed, symbols=2):
    """A random model with units of one of three kinds."""
    rng = np.random.default_rng([seed, 7])
    plan = Plan(
        seed=seed,
        tokens=int(rng.integers(1, 6)),
        symbols=symbols,
        heads=int(rng.integers(1, 4)),
        placement=str(rng.choice(["pre", "post"])),
        norms=bool(rng.integers(2)),
        residual=str(rng.choice(["none", "each", "block"])),
        gelu=bool(rng.integers(2)),
        final_norm=bool(rng.integers(2)),
    )
    model = random_model(plan)
    block = model.blocks[0]
    if rng.integers(3) == 0:
        feed = replace(block.wiring.feedforward, activation=TanhGELU())
        model = replace(model, blocks=(replace(block, wiring=replace(block.wiring, feedforward=feed)),))
    return model


def moved(model, sequences, sign, offset, scale):
    """The model with sign·f moved so that its least value over some sequences is the offset, up to rounding."""
    f = evaluate(tabulate(model), sequences)
    bias = scale * (float(model.readout.bias) - sign * (sign * f).min() + sign * offset)
    return replace(model, readout=replace(model.readout, weight=scale * model.readout.weight, bias=np.asarray(bias)))


def least(model, sequences, sign):
    """The least of sign·f over some sequences, by decimals of those that doubles find among the least."""
    f = sign * evaluate(tabulate(model), sequences)
    near = f <= f.min() + 1e-9 * (np.ptp(f) + np.abs(f).min())
    return min(int(sign) * decimal_output(model, sequence) for sequence in sequences[near].tolist())


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 2.0**-100, 2.0**300], ids=["as it is", "tiny", "huge"])
def test_no_near_tie_is_left_open(scale):
    """With the least sign·f at ±10^−k of its range the verdict is that of decimals, and never UNDECIDED."""
    statuses = []
    for seed in range(MODELS):
        rng = np.random.default_rng([seed, 11])
        model, sign = drawn(seed), float(rng.choice([-1, 1]))
        tokens = model.embedding.tokens
        low, high = sorted(rng.integers(0, tokens + 1, 2).tolist())
        words = CountClasses(tokens, (False, True), np.array([low]), np.array([high]))
        sequences = all_sequences(tokens, 2)
        sequences = sequences[words.contains(sequences)[0]]
        width = np.ptp(evaluate(tabulate(model), all_sequences(tokens, 2)))
        model = moved(model, sequences, sign, rng.choice([-1, 1]) * width * 10.0 ** -rng.integers(8, 16), scale)
        read, true = certifiable(model), least(model, sequences, sign)
        assert true != 0  # no tie is exact
        verdict = prove_on_words(
            read.tables,
            tuple(range(tokens)),
            [(sign > 0, words)],
            drifts=read.drifts,
            exact=exact_output(read.given),
            time_limit=60.0,
        )
        statuses.append(verdict.status)
        assert verdict.status == ("PROVED" if true > 0 else "COUNTEREXAMPLE"), (seed, true, verdict.reason)
        if true > 0:
            assert 0 < verdict.margin <= true
        else:
            assert int(sign) * decimal_output(model, verdict.counterexample.tolist()) < 0
    assert len(set(statuses)) == 2


def test_a_tie_that_no_precision_tells_is_left_open():
    """An f that is 0 on every word is neither proved nor refuted, however small the part."""
    model = drawn(0)
    model = replace(model, readout=replace(model.readout, weight=0 * model.readout.weight, bias=np.asarray(0.0)))
    read, tokens = certifiable(model), model.embedding.tokens
    words = CountClasses(tokens, (False, True), np.array([0]), np.array([tokens]))
    verdict = prove_on_words(
        read.tables, tuple(range(tokens)), [(True, words)], drifts=read.drifts, exact=exact_output(read.given)
    )
    assert verdict.status == "UNDECIDED"
    assert "as near to a tie as can be told" in verdict.reason


def test_the_ends_hold_the_output():
    """The decimal output of any input is between the two doubles, which are neighbours or nearly; of tables alike."""
    for seed in range(12):
        model = drawn(seed, symbols=2 + seed % 2)
        tables, embedding = tabulate(model), model.embedding
        sequence = np.random.default_rng(seed).integers(0, embedding.symbols, embedding.tokens)
        low, high = exact_output(model)(sequence)
        assert low <= decimal_output(model, sequence.tolist()) <= high
        assert high - low <= 8 * np.spacing(abs(low))
        of_tables = exact_output(tables)(sequence)
        assert of_tables == pytest.approx((low, high), rel=1e-9, abs=1e-12)
        shown = replace(tables, positions=tuple(range(tables.tokens - 1)))  # the last row serves the last position
        assert exact_output(shown)(sequence) == of_tables


def test_words_that_a_property_does_not_read_are_enumerated_too():
    """With free positions the least is that over all inputs."""
    model = drawn(3)
    while model.embedding.tokens < 4:
        model = random_model(Plan(seed=1, tokens=4, norms=False))
    tokens = model.embedding.tokens
    words = CountClasses(1, (False, True), np.array([1]), np.array([1]))
    sequences = all_sequences(tokens, 2)
    sequences = sequences[sequences[:, 1] == 1]
    for offset in (1e-14, -1e-14):
        near = moved(model, sequences, 1.0, offset, 1.0)
        read, true = certifiable(near), least(near, sequences, 1.0)
        verdict = prove_on_words(read.tables, (1,), [(True, words)], drifts=read.drifts, exact=exact_output(read.given))
        assert verdict.status == ("PROVED" if true > 0 else "COUNTEREXAMPLE")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_edge_counts_of_a_threshold_are_decided(seed):
    """Of 51 symbols 0 to 2 ones make 1,327 words: with the least of them at ±10^−6 the verdict is theirs, and soon."""
    tokens = 51
    model = random_model(Plan(seed=seed, tokens=tokens, heads=3, placement="pre", gelu=True, final_norm=True))
    words = CountClasses(tokens, (False, True), np.array([0]), np.array([2]))
    sequences = words.words().astype(np.int64)
    assert len(sequences) == 1327
    for offset in (1e-6, -1e-6):
        near = moved(model, sequences, -1.0, offset, 1.0)
        read = certifiable(near)
        verdict = prove_on_words(
            read.tables,
            tuple(range(tokens)),
            [(False, words)],
            drifts=read.drifts,
            exact=exact_output(read.given),
            time_limit=100,
            clock=count().__next__,  # looked at after each batch, so that no verdict depends on the machine
        )
        assert verdict.status == ("PROVED" if offset > 0 else "COUNTEREXAMPLE"), verdict.reason
