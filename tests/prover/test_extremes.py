"""No verdict is false whatever the exponents: numbers that underflow, that overflow, and both in one product."""

import os
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from keyhole.api.prove import Effort, prove
from keyhole.attention.layers import Affine, FeedForward, LayerNorm, ReLU
from keyhole.attention.normalisers import Softmax
from keyhole.attention.positions import LearnedPositions
from keyhole.attention.score import DenseScore, FactoredScore
from keyhole.attention.tables import Tabulated, tabulate
from keyhole.attention.tokens import AdditiveEmbedding
from keyhole.attention.weights import Block, Head, Model, ReadOut, Wiring
from keyhole.boolean.junta import Junta
from keyhole.checkpoints.keyhole_tables import save_tabulated
from keyhole.errors import KeyholeError
from keyhole.prover.extraction.extraction import _arrays, certifiable
from keyhole.prover.proof import equal_to_function as engine
from keyhole.prover.proof.equal_to_function import prove_equal

from helpers.exact_models import at_precision, exact_f
from helpers.planted_juntas import all_sequences
from helpers.random_models import Plan, random_model

pytestmark = pytest.mark.slow

TOKENS, WIDTH = 8, 32
FUZZED = int(os.environ.get("KEYHOLE_FUZZ", "40"))  # random certificates of each range of exponents
FUZZ_SEED = int(os.environ.get("KEYHOLE_FUZZ_SEED", "0"))
MOST_BITS = 2**15
SINGLE = 149  # exponents of numbers of single precision, subnormals too
REFUSALS = {
    "refused, scores too far apart": "exponentials leave",
    "refused, sums that cancel": "nearly cancel",
    "refused, scores or values overflow": "holds NaN or infinity",
}


def cancelling_model(seed):
    """A model whose f is −1/2 on every input, though doubles may say 1/2; None if its draw cannot mislead.

    The norm writes its bias, about 1e301, whatever it reads; the inner weights are about 1e-310. Their products are
    ordinary numbers, and their sum, less the inner bias, is below zero: the unit is off, and f its bias −1/2. Added up
    in doubles the sum is above zero, and the outer weight makes it 1.
    """
    rng = np.random.default_rng(seed)
    bias, weight = rng.normal(size=WIDTH) * 1e301, rng.normal(size=(WIDTH, 1)) * 1e-310
    computed = float((bias @ weight)[0])
    truth = sum(Fraction(b) * Fraction(w) for b, w in zip(bias.tolist(), weight[:, 0].tolist(), strict=True))
    above = float((Fraction(computed) + truth) / 2)
    if not truth < Fraction(above) < Fraction(computed):
        return None
    outer = np.zeros((1, WIDTH))
    outer[0, 0] = 1 / (computed - above)
    rest = np.zeros(WIDTH)
    wiring = Wiring(
        output=Affine(rng.normal(size=(2, WIDTH)), rng.normal(size=WIDTH)),
        feedforward=FeedForward(Affine(weight, np.array([-above])), ReLU(), Affine(outer, rest)),
        residual="none",
        placement="post",
        attention_norm=LayerNorm(np.zeros(WIDTH), bias),
    )
    embedding = AdditiveEmbedding(rng.normal(size=(2, 4)), LearnedPositions(rng.normal(size=(TOKENS, 4))), np.ones(4))
    head = Head(DenseScore(rng.normal(size=(4, 4)) / 4), Affine(rng.normal(size=(4, 2)), rng.normal(size=2)), Softmax())
    readout = np.zeros(WIDTH)
    readout[0] = 1.0
    return Model(embedding, (Block((head,), wiring),), ReadOut(readout, np.array(-0.5)))


MISLEADING = [model for model in map(cancelling_model, range(40)) if model is not None]


def test_the_misleading_models_mislead():
    """Doubles say f > 0 of some of the models, so the tests below could fail."""
    assert len(MISLEADING) >= 5


