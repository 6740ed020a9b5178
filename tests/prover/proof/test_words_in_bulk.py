"""Verdicts about words in bulk: every kind of property and model against enumeration of all words.

KEYHOLE_FUZZ=2000 makes as many models as a claim of soundness wants, KEYHOLE_ZOO names a folder of trained ones; with
-s the outcomes are printed.
"""

import os
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
import pytest

from keyhole.attention import RMSNorm, TanhGELU, evaluate
from keyhole.checkpoints import Frame, framed_model, load_checkpoint, logit_difference
from keyhole.languages import AtLength, Restricted, TableProperty, read_property
from keyhole.prover.extraction import certifiable
from keyhole.prover.proof.after_attention import tail_of, trace
from keyhole.prover.proof.tables import outputs, tables_of
from keyhole.prover.proof.true_on_words import prove_on_words

from helpers.planted_juntas import all_sequences
from helpers.random_models import Plan, random_model

MODELS = int(os.environ.get("KEYHOLE_FUZZ", "12"))
FIRST = int(os.environ.get("KEYHOLE_FUZZ_SEED", "0"))
ZOO = os.environ.get("KEYHOLE_ZOO")
BITS = ("0", "1")
CLAIMS = (
    "majority",
    "even number of 1",
    "at least 2 of 1",
    "at most 1 of 1",
    "exactly 2 of 1",
    "equal numbers of 0 and 1",
    "first is 1",
    "last is 1",
    "regex:0*1*",
    "regex:(01|1)*",
)
KINDS = (*CLAIMS, "table", "restricted")


def property_of(kind, length, rng):
    """A property of the kind at a length."""
    if kind == "table":
        positions = tuple(sorted(rng.choice(length, min(3, length), replace=False).tolist()))
        return TableProperty(BITS, positions, rng.integers(0, 2, 2 ** len(positions)).astype(bool)).at(length)
    if kind == "restricted":
        return Restricted(read_property("majority", BITS), read_property("regex:0*1*0*", BITS)).at(length)
    return read_property(kind, BITS).at(length)


