"""Lemma L: a head is a mixture of decision lists, and cutting them costs what is promised, not more."""

from fractions import Fraction
from itertools import permutations, product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole
from keyhole.api.describe import describe_file
from keyhole.attention import Identity, ReadOut, Softmax, Tabulated, TabulatedHead, Wiring, evaluate
from keyhole.boolean import SymbolLaw, uniform_law
from keyhole.errors import AssumptionError
from keyhole.prover.extraction.decision_lists import (
    absent_ratio,
    cut_on_average,
    cut_on_every_input,
    deciding_shares,
    read_lists,
)

from helpers.compiled_plans import all_inputs


def model(scores, values, own=0.0, own_value=0.0, temperature=1.0):
    """A head with one unit, read as it is."""
    scores, values = np.asarray(scores, dtype=float), np.asarray(values, dtype=float)
    head = TabulatedHead(
        scores, values[:, :, None], np.asarray(float(own)), np.array([own_value]), Softmax(temperature), Identity()
    )
    return Tabulated(len(scores), (head,), np.zeros(1), Wiring(), ReadOut(np.ones(1)))


def by_prefixes(rates, values, own, own_value, sequence, depth=None):
    """E[value of the first present clock to ring], every order of rings followed until one is present; exact fractions.

    With a depth, orders whose first so many rings are all absent count 0; and the chance of those.
    """
    present = dict.fromkeys((t, a) for t, a in enumerate(sequence))
    absent = [(t, a) for t, row in enumerate(rates) for a in range(len(row)) if (t, a) not in present]
    here = own + sum(rates[t][a] for t, a in present)
    hit = own * own_value + sum(rates[t][a] * values[t][a] for t, a in present)

    def follow(left, chance, rung):
        if depth is not None and rung == depth:
            return Fraction(0), chance
        everything = here + sum(rates[t][a] for t, a in left)
        mean, lost = chance * hit / everything, Fraction(0)
        for i, (t, a) in enumerate(left):
            more, gone = follow(left[:i] + left[i + 1 :], chance * rates[t][a] / everything, rung + 1)
            mean, lost = mean + more, lost + gone
        return mean, lost

    return follow(absent, Fraction(1), 0)


def drawn(rng, tokens, symbols):
    """Rational rates and values, and the same as a model."""
    rates = [[Fraction(int(n), 3) for n in row] for row in rng.integers(1, 40, (tokens, symbols))]
    values = [[Fraction(int(n), 8) for n in row] for row in rng.integers(-8, 9, (tokens, symbols))]
    own, own_value = Fraction(int(rng.integers(1, 9))), Fraction(int(rng.integers(-8, 9)), 8)
    scores = np.array([[log(rate) for rate in row] for row in rates])
    return (
        rates,
        values,
        own,
        own_value,
        model(scores, [[float(v) for v in r] for r in values], log(own), float(own_value)),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("tokens", "symbols"), [(1, 2), (1, 3), (2, 2), (2, 3), (3, 2), (3, 3)])