@pytest.mark.parametrize("answer", [True, False])
def test_underflow_in_one_factor_and_a_large_other_give_no_false_verdict(answer):
    """With f = −1/2 everywhere, `always true` is never proved, and `always false` has no counterexample."""
    for model in MISLEADING:
        found = prove_equal(tabulate(model), Junta((), 2, np.array([answer])), time_limit=1.0)
        assert found.status != ("PROVED" if answer else "COUNTEREXAMPLE")


def test_the_same_through_a_file(tmp_path):
    """No certificate of a file says of such a model that it is 1, or shows an input where it is."""
    for index, model in enumerate(MISLEADING[:2]):
        path = save_tabulated(tabulate(model), tmp_path / f"{index}.safetensors", {})
        found = prove(path, effort=Effort(1.0, samples=1000)).record()
        assert (found["status"], found["function"]) != ("PROVED", "1")
        assert found["status"] != "COUNTEREXAMPLE" or found["function"] != "0"


def scaled(value, rng, span, paired, name=""):
    """A record with many of its arrays, and some of their entries, times powers of two from 2^−span to 2^span.

    A `paired` exponent, if not 0, is the only one beside its negative, so that products are often of ordinary size.
    Scores are left alone: where they spread too far a model is refused, and nothing else is seen. Some entries are
    0 or −0, and, of arrays below the ordinary, some are subnormal: of doubles, or of single precision up to ±149.
    """
    if isinstance(value, DenseScore | FactoredScore) or name in {"scores", "cls_score"}:
        return value
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        common = paired * rng.integers(-1, 2) if paired else rng.integers(-span, span + 1) * rng.integers(0, 2)
        own = rng.integers(-span // 4, span // 4 + 1, value.shape) * (rng.random(value.shape) < rng.choice([0.0, 0.3]))
        drawn = np.ldexp(value, np.clip(common + own, -span, span)) * (rng.random(value.shape) < rng.choice([1.0, 0.7]))
        if span >= 149 and common < 0:
            least, steps = (-149, 2**23) if span == 149 else (-1074, 2**52)
            tiny = np.ldexp(rng.integers(-steps, steps, value.shape).astype(np.float64), least)
            drawn = np.where(rng.random(value.shape) < rng.choice([0.0, 0.3]), tiny, drawn)
        if span > 149:
            return drawn
        most = float(np.finfo(np.float32).max)
        return np.clip(drawn, -most, most).astype(np.float32).astype(np.float64)
    if isinstance(value, tuple):
        return tuple(scaled(part, rng, span, paired, name) for part in value)
    if isinstance(value, LayerNorm):
        value = replace(value, eps=float(np.ldexp(1e-5, rng.integers(-span, 1) * rng.integers(0, 2))))
    if is_dataclass(value) and not isinstance(value, type):
        parts = {part.name: getattr(value, part.name) for part in fields(value) if part.init}
        return replace(
            value, **{name: scaled(part, rng, span, paired, name) for name, part in parts.items() if name != "eps"}
        )
    return value


def drawn_subject(rng, span):
    """A random small model, its weights or its tables, with exponents up to ±span; a span of 0: a plain network."""
    plan = Plan(
        seed=int(rng.integers(10**6)),
        tokens=int(rng.integers(1, 5)),
        heads=int(rng.integers(1, 3)),
        placement=str(rng.choice(["pre", "post"])),
        norms=bool(rng.integers(2)),
        residual=str(rng.choice(["none", "each", "block"])),
        feedforward=bool(rng.integers(4)),
        gelu=bool(rng.integers(2)),
        join=str(rng.choice(["sum", "concatenate"])),
        final_norm=bool(rng.integers(2)),
    )
    model = random_model(plan, lambda array: np.asarray(array, dtype=np.float32).astype(np.float64))
    paired = int(rng.integers(-span, span + 1) * rng.integers(0, 2))
    subject = tabulate(model) if rng.integers(2) else model
    return scaled(subject, rng, span, paired) if span else subject


def test_what_is_drawn_is_extreme():
    """The draws hold subnormals of both precisions, numbers near the ends of the range, 0 and −0."""
    seen = {149: [], 1000: []}
    for span, arrays in seen.items():
        for index in range(30):
            with np.errstate(all="ignore"):
                model = drawn_subject(np.random.default_rng([FUZZ_SEED, span, index]), span)
            arrays += [np.ravel(part) for part in _arrays(model)]
    singles, doubles = (np.concatenate(arrays) for arrays in seen.values())
    assert ((np.abs(singles) < 2.0**-126) & (singles != 0)).any()
    assert ((np.abs(doubles) < 2.0**-1022) & (doubles != 0)).any()
    assert np.abs(doubles).max() > 2.0**990
    assert ((doubles == 0) & np.signbit(doubles)).any()
    assert ((doubles == 0) & ~np.signbit(doubles)).any()


def is_false(model, junta, found):
    """Whether a verdict is false: in balls of so many bits that every comparison is certain, or None."""
    if found.status == "PROVED":
        sequences = all_sequences(model.tokens if isinstance(model, Tabulated) else model.embedding.tokens, 2)
        answers, least = junta(sequences), found.margin
    else:
        sequences = found.counterexample[None]
        answers, least = np.array([not found.wanted]), 0.0
    bits = 300
    while bits <= MOST_BITS:
        with at_precision(bits):
            truths = [f if answer else -f for f, answer in zip(exact_f(model, sequences), answers, strict=True)]
            if any(truth < arb(least) for truth in truths):
                return True
            if all(truth >= arb(least) for truth in truths) and (least > 0 or all(truth > 0 for truth in truths)):
                return False
        bits *= 2
    return None


def drawn_verdict(rng, span):
    """The verdict on one drawn model: why it was refused, its status, or that it is false or beyond judging."""
    with np.errstate(all="ignore"):
        model = drawn_subject(rng, span)
        positions = () if rng.integers(2) else (0,)
        try:
            subject = certifiable(model)
        except KeyholeError as error:
            return next((name for name, words in REFUSALS.items() if words in str(error)), str(error))
        f = [float(x.mid()) for x in exact_f(model, all_sequences(subject.tables.tokens, 2))]
        table = np.array([bool(f[-1 if cell else 0] > 0) for cell in range(2 ** len(positions))])
        table ^= rng.random(len(table)) < 0.1
        junta = Junta(positions, 2, table)
        found = prove_equal(subject.tables, junta, drifts=subject.drifts, time_limit=0.2)
        if found.status == "UNDECIDED":
            return found.status
        return {True: "FALSE", False: found.status, None: "not judged"}[is_false(model, junta, found)]


@pytest.mark.parametrize("span", [0, 30, 149, 400, 1000])
def test_random_certificates_are_never_false(span, capsys, monkeypatch):
    """A proof or a counterexample of a model with exponents up to ±span is so in ball arithmetic that decides it.

    `HYPOTHESIS_PROFILE=fast KEYHOLE_FUZZ=20000 pytest -s -k never_false tests/certifier/test_extremes.py` draws
    100,000 certificates; `KEYHOLE_FUZZ_SEED` has others drawn. The shares decided and refused are printed. Weights of
    single precision, which all are up to a span of 149, are never refused.
    """
    seen = Counter()
    for index in range(FUZZED):
        monkeypatch.setattr(engine, "LEAF", 1 if index % 2 else 64)  # bounds alone, or every input by itself
        verdict = drawn_verdict(np.random.default_rng([FUZZ_SEED, span, index]), span)
        assert verdict != "FALSE", f"draw {index} of seed {FUZZ_SEED} at exponents up to {span}"
        seen[verdict] += 1
    decided = seen["PROVED"] + seen["COUNTEREXAMPLE"]
    shares = ", ".join(f"{verdict} {count / FUZZED:.1%}" for verdict, count in sorted(seen.items()))
    what = f"exponents up to ±{span}" if span else "single precision, ordinary numbers"
    with capsys.disabled():
        print(f"\n{what}: {FUZZED} certificates, decided {decided / FUZZED:.1%}: {shares}")  # noqa: T201
    assert decided >= FUZZED // 20
    assert not seen["not judged"]
    assert set(seen) <= {"PROVED", "COUNTEREXAMPLE", "UNDECIDED", *(REFUSALS if span > SINGLE else ())}