def drawn_model(seed, rng):
    """A random one-layer model of any kind that is verified."""
    choice = rng.integers(0, 2, 5).astype(bool).tolist()
    tokens = int(rng.integers(2, 9)) if seed % 40 else 12 + 2 * (seed // 40 % 3)
    plan = Plan(
        seed=seed,
        tokens=tokens,
        heads=int(rng.integers(1, 4)),
        placement="pre" if choice[0] else "post",
        norms=choice[1],
        residual=str(rng.choice(["none", "each", "block"])),
        gelu=choice[2],
        final_norm=choice[3],
    )
    model = random_model(plan)
    block = model.blocks[0]
    if choice[4]:
        feed = replace(block.wiring.feedforward, activation=TanhGELU())
        wiring = replace(block.wiring, feedforward=feed)
        names = [name for name in ("attention_norm", "feedforward_norm") if getattr(wiring, name) is not None]
        norms = {name: getattr(wiring, name) for name in names}
        rms = {name: RMSNorm(norm.gain, norm.bias, norm.eps) for name, norm in norms.items()}
        model = replace(model, blocks=(replace(block, wiring=replace(wiring, **rms)),))
    scale = float(rng.choice([0.1, 0.5, 1.0]))
    codes = replace(model.embedding.positions, table=scale * model.embedding.positions.table)
    return replace(model, embedding=replace(model.embedding, positions=codes))


def all_outputs(model):
    """Every sequence and f there, with what it may be off."""
    tables = tables_of(model.tables, tuple(range(model.tables.tokens)), model.drifts)
    sequences = all_sequences(model.tables.tokens, 2)
    return sequences, trace(tail_of(model.tables), outputs(tables, np.eye(2, dtype=np.int64)[sequences])).output


def moved(model, at, question, sequences, f, reads):
    """The model with its bias where the question wants it, and the classes that are asked about."""
    answer, classes = at.classes[0]
    if question == "as it is":
        return model, at
    words = np.zeros((len(sequences), at.length), dtype=np.int64)
    words[:, list(at.reads)] = sequences[:, list(reads)]
    inside = classes.contains(words[:, list(at.reads)]).any(axis=0)
    sign = 1.0 if answer else -1.0
    least = (sign * f.mid[inside]).min()
    spread = np.ptp(f.mid) + 1e-3
    wanted = 0.1 * spread if question == "right" else -1e-6 * spread  # planted: the least word alone is wrong
    bias = np.asarray(float(model.readout.bias) + sign * (wanted - least))
    moved_model = replace(model, readout=replace(model.readout, bias=bias))
    return moved_model, AtLength(at.length, at.reads, ((answer, classes),))


def judge(model, at, reads, question):
    """The verdict of a question, held against every word."""
    sequences, before = all_outputs(certifiable(model))
    model, at = moved(model, at, question, sequences, before, reads)
    read = certifiable(model)
    sequences, f = all_outputs(read)
    words = np.zeros((len(sequences), at.length), dtype=np.int64)
    words[:, list(at.reads)] = sequences[:, list(reads)]
    true, spoken = at.answers(words)
    assert np.allclose(f.mid, evaluate(read.tables, sequences), rtol=1e-9, atol=1e-9)  # the model as it runs
    least = np.where(true, f.high, -f.low)[spoken].min()  # no smaller than the true margin
    found = prove_on_words(read.tables, reads, at.classes, drifts=read.drifts, time_limit=0.25, clock=process_time)
    if found.status == "PROVED":
        assert 0 < found.margin <= least
        assert question != "planted"
    elif found.status == "COUNTEREXAMPLE":
        index = int(np.flatnonzero((sequences == found.counterexample).all(axis=1))[0])
        assert spoken[index]
        assert found.wanted == true[index]
        assert (f.high[index] < 0) if true[index] else (f.low[index] > 0)
        assert question != "right"
    elif found.bound is not None:
        assert found.bound <= least
    return found.status


def table(counts):
    """The outcomes by kind and question, for who asks with -s."""
    for kind, question in product((*KINDS, "trained"), ("as it is", "right", "planted")):
        row = {status: counts[kind, question, status] for status in ("PROVED", "COUNTEREXAMPLE", "UNDECIDED")}
        if any(row.values()):
            print(f"{kind:26} {question:9} " + "  ".join(f"{status} {number}" for status, number in row.items()))  # noqa: T201


@pytest.mark.slow
def test_no_verdict_about_random_models_is_false():
    """PROVED where all words are right, by no more than the true margin; a wrong word is wrong; none is lost."""
    counts = Counter()
    for seed in range(FIRST, FIRST + MODELS):
        rng = np.random.default_rng(seed)
        kind, question = KINDS[seed % len(KINDS)], ("right", "planted", "right", "as it is")[seed // len(KINDS) % 4]
        model = drawn_model(seed, rng)
        at = property_of(kind, model.embedding.tokens, rng)
        counts[kind, question, judge(model, at, at.reads, question)] += 1
    table(counts)
    found = {status: sum(n for key, n in counts.items() if key[2] == status) for status in ("PROVED", "COUNTEREXAMPLE")}
    print(f"{MODELS} models: {found}")  # noqa: T201
    assert found["PROVED"] >= MODELS // 4


@pytest.mark.skipif(ZOO is None, reason="KEYHOLE_ZOO names a folder of trained models")
def test_no_verdict_about_trained_models_is_false():
    """The same of trained models in GPT-2's layout, at short lengths, for every claim."""
    counts = Counter()
    for number, (folder, length) in enumerate(product(sorted(Path(ZOO).iterdir()), (3, 5, 8, 10))):
        checkpoint = load_checkpoint(folder)
        rng = np.random.default_rng(number)
        framed = framed_model(checkpoint, Frame((0, 1), (2,), (3,)), length, *logit_difference(checkpoint, 1, 0)[:2])
        for kind, question in product(("majority", "first is 1", KINDS[number % 12]), ("as it is", "right", "planted")):
            at = property_of(kind, length, rng)
            reads = tuple(framed.positions[place] for place in at.reads)
            counts["trained", question, judge(framed.model, at, reads, question)] += 1
    table(counts)