def test_a_head_is_its_lists(tokens, symbols):
    """The mean over all orders of rings, each a decision list, is the softmax head; in exact fractions."""
    rng = np.random.default_rng(tokens * 10 + symbols)
    rates, values, own, own_value, head = drawn(rng, tokens, symbols)
    for sequence in list(product(range(symbols), repeat=tokens))[:: max(1, symbols**tokens // 9)]:
        mean, lost = by_prefixes(rates, values, own, own_value, sequence)
        assert lost == 0
        mass = own + sum(rates[t][a] for t, a in enumerate(sequence))
        softmax = (own * own_value + sum(rates[t][a] * values[t][a] for t, a in enumerate(sequence))) / mass
        assert mean == softmax
        assert float(mean) == pytest.approx(float(evaluate(head, np.array(sequence))), abs=1e-12)


def test_every_permutation_of_five_clocks():
    """The same with all 5! orders of all clocks written out, and the value of the first present one in each."""
    rates, values, own, own_value, head = drawn(np.random.default_rng(7), 2, 2)
    clocks = [((t, a), rates[t][a], values[t][a]) for t in range(2) for a in range(2)] + [("cls", own, own_value)]
    for sequence in product(range(2), repeat=2):
        mean = Fraction(0)
        for order in permutations(clocks):
            chance, left = Fraction(1), sum(rate for _, rate, _ in clocks)
            for _, rate, _ in order:
                chance, left = chance * rate / left, left - rate
            mean += chance * next(v for name, _, v in order if name == "cls" or sequence[name[0]] == name[1])
        assert float(mean) == pytest.approx(float(evaluate(head, np.array(sequence))), abs=1e-12)


def test_simulated_clocks():
    """At T = 30 and A = 4 the mean over drawn clocks is the head, within four standard errors."""
    rng = np.random.default_rng(1)
    scores, values = rng.normal(0, 2, (30, 4)), rng.uniform(-1, 1, (30, 4))
    head = model(scores, values, own=0.5, own_value=0.3)
    clocks = np.append(scores.ravel(), 0.5) + rng.gumbel(size=(20_000, 121))  # the first ring is the largest
    for sequence in rng.integers(0, 4, (5, 30)):
        shown = np.append(np.arange(30) * 4 + sequence, 120)
        first = shown[np.argmax(clocks[:, shown], axis=1)]
        seen = np.append(values.ravel(), 0.3)[first]
        off = seen.mean() - float(evaluate(head, sequence))
        assert abs(off) <= 4 * seen.std() / np.sqrt(len(seen))


@pytest.mark.parametrize(("tokens", "symbols"), [(2, 3), (3, 2), (4, 2)])
def test_no_cut_loses_more_than_promised(tokens, symbols):
    """|u − u_D| and the chance that D rings are absent stay below both promises: on every input, and on average."""
    rates, values, own, own_value, head = drawn(np.random.default_rng(tokens + symbols), tokens, symbols)
    ratio = absent_ratio(head.heads[0], np.ones(tokens, dtype=int))
    largest = max(abs(own_value), *(abs(v) for row in values for v in row))
    sequences = list(product(range(symbols), repeat=tokens))
    for depth in (1, 2, 3):
        off, lost = [], []
        for sequence in sequences:
            whole, _ = by_prefixes(rates, values, own, own_value, sequence)
            cut, gone = by_prefixes(rates, values, own, own_value, sequence, depth)
            off.append(abs(whole - cut))
            lost.append(gone)
        assert max(lost) <= Fraction(cut_on_every_input(ratio, depth))
        assert max(off) <= largest * Fraction(cut_on_every_input(ratio, depth))
        assert sum(off) / len(off) <= largest * Fraction(cut_on_average(uniform_law(symbols), depth))


def chance_of_absence(tokens, spread, depth):
    """P(the first D rings are absent) where all T absent scores are R higher than the present ones, without [CLS]."""
    chance, gap = 1.0, exp(spread)
    for k in range(depth):
        chance *= (tokens - k) * gap / ((tokens - k) * gap + tokens)
    return chance


@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("depth", [1, 5, 20])
def test_the_promise_for_every_input_is_approached(spread, depth):
    """With many positions the truth comes within 1 % of η_D; a ratio 10 % smaller would promise too little."""
    tokens = 100_000
    scores = np.stack([np.zeros(tokens), np.full(tokens, spread)], axis=1)
    ratio = absent_ratio(model(scores[:1], scores[:1]).heads[0], np.array([tokens]))  # one row for all positions
    assert ratio == pytest.approx(exp(spread), rel=1e-4)
    promised, truth = cut_on_every_input(exp(spread), depth), chance_of_absence(tokens, spread, depth)
    assert 0.99 * promised <= truth <= promised
    assert cut_on_every_input(0.9 * exp(spread), depth) < truth


@pytest.mark.parametrize("least", [0.4, 0.2])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_the_promise_on_average_is_approached(least, depth):
    """A list of D positions' least likely symbols, then a constant: cut after D items it is off by ρ^D on average."""
    tokens = 6
    scores = np.full((tokens, 2), -200.0)
    scores[:, 1] = 30.0 * np.arange(tokens, 0, -1)
    head = model(scores, np.ones((tokens, 2)), own=-60.0, own_value=1.0)
    bits = all_inputs(tokens)
    chances = np.where(bits, least, 1 - least).prod(axis=1)
    shown = (bits[:, :depth]).any(axis=1)  # then the first D rings hold a present one, up to e^−30
    off = float(chances @ np.where(shown, 0.0, np.abs(evaluate(head, bits))))
    promised = cut_on_average(SymbolLaw((1 - least, least)), depth)
    assert off == pytest.approx(promised, rel=1e-9)
    assert cut_on_average(SymbolLaw((1 - 1.1 * least, 1.1 * least)), depth) < off


@given(st.integers(1, 4), st.integers(2, 3), st.integers(0, 10**6))
def test_shares_by_enumeration(tokens, symbols, seed):
    """How often a pair decides, by an integral over time, is its mean attention over all inputs."""
    rng = np.random.default_rng(seed)
    scores, own = rng.normal(0, 4, (tokens, symbols)), float(rng.normal())
    chances = rng.dirichlet(np.ones(symbols))
    shares, cls = deciding_shares(scores, own, np.ones(tokens, dtype=int), chances)
    expected = np.zeros((tokens, symbols))
    for sequence in product(range(symbols), repeat=tokens):
        shown = scores[np.arange(tokens), sequence]
        mass = np.exp(shown - max(*shown, own))
        total = mass.sum() + exp(own - max(*shown, own))
        expected[np.arange(tokens), sequence] += chances[list(sequence)].prod() * mass / total
    assert shares == pytest.approx(expected, abs=1e-9)
    assert shares.sum() + cls == pytest.approx(1, abs=1e-9)


def test_a_list_is_read_as_one():
    """x2 = 1, else x0 = 0, else −1, with scores far apart: these lines in this order, with these shares and answers."""
    scores, values = np.full((3, 2), -90.0), np.zeros((3, 2))
    scores[2, 1], values[2, 1] = 60.0, 0.75
    scores[0, 0], values[0, 0] = 30.0, -0.5
    (reading,) = read_lists(model(scores, values, own=0.0, own_value=-1.0), uniform_law(2), 3)
    lines = [(ring.position, ring.symbol, ring.answer) for ring in reading.rings]
    assert lines == [(2, 1, 0.75), (0, 0, -0.5), (None, None, -1.0)]
    assert [ring.decides for ring in reading.rings] == pytest.approx([0.5, 0.25, 0.25], abs=1e-9)
    assert [ring.following for ring in reading.rings] == pytest.approx([1, 1, 1], abs=1e-9)
    assert (reading.others, reading.spread) == (4, 150.0)
    assert reading.depth is None or reading.depth > 10**30


def test_temperature_divides_scores():
    """A head at temperature 2 reads as one whose scores are halved."""
    rng = np.random.default_rng(3)
    scores, values = rng.normal(0, 3, (4, 2)), rng.normal(size=(4, 2))
    warm, cold = (
        read_lists(each, uniform_law(2))[0]
        for each in (model(scores, values, temperature=2.0), model(scores / 2, values))
    )
    assert warm == cold


def test_shared_rows_count():
    """A compiled file keeps one row for all other positions; it reads as the model with a row for each."""
    made = keyhole.compile("x1 & ~x4", 9, construction="veto")
    from keyhole.attention import dense
    from keyhole.compiler import to_tabulated

    short, full = (read_lists(each, uniform_law(2), 50)[0] for each in (made.tabulated, dense(to_tabulated(made.plan))))
    assert short.absent == pytest.approx(full.absent, rel=1e-12)
    others = sum(ring.decides for ring in full.rings if ring.position not in (None, 1, 4))
    assert sum(ring.decides for ring in short.rings if ring.count == 7) == pytest.approx(others, abs=1e-12)


def test_describe_and_prove_show_it(tmp_path):
    """A compiled file is described with its lists, and proved with them where asked."""
    path = keyhole.compile("x3 & ~x17", 64, construction="veto").save(tmp_path / "veto.safetensors")
    described, proof = describe_file(path), keyhole.prove(path).with_lists(4)
    assert "look at x3: if it is 0, output -1" in str(described)
    assert described.record()["lists"][0]["cuts"][0]["average"] == 0.5
    assert described.context == 64
    assert "look at x17: if it is 1, output -1" in str(proof)
    assert len(proof.record()["lists"][0]["rings"]) == 4
    assert keyhole.prove(path).record()["lists"] is None


def test_several_heads_are_read_one_by_one():
    """Answers are those of a model whose other head gives 0."""
    first, second = (model(scores, [[0.5, -0.25]]).heads[0] for scores in ([[3.0, 0.0]], [[0.0, 1.0]]))
    both = Tabulated(1, (first, second), np.zeros(1), Wiring(), ReadOut(np.ones(1)))
    readings = read_lists(both, uniform_law(2))
    assert {ring.answer for ring in readings[1].rings} == {0.5, -0.25, 0.0}


def test_refusals():
    """Lists of a formula, of no pair, under a law of another alphabet, or of another context are refused."""
    head = model(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(AssumptionError, match="At least one pair"):
        read_lists(head, uniform_law(2), 0)
    with pytest.raises(AssumptionError, match="law of 3 symbols"):
        read_lists(head, uniform_law(3))


def test_a_constant_token_is_not_absent():
    """With one symbol no pair is ever absent, so κ = 0, though [CLS] has half of all rates."""
    assert absent_ratio(model([[0.0]], [[1.0]]).heads[0], np.ones(1, dtype=int)) == pytest.approx(0.0, abs=1e-300)
